"""Keep the lease of a long piece of work while it goes on."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

import structlog
from django.db import DatabaseError, connections

from assay.models import Claimable

from .claims import LEASE, extend

log = structlog.get_logger(__name__)

INTERVAL = LEASE / 4


@contextmanager
def heartbeat(*rows: Claimable) -> Iterator[None]:
    """Lengthen the rows' leases again and again from a thread of its own, as the work itself may block."""
    ended = Event()
    beating = Thread(target=_beat, args=(rows, ended), name=f"heartbeat of {rows[0]}", daemon=True)
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()


def _beat(rows: Sequence[Claimable], ended: Event) -> None:
    try:
        while not ended.wait(INTERVAL.total_seconds()):
            for row in rows:
                _extend(row)
    finally:
        connections.close_all()


def _extend(row: Claimable) -> None:
    """One beat; a database that is away for a moment costs this one only."""
    try:
        extend(row)
    except DatabaseError as error:
        log.warning("heartbeat missed", row=str(row), why=str(error))
