"""Claim pending rows of a stage, work them, and let nothing be finished under an old lease."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from copy import copy
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from threading import Event, Thread, get_native_id
from types import MappingProxyType
from typing import Any, TypeVar, Union

import structlog
from django.apps import apps
from django.db import DatabaseError, OperationalError, connection, connections, transaction
from django.db.models import Model, Prefetch, Q, QuerySet, Sum
from structlog.contextvars import bound_contextvars
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_random_exponential

from assay import clock
from assay.config import config
from assay.database.statements import Prepared, PreparedUpdate, fetch_related, set_all, update_each
from assay.models import Claimable, Tallied, Tally

from .flow import Stage, stage

# The ids by which the log lines of one piece of work are found.

REFERRED = ("run", "scan", "incident", "alert")


def log_ids(stage: str, row: Model) -> dict[str, str | int]:
    """What every line says that is logged while ``row`` is worked: its stage, its id, and those it refers to."""
    named = {name: getattr(row, f"{name}_id", None) for name in REFERRED}
    named[type(row).__name__.lower()] = row.pk
    return {"stage": stage, **{name: key for name, key in named.items() if key is not None}}


# Count what has ended in the transaction that ends it, so that nobody need count the rows themselves.

SLOTS = 16
_together: ContextVar[dict[tuple[Tallied, str], float] | None] = ContextVar("together", default=None)


def tally(kind: Tallied, label: str, amount: float = 1.0) -> None:
    """Count one more, or ``amount`` more, within the caller's transaction: with it, or not at all.

    Called late in it, as its row is locked until the end. A thread keeps to one slot: two of a counter, taken in
    different orders, would be a deadlock.
    """
    waiting = _together.get()
    if waiting is not None:
        waiting[kind, label] = waiting.get((kind, label), 0.0) + amount
        return
    _add({(kind, label): amount})


@contextmanager
def tallied_together() -> Iterator[None]:
    """What is counted meanwhile is written at the end, each counter once and in one order; not after an exception."""
    waiting: dict[tuple[Tallied, str], float] = {}
    token = _together.set(waiting)
    try:
        yield
    finally:
        _together.reset(token)
    if _together.get() is not None:
        for (kind, label), amount in waiting.items():
            tally(kind, label, amount)
    elif waiting:
        _add(dict(sorted(waiting.items())))


def totals() -> dict[Tallied, dict[str, float]]:
    """Every counter's amounts by label; a few hundred rows, however much was counted."""
    found: dict[Tallied, dict[str, float]] = {kind: {} for kind in Tallied}
    rows = Tally.objects.order_by().values_list("kind", "label").annotate(Sum("amount"))
    for kind, label, amount in rows:
        found[Tallied(kind)][label] = amount
    return found


def _add(amounts: Mapping[tuple[Tallied, str], float]) -> None:
    """For every run and scan that ends, so without a model in between."""
    slot = get_native_id() % SLOTS
    rows = [(amount, kind.value, str(label), slot) for (kind, label), amount in amounts.items()]
    if connection.vendor == "sqlite":
        _upsert(rows)
        return
    for row in rows:  # the same in one statement would lock the gaps between rows, and end in deadlocks
        if not _raise(*row):
            _, kind, label, _ = row
            Tally.objects.bulk_create([Tally(kind=kind, label=label, slot=slot)], ignore_conflicts=True)
            _raise(*row)


def _upsert(rows: Sequence[tuple[float, str, str, int]]) -> None:
    sql = (
        f"INSERT INTO {_table()} (amount, kind, label, slot) VALUES {', '.join(['(%s, %s, %s, %s)'] * len(rows))}"
        " ON CONFLICT (kind, label, slot) DO UPDATE SET amount = amount + excluded.amount"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [value for row in rows for value in row])


def _raise(amount: float, kind: str, label: str, slot: int) -> bool:
    """Whether there was such a row."""
    sql = f"UPDATE {_table()} SET amount = amount + %s WHERE kind = %s AND label = %s AND slot = %s"
    with connection.cursor() as cursor:
        cursor.execute(sql, [amount, kind, label, slot])
        return bool(cursor.rowcount)


