"""``celery -A benchmarks.service.worker``: the service's own workers, but for the engine, which is the stub."""

import os
from contextlib import ExitStack
from typing import Any

from celery.signals import worker_init

from assay.celery import app

__all__ = ["app"]

installed = ExitStack()  # kept, as the stub is in force only as long as this is


@worker_init.connect
def install(**_: Any) -> None:
    """From now on this worker reads everything with the stub."""
    from execution_engine.storage import using

    from .catalog import stub

    delay = float(os.environ.get("BENCH_SCAN_SECONDS", "0"))
    installed.enter_context(using(stub(delay=delay)))
