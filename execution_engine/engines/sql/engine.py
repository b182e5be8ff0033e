"""The engine for tables outside the lake (PostgreSQL, MariaDB, SQLite …): SQL written once, run through SQLAlchemy."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    case,
    create_engine,
    event,
    func,
    inspect,
    literal_column,
    not_,
    or_,
    select,
)
from sqlalchemy.engine import Engine as Database
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from execution_engine.engines.column_types import measure_drift
from execution_engine.engines.gathering import StatisticRequest, measured_of, of_no_data, plan
from execution_engine.engines.protocol import (
    CommitLog,
    FailingRows,
    Limits,
    Measured,
    MeasurementRequest,
    Part,
    RowsRequest,
    ScanReport,
    Table,
    Unit,
    WrittenRows,
    none_failing,
    none_written,
)
from execution_engine.engines.spec_check import check_spec, conditions_of, settled
from execution_engine.guard import UnableToAllow
from execution_engine.metrics.definition import DATABASE, NOTE, ColumnKind, MetricKind
from execution_engine.metrics.definitions.sample import DEFAULT_SIZE, MAX_SIZE, Sample, bottom_keys, hash_of
from execution_engine.metrics.definitions.schema import SeenColumns
from execution_engine.metrics.definitions.uniqueness import KEEP
from execution_engine.metrics.keys.key_text import Key, as_text
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import Summary, Value
from execution_engine.outcome import Failure, Reason

from .commits import read_commits
from .dialects import dialect_of
from .failing import failing_rows
from .failures import failure_of
from .source import SqlSource, UnableToOpenSource, keys_present, open_source, types_of

OUR_TABLES = ("assay_auditentry", "django_migrations")
SEND_NO_FILES: dict[str, dict[str, object]] = {
    "mysqldb": {"local_infile": 0},
    "pymysql": {"local_infile": False},
    "mysqlconnector": {"allow_local_infile": False},
}


class SqlEngine:
    """One pool of connections for each database; scans may run in several threads at once."""

    name = "sql"

    def __init__(self, deadline_seconds: float = Limits().deadline_seconds) -> None:
        self._deadline_seconds = deadline_seconds
        self._databases: dict[str, Database] = {}
        self._opening = Lock()

    def scan(self, table: Table, part: Part, requests: Sequence[MeasurementRequest]) -> ScanReport:
        """Every measurement wanted, in one transaction."""
        started = monotonic()
        try:
            with self._database(table).connect() as connection:
                _refuse_our_own(connection, table)
                measured = measure(open_source(connection, table, part), requests)
        except UnableToOpenSource as error:
            measured = {item.key: Measured(failure=error.failure) for item in requests}
        except SQLAlchemyError as error:
            failure = failure_of(error, table)
            measured = {item.key: Measured(failure=failure) for item in requests}
        return ScanReport(measured=measured, spark_jobs=0, seconds=monotonic() - started, fingerprint=None)

    def scan_all(self, units: Sequence[Unit]) -> tuple[ScanReport, ...]:
        """The reports of several scans, one after the other."""
        return tuple(self.scan(unit.table, unit.part, unit.requests) for unit in units)

    def failing_rows(self, table: Table, part: Part, specs: Sequence[MetricSpec], limit: int) -> FailingRows:
        """A sample, in one statement."""
        try:
            with self._database(table).connect() as connection:
                _refuse_our_own(connection, table)
                return failing_rows(open_source(connection, table, part), specs, limit)
        except UnableToOpenSource as error:
            return none_failing(specs, error.failure)
        except SQLAlchemyError as error:
            return none_failing(specs, failure_of(error, table))

    def write_rows(self, table: Table, part: Part, request: RowsRequest) -> WrittenRows:
        """None: rows are written in the lake only."""
        detail = f"{table.name} lies outside the lake; rows are written in the lake only"
        return none_written(request.specs, Failure(reason=Reason.INVALID, detail=detail))

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

    def commits(self, table: Table, mark: str, now: datetime) -> CommitLog:
        """By the statistics of the server; why it has none otherwise."""
        try:
            with self._database(table).connect() as connection:
                _refuse_our_own(connection, table)
                return read_commits(connection, table, mark, now)
        except UnableToOpenSource as error:
            return CommitLog(mark=mark, fault=error.failure.detail)
        except SQLAlchemyError as error:
            return CommitLog(mark=mark, fault=failure_of(error, table).detail)

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
        except (UnableToOpenSource, SQLAlchemyError, ValueError, OverflowError):
            return None

    def close(self) -> None:
        """Closes all connections."""
        with self._opening:
            for database in self._databases.values():
                database.dispose()
            self._databases.clear()

    def _database(self, table: Table) -> Database:
        """The database with its connections; a file of SQLite is opened anew, as another may have taken its place."""
        with self._opening:
            database = self._databases.get(table.location) or open_database(table, self._deadline_seconds)
            if database.dialect.name != "sqlite":
                self._databases[table.location] = database
            return database


def open_database(table: Table, deadline_seconds: float) -> Database:
    """A pool of connections, to which a server that asks for files of ours is sent none; or a file of SQLite."""
    try:
        url = make_url(table.location)
    except (ArgumentError, ValueError):
        detail = "its location is no database URL; write dialect://user:password@host/name"
        raise UnableToOpenSource(table, detail) from None
    if url.get_backend_name() == "sqlite":
        if not url.database:
            raise UnableToOpenSource(table, "its location names no file; write sqlite:////folder/name.db")
        if not Path(url.database).is_file():  # SQLite would make an empty one
            detail = f"there is no file {table.location_label or url.database}"
            raise UnableToOpenSource(table, detail, Reason.ENGINE_UNREACHABLE)
        database = create_engine(url, poolclass=NullPool)
        # SQLite has no hash function of its own to draw samples by
        event.listen(database, "connect", lambda new, _: new.create_function(RANK, -1, rank, deterministic=True))
        return database
    dialect = dialect_of(url.get_backend_name())
    if dialect.driver and url.drivername == url.get_backend_name():
        url = url.set(drivername=dialect.driver)
    try:
        arguments = {**dialect.connect, **SEND_NO_FILES.get(url.get_dialect().driver, {})}
        database = create_engine(url, pool_pre_ping=True, connect_args=arguments)
    except (ArgumentError, ImportError) as error:
        mend = f": pip install 'assay[{dialect.extra}]'" if dialect.extra else ""
        detail = f"no driver opens {url.drivername}:// ({type(error).__name__}){mend}"
        raise UnableToOpenSource(table, detail) from None
    except Exception as error:  # of the driver's own, such as of credentials that it does not find on this machine
        detail = f"its driver cannot open {url.drivername}:// here ({type(error).__name__}): see to URL and credentials"
        raise UnableToOpenSource(table, detail) from None

    @event.listens_for(database, "connect")
    def set_up(connection: Any, _: object) -> None:
        cursor = connection.cursor()
        for statement in dialect.in_session(deadline_seconds):
            cursor.execute(statement)
        cursor.close()
        connection.commit()  # or PostgreSQL would take all back with the transaction

    return database


def _refuse_our_own(connection: Connection, table: Table) -> None:
    """Whatever name, link or address led here: what holds Assay's own tables is no data."""
    schemas = {None, table.options.get("schema")}
    if any(all(inspect(connection).has_table(name, schema=schema) for name in OUR_TABLES) for schema in schemas):
        raise UnableToOpenSource(table, "its location leads to a database of Assay's own: name another")


