"""The service that is measured: all its processes on this machine, and Django in this one over the same database."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import django
import psutil

from benchmarks.cache import home
from deploy.local.fleet import Fleet, FleetSize, fleet
from deploy.local.process import end_left

QUIET = {"ASSAY_LOG_LEVEL": "WARNING", "ASSAY_JITTER_SECONDS": "0"}


@contextmanager
def measured_service(name: str, size: FleetSize, environment: Mapping[str, str] | None = None) -> Iterator[Fleet]:
    """A fresh service; what Django reads and writes here is its database. Once in a process."""
    place = home() / "service" / name
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))  # an orderly end, so that no process stays
    end_left(place / "service")
    shutil.rmtree(place, ignore_errors=True)
    with fleet(home=place, size=size, environment={**QUIET, **(environment or {})}) as service:
        os.environ.update(service.environment)
        django.setup()
        yield service


def cpu_seconds(service: Fleet) -> dict[str, float]:
    """What each process, with all that it started, has had of the processors, by name."""
    return {name: _cpu_of(process.pid) for name, process in service.processes.items()}


def _cpu_of(pid: int) -> float:
    """With what its children have had, be they there or ended."""
    try:
        process = psutil.Process(pid)
        times, family = process.cpu_times(), process.children(recursive=True)
    except psutil.NoSuchProcess:
        return 0.0
    own = times.user + times.system + times.children_user + times.children_system
    return float(own) + sum(_own_cpu(each) for each in family)


def _own_cpu(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)
