"""Domain time: the database's, or the simulated now of a replay. Leases use ``database_now`` always."""

from datetime import UTC, datetime

from django.db import connection

from assay.models.clock import SimulatedClock


def database_now() -> datetime:
    """The database's own time in UTC, to the microsecond (MariaDB) or millisecond (SQLite)."""
    return _ask(_real_now())


def now() -> datetime:
    """The instant that domain decisions are made at. Asked all the time, so without a model, in one statement."""
    column, table = map(connection.ops.quote_name, ("now", SimulatedClock._meta.db_table))
    return _ask(f"COALESCE((SELECT {column} FROM {table}), {_real_now()})")


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
    if not SimulatedClock.objects.filter(id=1).update(now=instant):
        SimulatedClock.objects.update_or_create(id=1, defaults={"now": instant})


def stop_simulating() -> None:
    """Return to the database's time."""
    SimulatedClock.objects.all().delete()
