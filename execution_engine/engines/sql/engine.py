"""The engine for tables outside the lake (MySQL, MariaDB, SQLite …): SQL written once, run through SQLAlchemy."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from sqlalchemy import ColumnElement, Connection, create_engine, event, func, inspect, literal_column, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine import Engine as Database
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchTableError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from execution_engine.engines.columns.column_types import measure_drift
from execution_engine.engines.columns.spec_check import check_spec, conditions_of, settled
from execution_engine.engines.gathering import AskedStatistic, measured_of, of_no_data, plan
from execution_engine.engines.protocol import FailingRows, Measured, Part, ScanReport, Table, Unit, Wanted, none_failing
from execution_engine.guard import UnableToAllow
from execution_engine.metrics.definition import DATABASE, NOTE, ColumnKind, Keys, Kind
from execution_engine.metrics.definitions.sample import DEFAULT_SIZE, MAX_SIZE, Sample, bottom_keys, hash_of
from execution_engine.metrics.definitions.schema import SeenColumns
from execution_engine.metrics.definitions.uniqueness import KEEP
from execution_engine.metrics.keys.key_text import Key, as_text
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import Value
from execution_engine.outcome import Failure, Reason

from .source import MYSQL, SqlSource, UnableToCut, keys_present, open_source, types_of

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


# Samples of keys, drawn by the database: the keys of lowest hash, where each draw hashes in its own way.

RANK = "assay_rank"  # a function that each connection to SQLite is given
ROWS_AT_A_TIME = 10_000
MORE = 1.5  # times as many keys as are wanted are likely in the share of ranks that is looked at first


def take_sample(source: SqlSource, item: Wanted) -> Measured:
    """A sample of the keys as state; the value is its size, and at most so many rows are fetched.

    A database that is not known to have a hash sends all its keys, and the note of the measurement says so.
    """
    size = min(max(int(item.spec.option("n", DEFAULT_SIZE) or 0), 1), MAX_SIZE)
    rank = rank_of(source, item.spec.columns, draw_of(item))
    if rank is None:
        return _picked_here(source, item, size)
    return _measured(item, tuple(dict.fromkeys(_drawn(source, item, rank, size))))


def _drawn(source: SqlSource, item: Wanted, rank: str, size: int) -> list[Key]:
    """The distinct keys of lowest rank. Only as low a share of all ranks is sorted as likely holds enough of them."""
    rows = source.connection.execute(source.select(["count(*)"], item.spec.where)).scalar_one()
    found, low, high = list[Key](), 0.0, min(1.0, MORE * size / max(rows, 1))
    while True:
        found += _between(source, item, rank, low, high, size - len(found))
        if len(found) >= size or high >= 1:
            return found
        low, high = high, min(1.0, high * max(2.0, MORE * size / max(len(found), 1)))


def _between(source: SqlSource, item: Wanted, rank: str, low: float, high: float, size: int) -> list[Key]:
    """The keys whose rank is in a share of all ranks: so many at most, the lowest first.

    The rank is selected beside a key, so that two keys that a collation takes for one stay two.
    """
    names = [source.quote(name) for name in item.spec.columns]
    ranked = source.select([*names, rank], item.spec.where).distinct()
    hash_: ColumnElement[Any] = literal_column(rank)
    if low > 0:
        ranked = ranked.where(hash_ >= _edge(source, low))
    if high < 1:
        ranked = ranked.where(hash_ < _edge(source, high))
    rows = source.connection.execute(ranked.order_by(literal_column(f"m{len(names)}")).limit(size))
    return [tuple(map(as_text, row[:-1])) for row in rows]


def _edge(source: SqlSource, share: float) -> bytes | str:
    """Where the lowest share of all ranks ends."""
    first = int(share * 2**32).to_bytes(4)
    return first if source.connection.dialect.name == "sqlite" else first.hex()


def draw_of(item: Wanted) -> str:
    """What makes the hashes of one measurement other ones than those of the next, in letters and digits."""
    return blake2b(item.key.encode(), digest_size=8).hexdigest()


def rank_of(source: SqlSource, columns: Sequence[str], draw: str) -> str | None:
    """SQL for the hash of a key in a draw, the same in every session; None where no such function is known."""
    dialect, names = source.connection.dialect.name, [source.quote(name) for name in columns]
    if dialect == "sqlite":
        return f"{RANK}('{draw}', {', '.join(names)})"
    if dialect not in MYSQL:
        return None
    kinds = {name.lower(): kind for name, kind in source.columns.items()}
    texts = [
        f"cast({name} as char)" if kinds.get(column.lower()) is ColumnKind.NUMERIC else f"hex({name})"
        for name, column in zip(names, columns, strict=True)
    ]  # in hexadecimal, as a text has other bytes in another session's character set
    whole = ", ".join(f"coalesce({text}, '-')" for text in texts)
    return f"md5(concat_ws(',', '{draw}', {whole}))"


def rank(*values: Any) -> bytes:
    """The hash of a draw and a key, in SQLite."""
    return hash_of(tuple(map(as_text, values)))


def _picked_here(source: SqlSource, item: Wanted, size: int) -> Measured:
    names = [source.quote(name) for name in item.spec.columns]
    rows = source.select(names, item.spec.where)
    streamed = source.connection.execute(rows, execution_options={"yield_per": ROWS_AT_A_TIME})
    keys = bottom_keys((tuple(as_text(value) for value in row) for row in streamed), size, draw_of(item))
    note = f"all keys were fetched for the sample, as {source.connection.dialect.name} is not known to have a hash"
    return _measured(item, keys, {NOTE: note})


def _measured(item: Wanted, keys: tuple[tuple[str | None, ...], ...], detail: dict[str, Any] | None = None) -> Measured:
    state = Sample(columns=item.spec.columns, keys=keys).to_bytes()
    return Measured(value=float(len(keys)), state=state, detail=detail or {})


# From what a database raises to a failure. Its texts may quote values of rows: only those that cannot are shown.

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


def measure(source: SqlSource, wanted: Sequence[Wanted]) -> dict[str, Measured]:
    """Every measurement wanted, by key."""
    wanted = [replace(item, spec=settled(item.spec, source.columns)) for item in wanted]
    wrong = {item.key: _check(source, item.spec) for item in wanted}
    refused = {key: Measured(failure=failure) for key, failure in wrong.items() if failure is not None}
    sound = [item for item in wanted if item.key not in refused]
    aggregates = [item for item in sound if METRICS[item.spec.name].kind is Kind.AGGREGATE]
    alone = {item.key: _isolated(source, item) for item in sound if item not in aggregates}
    return refused | _measure_aggregates(source, aggregates) | alone


def _check(source: SqlSource, spec: MetricSpec) -> Failure | None:
    """What can be said against it before anything is asked: also a condition that the database cannot be told."""
    if wrong := check_spec(spec, source.columns, source.name, engine="sql"):
        return wrong
    try:
        for text in conditions_of(spec):
            source.write.condition(text)
    except UnableToAllow as error:
        return error.failure
    return None


def _measure_aggregates(source: SqlSource, wanted: Sequence[Wanted]) -> dict[str, Measured]:
    planned = plan(wanted, source.write)
    gathered = _gather(source, planned.asked)
    return {item.key: measured_of(item, planned, gathered, {}) for item in wanted}


def _gather(source: SqlSource, asked: Sequence[AskedStatistic]) -> dict[AskedStatistic, Value | Failure]:
    """The statistics of one select; if it fails, of its halves, so that a bad one does not take others along."""
    if not asked:
        return {}
    try:
        row = source.connection.execute(source.select([_sql(one) for one in asked])).one()
    except SQLAlchemyError as error:
        failure = failure_of(error, source.table)
        if len(asked) == 1 or failure.reason is Reason.ENGINE_UNREACHABLE:
            return dict.fromkeys(asked, failure)
        middle = len(asked) // 2
        return _gather(source, asked[:middle]) | _gather(source, asked[middle:])
    return dict(zip(asked, row, strict=True))


def _sql(one: AskedStatistic) -> str:
    """Counts, sums and extremes are the same in every dialect."""
    of = one.statistic.of[0]
    return f"{one.statistic.gather.value}({of if one.where is None else f'case when {one.where} then {of} end'})"


def _isolated(source: SqlSource, item: Wanted) -> Measured:
    try:
        definition = METRICS[item.spec.name]
        if DATABASE not in definition.taken_by:
            return of_no_data(item)
        measured: Measured = definition.function_for(DATABASE)(source, item)
        return measured
    except SQLAlchemyError as error:
        return Measured(failure=failure_of(error, source.table))


def count_keys(source: SqlSource, item: Wanted) -> Measured:
    """Distinct keys. Counted outside the DISTINCT: count(distinct a, b) would leave rows with nulls out."""
    names = [source.quote(name) for name in item.spec.columns]
    rows = source.select(names, item.spec.where)
    if METRICS[item.spec.name].counts is Keys.WHOLE:
        joint = " or " if item.spec.option("nulls") == KEEP else " and "
        rows = rows.where(literal_column(f"({joint.join(f'{name} is not null' for name in names)})"))
    keys = rows.distinct().subquery()
    value = source.connection.execute(select(func.count()).select_from(keys)).scalar_one()
    return Measured(value=float(value))


def find_drift(source: SqlSource, item: Wanted) -> Measured:
    """How many declared columns are gone or of another type."""
    place = f"table {source.table.options['table']}"
    return measure_drift(item, [SeenColumns(place=place, columns=source.types)], source.name)
