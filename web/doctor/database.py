"""Checks of the database: whether it answers, is up to date, and is set as Assay needs it."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from django.db import DatabaseError, connection
from django.db.backends.utils import CursorWrapper

from assay.clock import database_now
from assay.command_line.database_tables import missing_migrations
from assay.database.storage_errors import DAMAGED, of_database

from .finding import Finding, ill, well

MOST_SKEW = 5.0  # seconds
STRICT = {"STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"}
ASKED = ("tx_isolation", "transaction_isolation", "time_zone", "sql_mode", "character_set_database")


def database() -> Finding:
    """Whether it answers."""
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        return unreachable(error)
    return well("database", f"{connection.vendor} {connection.settings_dict['NAME']}")


def unreachable(error: DatabaseError) -> Finding:
    """It does not answer: of SQLite's file how to mend it, of a server where to set its address."""
    if connection.vendor == "sqlite":
        found, _, mend = of_database(error).partition(": ")
        return ill("database", found, mend or "set ASSAY_DATABASE_URL")
    return ill("database", f"{connection.vendor} cannot be reached: {error}", "set ASSAY_DATABASE_URL")


def intact() -> Finding:
    """Whether every page of SQLite's file can be read; servers look after theirs."""
    if connection.vendor != "sqlite":
        return well("pages", f"{connection.vendor} looks after them")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA quick_check(1)")
        (found,) = cursor.fetchone()
    if found == "ok":
        return well("pages", "all can be read")
    file = connection.settings_dict["NAME"]
    return ill("pages", f"{file} is damaged ({found})", DAMAGED.format(file=file, error=found).partition(": ")[2])


def migrations() -> Finding:
    """Whether its tables are those of this version."""
    if missing := missing_migrations():
        return ill("migrations", f"{missing} are not applied", "run `assay migrate`")
    return well("migrations", "all applied")


def server() -> Finding:
    """Whether MariaDB or MySQL works as Assay needs it to."""
    if connection.vendor != "mysql":
        return well("settings", f"those of {connection.vendor} are Assay's own")
    with connection.cursor() as cursor:
        wrong = list(wrong_settings(variables(cursor)))
    if not connection.features.has_select_for_update_skip_locked:
        wrong.append(("its version cannot skip locked rows", "use MariaDB 10.6 or later, or MySQL 8"))
    return settings_finding(wrong)


def settings_finding(wrong: list[tuple[str, str]]) -> Finding:
    """One finding of all that is wrong."""
    if wrong:
        return ill("settings", "; ".join(found for found, _ in wrong), "; ".join(mend for _, mend in wrong))
    return well("settings", "isolation level, time zone, SQL mode and character set are right")


def variables(cursor: CursorWrapper) -> dict[str, str]:
    """What the session of a cursor says of its server's settings."""
    cursor.execute(f"SHOW SESSION VARIABLES WHERE Variable_name IN {ASKED}")
    return {name.lower(): value for name, value in cursor.fetchall()}


def wrong_settings(found: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What is wrong of a session's settings, each with how to mend it."""
    isolation = found.get("transaction_isolation") or found.get("tx_isolation", "")
    if isolation != "READ-COMMITTED":
        yield f"the isolation level is {isolation}", "let nothing between us and the server change sessions"
    if (zone := found["time_zone"]) not in ("+00:00", "UTC"):
        yield f"the session's time zone is {zone}", "let nothing between us and the server change sessions"
    if not STRICT & set(found["sql_mode"].split(",")):
        yield f"sql_mode {found['sql_mode']!r} cuts values off silently", "set sql_mode=STRICT_TRANS_TABLES"
    if (characters := found["character_set_database"]) != "utf8mb4":
        yield f"the character set is {characters}", "run ALTER DATABASE … CHARACTER SET utf8mb4, and convert its tables"


def clock_skew() -> Finding:
    """Whether the database's clock, by which all of Assay goes, agrees with this machine's."""
    return skew_finding(database_now(), datetime.now(UTC))


def skew_finding(theirs: datetime, ours: datetime) -> Finding:
    """What the difference between two clocks means."""
    ahead = (theirs - ours).total_seconds()
    if abs(ahead) <= MOST_SKEW:
        return well("clock", f"{abs(ahead):.1f} s off the database's")
    side = "behind" if ahead > 0 else "ahead of"
    return ill("clock", f"{abs(ahead):.0f} s {side} the database's", "run NTP (chrony) on both machines")
