"""Claim pending rows of a stage, work them, and let nothing be finished under an old lease."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from datetime import datetime, timedelta
from functools import partial
from threading import Event, Thread, get_native_id
from types import MappingProxyType
from typing import Any, TypeVar, Union

import structlog
from django.apps import apps
from django.db import DatabaseError, OperationalError, connection, connections, transaction
from django.db.models import F, Model, Prefetch, Q, QuerySet, Sum, prefetch_related_objects
from structlog.contextvars import bound_contextvars
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_random_exponential

from assay import clock
from assay.config import config
from assay.database.statements import update_each
from assay.models import Claimable, Tallied, Tally

from .flow import Stage, stage

T = TypeVar("T")
Related = Union[str, "Prefetch[Any]", Callable[[Sequence[Any]], None]]  # what is read for rows, or how

log = structlog.get_logger(__name__)

LEASE = timedelta(seconds=config().lease_seconds)
LONGEST_LEASE = max(2 * LEASE, timedelta(minutes=30))  # no stage asks for more than half of it
INTERVAL = LEASE / 4  # between two heartbeats
MAX_LIMIT = 200
TOGETHER = 50  # rows leased at once and, where a stage can, worked in one transaction
SECOND_TRY = 7  # of these at once, where a worker has died of one of them
# MariaDB: deadlock, lock wait timeout, record changed since last read; the whole transaction is tried again.
RETRIABLE = frozenset({1213, 1205, 1020})
REFERRED = ("run", "scan", "incident", "alert")  # by their ids the log lines of one piece of work are found
SLOTS = 16  # of each counter

_tally_buffer: ContextVar[dict[tuple[Tallied, str], float] | None] = ContextVar("tally_buffer", default=None)
_in_rounds: ContextVar[bool] = ContextVar("in_rounds", default=False)


class UnableToFinish(Exception):
    """The row was claimed again since: the work of this lease is dropped."""


def log_ids(stage: str, row: Model) -> dict[str, str | int]:
    """What every line says that is logged while ``row`` is worked: its stage, its id, and those it refers to."""
    ids = {name: getattr(row, f"{name}_id", None) for name in REFERRED} | {type(row).__name__.lower(): row.pk}
    return {"stage": stage, **{name: key for name, key in ids.items() if key is not None}}


# Count what has ended in the transaction that ends it, so that nobody need count the rows themselves.


def tally(kind: Tallied, label: str, amount: float = 1.0) -> None:
    """Count one more, or ``amount`` more, within the caller's transaction: with it, or not at all.

    Called late in it, as its row is locked until the end. A thread keeps to one slot: two of a counter, taken in
    different orders, would be a deadlock.
    """
    buffer = _tally_buffer.get()
    if buffer is not None:
        buffer[kind, label] = buffer.get((kind, label), 0.0) + amount
        return
    row = {"kind": kind.value, "label": str(label), "slot": get_native_id() % SLOTS}
    counter = Tally.objects.filter(**row)
    if not counter.update(amount=F("amount") + amount):
        Tally.objects.bulk_create([Tally(**row)], ignore_conflicts=True)
        counter.update(amount=F("amount") + amount)


@contextmanager
def tallied_together() -> Iterator[None]:
    """What is counted meanwhile is written at the end, each counter once and in one order; not after an exception."""
    buffer: dict[tuple[Tallied, str], float] = {}
    token = _tally_buffer.set(buffer)
    try:
        yield
    finally:
        _tally_buffer.reset(token)
    for (kind, label), amount in sorted(buffer.items()):
        tally(kind, label, amount)


def totals() -> dict[Tallied, dict[str, float]]:
    """Every counter's amounts by label; a few hundred rows, however much was counted."""
    amounts: dict[Tallied, dict[str, float]] = {kind: {} for kind in Tallied}
    for kind, label, amount in Tally.objects.order_by().values_list("kind", "label").annotate(Sum("amount")):
        amounts[Tallied(kind)][label] = amount
    return amounts


# Lease rows, and give them back.


def table(stage: Stage) -> type[Model]:
    """The model that a stage claims from."""
    return apps.get_model(stage.table)


def pending(stage: Stage, now: datetime | None, **filters: Any) -> QuerySet[Any]:
    """Rows of a stage that are due at ``now`` (``None``: at any time), leased or not."""
    condition = Q(**filters)
    if stage.cadence:
        condition &= Q(name=stage.name)
    if stage.after:
        condition &= Q(**{f"{stage.after}__isnull": False})
    if stage.marker:
        condition &= Q(**{f"{stage.marker}__isnull": True})
    if stage.due:
        condition &= Q(**{f"{stage.due}__isnull": False} if now is None else {f"{stage.due}__lte": now})
    return table(stage)._default_manager.filter(condition)


