"""Tables of applications, cut by ranges of the time of a row: SQLite, a real MariaDB and PostgreSQL, beside pandas."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sqlalchemy import Engine as Database
from sqlalchemy import create_engine, make_url, text

from assay.time.stored_times import Holds, StoredTimes
from assay.time.windows import Granularity, Partitioning, Window
from execution_engine.engines.protocol import WHOLE, Measured, MeasurementRequest, Part, Table
from execution_engine.engines.sql.engine import SqlEngine
from execution_engine.engines.sql.source import open_source
from execution_engine.outcome import Failure, Reason
from tests.integration.engines.trips import metric
from tests.servers import MariaDB, PostgreSQL

BERLIN = "Europe/Berlin"
AUTUMN, SPRING = ("2026-10-23 22:00", "2026-10-27 03:00"), ("2026-03-27 23:00", "2026-03-31 02:00")
INSTANTS = pd.DatetimeIndex(
    [at for ends in (SPRING, AUTUMN) for at in pd.date_range(*ends, freq="10min", tz="UTC")]
    + [pd.Timestamp("2026-10-25 22:59:59.999999", tz="UTC"), pd.Timestamp("2026-10-25 23:00:00", tz="UTC")]
)
COLUMNS = {  # the column, its type in MariaDB, what the catalogue says of it, and the values
    "created_at": ("datetime(6)", Holds.TIME, "UTC"),
    "local_at": ("datetime(6)", Holds.TIME, BERLIN),
    "stamped_at": ("timestamp(6) null", Holds.TIME, "UTC"),
    "made_on": ("date", Holds.TIME, BERLIN),
    "seconds": ("bigint", Holds.EPOCH_SECONDS, "UTC"),
    "millis": ("bigint", Holds.EPOCH_MILLISECONDS, "UTC"),
}
HOURLY = [name for name in COLUMNS if name != "made_on"]
PLACES = ["sqlite", "mariadb", "postgresql"]
OF_POSTGRESQL = {"datetime(6)": "timestamp", "timestamp(6) null": "timestamptz"}


def orders() -> pd.DataFrame:
    local = INSTANTS.tz_convert(BERLIN).tz_localize(None)
    nanoseconds = INSTANTS.as_unit("ns").asi8
    frame = pd.DataFrame({"order_id": range(len(INSTANTS)), "created_at": INSTANTS.tz_localize(None)})
    frame["local_at"], frame["stamped_at"] = local, frame["created_at"]
    frame["made_on"] = local.normalize()
    frame["seconds"], frame["millis"] = nanoseconds // 10**9, nanoseconds // 10**6
    return frame


def rows() -> list[dict[str, Any]]:
    """Every order, and one that has no time at all, in texts as both databases take them."""
    frame = orders().astype(dict.fromkeys(("created_at", "local_at", "stamped_at", "made_on"), "string"))
    found: list[dict[str, Any]] = frame.to_dict("records")
    return [*found, dict.fromkeys(frame.columns) | {"order_id": -1}]


def load(database: Database) -> None:
    names = ["order_id", *COLUMNS]
    with database.begin() as connection:
        other = OF_POSTGRESQL if database.dialect.name == "postgresql" else {}
        types = ", ".join(f"{name} {other.get(type_, type_)}" for name, (type_, _, _) in COLUMNS.items())
        connection.execute(text(f"create table orders (order_id bigint primary key, {types})"))
        if database.dialect.name == "mysql":
            connection.execute(text("set time_zone = '+00:00'"))
        insert = f"insert into orders values ({', '.join(':' + name for name in names)})"
        if database.dialect.name == "postgresql":
            connection.execute(text("set time zone 'UTC'"))
            casts = ", ".join(f"cast(:{name} as {other.get(COLUMNS[name][0], COLUMNS[name][0])})" for name in COLUMNS)
            insert = f"insert into orders values (:order_id, {casts})"
        connection.execute(text(insert), [dict(row) for row in rows()])
        for name in COLUMNS:
            connection.execute(text(f"create index by_{name} on orders ({name})"))


@pytest.fixture(scope="module")
def databases(
    mariadb_server: MariaDB, postgresql_server: PostgreSQL, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """The URLs of three databases of orders; the servers' own clocks are not in UTC."""
    lake = create_engine(postgresql_server.url)
    with lake.begin() as connection:
        connection.execute(text("drop table if exists orders"))
        connection.execute(text("alter database lake set timezone = 'America/Phoenix'"))
    lake.dispose()
    server = create_engine(mariadb_server.url)
    with server.begin() as connection:
        connection.execute(text("create database mail_order"))
        connection.execute(text("set global time_zone = '-07:00'"))
    urls = {
        "sqlite": f"sqlite:///{tmp_path_factory.mktemp('shop')}/orders.db",
        "mariadb": str(make_url(mariadb_server.url).set(database="mail_order")),
        "postgresql": postgresql_server.url,
    }
    for url in urls.values():
        database = create_engine(url)
        load(database)
        database.dispose()
    yield urls
    with server.begin() as connection:
        connection.execute(text("drop database mail_order"))
        connection.execute(text("set global time_zone = 'SYSTEM'"))
    server.dispose()


