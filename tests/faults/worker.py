"""``celery -A tests.faults.worker``: the service's own workers, but for the engine, and with points of faults."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from celery.signals import task_prerun, worker_init, worker_ready
from django.db.backends.signals import connection_created
from django.dispatch import receiver

from assay.celery import app

__all__ = ["app"]

HOME = Path(os.environ.get("FAULTS_HOME", "."))
installed = ExitStack()  # kept, as the engine is in force only as long as this is


@worker_init.connect
def install(**_: Any) -> None:
    """From now on this worker reads with the engine of the experiments, and has the faults that it is told to."""
    from execution_engine.storage import using
    from tests.faults import failpoints
    from tests.faults.engine import WatchedEngine

    pace = float(os.environ.get("FAULTS_SCAN_SECONDS", "0"))
    installed.enter_context(using(WatchedEngine(home=HOME, pace=pace)))
    failpoints.install(HOME)


@receiver(connection_created)
def wait_for_locks(connection: Any, **_: Any) -> None:
    """It waits for a lock as long as it is told to."""
    if seconds := os.environ.get("FAULTS_LOCK_WAIT_SECONDS"):
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION innodb_lock_wait_timeout = {int(seconds)}")


@task_prerun.connect
def hold(task: Any, **_: Any) -> None:
    """Its messages are held where it is told to hold them."""
    from tests.faults import failpoints

    failpoints.hold(HOME, str(task.request.hostname).partition("@")[0])


@worker_ready.connect
def tell(sender: Any, **_: Any) -> None:
    """A file says that the worker takes work."""
    place = HOME / "ready"
    place.mkdir(exist_ok=True)
    (place / str(sender.hostname).partition("@")[0]).write_text(str(os.getpid()))
