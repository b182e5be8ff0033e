"""Claim pending rows of a stage, work them one transaction each, and let nothing be finished under an old lease."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.apps import apps
from django.db import OperationalError, connection, transaction
from django.db.models import F, Model, Prefetch, Q, QuerySet, prefetch_related_objects
from structlog.contextvars import bound_contextvars
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_random_exponential

from assay import clock
from assay.config import config
from assay.flow import Stage, stage
from assay.log_ids import log_ids
from assay.models import Claimable

log = structlog.get_logger(__name__)

LEASE = timedelta(seconds=config().lease_seconds)
MAX_LIMIT = 200
# MariaDB: deadlock, lock wait timeout, record changed since last read; the whole transaction is tried again.
RETRIABLE = frozenset({1213, 1205, 1020})


class UnableToFinish(Exception):
    """The row was claimed again since: the work of this lease is dropped."""


def table(stage: Stage) -> type[Model]:
    """The model that a stage claims from."""
    return apps.get_model(stage.table)


def pending(stage: Stage, now: datetime | None, **filters: Any) -> QuerySet[Any]:
    """Rows of a stage that are due at ``now`` (``None``: at any time), leased or not."""
    wanted = Q(**filters)
    if stage.after:
        wanted &= Q(**{f"{stage.after}__isnull": False})
    if stage.marker:
        wanted &= Q(**{f"{stage.marker}__isnull": True})
    if stage.due:
        wanted &= Q(**{f"{stage.due}__isnull": False} if now is None else {f"{stage.due}__lte": now})
    return table(stage)._default_manager.filter(wanted)


@transaction.atomic
def claim(stage: Stage, *, now: datetime, limit: int, lease: timedelta = LEASE, **filters: Any) -> list[Any]:
    """Lease up to ``limit`` pending rows, the longest due first; a row under a live lease is nobody else's."""
    real_now = clock.database_now()
    free = pending(stage, now, **filters).filter(Q(lease_until__isnull=True) | Q(lease_until__lt=real_now))
    order = [stage.due, "pk"] if stage.due else ["pk"]
    skip = connection.features.has_select_for_update_skip_locked
    keys = list(free.select_for_update(skip_locked=skip).order_by(*order).values_list("pk", flat=True)[:limit])
    if not keys:
        return []
    rows = table(stage)._default_manager.filter(pk__in=keys)
    rows.update(lease_until=real_now + lease, epoch=F("epoch") + 1, attempts=F("attempts") + 1)
    return list(rows.order_by(*order))


def finish(row: Claimable, **changes: Any) -> None:
    """Write a stage's end and give the lease back, or raise ``UnableToFinish`` when the lease was lost."""
    rows = type(row)._default_manager.filter(pk=row.pk, epoch=row.epoch)
    if rows.update(lease_until=None, attempts=0, **changes) != 1:
        raise UnableToFinish(f"{type(row).__name__} {row.pk}: claimed again since epoch {row.epoch}")
    for name, value in changes.items():
        setattr(row, name, value)


def extend(row: Claimable, lease: timedelta = LEASE) -> bool:
    """Heartbeat: lengthen the lease; false when it was lost."""
    rows = type(row)._default_manager.filter(pk=row.pk, epoch=row.epoch)
    return bool(rows.update(lease_until=clock.database_now() + lease) == 1)


def work(
    name: str,
    handle: Callable[[Any, datetime], None],
    *,
    limit: int = MAX_LIMIT,
    prefetch: Sequence[str | Prefetch[Any]] = (),
    **filters: Any,
) -> int:
    """Claim rows of the stage ``name`` and handle each in its own transaction; the number that were claimed.

    ``handle`` ends with ``finish``. A row that raises keeps its lease, so that it is tried again once that has run
    out, and the rows behind it go on. What ``prefetch`` names is read for all rows at once.
    """
    now = clock.now()
    rows = claim(stage(name), now=now, limit=limit, **filters)
    prefetch_related_objects(rows, *prefetch)
    for row in rows:
        attempt(name, row, now, handle)
    return len(rows)


def attempt(name: str, row: Claimable, now: datetime, handle: Callable[[Any, datetime], None]) -> None:
    """Handle one claimed row in a transaction; what goes wrong is logged and stays with this row."""
    with bound_contextvars(**log_ids(name, row)):
        try:
            in_transaction(lambda: handle(row, now))
        except UnableToFinish as lost:
            log.warning("lease lost", row=row.pk, why=str(lost))
        except Exception:
            log.exception("stage failed", row=row.pk, attempts=row.attempts)


def _is_retriable(error: BaseException) -> bool:
    return isinstance(error, OperationalError) and bool(error.args) and error.args[0] in RETRIABLE


@retry(
    retry=retry_if_exception(_is_retriable),
    stop=stop_after_attempt(5),
    wait=wait_random_exponential(multiplier=0.05, max=2),
    reraise=True,
)
def in_transaction(body: Callable[[], None]) -> None:
    """Run ``body`` in one transaction, the whole of it again on a deadlock or a lock timeout."""
    with transaction.atomic():
        body()
