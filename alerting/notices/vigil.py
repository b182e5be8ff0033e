"""Each worker looks after the scheduler once a minute: where that is silent, nothing else would be told to look.

It does not begin with a route file that is wrong: nobody would know whom it tells.
"""

import time
from datetime import datetime
from threading import Thread

import structlog
from celery.signals import worker_init, worker_ready
from django.db import connections

from alerting.channels import check_routes
from alerting.routes import UnableToReadRoutes
from assay.clock import database_now

from .operators import look_after_scheduler

log = structlog.get_logger(__name__)

LOOK_EVERY = 60.0  # seconds


@worker_init.connect
def refuse_wrong_routes(**_: object) -> None:
    """End the worker before it takes anything; what is wrong is told with its line."""
    try:
        check_routes()
    except UnableToReadRoutes as wrong:
        raise SystemExit(f"assay: {wrong}") from None


@worker_ready.connect
def begin(**_: object) -> None:
    """Keep the vigil for as long as the worker lives."""

    def look_for_ever() -> None:
        since: datetime | None = None
        while True:
            since = look(since)
            time.sleep(LOOK_EVERY)

    Thread(target=look_for_ever, name="vigil", daemon=True).start()


def look(since: datetime | None) -> datetime | None:
    """One look; since when we look. A database that is away for a while is looked for again by the next."""
    try:
        since = since or database_now()
        if look_after_scheduler(looking_since=since):
            log.error("scheduler silent")
    except Exception:
        log.exception("vigil failed")
    finally:
        connections.close_all()  # a pool of processes may fork in between, and must not inherit it
    return since