def unleased(real_now: datetime) -> Q:
    """A condition on rows that nobody holds at this time of the database.

    A lease that ends later than any lease can was given before the database's clock was set back. It is over too: its
    holder may have died, and is refused by the epoch if it lives.
    """
    return Q(lease_until__isnull=True) | Q(lease_until__lt=real_now) | Q(lease_until__gt=real_now + LONGEST_LEASE)


def leased(real_now: datetime) -> Q:
    """A condition on the other rows: somebody holds them at this time of the database."""
    return Q(lease_until__gte=real_now, lease_until__lte=real_now + LONGEST_LEASE)


def claim(
    stage: Stage,
    *,
    now: datetime,
    limit: int,
    lease: timedelta = LEASE,
    may: Q | None = None,
    also: Mapping[str, Any] = MappingProxyType({}),
    second_try: int = SECOND_TRY,
    **filters: Any,
) -> list[Any]:
    """Lease up to ``limit`` pending rows, the longest due first; a row under a live lease is nobody else's.

    ``may``: what free rows must also meet, such as the bounds of what runs at once; ``also``: what is written with the
    lease, by field.

    Rows are leased together if they were tried as often as the first of them. If one of them kills its worker, the
    others are lost with it; so fewer rows are leased at the second try, and only one at the third. A fresh row never
    goes before a row that waits longer.
    """
    with transaction.atomic():
        real_now = clock.database_now()
        free = pending(stage, now, **filters).filter(unleased(real_now))
        skip = connection.features.has_select_for_update_skip_locked
        rows = list(free.filter(may or Q()).order_by(*stage.order).select_for_update(skip_locked=skip)[:limit])
        alike = [row for row in rows if row.attempts == rows[0].attempts]
        if alike and (tries := alike[0].attempts):
            alike = alike[: second_try if tries == 1 else 1]
        if alike:
            changes = {"lease_until": real_now + lease, **also}
            locked = table(stage)._default_manager.filter(pk__in=[row.pk for row in alike])
            locked.update(epoch=F("epoch") + 1, attempts=F("attempts") + 1, **changes)
            for row in alike:  # this is what was written of them
                vars(row).update(changes, epoch=row.epoch + 1, attempts=row.attempts + 1)
    return alike


def claims(
    stage: Stage, *, now: datetime, limit: int, part: int | None = None, may: Q | None = None, **filters: Any
) -> Iterator[list[Any]]:
    """Lease up to ``limit`` rows for one task, ``part`` after part (of all): a worker that dies has tried but one.

    A worker that died may leave hundreds of rows that are leased by few or alone: they must not wait for a message
    each. Where the stages are worked in rounds, the next round finds what is left.
    """
    while limit and (rows := claim(stage, now=now, limit=min(limit, part or limit), may=may, **filters)):
        yield rows
        if _in_rounds.get() and len(rows) < min(limit, part or limit):
            return
        limit -= len(rows)


@contextmanager
def rounds() -> Iterator[None]:
    """Meanwhile the caller of the tasks asks again which of them have work, so no task asks once more itself."""
    token = _in_rounds.set(True)
    try:
        yield
    finally:
        _in_rounds.reset(token)


def is_in_rounds() -> bool:
    """Whether the caller of the tasks works all of them, one after another, in this process."""
    return _in_rounds.get()


def finish(row: Claimable, **changes: Any) -> None:
    """Write a stage's end and give the lease back, or raise ``UnableToFinish`` when the lease was lost."""
    ended = {"lease_until": None, "attempts": 0, **changes}
    if type(row)._default_manager.filter(pk=row.pk, epoch=row.epoch).update(**ended) != 1:
        raise UnableToFinish(f"{type(row).__name__} {row.pk}: claimed again since epoch {row.epoch}")
    for name, value in changes.items():
        setattr(row, name, value)


def finish_all(rows: Sequence[Claimable], *names: str) -> None:
    """Write these fields of every row as they are here, and give the leases back, all or ``UnableToFinish``."""
    for row in rows:
        row.lease_until, row.attempts = None, 0
    row_count = update_each(rows, ("lease_until", "attempts", *names), unchanged=("epoch",))
    if row_count != len(rows):
        raise UnableToFinish(f"{len(rows) - row_count} of {len(rows)} rows were claimed again since")


def extend(row: Claimable, lease: timedelta = LEASE, **filters: Any) -> bool:
    """Lease the row for so long from now on; false when it was claimed since, or does not match."""
    rows = type(row)._default_manager.filter(pk=row.pk, epoch=row.epoch, **filters)
    return bool(rows.update(lease_until=clock.database_now() + lease) == 1)


