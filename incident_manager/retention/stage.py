"""The stage *prune*: once a day through all tables, with pauses in which others may have the worker."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from time import monotonic
from typing import Protocol

import structlog
from structlog.contextvars import bound_contextvars

from assay import clock
from assay.models import Pruning
from assay.queue.claims import UnableToFinish, claim, extend, finish
from assay.queue.flow import stage
from assay.queue.log_ids import log_ids

from .keeping import keeping
from .measurements import MEASUREMENTS, PROFILES, STATES, WHOLE_PROFILES
from .state_files import StateFiles
from .traces import CHANGES, LOOK_UPS, NOTICES, PART_STATES, SCANS, SUSPECTS, WATCHES
from .verdicts import RUNS, STANDINGS
from .walk_table import Batch, Keeping

log = structlog.get_logger(__name__)

EVERY = timedelta(days=1)
AT_A_TIME = 20.0  # seconds; then the worker is free for others, and the next hint goes on


class Prunable(Protocol):
    """A table, or what is kept beside the tables."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def goes_on(self) -> bool:
        """Whether the next pass begins where this one ended."""
        ...

    def batch(self, after: int, keeping: Keeping) -> Batch:
        """Prune what comes behind ``after``."""
        ...


# what others rest on comes after them: standings, then their runs, then what those asked for
TABLES: Sequence[Prunable] = (
    STANDINGS, RUNS, MEASUREMENTS, STATES, WHOLE_PROFILES, PROFILES, SCANS, SUSPECTS, CHANGES, WATCHES, NOTICES,
    LOOK_UPS, PART_STATES, StateFiles(),
)  # fmt: skip


def prune() -> int:
    """Go on with the pass that is due for some seconds; 1 if one was, else 0."""
    now = clock.now()
    rows = claim(stage("prune"), now=now, limit=1)
    for row in rows:
        with bound_contextvars(**log_ids("prune", row)):
            try:
                _go_on(row, now)
            except UnableToFinish as lost:
                log.warning("lease lost", why=str(lost))
            except Exception:
                log.exception("pruning failed", table=row.table, attempts=row.attempts)
    return len(rows)


def _go_on(row: Pruning, now: datetime) -> None:
    """Prune table after table until the time is up or the last one is through, and write down how far that came."""
    end, terms = monotonic() + AT_A_TIME, keeping(now)
    if not row.table:
        row.removed = {}
    names = [table.name for table in TABLES]
    first = names.index(row.table) if row.table in names else 0
    for table in TABLES[first:]:
        row.table = table.name
        if not _is_through(table, row, terms, end):
            finish(row, due_at=now, table=row.table, cursors=row.cursors, removed=row.removed)
            return
    log.info("pruned", **row.removed)
    finish(row, due_at=now + EVERY, table="", cursors=row.cursors, removed=row.removed, ended_at=now)


def _is_through(table: Prunable, row: Pruning, terms: Keeping, end: float) -> bool:
    """Whether the whole table was gone through before the time was up."""
    while monotonic() < end:
        batch = table.batch(row.cursors.get(table.name, 0), terms)
        row.cursors[table.name] = batch.reached
        row.removed[table.name] = row.removed.get(table.name, 0) + batch.removed
        if not extend(row):
            raise UnableToFinish(f"{row}: claimed again since epoch {row.epoch}")
        if batch.is_end:
            if not table.goes_on:
                del row.cursors[table.name]
            return True
    return False