# The metrics in portable SQL: aggregates in one select, counts of keys and samples in one each.


def measure(source: SqlSource, requests: Sequence[MeasurementRequest]) -> dict[str, Measured]:
    """Every measurement wanted, by key."""
    results: dict[str, Measured] = {}
    aggregates: list[MeasurementRequest] = []
    for item in (replace(item, spec=settled(item.spec, source.columns)) for item in requests):
        definition = METRICS[item.spec.name]
        failure = check_spec(item.spec, source.columns, source.name, engine="sql")
        try:  # the database must be told each condition, too
            for text in () if failure else conditions_of(item.spec):
                source.write.condition(text)
        except UnableToAllow as error:
            failure = error.failure
        if failure is not None:
            results[item.key] = Measured(failure=failure)
        elif definition.kind is MetricKind.AGGREGATE:
            aggregates.append(item)
        elif DATABASE not in definition.taken_by:
            results[item.key] = of_no_data(item)
        else:
            try:
                with source.trial():
                    results[item.key] = definition.function_for(DATABASE)(source, item)
            except SQLAlchemyError as error:
                results[item.key] = Measured(failure=failure_of(error, source.table))
    planned = plan(aggregates, source.write)
    gathered = _gather(source, planned.statistic_requests)
    return results | {item.key: measured_of(item, planned, gathered, {}) for item in aggregates}