def _table() -> str:
    return connection.ops.quote_name(Tally._meta.db_table)


T = TypeVar("T")
Fetched = Union[str, "Prefetch[Any]", Callable[[Sequence[Any]], None]]  # what is read for rows, or how

log = structlog.get_logger(__name__)

LEASE = timedelta(seconds=config().lease_seconds)
LONGEST_LEASE = max(2 * LEASE, timedelta(minutes=30))  # no stage asks for more than half of it
MAX_LIMIT = 200
TOGETHER = 50  # rows leased at once and, where a stage can, worked in one transaction
SECOND_TRY = 7  # of these at once, where a worker has died of one of them
# MariaDB: deadlock, lock wait timeout, record changed since last read; the whole transaction is tried again.
RETRIABLE = frozenset({1213, 1205, 1020})
SOME_TIME, SOME_REAL_TIME = datetime(2000, 1, 1, tzinfo=UTC), datetime(2000, 1, 2, tzinfo=UTC)  # stand in statements

_in_rounds: ContextVar[bool] = ContextVar("in_rounds", default=False)


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
    fit: Callable[[list[Any]], list[Any]] | None = None,
    also: Mapping[str, Any] = MappingProxyType({}),
    **filters: Any,
) -> list[Any]:
    """Lease up to ``limit`` pending rows, the longest due first; a row under a live lease is nobody else's.

    ``may``: what free rows must also meet, such as the bounds of what runs at once; ``fit``: gives those of the free
    rows that are leased together; ``also``: what is written with the lease, by field.

    Rows are leased together if they were tried as often as the first of them. If one of them kills its worker, the
    others are lost with it; so fewer rows are leased at the second try, and only one at the third. A fresh row never
    goes before a row that waits longer.
    """
    if not _gives_back_what_it_changed():
        with transaction.atomic():
            return _claimed(stage, now, limit, lease, may, fit, filters, also)
    if not may and not fit and (rows := _claimed_at_once(stage, now, limit, lease, filters, also)):
        return rows
    return _claimed(stage, now, limit, lease, may, fit, filters, also)


def _claimed(
    stage: Stage,
    now: datetime,
    limit: int,
    lease: timedelta,
    may: Q | None,
    fit: Callable[[list[Any]], list[Any]] | None,
    filters: dict[str, Any],
    also: Mapping[str, Any],
) -> list[Any]:
    """In a transaction rows are locked since they were read; else only those are leased that nobody has taken since."""
    real_now = clock.database_now()
    found = _claimed_together(_free(stage, now, real_now, limit, may, filters))
    rows = fit(found) if fit and found else found
    held = _lease(rows, real_now + lease, also) if rows else set()
    for row in rows:  # this is what was written of them
        row.lease_until, row.epoch, row.attempts = real_now + lease, row.epoch + 1, row.attempts + 1
        for name, value in also.items():
            setattr(row, name, value)
    return [row for row in rows if row.pk in held]


def _gives_back_what_it_changed() -> bool:
    """Whether one statement can lease rows and read them; MariaDB's UPDATE gives nothing back."""
    return connection.vendor == "sqlite" and connection.features.can_return_columns_from_insert


def _claimed_at_once(
    stage: Stage, now: datetime, limit: int, lease: timedelta, filters: dict[str, Any], also: Mapping[str, Any]
) -> list[Any]:
    """What a claim leases in one statement: nothing where one of the free rows was tried before."""
    real_now = clock.database_now()
    statement = _lease_statement(connection.vendor, stage, limit, tuple(filters.items()), tuple(also))
    rows = statement.changed((now, real_now, real_now + LONGEST_LEASE), (real_now + lease, *also.values()))
    return sorted(rows, key=attrgetter(*stage.order))


@lru_cache(maxsize=512)
def _lease_statement(
    vendor: str, stage: Stage, limit: int, filters: tuple[tuple[str, Any], ...], also: tuple[str, ...]
) -> PreparedUpdate[Any]:
    return PreparedUpdate(
        _free_rows(stage, SOME_TIME, SOME_REAL_TIME, dict(filters))[:limit],
        SOME_TIME,
        SOME_REAL_TIME,
        SOME_REAL_TIME + LONGEST_LEASE,
        assigned=_leased(table(stage), also),
        among="(SELECT MAX(attempts) FROM found) = 0",
        columns=("attempts",),
    )


