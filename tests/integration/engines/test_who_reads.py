"""Every scan says who read its values: footers, kernels or Spark, and what kept the kernels from those of Spark."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.child.engine import ChildEngine
from execution_engine.engines.child.process import ChildOptions
from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, SparkOptions, Table, Unit
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.failures import is_connect
from execution_engine.metrics.spec import MetricSpec
from execution_engine.read_by import NO_VALUES, FallbackKind, Left, ReadBy
from tests.integration.engines.trips import metric

TAKEN_BY_KERNELS = (metric("mean", "fare"), metric("uniqueness", "city"))
MIXED = (metric("row_count"), *TAKEN_BY_KERNELS, metric("approx_quantile", "fare", arguments=(0.5,)))
SKETCH = Left(kind=FallbackKind.UNKNOWN, why="kll is Spark's to gather")
OFF = "ASSAY_SPARK_NATIVE is false"


@pytest.fixture
def rides(tmp_path: Path) -> Table:
    return write(tmp_path / "rides")


def write(folder: Path, cities: Sequence[str | None] = ("rome", "oslo", None)) -> Table:
    folder.mkdir()
    rows = {"city": cities, "fare": [1.5 + at for at in range(len(cities))], "at": [{"hour": 1}] * len(cities)}
    pq.write_table(pa.table(rows), folder / "a.parquet")
    return Table(name="rides", storage="parquet", location=str(folder))


def requests_of(*specs: MetricSpec) -> tuple[MeasurementRequest, ...]:
    return tuple(MeasurementRequest(key=spec.text, spec=spec) for spec in specs)


def who_read(engine: SparkEngine | ChildEngine, table: Table, *specs: MetricSpec) -> ReadBy:
    return engine.scan(table, WHOLE, requests_of(*specs)).read_by


def without_kernels(engine: SparkEngine, table: Table, *specs: MetricSpec) -> ReadBy:
    options = engine._options
    engine._options = replace(options, native=False)
    try:
        return who_read(engine, table, *specs)
    finally:
        engine._options = options


@pytest.mark.usefixtures("kernels_always_pay")
def test_each_value_is_counted_once_with_who_read_it(spark_engine: SparkEngine, rides: Table) -> None:
    found = who_read(spark_engine, rides, *MIXED)
    # footers know the rows and the count of a mean; kernels take its sum, and the keys
    assert found == ReadBy(footers=2, kernels=2, left=(SKETCH,))
    asked_again = who_read(spark_engine, rides, *MIXED, *MIXED[:2], metric("row_count"))
    assert asked_again == found


def test_one_value_of_each_kind_is_told_exactly(spark_engine: SparkEngine, rides: Table) -> None:
    assert who_read(spark_engine, rides, metric("row_count")) == ReadBy(footers=1)
    assert who_read(spark_engine, rides, metric("max", "fare")) == ReadBy(kernels=1)  # a NaN would hide from footers
    assert who_read(spark_engine, rides, metric("uniqueness", "city")) == ReadBy(kernels=1)
    for name in ("key_digest", "bloom_filter", "sample"):
        assert who_read(spark_engine, rides, metric(name, "city")) == ReadBy(kernels=1)
    assert who_read(spark_engine, rides, metric("uniqueness", "at.hour")) == ReadBy(kernels=1)  # a field of a struct
    assert who_read(spark_engine, rides, MIXED[-1]) == ReadBy(left=(SKETCH,))
    assert who_read(spark_engine, rides) == NO_VALUES


def test_what_kernels_know_of_small_files_comes_along_where_spark_reads_them_anyway(
    spark_engine: SparkEngine, rides: Table
) -> None:
    along = Left(kind=FallbackKind.BESIDE, why="it shares a job with what is Spark's", values=2)
    assert who_read(spark_engine, rides, *MIXED) == ReadBy(footers=2, left=(along, SKETCH))
    by_city = replace(metric("sum", "fare"), by=("city",))  # a job of its own, whoever reads
    assert who_read(spark_engine, rides, by_city, *MIXED) == ReadBy(footers=2, kernels=3, left=(SKETCH,))
    in_bins = replace(metric("histogram", "fare"), options=(("bins", 2),))
    assert who_read(spark_engine, rides, in_bins, *MIXED) == ReadBy(footers=2, kernels=3, left=(SKETCH,))


@pytest.mark.usefixtures("kernels_always_pay")
@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        (metric("approx_quantile", "fare", arguments=(0.5,)), FallbackKind.UNKNOWN),
        (metric("sum", "fare", where="fare * 2 > 3"), FallbackKind.UNKNOWN),
        (metric("sum", "fare", where="city > 1"), FallbackKind.COLUMN),
        (metric("uniqueness", "at"), FallbackKind.COLUMN),
        (replace(metric("approx_count_distinct", "fare"), by=("city",)), FallbackKind.UNKNOWN),
        (replace(metric("sum", "fare"), by=("fare",)), FallbackKind.COLUMN),
        (replace(metric("sum", "fare", where="fare * 2 > 3"), by=("city",)), FallbackKind.UNKNOWN),
        (metric("key_digest", "at"), FallbackKind.COLUMN),
        (metric("key_digest", "fare"), FallbackKind.ROWS),
        (replace(metric("bloom_filter", "city"), options=(("format", "pybloom"),)), FallbackKind.UNKNOWN),
    ],
    ids=lambda given: given.text if isinstance(given, MetricSpec) else given.value,
)
def test_what_keeps_the_kernels_from_a_value_has_a_kind(
    spark_engine: SparkEngine, rides: Table, spec: MetricSpec, kind: FallbackKind
) -> None:
    found = who_read(spark_engine, rides, spec, metric("max", "fare"))
    assert (found.kernels, found.left_by_kind) == (1, {kind: 1})


def test_a_metric_by_columns_is_one_value_however_many_groups_and_statistics_it_has(
    spark_engine: SparkEngine, rides: Table
) -> None:
    by_city = [replace(spec, by=("city",)) for spec in (metric("mean", "fare"), metric("uniqueness", "fare"))]
    assert who_read(spark_engine, rides, *by_city) == ReadBy(kernels=2)
    found = without_kernels(spark_engine, rides, *by_city)
    assert found == ReadBy(left=(Left(kind=FallbackKind.OFF, why=OFF, values=2),))


def test_what_spark_gathers_of_groups_takes_along_what_would_share_its_job(
    spark_engine: SparkEngine, rides: Table
) -> None:
    names = ("mean", "approx_count_distinct", "uniqueness")
    found = who_read(spark_engine, rides, *(replace(metric(name, "fare"), by=("city",)) for name in names))
    assert (found.kernels, found.left_by_kind) == (1, {FallbackKind.UNKNOWN: 1, FallbackKind.BESIDE: 1})


@pytest.mark.parametrize("format_", ["hashes", "pybloom"])
def test_with_the_kernels_switched_off_that_is_why_spark_reads_keys(
    spark_engine: SparkEngine, rides: Table, format_: str
) -> None:
    spec = replace(metric("bloom_filter", "city"), options=(("format", format_),))
    assert without_kernels(spark_engine, rides, spec) == ReadBy(left=(Left(kind=FallbackKind.OFF, why=OFF),))


@pytest.mark.usefixtures("kernels_always_pay")
def test_what_the_rows_hold_may_leave_a_value_to_spark(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = write(tmp_path / "long", ["x" * 5_000, "rome"])
    found = who_read(spark_engine, table, metric("uniqueness", "city"), metric("max", "fare"))
    assert (found.kernels, found.left_by_kind) == (1, {FallbackKind.ROWS: 1})


def test_a_file_that_holds_a_column_otherwise_leaves_all_values_to_spark(
    spark_engine: SparkEngine, tmp_path: Path
) -> None:
    table = write(tmp_path / "rides")
    pq.write_table(pa.table({"fare": pa.array([1.5], pa.float32())}), tmp_path / "rides" / "0.parquet")
    found = who_read(spark_engine, table, metric("max", "fare"), metric("min", "fare"))
    why = "fare has several types, or one of an old writer"
    assert found == ReadBy(left=(Left(kind=FallbackKind.FAILED, why=why, values=2),))


def test_other_storages_are_left_to_spark_as_a_whole(spark_engine: SparkEngine, tmp_path: Path) -> None:
    (tmp_path / "rides.csv").write_text("city,fare\nrome,1.5\n")
    table = Table(name="rides", storage="csv", location=str(tmp_path / "rides.csv"), options={"header": "true"})
    found = who_read(spark_engine, table, metric("row_count"), metric("max", "fare"), metric("uniqueness", "city"))
    assert (found.footers, found.kernels, found.left_by_kind) == (0, 0, {FallbackKind.TABLE: 3})


def test_of_no_rows_footers_know_all(spark_engine: SparkEngine, tmp_path: Path) -> None:
    found = who_read(spark_engine, write(tmp_path / "empty", []), *MIXED[:2], metric("uniqueness", "city"), MIXED[-1])
    assert (found.footers > 3, found.kernels, found.left) == (True, 0, ())


def test_of_no_rows_footers_know_that_there_are_no_groups(spark_engine: SparkEngine, tmp_path: Path) -> None:
    by_city = replace(metric("mean", "fare"), by=("city",))
    assert who_read(spark_engine, write(tmp_path / "empty", []), by_city) == ReadBy(footers=1)


def test_columns_are_told_by_footers_and_not_by_rows(spark_engine: SparkEngine, rides: Table) -> None:
    schema = metric("schema_match", arguments=("fare double",))
    assert who_read(spark_engine, rides, schema) == ReadBy(footers=1)


def test_without_kernels_the_reason_says_so(spark_engine: SparkEngine, rides: Table) -> None:
    found = without_kernels(spark_engine, rides, metric("row_count"), metric("max", "fare"), MIXED[-1])
    assert found == ReadBy(footers=1, left=(Left(kind=FallbackKind.OFF, why=OFF, values=2),))


@pytest.mark.only_on_spark("local", "cluster", why="nobody starts a child for Connect")
def test_who_read_is_told_by_a_child_too(spark_options: SparkOptions, spark_engine: SparkEngine, rides: Table) -> None:
    child = ChildEngine(ChildOptions(spark=spark_options))
    try:
        assert who_read(child, rides, *MIXED) == who_read(spark_engine, rides, *MIXED)
    finally:
        child.close()


def units_of(
    folder: Path, *specs: MetricSpec, cities: Sequence[Sequence[str]] = (("rome",), ("oslo", "lima"))
) -> list[Unit]:
    return [
        Unit(table=write(folder / str(at), some), part=WHOLE, requests=requests_of(*specs))
        for at, some in enumerate(cities)
    ]


def test_tables_that_share_a_job_each_tell_their_own(spark_engine: SparkEngine, tmp_path: Path) -> None:
    reports = spark_engine.scan_all(units_of(tmp_path, metric("max", "fare"), metric("uniqueness", "city")))
    assert [report.spark_jobs for report in reports] == [0 if is_connect(spark_engine.session) else 1, 0]
    assert [report.read_by for report in reports] == [ReadBy(kernels=2)] * 2


def test_tables_that_share_a_job_are_wholly_spark_s_where_one_value_is(
    spark_engine: SparkEngine, tmp_path: Path
) -> None:
    kll = metric("approx_quantile", "fare", arguments=(0.5,))
    reports = spark_engine.scan_all(units_of(tmp_path, metric("max", "fare"), metric("uniqueness", "city"), kll))
    assert [report.spark_jobs for report in reports] == [0 if is_connect(spark_engine.session) else 1, 0]
    for report in reports:
        assert (report.read_by.footers, report.read_by.kernels) == (0, 0)
        assert report.read_by.left_by_kind == {FallbackKind.BESIDE: 2, FallbackKind.UNKNOWN: 1}


def test_a_table_whose_rows_are_uncertain_is_read_apart_from_those_of_its_job(
    spark_engine: SparkEngine, tmp_path: Path
) -> None:
    units = units_of(tmp_path, metric("max", "fare"), metric("uniqueness", "city"), cities=(("rome",), ("x" * 5_000,)))
    plain, uncertain = (report.read_by for report in spark_engine.scan_all(units))
    assert plain == ReadBy(kernels=2)
    assert (uncertain.kernels, uncertain.left_by_kind) == (1, {FallbackKind.ROWS: 1})


def test_tables_that_share_a_job_without_kernels_say_so(tmp_path: Path, spark_engine: SparkEngine) -> None:
    units, options = units_of(tmp_path, metric("max", "fare")), spark_engine._options
    spark_engine._options = replace(options, native=False)
    try:
        reports = spark_engine.scan_all(units)
    finally:
        spark_engine._options = options
    assert [report.read_by for report in reports] == [ReadBy(left=(Left(kind=FallbackKind.OFF, why=OFF),))] * 2


def test_small_files_that_arrow_reads_here_count_as_read_without_spark(rides: Table) -> None:
    report = report_without_spark(
        rides, requests_of(metric("row_count"), metric("max", "fare"), metric("uniqueness", "city"))
    )
    assert report is not None
    assert report.read_by == ReadBy(footers=1, kernels=2)


def test_a_profile_that_arrow_has_read_counts_as_read_without_spark(spark_engine: SparkEngine, rides: Table) -> None:
    assert who_read(spark_engine, rides, metric("profile")) == ReadBy(kernels=1)
    assert who_read(spark_engine, rides, metric("profile"), metric("row_count")) == ReadBy(footers=1, kernels=1)