def _gather(source: SqlSource, requests: Sequence[StatisticRequest]) -> dict[StatisticRequest, Value | Failure]:
    """The statistics of one select; if it fails, of its halves, so that a bad one does not take others along."""
    if not requests:
        return {}
    aggregates = []  # counts, sums and extremes are the same in every dialect
    for request in requests:
        of, where = request.statistic.of[0], request.where
        of = of if where is None else f"case when {where} then {of} end"
        aggregates.append(f"{request.statistic.gather.value}({of})")
    try:
        with source.trial():
            row = source.connection.execute(source.select(aggregates)).one()
    except SQLAlchemyError as error:
        failure = failure_of(error, source.table)
        if len(requests) == 1 or failure.reason is Reason.ENGINE_UNREACHABLE:
            return dict.fromkeys(requests, failure)
        middle = len(requests) // 2
        return _gather(source, requests[:middle]) | _gather(source, requests[middle:])
    return dict(zip(requests, row, strict=True))


def count_keys(source: SqlSource, item: MeasurementRequest) -> Measured:
    """How often keys occur, in one statement; grouped, as count(distinct a, b) would leave rows with nulls out."""
    spec, definition = item.spec, METRICS[item.spec.name]
    names: list[ColumnElement[Any]] = [literal_column(source.quote(name)) for name in spec.columns]
    keys = source.select([*map(str, names), "count(*)"], spec.where).group_by(*names).subquery()
    *parts, rows = keys.c
    has_null = (and_ if spec.option("nulls") == KEEP else or_)(*(part.is_(None) for part in parts))
    counts = [
        func.sum(case((not_(has_null), rows))),
        func.count(case((not_(has_null), 1))),
        func.count(case((and_(not_(has_null), rows == 1), 1))),
        func.count(case((has_null, 1))),
        func.sum(case((has_null, rows))),
    ]
    fields = ("rows", "distinct", "single", "distinct_with_nulls", "rows_with_nulls")
    values = (int(count or 0) for count in source.connection.execute(select(*counts)).one())
    summaries = (Summary(**dict(zip(fields, values, strict=True))),)
    assert definition.from_summaries
    detail = definition.detail_of_keys(spec, summaries) if definition.detail_of_keys else {}
    return Measured(value=definition.from_summaries(spec, summaries), detail=detail)


def find_drift(source: SqlSource, item: MeasurementRequest) -> Measured:
    """How many declared columns are gone or of another type."""
    place = f"table {source.table.options['table']}"
    return measure_drift(item, [SeenColumns(place=place, columns=source.types)], source.name)


# Samples of keys, drawn by the database: the keys of lowest hash, where each draw hashes in its own way.

RANK = "assay_rank"  # a function that each connection to SQLite is given
ROWS_AT_A_TIME = 10_000
MORE = 1.5  # times as many keys as are wanted are likely in the share of ranks that is looked at first