def work(
    name: str,
    handle: Callable[[Any, datetime], None],
    *,
    limit: int = MAX_LIMIT,
    prefetch: Sequence[Related] = (),
    **filters: Any,
) -> int:
    """Claim rows of the stage ``name`` and handle each in its own transaction; the number that were claimed.

    ``handle`` ends with ``finish``. A row that raises keeps its lease, so that it is tried again once that has run
    out, and the rows behind it go on. What ``prefetch`` names is read for all rows at once.
    """
    now, total = clock.now(), 0
    for rows in claims(stage(name), now=now, limit=limit, part=TOGETHER, **filters):
        _fetch(rows, prefetch)
        for row in rows:
            attempt(name, row, now, handle)
        total += len(rows)
    return total


def work_together(
    name: str,
    handle: Callable[[list[Any], datetime], None],
    *,
    limit: int = MAX_LIMIT,
    prefetch: Sequence[Related] = (),
    **filters: Any,
) -> int:
    """As ``work``, but ``handle`` gets several rows, for one transaction; where that fails, one by one, read anew."""
    now, total = clock.now(), 0
    for rows in claims(stage(name), now=now, limit=limit, part=TOGETHER, **filters):
        total += len(rows)
        _fetch(rows, prefetch)
        if len(rows) > 1:
            if in_one_transaction(name, partial(handle, rows, now), rows=len(rows)):
                continue
            # read anew, but for those that were claimed again since, and so are held by another worker
            fresh = type(rows[0])._default_manager.in_bulk([row.pk for row in rows])
            held = [fresh[row.pk] for row in rows if row.pk in fresh and fresh[row.pk].epoch == row.epoch]
            if lost := sorted({row.pk for row in rows} - {row.pk for row in held}):
                log.warning("lease lost", stage=name, rows=lost)
            rows = held
            _fetch(rows, prefetch)
        for row in rows:
            # a copy for each try: what a try that was rolled back has changed in memory is not true
            attempt(name, row, now, lambda row, now: handle([copy(row)], now))
    return total


def _fetch(rows: Sequence[Any], prefetch: Sequence[Related]) -> None:
    for path in prefetch:
        if callable(path):
            path(rows)
        else:
            prefetch_related_objects(rows, path)


def in_one_transaction(name: str, body: Callable[[], object], **counts: int) -> bool:
    """Whether ``body``, of many rows of stage ``name``, could be run in one transaction; if not, nothing of it is left.

    Then the caller tries each of them by itself. ``counts``: how many there are of what, for the log.
    """
    with bound_contextvars(stage=name):
        try:
            with transaction.atomic(), tallied_together():
                body()
        except Exception as error:
            log.info("not together, so one by one", **counts, why=f"{type(error).__name__}: {error}"[:500])
            return False
    return True


def attempt(name: str, row: Claimable, now: datetime, handle: Callable[[Any, datetime], None]) -> None:
    """Handle one claimed row in a transaction; what goes wrong is logged and stays with this row."""
    with bound_contextvars(**log_ids(name, row)):
        try:
            in_transaction(lambda: handle(row, now))
        except UnableToFinish as lost:
            log.warning("lease lost", row=row.pk, why=str(lost))
        except Exception:
            log.exception("stage failed", row=row.pk, attempts=row.attempts)


@retry(
    retry=retry_if_exception(
        lambda error: isinstance(error, OperationalError) and not RETRIABLE.isdisjoint(error.args[:1])
    ),
    stop=stop_after_attempt(5),
    wait=wait_random_exponential(multiplier=0.05, max=2),
    reraise=True,
)
def in_transaction(body: Callable[[], T]) -> T:
    """What ``body`` gives, run in one transaction, the whole of it again on a deadlock or a lock timeout."""
    with transaction.atomic():
        return body()


@contextmanager
def heartbeat(*rows: Claimable) -> Iterator[None]:
    """Lengthen the rows' leases again and again from a thread of its own, as the work itself may block."""
    ended = Event()

    def beat() -> None:
        try:
            while not ended.wait(INTERVAL.total_seconds()):
                for row in rows:
                    try:
                        extend(row, lease_until__isnull=False)  # it may have been finished meanwhile
                    except DatabaseError as error:  # a database that is away for a moment costs this beat only
                        log.warning("heartbeat missed", row=str(row), why=str(error))
        finally:
            connections.close_all()

    beating = Thread(target=beat, name=f"heartbeat of {rows[0]}", daemon=True)
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()
