"""From what a database raises to a failure. Its texts may quote values of rows: only those that cannot are shown."""

from sqlalchemy.exc import DBAPIError, NoSuchTableError, SQLAlchemyError

from execution_engine.engines.protocol import Table
from execution_engine.outcome import Failure, Reason

# MySQL and MariaDB: too many connections, lock wait, deadlock, and every way of not reaching the server
_TRANSIENT_CODES = frozenset({1040, 1205, 1213, 2002, 2003, 2005, 2006, 2013})
_UNREADABLE_CODES = frozenset({1044, 1045, 1049, 1142, 1146})  # no access, no such database or table
_KINDS = {
    1044: "the server does not let this user into the database",
    1045: "the server refuses the user or the password",
    1049: "the server has no such database",
    1142: "the user may not read the table",
    1146: "the server has no such table",
    1205: "the server kept us waiting for a lock",
    1213: "the server ended the query, as it was in the way of another",
    2002: "no server answers there",
    2003: "no server answers there",
    2005: "no server has that name",
    2006: "the server is gone",
    2013: "the server is gone",
}
_ABOUT_NAMES = frozenset({1054, 1064, 1305})  # unknown column, syntax, unknown function: words of the test alone


def failure_of(error: SQLAlchemyError, table: Table) -> Failure:
    """The failure behind an error of SQLAlchemy's: what kind it is, and where; no value, user or password."""
    where = table.name if table.shown == "" else f"{table.name} at {table.shown}"
    if isinstance(error, NoSuchTableError):
        detail = f"{where}: there is no table {table.options.get('table')}; mend options['table'] of the dataset"
        return Failure(reason=Reason.UNREADABLE, detail=detail)
    return Failure(reason=_reason(error), detail=f"{where}: {_told(error)}")


def _told(error: SQLAlchemyError) -> str:
    code, text = _code(error), " ".join(str(error.orig if isinstance(error, DBAPIError) else "").split())
    if isinstance(code, int) and code in _KINDS:
        return f"{_KINDS[code]} ({code})"
    is_sqlite = type(error.orig).__module__ == "sqlite3" if isinstance(error, DBAPIError) else False
    is_undefined = str(getattr(error.orig, "pgcode", "") if isinstance(error, DBAPIError) else "").startswith("42")
    if is_sqlite or is_undefined or code in _ABOUT_NAMES:
        return text[:500]
    kind = type(error.orig if isinstance(error, DBAPIError) and error.orig else error).__name__
    return f"the database could not do it ({kind}{f' {code}' if isinstance(code, int) else ''})"


def _code(error: SQLAlchemyError) -> object:
    return error.orig.args[0] if isinstance(error, DBAPIError) and error.orig and error.orig.args else None


def _reason(error: SQLAlchemyError) -> Reason:
    code = _code(error)
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    if lost or code in _TRANSIENT_CODES or code == "database is locked":
        return Reason.ENGINE_UNREACHABLE
    return Reason.UNREADABLE if code in _UNREADABLE_CODES else Reason.QUERY_FAILED
