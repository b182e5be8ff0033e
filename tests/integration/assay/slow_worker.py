"""``celery -A tests.integration.assay.slow_worker``: the service's own worker, with a task that takes its time."""

import time

from assay.celery import app

__all__ = ["app", "take"]


@app.task(name="tests.take")
def take(seconds: float) -> None:
    """Keep one of the worker's hands busy for so long."""
    time.sleep(seconds)
