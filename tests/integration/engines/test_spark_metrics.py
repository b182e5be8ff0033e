from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from execution_engine.engines.protocol import MeasurementRequest, Part
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.failures import is_connect
from execution_engine.engines.spark.measures import frequencies
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason
from tests.integration.engines import reference
from tests.integration.engines.trips import DAY, OTHER_DAY, ROWS, arrow, measure, metric, parquet, write, write_trips


def test_every_aggregate_agrees_with_sqlite(spark_engine: SparkEngine, tmp_path: Path) -> None:
    sqlite = reference.connect()
    reference.load(sqlite, DAY, ROWS[DAY])
    measured = measure(spark_engine, write_trips(tmp_path), *(spec for spec, _ in reference.AGREED))
    expected = [reference.value(sqlite, sql) for _, sql in reference.AGREED]
    assert [one.failure for one in measured] == [None] * len(expected)
    assert [one.value for one in measured] == pytest.approx(expected)


@pytest.mark.parametrize("together", [False, True])
def test_nulls_count_as_values_among_the_distinct(spark_engine: SparkEngine, tmp_path: Path, together: bool) -> None:
    sqlite = reference.connect()
    reference.load(sqlite, DAY, ROWS[DAY])
    table = write_trips(tmp_path)
    specs = [spec for spec, _ in reference.DISTINCT]
    if together:
        values = [one.value for one in measure(spark_engine, table, *specs)]
    else:
        values = [measure(spark_engine, table, spec, metric("row_count"))[0].value for spec in specs]
    assert values == [reference.distinct(sqlite, query) for _, query in reference.DISTINCT]


@pytest.mark.parametrize("q", [0, 0.25, 0.5, 0.99, 1])
def test_a_quantile_and_a_deviation_are_those_of_numpy(spark_engine: SparkEngine, tmp_path: Path, q: float) -> None:
    fares = [row[2] for row in ROWS[DAY] if row[2] is not None]
    specs = metric("quantile", "fare", arguments=(q,)), metric("stddev", "fare")
    quantile, deviation = measure(spark_engine, write_trips(tmp_path), *specs)
    assert quantile.value == pytest.approx(np.quantile(fares, q))
    assert deviation.value == pytest.approx(np.std(fares))


def test_several_partitions_are_measured_as_one(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = write_trips(tmp_path)
    two, whole = (measure(spark_engine, table, metric("row_count"), keys=keys) for keys in ((DAY, OTHER_DAY), None))
    assert two[0].value == whole[0].value == 8


def test_ten_more_aggregates_cost_no_more_spark_jobs(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = write_trips(tmp_path)
    one = [MeasurementRequest(key="fare", spec=metric("mean", "fare"))]
    more = [MeasurementRequest(key=str(at), spec=spec) for at, (spec, _) in enumerate(reference.AGREED)]
    jobs = [spark_engine.scan(table, Part(keys=(DAY,)), wanted).spark_jobs for wanted in (one, one + more)]
    assert jobs == ([0, 0] if is_connect(spark_engine.session) else [1, 1])


def test_rows_are_counted_without_a_spark_job(spark_engine: SparkEngine, tmp_path: Path) -> None:
    wanted = [MeasurementRequest(key="rows", spec=metric("row_count"))]
    report = spark_engine.scan(write_trips(tmp_path), Part(keys=(DAY,)), wanted)
    assert (report.measured["rows"].value, report.spark_jobs) == (len(ROWS[DAY]), 0)


def test_a_missing_partition_is_measured_without_a_spark_job(spark_engine: SparkEngine, tmp_path: Path) -> None:
    wanted = [
        MeasurementRequest(key=name, spec=metric(name, *columns))
        for name, columns in (("row_count", ()), ("distinct_count", ("trip_id",)), ("bloom_filter", ("trip_id",)))
    ]
    report = spark_engine.scan(write_trips(tmp_path), Part(keys=("1999-01-01",)), wanted)
    assert [report.measured[item.key].value for item in wanted] == [0, 0, 0]
    assert report.spark_jobs == 0


def test_one_distinct_count_of_a_small_part_shares_the_job(spark_engine: SparkEngine, tmp_path: Path) -> None:
    wanted = [MeasurementRequest(key=name, spec=metric(name, *columns)) for name, columns in (
        ("row_count", ()), ("distinct_count", ("trip_id", "city")))]  # fmt: skip
    report = spark_engine.scan(write_trips(tmp_path), Part(keys=(DAY,)), wanted)
    assert report.spark_jobs == (0 if is_connect(spark_engine.session) else 1)
    assert report.measured["distinct_count"].value == 4


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (metric("mean", "fair"), Reason.UNKNOWN_COLUMN),
        (metric("row_count", where="citi = 'rome'"), Reason.UNKNOWN_COLUMN),
        (metric("mean", "city"), Reason.INVALID),
        (metric("median", "fare"), Reason.INVALID),
        (metric("quantile", "fare", arguments=(2,)), Reason.INVALID),
        (metric("compliance", arguments=("1=1) or (1=1",)), Reason.INVALID),
        (metric("compliance", arguments=("cast(city as int) > 1",)), Reason.QUERY_FAILED),
        (metric("compliance", arguments=("fare / 0 > 1",)), Reason.QUERY_FAILED),
        (metric("compliance", arguments=("no_such_function(fare)",)), Reason.INVALID),
        (metric("freshness"), Reason.INVALID),
    ],
)
def test_a_metric_that_fails_leaves_the_others_alone(
    spark_engine: SparkEngine, tmp_path: Path, bad: MetricSpec, reason: Reason
) -> None:
    specs = metric("row_count"), bad, metric("max", "fare")
    rows, failed, most = measure(spark_engine, write_trips(tmp_path), *specs)
    assert (rows.value, most.value) == (5, 20)
    assert failed.failure is not None
    assert failed.failure.reason is reason


def test_an_unknown_column_is_answered_with_the_nearest(spark_engine: SparkEngine, tmp_path: Path) -> None:
    (failed,) = measure(spark_engine, write_trips(tmp_path), metric("mean", "fair"))
    assert failed.failure is not None
    assert failed.failure.detail == "raw.trips has no column fair; did you mean fare?"


def test_a_value_that_is_not_finite_is_a_failure(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write(tmp_path / f"datestr={DAY}", arrow([(1, "rome", float("nan"), 1), (2, "rome", 1.0, 1)]))
    mean, rows = measure(spark_engine, parquet(tmp_path), metric("mean", "fare"), metric("row_count"))
    assert mean.failure is not None
    assert mean.failure.reason is Reason.NOT_FINITE
    assert rows.value == 2


def test_condition_cannot_call_into_the_jvm_even_unread(spark_engine: SparkEngine) -> None:
    with pytest.raises(Exception, match="RESTRICTED_MODE"):
        spark_engine.session.sql("select reflect('java.lang.System', 'getenv', 'HOME')").collect()


def test_keys_under_more_clauses_than_an_integer_has_bits(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frequencies, "LISTED_ROWS", 0)  # so that the hashes are pulled
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"trip_id": rng.integers(0, 300, 500), "fare": rng.integers(0, 70, 500)})
    write(tmp_path / f"datestr={DAY}", pa.Table.from_pandas(rows))
    specs = [metric("count_distinct", "trip_id", where=f"fare >= {least}") for least in range(70)]
    found = [each.value for each in measure(spark_engine, parquet(tmp_path), *specs)]
    assert found == [rows[rows.fare >= least].trip_id.nunique() for least in range(70)]
