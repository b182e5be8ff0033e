"""The engine for tables outside the lake (MySQL, MariaDB, SQLite …): SQL written once, run through SQLAlchemy."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from sqlalchemy import Connection, create_engine, event, inspect
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine import Engine as Database
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from execution_engine.engines.protocol import FailingRows, Measured, Part, ScanReport, Table, Unit, Wanted, none_failing
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

from .measure import RANK, failure_of, measure, rank
from .source import MYSQL, UnableToCut, keys_present, open_source, types_of

CONNECT_SECONDS = 5
OUR_TABLES = ("assay_auditentry", "django_migrations")
SEND_NO_FILES: dict[str, dict[str, object]] = {
    "mysqldb": {"local_infile": 0},
    "pymysql": {"local_infile": False},
    "mysqlconnector": {"allow_local_infile": False},
}


class UnableToOpenDatabase(Exception):
    """The location names no database; the failure says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class SqlEngine:
    """One pool of connections for each database; scans may run in several threads at once."""

    name = "sql"

    def __init__(self) -> None:
        self._databases: dict[str, Database] = {}
        self._opening = Lock()

    def scan(self, table: Table, part: Part, wanted: Sequence[Wanted]) -> ScanReport:
        """Every measurement wanted, in one transaction."""
        started = monotonic()
        try:
            measured = self._measure(table, part, wanted)
        except (UnableToOpenDatabase, UnableToCut) as error:
            measured = {item.key: Measured(failure=error.failure) for item in wanted}
        except SQLAlchemyError as error:
            failure = failure_of(error, table)
            measured = {item.key: Measured(failure=failure) for item in wanted}
        return ScanReport(measured=measured, spark_jobs=0, seconds=monotonic() - started, fingerprint=None)

    def scan_all(self, units: Sequence[Unit]) -> tuple[ScanReport, ...]:
        """The reports of several scans, one after the other."""
        return tuple(self.scan(unit.table, unit.part, unit.wanted) for unit in units)

    def failing_rows(self, table: Table, part: Part, specs: Sequence[MetricSpec], limit: int) -> FailingRows:
        """None: rows are sampled in the lake only."""
        detail = f"{table.name} lies outside the lake; rows are sampled in the lake only"
        return none_failing(specs, Failure(reason=Reason.INVALID, detail=detail))

    def fingerprint(self, table: Table, part: Part) -> str | None:
        """None: a database does not say whether its rows have changed."""
        return None

    def fingerprints(self, table: Table, parts: Sequence[Part]) -> tuple[str | None, ...]:
        """None of any part."""
        return (None,) * len(parts)

    def fingerprints_by_key(self, table: Table, part: Part) -> Mapping[str, str] | None:
        """None, as above."""
        return None

    def written_at(self, table: Table, part: Part) -> datetime | None:
        """None: a database does not say when its rows were written."""
        return None

    def partitions(self, table: Table) -> tuple[str, ...] | None:
        """The keys present, sorted: values of the partition column, or of the partitions that its times fall into.

        None where there is none or it cannot be read.
        """
        if table.partition_column is None:
            return None
        try:
            with self._database(table).connect() as connection:
                _refuse_our_own(connection, table)
                return keys_present(connection, table, types_of(connection, table))
        except (UnableToOpenDatabase, UnableToCut, SQLAlchemyError, ValueError, OverflowError):
            return None

    def close(self) -> None:
        """Closes all connections."""
        with self._opening:
            for database in self._databases.values():
                database.dispose()
            self._databases.clear()

    def _measure(self, table: Table, part: Part, wanted: Sequence[Wanted]) -> dict[str, Measured]:
        with self._database(table).connect() as connection:
            _refuse_our_own(connection, table)
            return measure(open_source(connection, table, part), wanted)

    def _database(self, table: Table) -> Database:
        """The database with its connections; a file of SQLite is opened anew, as another may have taken its place."""
        with self._opening:
            database = self._databases.get(table.location) or _open_database(table)
            if database.dialect.name != "sqlite":
                self._databases[table.location] = database
            return database


def _open_database(table: Table) -> Database:
    try:
        url = make_url(table.location)
    except (ArgumentError, ValueError):
        raise _unopened(
            f"{table.name}: its location is no database URL; write dialect://user:password@host/name"
        ) from None
    if url.get_backend_name() != "sqlite":
        return _server(table, url)
    if not url.database:
        raise _unopened(f"{table.name}: its location names no file; write sqlite:////folder/name.db")
    if not Path(url.database).is_file():  # SQLite would make an empty one
        detail = f"{table.name}: there is no file {table.shown or url.database}"
        raise UnableToOpenDatabase(Failure(reason=Reason.ENGINE_UNREACHABLE, detail=detail))
    database = create_engine(url, poolclass=NullPool)
    event.listen(database, "connect", _with_rank)
    return database


def _server(table: Table, url: URL) -> Database:
    """A pool of connections, to which a server that asks for files of ours is sent none."""
    try:
        driver = url.get_dialect().driver
        arguments = {"connect_timeout": CONNECT_SECONDS} | SEND_NO_FILES.get(driver, {})
        database = create_engine(url, pool_pre_ping=True, connect_args=arguments)
    except (ArgumentError, ImportError, ValueError) as error:
        raise _unopened(f"{table.name}: no driver opens {url.drivername}://: {type(error).__name__}") from None
    if url.get_backend_name() in MYSQL:
        event.listen(database, "connect", _in_utc)
    return database


def _with_rank(connection: Any, _: object) -> None:
    """SQLite has no hash function of its own to draw samples by."""
    connection.create_function(RANK, -1, rank, deterministic=True)


def _in_utc(connection: Any, _: object) -> None:
    """A TIMESTAMP is shown, compared and sampled as UTC, whatever zone the server is in."""
    cursor = connection.cursor()
    cursor.execute("set time_zone = '+00:00'")
    cursor.close()


def _refuse_our_own(connection: Connection, table: Table) -> None:
    """Whatever name, link or address led here: what holds Assay's own tables is no data."""
    schemas = {None, table.options.get("schema")}
    if any(all(inspect(connection).has_table(one, schema=schema) for one in OUR_TABLES) for schema in schemas):
        raise _unopened(f"{table.name}: its location leads to a database of Assay's own: name another")


def _unopened(detail: str) -> UnableToOpenDatabase:
    return UnableToOpenDatabase(Failure(reason=Reason.UNREADABLE, detail=detail))
