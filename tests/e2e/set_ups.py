"""The two set-ups that the loop runs in: all in this process over SQLite, and as a service of many processes."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from django.db import connections

from assay import clock
from assay.queue.drain import drain, stages_with_work
from assay.settings import database
from execution_engine.models import Scan
from tests.e2e.processes import Processes

SETTLE_LIMIT = 180.0  # seconds; a Spark session of a new worker is the longest wait
LOOK_EVERY = 0.03


class SetUp(Protocol):
    """Where the stages are worked."""

    def settle(self) -> object:
        """Return once nothing is pending."""

    def lose_worker(self, datacenter: str) -> None:
        """From now on the datacenter's worker dies in the middle of its next scan."""

    def assert_worked_as_it_should(self) -> None:
        """What only this set-up can tell."""


class Embedded:
    """Everything in this process."""

    def settle(self) -> int:
        """Do it all."""
        return drain()

    def lose_worker(self, datacenter: str) -> None:
        """There is none."""

    def assert_worked_as_it_should(self) -> None:
        """No worker has scanned anything."""
        assert set(Scan.objects.values_list("worker", flat=True)) == {""}


@dataclass
class Service:
    """A worker of the stages, one of each datacenter, and the sweep."""

    processes: Processes
    generation: dict[str, int] = field(default_factory=dict)
    doomed: str = ""  # the datacenter whose worker is to die in its next scan

    def start(self, *datacenters: str) -> None:
        """Start everything."""
        self.processes.start_worker("stages", "assay")
        self.processes.start_sweep()
        for datacenter in datacenters:
            self._start(datacenter)

    def settle(self) -> None:
        """Wait until the workers have left nothing pending."""
        deadline = time.monotonic() + SETTLE_LIMIT
        while busy := stages_with_work(clock.now()):  # one statement, as rows move on from stage to stage
            assert not self.processes.dead(), f"{self.processes.dead()} ended\n{self.processes.told()}"
            assert time.monotonic() < deadline, (
                f"{[stage.name for stage in busy]} still have work\n{self.processes.told()}"
            )
            self._kill_the_doomed()
            time.sleep(LOOK_EVERY)

    def lose_worker(self, datacenter: str) -> None:
        """A new worker takes a while to start Spark in its first scan: long enough to die in it."""
        self.processes.stop(self._name(datacenter))
        self._start(datacenter)
        self.doomed = datacenter

    def assert_worked_as_it_should(self) -> None:
        """Every scan was taken beside its data, also the one whose first worker was killed in it."""
        taken = set(Scan.objects.values_list("datacenter", "worker"))
        assert {(place, worker.split("-")[0]) for place, worker in taken} == {("dca", "dca"), ("phx", "phx")}
        assert Scan.objects.filter(worker="phx-3@assay", epoch__gte=2).exists()
        assert not Scan.objects.filter(worker="phx-2@assay").exists()

    def _kill_the_doomed(self) -> None:
        if not self.doomed:
            return
        begun = Scan.objects.filter(worker=f"{self._name(self.doomed)}@assay", ended_at__isnull=True)
        if begun.exists():
            self.processes.kill(self._name(self.doomed))
            self._start(self.doomed)
            self.doomed = ""

    def _start(self, datacenter: str) -> None:
        self.generation[datacenter] = self.generation.get(datacenter, 0) + 1
        self.processes.start_worker(self._name(datacenter), f"assay.{datacenter}")

    def _name(self, datacenter: str) -> str:
        return f"{datacenter}-{self.generation[datacenter]}"


@contextmanager
def default_database(url: str) -> Iterator[None]:
    """Makes another database Django's own for a while."""
    kept, settings = connections["default"], connections.settings
    connections.settings = connections.configure_settings({"default": database(url)})
    connections["default"] = connections.create_connection("default")
    try:
        yield
    finally:
        connections["default"].close()
        connections.settings = settings
        connections["default"] = kept


def environment(folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """A whole environment, with a home and Spark sessions of one thread."""
    return {
        **os.environ,
        "ASSAY_HOME": str(folder / "home"),
        "ASSAY_SPARK_MASTER": "local[1]",
        "ASSAY_WEBHOOK_PRIVATE": "true",  # the receiver is on this machine
        **variables,
    }