def take_sample(source: SqlSource, item: MeasurementRequest) -> Measured:
    """A sample of the keys as state; the value is its size, and at most so many rows are fetched.

    A database that is not known to have a hash sends all its keys, and the note of the measurement says so.
    """
    size, columns = min(max(int(item.spec.option("n", DEFAULT_SIZE) or 0), 1), MAX_SIZE), item.spec.columns
    detail, rank_sql = {}, rank_of(source, columns, draw_of(item))
    if rank_sql is None:
        rows = source.select([source.quote(name) for name in columns], item.spec.where)
        streamed = source.connection.execute(rows, execution_options={"yield_per": ROWS_AT_A_TIME})
        keys = bottom_keys((tuple(map(as_text, row)) for row in streamed), size, draw_of(item))
        dialect = source.connection.dialect.name
        detail = {NOTE: f"all keys were fetched for the sample, as {dialect} is not known to have a hash"}
    else:
        keys = tuple(dict.fromkeys(_lowest_keys(source, item, rank_sql, size)))
    state = Sample(columns=columns, keys=keys).to_bytes()
    return Measured(value=float(len(keys)), state=state, detail=detail)


def _lowest_keys(source: SqlSource, item: MeasurementRequest, rank_sql: str, size: int) -> list[Key]:
    """The distinct keys of lowest rank. Only as low a share of all ranks is sorted as likely holds enough of them.

    The rank is selected beside a key, so that two keys that a collation takes for one stay two.
    """
    rows = source.connection.execute(source.select(["count(*)"], item.spec.where)).scalar_one()
    names = [source.quote(name) for name in item.spec.columns]
    hash_: ColumnElement[Any] = literal_column(rank_sql)
    keys, low, high = list[Key](), 0.0, min(1.0, MORE * size / max(rows, 1))
    while True:
        ranked = source.select([*names, rank_sql], item.spec.where).distinct()
        if low > 0:
            ranked = ranked.where(hash_ >= _edge(source, low))
        if high < 1:
            ranked = ranked.where(hash_ < _edge(source, high))
        ranked = ranked.order_by(literal_column(f"m{len(names)}")).limit(size - len(keys))
        keys += [tuple(map(as_text, row[:-1])) for row in source.connection.execute(ranked)]
        if len(keys) >= size or high >= 1:
            return keys
        low, high = high, min(1.0, high * max(2.0, MORE * size / max(len(keys), 1)))


def _edge(source: SqlSource, share: float) -> bytes | str:
    """Where the lowest share of all ranks ends."""
    first = int(share * 2**32).to_bytes(4)
    return first if source.dialect.rank_is_binary else first.hex()


def draw_of(item: MeasurementRequest) -> str:
    """What makes the hashes of one measurement other ones than those of the next, in letters and digits."""
    return blake2b(item.key.encode(), digest_size=8).hexdigest()


def rank_of(source: SqlSource, columns: Sequence[str], draw: str) -> str | None:
    """SQL for the hash of a key in a draw, the same in every session; None where no such function is known."""
    dialect, names = source.dialect, [source.quote(name) for name in columns]
    if source.connection.dialect.name == "sqlite":
        return f"{RANK}('{draw}', {', '.join(names)})"
    if not dialect.rank:
        return None
    kinds = {name.lower(): kind for name, kind in source.columns.items()}
    keys = [
        (dialect.number_key if kinds.get(column.lower()) is ColumnKind.NUMERIC else "") or dialect.text_key
        for column in columns
    ]
    values = [f"coalesce({key.format(name)}, '-')" for key, name in zip(keys, names, strict=True)]
    return dialect.rank.format(", ".join([f"'{draw}'", *values]))


def rank(*values: Any) -> bytes:
    """The hash of a draw and a key, in SQLite."""
    return hash_of(tuple(map(as_text, values)))
