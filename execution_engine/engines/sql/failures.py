"""From what a database raises to a failure. Its texts may quote values of rows: only those that cannot are shown."""

import re

from sqlalchemy.exc import DBAPIError, NoSuchTableError, SQLAlchemyError

from execution_engine.engines.protocol import Table
from execution_engine.outcome import Failure, Reason

REFUSED, NO_ENTRY = "the server refuses the user or the password", "the server does not let this user into the database"
NO_DATABASE, NO_TABLE = "the server has no such database", "the server has no such table"
NO_RIGHT, AWAY, GONE = "the user may not read the table", "no server answers there", "the server is gone"
NO_NAME = "no server has that name"
BUSY, UNREADY = "the server has no connection left", "the server starts or stops just now"
LOCKED, DEADLOCK = (
    "the server kept us waiting for a lock",
    "the server ended the query, as it was in the way of another",
)
LATE = "it was stopped at the deadline; make it cheaper (a narrower where), or raise ASSAY_SCAN_DEADLINE_SECONDS"

# By the numbers of MySQL and MariaDB, the states of PostgreSQL, Trino's names and BigQuery's HTTP
_UNREADABLE = {
    1044: NO_ENTRY, 1045: REFUSED, 1049: NO_DATABASE, 1142: NO_RIGHT, 1146: NO_TABLE,
    "28P01": REFUSED, "28000": REFUSED, "3D000": NO_DATABASE, "no entry": NO_ENTRY, "42501": NO_RIGHT,
    "42P01": NO_TABLE, 403: NO_RIGHT, 404: NO_TABLE,
    "TABLE_NOT_FOUND": NO_TABLE, "SCHEMA_NOT_FOUND": NO_TABLE, "CATALOG_NOT_FOUND": NO_DATABASE,
    "PERMISSION_DENIED": NO_RIGHT,
}  # fmt: skip
_TRANSIENT = {
    1040: BUSY, 1205: LOCKED, 1213: DEADLOCK, 2002: AWAY, 2003: AWAY, 2005: NO_NAME, 2006: GONE,
    2013: GONE, "no name": NO_NAME, "no server": AWAY,
    "53300": BUSY, "55P03": LOCKED, "40P01": DEADLOCK, "40001": DEADLOCK, "57P01": GONE, "57P02": GONE,
    "57P03": UNREADY, "57P05": GONE, 429: BUSY, 503: GONE, "TrinoConnectionError": AWAY,
}  # fmt: skip
_LATE = frozenset({"57014", "EXCEEDED_TIME_LIMIT"})
_ABOUT_NAMES = frozenset({1054, 1064, 1305})  # unknown column, syntax, unknown function: words of the test alone
# PostgreSQL tells no state of a connection that it refuses, but says why
_OF_CONNECTIONS = (
    (
        r"authentication failed|no password supplied|role .* (does not exist|is not permitted)|no pg_hba.conf entry",
        "28P01",
    ),
    (r"database .* does not exist", "3D000"),
    (r"permission denied for database", "no entry"),
    (r"too many (clients|connections)|remaining connection slots", "53300"),
    (r"the database system is", "57P03"),
    (r"could not translate host name|failed to resolve host|Name or service not known", "no name"),
    (r"", "no server"),
)


def failure_of(error: SQLAlchemyError, table: Table) -> Failure:
    """The failure behind an error of SQLAlchemy's: what kind it is, and where; no value, user or password."""
    where = table.name if table.location_label == "" else f"{table.name} at {table.location_label}"
    if isinstance(error, NoSuchTableError):
        detail = f"{where}: there is no table {table.options.get('table')}; mend options['table'] of the dataset"
        return Failure(reason=Reason.UNREADABLE, detail=detail)
    reason, text = _judge(error)
    return Failure(reason=reason, detail=f"{where}: {text}")


def _judge(error: SQLAlchemyError) -> tuple[Reason, str]:
    original = error.orig if isinstance(error, DBAPIError) else None
    code = _code(original)
    shown = f" ({code})" if isinstance(code, int) else ""
    if code in _UNREADABLE:
        return Reason.UNREADABLE, f"{_UNREADABLE[code]}{shown}"
    if code in _TRANSIENT:
        return Reason.ENGINE_UNREACHABLE, f"{_TRANSIENT[code]}{shown}"
    if code in _LATE:
        return Reason.TIMEOUT, LATE
    is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
    reason = Reason.ENGINE_UNREACHABLE if is_lost or code == "database is locked" else Reason.QUERY_FAILED
    sentence = getattr(getattr(original, "diag", None), "message_primary", "")
    if sentence and str(code).startswith("42"):  # of a name, a type or the syntax: this alone quotes no row
        return reason, " ".join(str(sentence).split())[:500]
    if type(original).__module__ == "sqlite3" or code in _ABOUT_NAMES:
        return reason, " ".join(str(original or "").split())[:500]
    state = f" {code}" if isinstance(code, int) or re.fullmatch("[0-9A-Z]{5}", str(code)) else ""
    return reason, f"the database could not do it ({type(original or error).__name__}{state})"


def _code(original: BaseException | None) -> int | str | None:
    """The number or the state of what the driver raised, or its first argument."""
    if original is None:
        return None
    for name in ("sqlstate", "pgcode", "error_name"):
        if state := getattr(original, name, None):
            return str(state)
    if type(original).__module__.startswith("psycopg") and type(original).__name__ == "OperationalError":
        return next(code for pattern, code in _OF_CONNECTIONS if re.search(pattern, str(original)))
    if type(original).__name__ in _TRANSIENT:
        return type(original).__name__
    code = original.args[0] if original.args else None
    code = getattr(code, "code", code)  # BigQuery's driver wraps what the service answered
    return code if isinstance(code, int | str) else None
