"""Samples of the rows that break metrics, from real files, against the same rows told by Python."""

from pathlib import Path

import pytest

from execution_engine.engines.protocol import FailingRows, Part, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.failures import counting_jobs, is_connect
from execution_engine.engines.spark.measures.failing import MOST_ROWS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason
from tests.integration.engines.trips import COLUMNS, DAY, ROWS, Row, arrow, metric, parquet, write, write_trips


def failing(engine: SparkEngine, table: Table, *specs: MetricSpec, limit: int = 100) -> FailingRows:
    return engine.failing_rows(table, Part(keys=(DAY,)), specs, limit)


def ids(found: FailingRows, spec: MetricSpec) -> list[int]:
    return sorted(int(row.values[0] or 0) for row in found.rows if spec.text in row.breaks)


@pytest.mark.parametrize(
    ("spec", "broken"),
    [
        (metric("completeness", "city"), lambda row: row[1] is None),
        (metric("completeness", "fare", where="city is null"), lambda row: row[1] is None and row[2] is None),
        (metric("compliance", arguments=("fare < 10",)), lambda row: row[2] is None or row[2] >= 10),
        (metric("in_range", "fare", arguments=(5, 10)), lambda row: row[2] is not None and not 5 <= row[2] <= 10),
        (metric("pattern_match", "city", arguments=("^r",)), lambda row: row[1] not in (None, "rome")),
        (metric("satisfies_if", arguments=("fare > 5", "riders = 1")), lambda row: (row[2] or 0) > 5 and row[3] != 1),
        (metric("less_than", "trip_id", "riders"), lambda row: row[3] is not None and row[0] >= row[3]),
        (metric("ratio_of", "city", arguments=("rome",)), lambda row: row[1] != "rome"),
        (metric("uniqueness", "trip_id"), lambda row: row[0] == 4),
        (metric("uniqueness", "city", "riders"), lambda row: False),
        (metric("distinct_count", "city"), lambda row: row[1] in ("rome", "oslo")),
        (metric("uniqueness", "city", where="trip_id > 1"), lambda row: row[1] == "oslo"),
    ],
    ids=lambda given: given.text if isinstance(given, MetricSpec) else "",
)  # fmt: skip
def test_the_rows_that_break_a_metric_are_shown(
    spark_engine: SparkEngine, tmp_path: Path, spec: MetricSpec, broken: object
) -> None:
    assert callable(broken)
    found = failing(spark_engine, write_trips(tmp_path), spec, metric("completeness", "trip_id"))
    assert found.failures == {}
    assert ids(found, spec) == [row[0] for row in ROWS[DAY] if broken(row)]


def test_a_row_tells_all_that_it_breaks_in_texts(spark_engine: SparkEngine, tmp_path: Path) -> None:
    specs = metric("completeness", "city"), metric("completeness", "fare"), metric("in_range", "fare", arguments=(0, 9))
    found = failing(spark_engine, write_trips(tmp_path), *specs)
    assert found.columns == (*COLUMNS, "datestr")
    told = {row.values: row.breaks for row in found.rows}
    assert told[("3", None, None, "3", DAY)] == ("completeness(city)", "completeness(fare)")
    assert told[("4", "oslo", "20.0", None, DAY)] == ("in_range(fare, 0, 9)",)


def test_many_metrics_are_one_job_and_their_keys_one_more(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = write_trips(tmp_path)
    by_row = [metric("completeness", name) for name in COLUMNS]
    with counting_jobs(spark_engine.session, "rows") as rows:
        failing(spark_engine, table, *by_row)
    with counting_jobs(spark_engine.session, "keys") as keys:
        failing(spark_engine, table, *by_row, metric("uniqueness", "city"), metric("distinct_count", "riders"))
    assert (rows.jobs, keys.jobs) == ((0, 0) if is_connect(spark_engine.session) else (1, 2))  # Connect does not tell


def test_a_metric_without_rows_of_its_own_says_so(spark_engine: SparkEngine, tmp_path: Path) -> None:
    specs = metric("mean", "fare"), metric("completeness", "fair"), metric("completeness", "fare")
    found = failing(spark_engine, write_trips(tmp_path), *specs)
    reasons = {text: failure.reason for text, failure in found.failures.items()}
    assert reasons == {"mean(fare)": Reason.INVALID, "completeness(fair)": Reason.UNKNOWN_COLUMN}
    assert ids(found, specs[2]) == [3]


def test_a_condition_that_cannot_be_run_leaves_the_others_alone(spark_engine: SparkEngine, tmp_path: Path) -> None:
    bad, good = metric("compliance", arguments=("cast(city as int) > 1",)), metric("completeness", "city")
    found = failing(spark_engine, write_trips(tmp_path), bad, good)
    assert found.failures[bad.text].reason is Reason.QUERY_FAILED
    assert ids(found, good) == [3]


def test_a_sample_is_never_more_than_its_limit(spark_engine: SparkEngine, tmp_path: Path) -> None:
    rows: list[Row] = [(number, None, 1.0, 1) for number in range(MOST_ROWS + 10)]
    write(tmp_path / f"datestr={DAY}", arrow(rows))
    spec = metric("completeness", "city")
    few, many = (failing(spark_engine, parquet(tmp_path), spec, limit=limit) for limit in (7, 10**9))
    assert (len(few.rows), len(many.rows)) == (7, MOST_ROWS)


def test_a_part_without_rows_breaks_nothing(spark_engine: SparkEngine, tmp_path: Path) -> None:
    found = spark_engine.failing_rows(
        write_trips(tmp_path), Part(keys=("1999-01-01",)), [metric("completeness", "city")], 5
    )
    assert (found.rows, found.failures) == ((), {})
