"""Find what is pending and unclaimed, and tell the workers to look; what a lost message left is found here."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

import structlog
from celery.signals import task_success
from django.db.models import Q
from kombu import Connection
from kombu.exceptions import ChannelError, OperationalError

from assay import clock
from assay.celery import app, hint, queue_name
from assay.flow import STAGES, Stage
from assay.queue import pending

log = structlog.get_logger(__name__)

MOST_WAITING = 40  # hints in one queue; more say no more, and would pile up where no worker takes them


def sweep() -> int:
    """Send one hint per stage (and datacenter) with claimable rows; how many were sent.

    Where the broker is away, the rows wait in the database for the next sweep.
    """
    claimable = list(_claimable(clock.now(), clock.database_now()))
    if not claimable:
        return 0
    with app.connection_for_write() as broker:
        lost: tuple[type[BaseException], ...] = (OperationalError, *broker.connection_errors)
        try:
            return _tell(broker, claimable)
        except lost as error:
            log.warning("hints not sent", stages=[stage.name for stage, _ in claimable], why=str(error))
            return 0


def _tell(broker: Connection, places: Collection[tuple[Stage, str]]) -> int:
    room = {queue: _room(broker, queue) for queue in {queue_name(*place) for place in places}}
    told = [place for place in places if room[queue_name(*place)]]
    for stage, datacenter in told:
        hint(stage, datacenter)
    return len(told)


def _claimable(now: datetime, real_now: datetime) -> Iterator[tuple[Stage, str]]:
    """The stages with rows that a worker could claim, each with the datacenter of the rows where that matters."""
    for stage in STAGES:
        rows = pending(stage, now).filter(Q(lease_until__isnull=True) | Q(lease_until__lt=real_now))
        if stage.by_datacenter:
            yield from ((stage, place) for place in rows.order_by().values_list("datacenter", flat=True).distinct())
        elif rows.exists():
            yield stage, ""


def _room(broker: Connection, queue: str) -> bool:
    """Whether a queue can take another hint."""
    try:
        declared = broker.default_channel.queue_declare(queue=queue, passive=True)  # type: ignore[attr-defined]
    except ChannelError:  # nothing was ever sent to it
        return True
    return bool(declared.message_count < MOST_WAITING)


@task_success.connect
def look_on(result: Any = None, **_: Any) -> None:
    """A worker that has found work tells of what that left to do, without waiting for the next sweep."""
    if result:
        sweep()