def _free(
    stage: Stage, now: datetime, real_now: datetime, limit: int, may: Q | None, filters: dict[str, Any]
) -> list[Any]:
    """The rows that a claim may take, locked."""
    if may:
        return list(_free_rows(stage, now, real_now, filters).filter(may)[:limit])
    statement = _free_statement(connection.vendor, stage, limit, tuple(filters.items()))
    return statement.rows(now, real_now, real_now + LONGEST_LEASE)


@lru_cache(maxsize=512)
def _free_statement(vendor: str, stage: Stage, limit: int, filters: tuple[tuple[str, Any], ...]) -> Prepared[Any]:
    rows = _free_rows(stage, SOME_TIME, SOME_REAL_TIME, dict(filters))[:limit]
    return Prepared(rows, SOME_TIME, SOME_REAL_TIME, SOME_REAL_TIME + LONGEST_LEASE)


def _free_rows(stage: Stage, now: datetime, real_now: datetime, filters: dict[str, Any]) -> QuerySet[Any]:
    free = pending(stage, now, **filters).filter(unleased(real_now))
    skip = connection.features.has_select_for_update_skip_locked
    return free.select_for_update(skip_locked=skip).order_by(*stage.order)


def _lease(rows: Sequence[Any], until: datetime, also: Mapping[str, Any]) -> set[int]:
    """Lease rows that are as they were read; the ids of those that are leased now."""
    model, keys = type(rows[0]), [row.pk for row in rows]
    table, key = map(connection.ops.quote_name, (model._meta.db_table, str(model._meta.pk.column)))
    fields = {field.name: field for field in model._meta.concrete_fields}
    values = [fields[name].get_db_prep_save(value, connection) for name, value in also.items()]
    sql = f"UPDATE {table} SET {_leased(model, also)} WHERE "
    given = [connection.ops.adapt_datetimefield_value(until), *values]
    with connection.cursor() as cursor:
        if not _gives_back_what_it_changed():  # they are locked
            cursor.execute(f"{sql}{key} IN ({', '.join(['%s'] * len(keys))})", [*given, *keys])
            return set(keys)
        marks = ", ".join(["(%s, %s)"] * len(keys))
        epochs = [value for row in rows for value in (row.pk, row.epoch)]
        cursor.execute(f"{sql}({key}, epoch) IN (VALUES {marks}) RETURNING {key}", [*given, *epochs])
        return {found for (found,) in cursor.fetchall()}


def _leased(model: type[Model], also: Iterable[str]) -> str:
    """What a lease sets: until when, and what is written with it, are given as values."""
    fields = {field.name: field for field in model._meta.concrete_fields}
    columns = [connection.ops.quote_name(str(fields[name].column)) for name in also]
    sets = ("lease_until = %s", "epoch = epoch + 1", "attempts = attempts + 1", *(f"{each} = %s" for each in columns))
    return ", ".join(sets)


def _claimed_together(found: Sequence[Any]) -> list[Any]:
    """Of rows the first and those tried as often, as many as may be."""
    alike = [row for row in found if row.attempts == found[0].attempts]
    return alike if not alike or alike[0].attempts == 0 else alike[: SECOND_TRY if alike[0].attempts == 1 else 1]


def claims(
    stage: Stage, *, now: datetime, limit: int, part: int | None = None, may: Q | None = None, **filters: Any
) -> Iterator[list[Any]]:
    """Lease up to ``limit`` rows for one task, ``part`` after part (of all): a worker that dies has tried but one.

    A worker that died may leave hundreds of rows that are leased by few or alone: they must not wait for a message
    each. Where the stages are worked in rounds, the next round finds what is left.
    """
    left, wanted = limit, min(limit, part or limit)
    while left and (rows := claim(stage, now=now, limit=wanted, may=may, **filters)):
        yield rows
        left -= len(rows)
        if _in_rounds.get() and len(rows) < wanted:
            return
        wanted = min(left, part or left)


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
    if set_all(type(row), [row.pk], unchanged={"epoch": row.epoch}, **ended) != 1:
        raise UnableToFinish(f"{type(row).__name__} {row.pk}: claimed again since epoch {row.epoch}")
    for name, value in changes.items():
        setattr(row, name, value)


