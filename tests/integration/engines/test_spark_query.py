from pathlib import Path

import pytest

from execution_engine.engines.protocol import Measured, MeasurementRequest, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.outcome import Reason
from tests.integration.engines.trips import DAY, failed, measure_one, metric, write_trips


def ask(engine: SparkEngine, root: Path, text: str) -> Measured:
    table = write_trips(root)
    spec = metric("query", arguments=(text,))
    return measure_one(
        engine, table, MeasurementRequest(key="q", spec=spec, tables={"raw.trips": table, "supply": table})
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("select count(*) from supply", 8),
        (f"select count(*) from raw.trips where datestr = '{DAY}'", 5),
        ("select max(t.fare) from raw.trips t join supply s on t.trip_id = s.trip_id where s.city = 'rome'", 9.25),
        ("select sum(supply.riders) from supply", 13),
        ("with rome as (select * from supply where city = 'rome') select count(*) from rome", 3),
        ("with supply as (select * from supply where city = 'rome') select count(*) from supply", 3),
        ("select (select count(*) from supply) - (select count(*) from raw.trips where fare > 5)", 3),
        ("select count(*) from (select city from supply union select city from raw.trips)", 4),
        ("select cast('7' as int)", 7),
        ("select fare from supply where trip_id = 3", None),
        ("select fare from supply where false", None),
    ],
)
def test_a_query_gives_its_number(spark_engine: SparkEngine, tmp_path: Path, text: str, value: float | None) -> None:
    measured = ask(spark_engine, tmp_path, text)
    assert measured.failure is None
    assert measured.value == value


@pytest.mark.parametrize(
    ("text", "reason", "said"),
    [
        ("select count(*) from demand", Reason.INVALID, "no table demand; tables it may read: raw.trips, supply"),
        ("select 1; drop table supply", Reason.INVALID, "DROP is a command, not a query"),
        ("drop table supply", Reason.INVALID, "DROP is a command, not a query"),
        ("select value from text.`/etc/passwd`", Reason.INVALID, "no table text./etc/passwd"),
        ("select reflect('java.lang.System', 'getenv', 'HOME')", Reason.INVALID, "reflect is not allowed"),
        ("select '${env:HOME}'", Reason.INVALID, "no ${"),
        ("add jar 'http://127.0.0.1:9/x.jar'", Reason.INVALID, "ADD JAR is a command"),
        ("select", Reason.INVALID, "it selects nothing"),
        ("with secret as (select * from secret) select 1 from secret", Reason.INVALID, "no table secret"),
        ("select 1 from secret where 1 in (with secret as (select 1) select * from secret)", Reason.INVALID, "secret"),
        ("select fare, city from supply", Reason.QUERY_FAILED, "gives 2 columns"),
        ("select fare from supply", Reason.QUERY_FAILED, "more than one row"),
        ("select max(city) from supply", Reason.QUERY_FAILED, "gave a str, not a number"),
        ("select max(fair) from supply", Reason.UNKNOWN_COLUMN, "fair"),
        ("select 1 / 0", Reason.QUERY_FAILED, "a division by zero; use try_divide"),
    ],
)
def test_a_query_that_gives_no_number_says_why(
    spark_engine: SparkEngine, tmp_path: Path, text: str, reason: Reason, said: str
) -> None:
    failure = failed(ask(spark_engine, tmp_path, text))
    assert failure.reason is reason
    assert said in failure.detail


@pytest.mark.parametrize(
    "text",
    [
        "select max(city) from supply",
        "select cast(max(city) as int) from supply",
        "select max(to_date(city)) from supply",
        "select max(cast(city as decimal(3, 1))) from supply",
        "select to_number(max(city), '999') from supply",
        "select max(cast(city as boolean)) from supply",
        "select count(*) from supply where city = 5",
        "select max(next_day(now(), city)) from supply",
        "select max(from_utc_timestamp(now(), city)) from supply",
        "select max(map_from_arrays(array(city, city), array(1, 2))['a']) from supply",
        "select max(url_decode('%' || city)) from supply",
    ],
)
def test_an_error_tells_no_value_of_a_row(spark_engine: SparkEngine, tmp_path: Path, text: str) -> None:
    failure = failed(ask(spark_engine, tmp_path, text))
    assert not any(city in failure.detail for city in ("rome", "oslo", "paris", "lima", "Rome", "Oslo"))


def test_a_declared_type_brings_no_columns_of_its_own(spark_engine: SparkEngine, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    table = Table(
        name="raw.empty",
        storage="parquet",
        location=str(tmp_path / "empty"),
        partition_column="datestr",
        columns={"trip_id": "int) as smuggled, cast(null as int", "fare": "double"},
    )
    query = metric("query", arguments=("select count(smuggled) from raw.empty",))
    failure = failed(
        measure_one(spark_engine, table, MeasurementRequest(key="q", spec=query, tables={"raw.empty": table}))
    )
    assert failure.reason is Reason.UNKNOWN_COLUMN


def test_no_view_is_left_behind(spark_engine: SparkEngine, tmp_path: Path) -> None:
    ask(spark_engine, tmp_path, "select count(*) from supply")
    ask(spark_engine, tmp_path, "select max(fair) from supply")
    assert not [table for table in spark_engine.session.catalog.listTables() if table.name.startswith("assay_")]
