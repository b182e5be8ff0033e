"""Histograms of drawn tables: in tasks of Spark and without it, kernels count values and bins as Spark does."""

from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.native import measure
from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.protocol import MeasurementRequest, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.guard import UnableToAllow, read_condition
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason
from execution_engine.read_by import FallbackKind, ReadBy
from tests.integration.storages import stored

from .grammar import condition
from .grouped import scanned, told_otherwise
from .tables import Drawn, write_drawn

SEEDS = (1, 2, 3, 5, 6, 7)
OF_NUMBERS = 3  # histograms of bins of each column of numbers


def histogram(column: str, bins: int | None = None, where: str | None = None) -> MetricSpec:
    options = () if bins is None else (("bins", bins),)
    return MetricSpec(name="histogram", columns=(column,), options=options, where=where)


def drawn_histograms(draw: Random, drawn: Drawn) -> list[MetricSpec]:
    def where() -> str | None:
        text = condition(draw, drawn) if draw.random() < 0.6 else None
        try:
            return text if text is None or read_condition(text) else None
        except UnableToAllow:
            return None

    numbers = [name for name in drawn.of("exact", "double") for _ in range(OF_NUMBERS)]
    return [
        *(histogram(name, where=where()) for name in drawn.kinds),
        *(histogram(name, draw.choice([1, 2, 3, 7, 10, 100, 1000]), where()) for name in numbers),
        *(histogram(name, 3) for name in drawn.of("text", "day", "truth")),
    ]


@pytest.mark.timeout(900)
def test_kernels_and_spark_count_alike(spark_engine: SparkEngine) -> None:
    differing, by, bins = [], Counter[str](), 0
    for seed in SEEDS:
        with TemporaryDirectory() as folder:
            draw = Random(seed)
            specs = list(dict.fromkeys(drawn_histograms(draw, write_drawn(draw, Path(folder)))))
            table = stored(Table(name="drawn", storage="parquet", location=folder))
            ours, theirs = (scanned(spark_engine, table, specs, native=native) for native in (True, False))
            reports = {
                spec: report_without_spark(table, [MeasurementRequest(key=spec.text, spec=spec)]) for spec in specs
            }
        here = {spec: dict(report.measured)[spec.text] for spec, report in reports.items() if report}
        assert len(here) == ours.read_by.kernels + ours.read_by.footers  # each, and none that is Spark's there
        assert {spec: repr(each) for spec, each in here.items()} == {
            spec: repr(ours.measured[spec.text]) for spec in here
        }
        by += Counter(kernels=ours.read_by.kernels, spark=ours.read_by.spark)
        for spec in specs:
            one, other = ours.measured[spec.text], theirs.measured[spec.text]
            bins += sum(each["count"] > 0 for each in one.detail.get("bins", ()))
            reasons = [each.failure and each.failure.reason for each in (one, other)]
            if (one.value, one.detail, reasons[0]) != (other.value, other.detail, reasons[1]):
                differing.append(f"seed {seed}: {spec.text}: {one} and {other}")
    assert differing == []
    assert by["kernels"] > by["spark"] > 0
    assert bins > 400


@pytest.fixture
def rides(tmp_path: Path) -> Table:
    """Two files of cities that come as often as others, and of fares with a NaN."""
    for at in range(2):
        rows = range(at * 900, (at + 1) * 900)
        table = pa.table(
            {
                "id": rows,
                "city": [None if n % 19 == 0 else f"city {n % 450:03}" for n in rows],
                "fare": [float("nan") if n == 1000 else n / 8 for n in rows],
                "price": pa.array([n % 7 for n in rows], pa.int32()).cast(pa.decimal128(12, 2)),
            }
        )
        pq.write_table(table, tmp_path / f"{at}.parquet", row_group_size=200)
    return stored(Table(name="rides", storage="parquet", location=str(tmp_path)))


def alike(engine: SparkEngine, table: Table, *specs: MetricSpec) -> ReadBy:
    """Who read these with kernels, which Spark measures as well to compare."""
    ours, theirs = (scanned(engine, table, specs, native=native) for native in (True, False))
    assert ours.measured == theirs.measured
    assert told_otherwise(table, specs, ours) == ""
    assert ours.spark_jobs <= theirs.spark_jobs
    return ours.read_by


def test_values_that_come_as_often_are_in_the_order_of_spark_s(spark_engine: SparkEngine, rides: Table) -> None:
    specs = histogram("city"), histogram("city", where="id >= 1350 or id < 3"), histogram("id"), histogram("price")
    assert alike(spark_engine, rides, *specs) == ReadBy(kernels=4)


@pytest.mark.only_on_spark("local", "cluster", why="Connect does not tell how many jobs there were")
def test_ends_that_footers_know_save_a_job(spark_engine: SparkEngine, rides: Table) -> None:
    specs = histogram("id", 7), histogram("price", 100)
    assert alike(spark_engine, rides, *specs) == ReadBy(kernels=2)
    assert scanned(spark_engine, rides, specs, native=True).spark_jobs == 1
    under = [histogram(spec.columns[0], 10, "id > 1200") for spec in specs]
    assert alike(spark_engine, rides, *specs, *under, histogram("city")) == ReadBy(kernels=5)
    assert scanned(spark_engine, rides, [*specs, *under, histogram("city")], native=True).spark_jobs == 2


def test_a_nan_has_no_bin_and_what_no_row_has_none_at_all(spark_engine: SparkEngine, rides: Table) -> None:
    specs = histogram("fare", 5), histogram("fare", 5, "id <> 1000"), histogram("fare", 5, "id < 0")
    assert alike(spark_engine, rides, *specs) == ReadBy(kernels=3)


def test_what_is_no_number_fails_alike(spark_engine: SparkEngine, rides: Table) -> None:
    found = alike(spark_engine, rides, histogram("city", 5), histogram("fare"))
    assert found.left_by_kind == {FallbackKind.COLUMN: 2}  # a text has no bin, and how a float is written Java knows


def test_numbers_too_far_apart_for_bins_fail_alike(spark_engine: SparkEngine, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [-1.7e308, 0.0, 1.7e308]}), tmp_path / "a.parquet")
    table, spec = stored(Table(name="rides", storage="parquet", location=str(tmp_path))), histogram("x", 2)
    assert alike(spark_engine, table, spec) == ReadBy(kernels=1)
    failure = scanned(spark_engine, table, [spec], native=True).measured[spec.text].failure
    assert failure is not None
    assert failure.reason is Reason.NOT_FINITE


def test_more_values_than_kernels_keep_are_counted_by_spark(
    spark_engine: SparkEngine, rides: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "MAX_GROUPS", 100)
    found = alike(spark_engine, rides, histogram("price"), histogram("city"))
    assert (found.kernels, found.left_by_kind) == (1, {FallbackKind.ROWS: 1})
