"""Domain time: the database's, or the simulated now of a replay. Leases use ``database_now`` always."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from django.db import connection

from assay.models.operation import SimulatedClock

_held: ContextVar[datetime | None] = ContextVar("held", default=None)


def database_now() -> datetime:
    """The database's own time in UTC, to the microsecond (MariaDB) or millisecond (SQLite).

    SQLite runs in this process, so this process's clock is its clock, and no statement is needed.
    """
    if connection.vendor == "sqlite":
        ours = datetime.now(UTC)
        return ours.replace(microsecond=ours.microsecond // 1000 * 1000)
    return _ask(_real_now())


def now() -> datetime:
    """The instant that domain decisions are made at. Asked all the time, so without a model, in one statement."""
    if (instant := _held.get()) is not None:
        return instant
    column, table = map(connection.ops.quote_name, ("now", SimulatedClock._meta.db_table))
    return _ask(f"COALESCE((SELECT {column} FROM {table}), {_real_now()})")


def simulated_now() -> datetime | None:
    """The simulated now; None where domain time is the database's."""
    if is_held():
        return _held.get()
    return SimulatedClock.objects.values_list("now", flat=True).first()


def _real_now() -> str:
    return "strftime('%Y-%m-%d %H:%M:%f', 'now')" if connection.vendor == "sqlite" else "UTC_TIMESTAMP(6)"


def _ask(expression: str) -> datetime:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {expression}")
        (value,) = cursor.fetchone()
    return instant_of(value)


def instant_of(value: object) -> datetime:
    """The instant that a column read without a model holds, in UTC."""
    instant = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return instant.replace(tzinfo=UTC)


def simulate(instant: datetime) -> None:
    """Set the simulated now; domain time stands still there until it is set again."""
    column, table = map(connection.ops.quote_name, ("now", SimulatedClock._meta.db_table))
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {column} = %s", [connection.ops.adapt_datetimefield_value(instant)])
        is_there = bool(cursor.rowcount)
    if not is_there:
        SimulatedClock.objects.update_or_create(id=1, defaults={"now": instant})
    if is_held():
        _held.set(instant)


@contextmanager
def held(instant: datetime | None) -> Iterator[None]:
    """Meanwhile remember that the simulated now is ``instant``, which this process alone sets; None: there is none."""
    token = _held.set(instant)
    try:
        yield
    finally:
        _held.reset(token)


def is_held() -> bool:
    """Whether domain time stands where this process has set it."""
    return _held.get() is not None


def stop_simulating() -> None:
    """Return to the database's time."""
    SimulatedClock.objects.all().delete()
    if is_held():
        _held.set(None)
