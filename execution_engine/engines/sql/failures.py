"""From what a database raises to a failure."""

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, NoSuchTableError, SQLAlchemyError

from execution_engine.outcome import Failure, Reason

# MySQL and MariaDB: too many connections, lock wait, deadlock, and every way of not reaching the server
_TRANSIENT_CODES = frozenset({1040, 1205, 1213, 2002, 2003, 2005, 2006, 2013})
_UNREADABLE_CODES = frozenset({1044, 1045, 1049, 1142, 1146})  # no access, no such database or table


def failure_of(error: SQLAlchemyError, where: str, url: URL) -> Failure:
    """The failure behind an error of SQLAlchemy's. The server is named, its password never."""
    server = url.render_as_string(hide_password=True)
    if isinstance(error, NoSuchTableError):
        detail = f"{where}: {server} has no table {error}; mend options['table'] of the dataset"
        return Failure(reason=Reason.UNREADABLE, detail=detail)
    text = " ".join(str(error.orig if isinstance(error, DBAPIError) else error).split())
    return Failure(reason=_reason(error), detail=f"{where} at {server}: {text[:500]}")


def _reason(error: SQLAlchemyError) -> Reason:
    code = error.orig.args[0] if isinstance(error, DBAPIError) and error.orig and error.orig.args else None
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    if lost or code in _TRANSIENT_CODES or code == "database is locked":
        return Reason.ENGINE_UNREACHABLE
    return Reason.UNREADABLE if code in _UNREADABLE_CODES else Reason.QUERY_FAILED
