"""What the footers of files answer without Spark is what Spark answers that reads the rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.protocol import WHOLE, Measured, MeasurementRequest, Table
from execution_engine.engines.spark import sources
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import MetricSpec
from tests.integration.engines.trips import metric
from tests.integration.storages import stored
from tests.integration.verification.shapes_of_files import NAMES, SHAPES, SPECS, damaged, nothing, one_file
from tests.integration.verification.without_java import verify_without_java


@pytest.fixture
def of_rows(spark_engine: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> SparkEngine:
    """Spark that must read the rows, whatever the footers say."""
    monkeypatch.setattr(sources, "footer_statistics", lambda listing: None)
    return spark_engine


def told(table: Table, spec: MetricSpec) -> Measured | None:
    report = report_without_spark(table, [MeasurementRequest(key="one", spec=spec)], most_bytes=0)
    return None if report is None else report.measured["one"]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_footers_tell_what_spark_finds_in_the_rows(
    shape: Callable[[Path], None], of_rows: SparkEngine, tmp_path: Path
) -> None:
    shape(tmp_path)
    table = stored(Table(name="rides", storage="parquet", location=str(tmp_path)))
    by_footers = {spec.text: each for spec in SPECS if (each := told(table, spec)) is not None}
    wanted = [MeasurementRequest(key=spec.text, spec=spec) for spec in SPECS if spec.text in by_footers]
    by_rows = dict(of_rows.scan(table, WHOLE, wanted).measured) if wanted else {}
    assert {text: repr(each) for text, each in by_footers.items()} == {
        text: repr(each) for text, each in by_rows.items()
    }
    values = [each for each in by_footers.values() if each.failure is None]  # of a store what is damaged is told too
    assert bool(values) is (shape not in (nothing, damaged))


def test_they_tell_counts_and_the_extremes_of_whole_numbers_and_decimals(tmp_path: Path) -> None:
    one_file(tmp_path)
    table = stored(Table(name="rides", storage="parquet", location=str(tmp_path)))
    flat = [name for name in NAMES if name not in ("address", "tags", "void", "`item.one`")]
    whole = ["id", "small", "unsigned", *map(written, ("order id", "UPPER", "ключ", "back`tick"))]
    found = {spec.text for spec in SPECS if (one := told(table, spec)) is not None and one.failure is None}
    assert {metric("row_count").text, *(metric("completeness", name).text for name in flat)} <= found
    assert {metric(each, name).text for each in ("min", "max") for name in (*whole, "price")} <= found
    assert not [text for text in found if text.startswith(("sum", "mean", "stddev", "count_distinct", "uniqueness"))]
    assert {metric(each, name).text for each in ("min", "max") for name in ("fare", "share")} & found == set()


def test_another_storage_and_a_scan_that_needs_one_row_are_left_to_the_engine(tmp_path: Path) -> None:
    one_file(tmp_path)
    table = stored(Table(name="rides", storage="parquet", location=str(tmp_path)))
    known, unknown = metric("row_count"), metric("mean", "id")
    wanted: list[Any] = [MeasurementRequest(key=spec.text, spec=spec) for spec in (known, unknown)]
    assert report_without_spark(table, wanted[:1], most_bytes=0) is not None
    assert report_without_spark(table, wanted, most_bytes=0) is None
    assert report_without_spark(Table(name="rides", storage="csv", location=str(tmp_path)), wanted[:1]) is None


def test_assay_verify_starts_no_java_for_what_footers_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one_file(tmp_path)
    checks = "checks:\n  - row_count() = 4\n  - completeness(city) = 0.75\n  - {is_complete: id}\n  - max(price) < 10\n"
    verify_without_java(tmp_path, checks, monkeypatch)
    assert "0 Spark jobs" in capsys.readouterr().out