def finish_all(rows: Sequence[Claimable], *names: str) -> None:
    """Write these fields of every row as they are here, and give the leases back, all or ``UnableToFinish``."""
    for row in rows:
        row.lease_until, row.attempts = None, 0
    found = update_each(rows, ("lease_until", "attempts", *names), unchanged=("epoch",))
    if found != len(rows):
        raise UnableToFinish(f"{len(rows) - found} of {len(rows)} rows were claimed again since")


def extend(row: Claimable, lease: timedelta = LEASE) -> bool:
    """Heartbeat: lengthen the lease; false when it was lost."""
    rows = type(row)._default_manager.filter(pk=row.pk, epoch=row.epoch)
    return bool(rows.update(lease_until=clock.database_now() + lease) == 1)


def work(
    name: str,
    handle: Callable[[Any, datetime], None],
    *,
    limit: int = MAX_LIMIT,
    prefetch: Sequence[Fetched] = (),
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
    prefetch: Sequence[Fetched] = (),
    **filters: Any,
) -> int:
    """As ``work``, but ``handle`` gets several rows, for one transaction; where that fails, one by one, read anew."""
    now, total = clock.now(), 0
    for rows in claims(stage(name), now=now, limit=limit, part=TOGETHER, **filters):
        _work_part(name, rows, now, handle, prefetch)
        total += len(rows)
    return total


def _work_part(
    name: str,
    part: list[Any],
    now: datetime,
    handle: Callable[[list[Any], datetime], None],
    prefetch: Sequence[Fetched],
) -> None:
    _fetch(part, prefetch)
    if len(part) > 1 and _attempt_together(name, part, now, handle):
        return
    again = part if len(part) == 1 else _still_held(name, part)
    _fetch(again, prefetch)
    for row in sorted(again, key=part.index):
        # a copy for each try: what a try that was rolled back has changed in memory is not true
        attempt(name, row, now, lambda row, now: handle([copy(row)], now))


def _fetch(rows: Sequence[Any], prefetch: Sequence[Fetched]) -> None:
    for path in prefetch:
        if callable(path):
            path(rows)
        else:
            fetch_related(rows, path)


def _still_held(name: str, part: Sequence[Any]) -> list[Any]:
    """The rows read anew, but for those that were claimed again since, and so are held by another worker."""
    now = {row.pk: row for row in type(part[0])._default_manager.filter(pk__in=[row.pk for row in part])}
    held = [now[row.pk] for row in part if row.pk in now and now[row.pk].epoch == row.epoch]
    if lost := sorted({row.pk for row in part} - {row.pk for row in held}):
        log.warning("lease lost", stage=name, rows=lost)
    return held


def _attempt_together(name: str, rows: list[Any], now: datetime, handle: Callable[[list[Any], datetime], None]) -> bool:
    """Whether all rows could be handled in one transaction; if not, nothing of it is left."""
    with bound_contextvars(stage=name):
        try:
            with transaction.atomic(), tallied_together():
                handle(rows, now)
        except Exception as error:
            log.info("not together, so one by one", rows=len(rows), why=f"{type(error).__name__}: {error}"[:500])
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


def _is_retriable(error: BaseException) -> bool:
    return isinstance(error, OperationalError) and bool(error.args) and error.args[0] in RETRIABLE


@retry(
    retry=retry_if_exception(_is_retriable),
    stop=stop_after_attempt(5),
    wait=wait_random_exponential(multiplier=0.05, max=2),
    reraise=True,
)
def in_transaction(body: Callable[[], T], *, is_one_statement: bool = False) -> T:
    """What ``body`` gives, run in one transaction, the whole of it again on a deadlock or a lock timeout.

    A statement alone is a transaction of its own, so that none need be begun for it.
    """
    with nullcontext() if is_one_statement else transaction.atomic():
        return body()


# Keep the lease of a long piece of work while it goes on.

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