@pytest.fixture
def engine() -> Iterator[SqlEngine]:
    sql = SqlEngine()
    yield sql
    sql.close()


def table(url: str, column: str, cut: Partitioning, holds: Holds | None = None, zone: str | None = None) -> Table:
    _, known, stored_in = COLUMNS[column]
    times = StoredTimes(partitioning=cut, holds=holds or known, time_zone=zone or stored_in)
    return Table(
        name="app.orders", storage="sql", location=url, options={"table": "orders"}, partition_column=column,
        stored_times=times,
    )  # fmt: skip


def days(zone: str = "UTC") -> Partitioning:
    return Partitioning(granularity=Granularity.DAY, time_zone=zone)


def hours(zone: str = "UTC", key_format: str = "") -> Partitioning:
    return Partitioning(granularity=Granularity.HOUR, time_zone=zone, key_format=key_format)


def measured(engine: SqlEngine, table: Table, part: Part, name: str = "row_count", *columns: str) -> Measured:
    return engine.scan(table, part, [MeasurementRequest(key="n", spec=metric(name, *columns))]).measured["n"]


def failure(engine: SqlEngine, table: Table, part: Part) -> Failure:
    found = measured(engine, table, part)
    assert found.value is None, f"measured {found.value}"
    assert found.failure is not None
    return found.failure


def expected(cut: Partitioning) -> dict[str, tuple[int, int]]:
    """How many rows each partition has, and the sum of their numbers, by pandas."""
    named = orders()
    named["key"] = INSTANTS.tz_convert(cut.time_zone).strftime(cut.key_format)
    groups = named.groupby("key")["order_id"]
    return {str(key): (int(numbers.count()), int(numbers.sum())) for key, numbers in groups}


def found(engine: SqlEngine, table: Table, cut: Partitioning) -> dict[str, tuple[int, int]]:
    """The same, by the engine, over every window from the first row to the last; those without rows are left out."""
    values = {}
    for ends in (SPRING, AUTUMN):
        start, end = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in ends)
        for window in cut.between(cut.at(start).start, cut.at(end).end):
            wanted = [
                MeasurementRequest(key="n", spec=metric("row_count")),
                MeasurementRequest(key="sum", spec=metric("sum", "order_id")),
            ]
            of = engine.scan(table, Part(range=window), wanted).measured
            assert (of["n"].failure, of["sum"].failure) == (None, None)
            if of["n"].value:
                values[cut.key(window)] = (int(of["n"].value), int(of["sum"].value or 0))
    return values


CUTS: list[tuple[str, Partitioning]] = [
    *((name, days(BERLIN)) for name in COLUMNS),
    *((name, hours(BERLIN)) for name in HOURLY),
    *((name, days("America/New_York")) for name in HOURLY if name != "local_at"),
    *((name, hours(BERLIN, "%Y-%m-%d-%H%z")) for name in HOURLY if name != "local_at"),
    *((name, hours("Asia/Kolkata")) for name in HOURLY if name != "local_at"),
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("column", "cut"), CUTS, ids=lambda each: getattr(each, "time_zone", each))
def test_every_partition_has_the_rows_that_pandas_finds_in_it(
    engine: SqlEngine, databases: dict[str, str], place: str, column: str, cut: Partitioning
) -> None:
    assert found(engine, table(databases[place], column, cut), cut) == expected(cut)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("column", COLUMNS)
def test_the_partitions_that_have_rows_are_found_at_one_look_each(
    engine: SqlEngine, databases: dict[str, str], place: str, column: str
) -> None:
    assert engine.partitions(table(databases[place], column, days(BERLIN))) == tuple(sorted(expected(days(BERLIN))))


@pytest.mark.parametrize("place", PLACES)
def test_a_long_window_has_the_rows_of_all_its_partitions_and_the_whole_table_those_without_a_time_too(
    engine: SqlEngine, databases: dict[str, str], place: str
) -> None:
    orders = table(databases[place], "stamped_at", days(BERLIN))
    begin, end = datetime(1970, 1, 1, tzinfo=UTC), datetime(2026, 10, 25, 23, tzinfo=UTC)
    until = sum(at < end for at in INSTANTS)
    assert measured(engine, orders, Part(range=Window(start=begin, end=end))).value == until
    assert measured(engine, orders, WHOLE).value == len(INSTANTS) + 1
    assert engine.fingerprint(orders, WHOLE) is None


@pytest.mark.parametrize("column", COLUMNS)
def test_the_index_of_the_column_is_used_in_postgresql_too(
    engine: SqlEngine, databases: dict[str, str], column: str
) -> None:
    orders = table(databases["postgresql"], column, days(BERLIN))
    with engine._database(orders).connect() as connection:
        connection.exec_driver_sql("set enable_seqscan = off")
        rows = open_source(connection, orders, Part(range=days(BERLIN).window("2026-10-25"))).select(["count(*)"])
        sql = rows.compile(connection, compile_kwargs={"literal_binds": True})
        plan = "\n".join(connection.exec_driver_sql(f"explain {sql}").scalars())
    assert f"Index Cond: (({column} >=" in plan, plan


