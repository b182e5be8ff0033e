"""The same measurements outside the lake: SQLite, a real MariaDB and a real PostgreSQL."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import DBAPIError

from deploy.local.programs import free_port
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, Part, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.sql.engine import SqlEngine
from execution_engine.metrics.definitions.sample import Sample
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason
from tests.integration.engines import reference
from tests.integration.engines.rogue_mysql import rogue_mysql
from tests.integration.engines.trips import (
    COLUMNS,
    DAY,
    OTHER_DAY,
    ROWS,
    measure,
    measure_one,
    metric,
    write_trips,
)
from tests.servers import MariaDB, PostgreSQL

DDL = (
    "create table trips (trip_id bigint, city varchar(20), fare double precision, riders int, datestr date)",
    "insert into trips values (:trip_id, :city, :fare, :riders, :day)",
)


@pytest.fixture
def engine() -> Iterator[SqlEngine]:
    sql = SqlEngine()
    yield sql
    sql.close()


@pytest.fixture
def sqlite_table(tmp_path: Path) -> Table:
    connection = reference.connect(str(tmp_path / "trips.db"))
    for day, rows in ROWS.items():
        reference.load(connection, day, rows)
    connection.close()
    return sql_table(f"sqlite:///{tmp_path / 'trips.db'}")


@pytest.fixture
def mariadb_table(mariadb_server: MariaDB) -> Iterator[Table]:
    url = make_url(mariadb_server.url).set(database="lake")  # others keep Assay's own tables in the server's first
    server = create_engine(mariadb_server.url)
    with server.begin() as connection:
        connection.execute(text("create database lake"))
    load(str(url))
    yield sql_table(str(url))
    with server.begin() as connection:
        connection.execute(text("drop database lake"))
    server.dispose()


@pytest.fixture
def postgresql_table(postgresql_server: PostgreSQL) -> Table:
    load(postgresql_server.url)
    return sql_table(postgresql_server.url)


def load(url: str) -> None:
    database = create_engine(url)
    with database.begin() as connection:
        connection.execute(text("drop table if exists trips"))
        connection.execute(text(DDL[0]))
        for day, rows in ROWS.items():
            of_day = [{**dict(zip(COLUMNS, row, strict=True)), "day": date.fromisoformat(day)} for row in rows]
            connection.execute(text(DDL[1]), of_day)
    database.dispose()


@pytest.fixture(params=["sqlite_table", "mariadb_table", "postgresql_table"])
def table(request: pytest.FixtureRequest) -> Table:
    found: Table = request.getfixturevalue(request.param)
    return found


def sql_table(url: str, name: str = "trips") -> Table:
    return Table(name="mysql.trips", storage="sql", location=url, options={"table": name}, partition_column="datestr")


def failure_of(engine: SqlEngine, table: Table, spec: MetricSpec | None = None) -> Failure:
    (measured,) = measure(engine, table, spec or metric("row_count"))
    assert measured.failure is not None
    return measured.failure


def test_every_metric_agrees_with_sqlite(engine: SqlEngine, table: Table) -> None:
    sqlite = reference.connect()
    reference.load(sqlite, DAY, ROWS[DAY])
    specs = [spec for spec, _ in reference.AGREED + reference.DISTINCT]
    expected = [reference.value(sqlite, sql) for _, sql in reference.AGREED]
    expected += [reference.distinct(sqlite, query) for _, query in reference.DISTINCT]
    measured = measure(engine, table, *specs)
    assert [one.failure for one in measured] == [None] * len(specs)
    assert [one.value for one in measured] == pytest.approx(expected)


def test_keys_that_repeat_are_counted_and_their_rows_named_as_in_the_lake(
    engine: SqlEngine, table: Table, spark_engine: SparkEngine, tmp_path: Path
) -> None:
    lake = write_trips(tmp_path / "lake")
    keep = (("nulls", "keep"),)
    specs = [
        MetricSpec(name=name, columns=columns, options=options, where=where)
        for name in ("uniqueness", "distinctness", "unique_value_ratio", "count_distinct")
        for columns, options in ((("trip_id",), ()), (("city", "riders"), ()), (("city", "riders"), keep))
        for where in (None, "fare > 4")
    ]
    here, there = measure(engine, table, *specs), measure(spark_engine, lake, *specs)
    assert [(one.value, one.detail, one.failure) for one in here] == [(one.value, one.detail, None) for one in there]
    rules = [
        MetricSpec(name="uniqueness", columns=("trip_id",)),
        MetricSpec(name="uniqueness", columns=("city",), where="fare > 4"),
        MetricSpec(name="distinct_count", columns=("city", "riders")),
        MetricSpec(name="completeness", columns=("fare",)),
        MetricSpec(name="compliance", arguments=("fare < 10",), where="city = 'oslo'"),
        MetricSpec(name="mean", columns=("fare",)),
    ]
    broken = []
    for reader, of in ((engine, table), (spark_engine, lake)):
        sample = reader.failing_rows(of, Part(keys=(DAY,)), rules, 100)
        at = [[name.lower() for name in sample.columns].index(name) for name in COLUMNS]
        rows = sorted((tuple(str(row.values[i]) for i in at), row.breaks) for row in sample.rows)
        broken.append((rows, sample.failures))
    assert broken[0] == broken[1]
    rows, failures = broken[0]
    assert {text for _, breaks in rows for text in breaks} == {rules[at].text for at in (0, 1, 3, 4)}
    assert list(failures) == ["mean(fare)"]


def test_a_rule_that_fails_takes_no_row_of_others_along(engine: SqlEngine, table: Table) -> None:
    rules = [metric("completeness", "fare"), metric("compliance", arguments=("cast(city as int) > 1",))]
    sample = engine.failing_rows(table, Part(keys=(DAY,)), rules, 100)
    by_server = "postgresql" in table.location  # the others take a text for a number
    assert len(sample.failures) == (1 if by_server else 0)
    assert {breaks for row in sample.rows for breaks in row.breaks} >= {"completeness(fare)"}


def test_partitions_are_those_of_the_column(engine: SqlEngine, table: Table) -> None:
    assert engine.partitions(table) == (DAY, OTHER_DAY)
    values = [
        measure(engine, table, metric("row_count"), keys=keys)[0].value
        for keys in (None, (DAY, OTHER_DAY), ("x' or 1",))
    ]
    assert values == [8, 8, 0]
    assert engine.fingerprint(table, WHOLE) is None


def test_keys_sampled_outside_are_found_in_the_lake(
    engine: SqlEngine, table: Table, spark_engine: SparkEngine, tmp_path: Path
) -> None:
    keys = ("trip_id", "city", "fare")
    (sample,) = measure(engine, table, metric("sample", *keys, where="fare > 4"))
    state = sample.state or b""
    assert (sample.value, len(Sample.from_bytes(state).keys)) == (4, 4)
    wanted = MeasurementRequest(
        key="n", spec=metric("sample_found", arguments=("mysql.trips",)), inputs={"sample": state}
    )
    found = measure_one(spark_engine, write_trips(tmp_path / "lake"), wanted)
    assert (found.value, found.detail["lost"]) == (4, [])


def test_a_metric_that_fails_leaves_the_others_alone(engine: SqlEngine, table: Table) -> None:
    bad = (
        metric("mean", "fair"),
        metric("mean", "city"),
        metric("compliance", arguments=("no_such_function(fare) > 1",)),
    )
    rows, *failed, most = measure(engine, table, metric("row_count"), *bad, metric("max", "fare"))
    assert (rows.value, most.value) == (5, 20)
    reasons = [one.failure.reason for one in failed if one.failure]
    assert reasons == [Reason.UNKNOWN_COLUMN, Reason.INVALID, Reason.INVALID]


def test_a_condition_that_the_database_cannot_be_told_leaves_the_others_alone(engine: SqlEngine, table: Table) -> None:
    rows, *failed = measure(
        engine,
        table,
        metric("row_count"),
        metric("compliance", arguments=("array(fare, 1)[riders] > 1",)),
        metric("row_count", where="array(fare, 1)[riders] > 1"),
        metric("distinct_count", "city", where="array(fare, 1)[riders] > 1"),
    )
    assert rows.value == 5
    assert [one.failure.reason for one in failed if one.failure] == [Reason.INVALID] * 3
    says = "PostgreSQL has no bracket" if "postgresql" in table.location else "write it as a number"
    assert all(says in one.failure.detail for one in failed if one.failure)


def test_what_only_the_lake_measures_says_so(engine: SqlEngine, table: Table) -> None:
    assert "in the lake only" in failure_of(engine, table, metric("bloom_filter", "trip_id")).detail


@pytest.mark.parametrize("table", ["mariadb_table", "postgresql_table"], indirect=True)
def test_a_session_with_a_server_only_reads(engine: SqlEngine, table: Table) -> None:
    with engine._database(table).connect() as connection, pytest.raises(DBAPIError, match=r"(?i)read.only"):
        connection.execute(text("delete from trips"))


def test_a_missing_table_is_unreadable(engine: SqlEngine, table: Table) -> None:
    failure = failure_of(engine, sql_table(table.location, "no_such_table"))
    assert failure.reason is Reason.UNREADABLE
    assert "no_such_table" in failure.detail


def test_a_file_that_takes_the_place_of_another_is_read(engine: SqlEngine, sqlite_table: Table, tmp_path: Path) -> None:
    rows = MeasurementRequest(key="rows", spec=metric("row_count"))
    before = measure_one(engine, sqlite_table, rows)
    newer = reference.connect(str(tmp_path / "newer.db"))
    reference.load(newer, DAY, ROWS[DAY][:1])
    newer.close()
    (tmp_path / "newer.db").rename(tmp_path / "trips.db")
    after = measure_one(engine, sqlite_table, rows)
    assert before.value is not None
    assert (before.value > 1, after.value) == (True, 1)


def test_a_missing_partition_column_is_a_failure_of_its_own(engine: SqlEngine, sqlite_table: Table) -> None:
    table = Table(name="t", storage="sql", location=sqlite_table.location, options={"table": "trips"})
    assert failure_of(engine, table).reason is Reason.NO_PARTITION_COLUMN


@pytest.mark.parametrize(
    ("url", "reason", "says"),
    [
        ("mysql+mysqldb://reader:hush@127.0.0.1:{port}/raw", Reason.ENGINE_UNREACHABLE, "no server answers there"),
        ("postgresql://reader:hush@127.0.0.1:{port}/raw", Reason.ENGINE_UNREACHABLE, "no server answers there"),
        ("postgresql://reader:hush@no-such-host.invalid/raw", Reason.ENGINE_UNREACHABLE, "no server has that name"),
        ("sqlite:////no/such/file.db", Reason.ENGINE_UNREACHABLE, "there is no file /no/such/file.db"),
        ("sqlite://", Reason.UNREADABLE, ""),
        ("not a url", Reason.UNREADABLE, ""),
    ],
)
def test_a_database_that_is_away_is_transient_its_password_a_secret_and_what_names_none_unreadable(
    engine: SqlEngine, url: str, reason: Reason, says: str
) -> None:
    table = sql_table(url.format(port=free_port()))
    failure = failure_of(engine, table)
    assert (failure.reason, failure.transient) == (reason, reason is Reason.ENGINE_UNREACHABLE)
    assert says in failure.detail
    assert "hush" not in failure.detail
    assert engine.partitions(table) is None


@pytest.mark.parametrize("more", ["", "?local_infile=1"])
def test_a_server_that_asks_for_a_file_of_ours_is_sent_none(engine: SqlEngine, tmp_path: Path, more: str) -> None:
    (tmp_path / "secret").write_text("the key of the house")
    with rogue_mysql(str(tmp_path / "secret")) as (port, sent), suppress(TypeError):  # it gives no rows and no error
        measure(engine, sql_table(f"mysql+mysqldb://reader@127.0.0.1:{port}/raw{more}"), metric("row_count"))
    assert sent == []


def test_a_database_with_assays_own_tables_is_no_data_whatever_leads_there(engine: SqlEngine, tmp_path: Path) -> None:
    connection = reference.connect(str(tmp_path / "renamed.db"))
    for name in ("assay_auditentry", "django_migrations", "auth_user"):
        connection.execute(f"create table {name} (id integer)")
    connection.close()
    table = Table(
        name="raw.users", storage="sql", location=f"sqlite:///{tmp_path}/renamed.db", options={"table": "auth_user"}
    )
    measured = engine.scan(table, WHOLE, [MeasurementRequest(key="rows", spec=metric("row_count"))]).measured["rows"]
    assert measured.value is None
    assert measured.failure is not None
    assert "Assay's own" in measured.failure.detail


def test_a_secret_location_is_called_what_the_catalog_calls_it(engine: SqlEngine) -> None:
    url = f"mysql+mysqldb://reader:hush@127.0.0.1:{free_port()}/raw"
    table = Table(
        name="raw.trips", storage="sql", location=url, options={"table": "t"}, location_label="env:ORDERS_URL"
    )
    detail = failure_of(engine, table).detail
    assert detail.startswith("raw.trips at env:ORDERS_URL: no server answers there")
    assert not any(part in detail for part in ("hush", "reader", "127.0.0.1"))


def test_a_scan_without_wishes_measures_nothing(engine: SqlEngine, sqlite_table: Table) -> None:
    report = engine.scan(sqlite_table, Part(keys=(DAY,)), [])
    assert (report.measured, report.spark_jobs, report.fingerprint) == ({}, 0, None)