@pytest.mark.parametrize("column", COLUMNS)
def test_the_index_of_the_column_is_used(engine: SqlEngine, databases: dict[str, str], column: str) -> None:
    orders = table(databases["mariadb"], column, days(BERLIN))
    day = days(BERLIN).window("2026-10-25")
    with engine._database(orders).connect() as connection:
        rows = open_source(connection, orders, Part(range=day)).select(["count(*)"])
        sql = rows.compile(connection, compile_kwargs={"literal_binds": True})
        (plan,) = connection.exec_driver_sql(f"explain {sql}").mappings()
    assert (plan["type"], plan["key"]) == ("range", f"by_{column}")


Formats = list[tuple[str, Callable[[pd.Series], Any]]]
FORMATS: Formats = [
    ("a T and a Z", lambda at: at.dt.strftime("%Y-%m-%dT%H:%M:%SZ")),
    ("a blank and minutes", lambda at: at.dt.strftime("%Y-%m-%d %H:%M")),
    ("both, in turn", lambda at: at.astype(str).where(at.dt.minute > 20, at.astype(str).str.replace(" ", "T"))),
]  # fmt: skip


@pytest.mark.parametrize(("form", "write"), FORMATS)
def test_sqlite_compares_times_however_their_texts_are_written(
    engine: SqlEngine, tmp_path: Path, form: str, write: Callable[[pd.Series], Any]
) -> None:
    frame = orders()[["order_id", "created_at"]]
    frame["created_at"] = write(frame["created_at"])
    database = create_engine(f"sqlite:///{tmp_path}/orders.db")
    frame.to_sql("orders", database, index=False)
    cut = hours("Asia/Kolkata")
    assert found(engine, table(f"sqlite:///{tmp_path}/orders.db", "created_at", cut), cut) == expected(cut)


def test_an_hour_that_the_clocks_doubled_is_refused_where_its_rows_cannot_be_told_apart(
    engine: SqlEngine, databases: dict[str, str]
) -> None:
    hour = hours().window("2026-10-25-01")  # the second hour from 02:00 to 03:00 in Berlin
    for place in PLACES:
        found = failure(engine, table(databases[place], "local_at", hours()), Part(range=hour))
        assert found.reason is Reason.UNREADABLE
        assert "2026-10-25 02:00 twice" in found.detail
        assert "cut the partitions in Europe/Berlin" in found.detail


def test_dates_tell_no_hours(engine: SqlEngine, databases: dict[str, str]) -> None:
    day = days(BERLIN).window("2026-10-26")
    orders = table(databases["mariadb"], "made_on", days(BERLIN), zone="UTC")
    assert "is no midnight of UTC: write the zone of its dates" in failure(engine, orders, Part(range=day)).detail


WRONG = [
    ("mariadb", "seconds", Holds.TIME, "seconds is a BIGINT, but holds: time needs a DATETIME, TIMESTAMP or DATE"),
    ("mariadb", "created_at", Holds.EPOCH_SECONDS, "but holds: epoch_seconds needs a number"),
    ("postgresql", "seconds", Holds.TIME, "seconds is a BIGINT, but holds: time needs a DATETIME, TIMESTAMP or DATE"),
    ("postgresql", "stamped_at", Holds.EPOCH_SECONDS, "but holds: epoch_seconds needs a number"),
    ("sqlite", "seconds", Holds.TIME, "seconds holds values of class integer, but holds: time needs texts"),
    ("sqlite", "created_at", Holds.EPOCH_SECONDS, "class text, but holds: epoch_seconds needs numbers"),
]


@pytest.mark.parametrize(("place", "column", "holds", "said"), WRONG)
def test_a_column_that_holds_something_else_is_an_error_and_not_an_empty_partition(
    engine: SqlEngine, databases: dict[str, str], place: str, column: str, holds: Holds, said: str
) -> None:
    orders = table(databases[place], column, days(BERLIN), holds)
    found = failure(engine, orders, Part(range=days(BERLIN).window("2026-10-25")))
    assert found.reason is Reason.UNREADABLE
    assert said in found.detail
    assert engine.partitions(orders) is None


@pytest.mark.parametrize("place", PLACES)
def test_a_time_that_is_compared_with_keys_is_an_error_that_says_how_to_mend_it(
    engine: SqlEngine, databases: dict[str, str], place: str
) -> None:
    orders = Table(
        name="app.orders", storage="sql", location=databases[place], options={"table": "orders"},
        partition_column="stamped_at",
    )  # fmt: skip
    found = failure(engine, orders, Part(keys=("2026-10-25",)))
    assert "stamped_at is a TIMESTAMP, which equals no key" in found.detail
    assert "add holds: time" in found.detail
