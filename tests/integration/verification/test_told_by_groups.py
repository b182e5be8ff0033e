"""Metrics by columns and histograms of small files need no Spark, and are what its tasks and its own queries say."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.protocol import MeasurementRequest
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupValues, too_many_groups
from execution_engine.read_by import ReadBy
from tests.integration.engines.trips import metric, parquet
from tests.integration.kernels.grouped import difference, scanned, told_otherwise
from tests.integration.verification.shapes_of_files import NAMES, SHAPES, damaged, no_rows, nothing, one_file
from tests.integration.verification.without_java import verify_without_java

pytestmark = pytest.mark.timeout(900)  # many questions, each asked of Spark too

LARGEST = 1e24  # of what is added up


def by(spec: MetricSpec, *columns: str) -> MetricSpec:
    return replace(spec, by=columns)


def histogram(column: str, bins: int, where: str | None = None) -> MetricSpec:
    return MetricSpec(name="histogram", columns=(column,), options=(("bins", bins),), where=where)


SPECS = (
    *(by(metric("mean", "id"), name) for name in NAMES if "." not in name),
    *(by(metric(name, "price"), "kind", "flag") for name in ("sum", "min", "max", "stddev", "uniqueness", "entropy")),
    *(by(metric(name, "fare", where="id > 1"), "city") for name in ("mean", "max", "completeness", "distinct_count")),
    *(by(metric("correlation", "id", "small"), name) for name in ("kind", "KIND", "day")),
    by(metric("row_count"), "address.zip"),
    by(metric("row_count"), "no_such"),
    by(metric("approx_count_distinct", "id"), "kind"),
    *(metric("histogram", name) for name in NAMES),
    *(histogram(name, 3) for name in ("unsigned", "huge", "share", "long_price", "nothing", "city")),
    *(histogram(name, 2, where) for name in ("id", "fare", "price") for where in ("id > 1", "id > 99", "fare = fare")),
)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_groups_are_told_as_spark_tells_them_however_files_are_written(
    shape: Callable[[Path], None], spark_engine: SparkEngine, tmp_path: Path
) -> None:
    shape(tmp_path)
    table = parquet(tmp_path)
    told = [spec for spec in SPECS if report_without_spark(table, [MeasurementRequest(key="one", spec=spec)])]
    if told:
        ours, theirs = (scanned(spark_engine, table, told, native=native) for native in (True, False))
        assert told_otherwise(table, told, ours) == ""
        both = {spec.text: (ours.measured[spec.text], theirs.measured[spec.text]) for spec in told}
        assert {text: why for text, pair in both.items() if (why := difference(*pair, LARGEST))} == {}
        assert [text for text, pair in both.items() if pair[0].detail != pair[1].detail] == []
    assert len(told) > (-1 if shape in (nothing, damaged) else 30)


def test_groups_beside_values_of_all_rows_are_told_of_one_look_at_them(
    spark_engine: SparkEngine, tmp_path: Path
) -> None:
    one_file(tmp_path)
    specs = [metric("row_count"), metric("mean", "fare"), metric("uniqueness", "city"), by(metric("sum", "id"), "kind")]
    specs += [
        metric("histogram", "city"),
        histogram("price", 4),
        histogram("small", 4, "id > 1"),
        metric("min", "small"),
    ]
    ours = scanned(spark_engine, parquet(tmp_path), specs, native=True)
    assert told_otherwise(parquet(tmp_path), specs, ours) == ""
    assert ours.read_by == ReadBy(footers=3, kernels=6)  # the rows, the fares that are not null, the least


def test_of_no_rows_footers_know_that_there_are_no_groups(spark_engine: SparkEngine, tmp_path: Path) -> None:
    no_rows(tmp_path)
    specs = [by(metric(name, "id"), "fare") for name in ("mean", "uniqueness", "approx_count_distinct")]
    specs += [metric("histogram", "fare"), histogram("id", 2), histogram("city", 2)]
    ours = scanned(spark_engine, parquet(tmp_path), specs, native=True)
    assert told_otherwise(parquet(tmp_path), specs, ours) == ""
    assert ours.read_by == ReadBy(footers=6)
    assert GroupValues.from_bytes(ours.measured[specs[0].text].state or b"").groups == {}


def test_groups_above_the_limit_are_the_failure_that_spark_gives(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": range(MAX_GROUPS + 1)}), tmp_path / "a.parquet")
    spec = by(metric("sum", "id"), "id")
    report = report_without_spark(parquet(tmp_path), [MeasurementRequest(key="one", spec=spec)])
    assert report is not None
    assert report.measured["one"].failure == too_many_groups(("id",))


def test_keys_are_not_read_in_vain_where_spark_must_read_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_file(tmp_path)
    digest, quantile = metric("key_digest", "id"), metric("approx_quantile", "id", arguments=(0.5,))
    read: list[str] = []
    monkeypatch.setattr("execution_engine.engines.native.local_scan.measured_alone", lambda *_: read.append("keys"))
    wanted = [MeasurementRequest(key=spec.text, spec=spec) for spec in (digest, quantile)]
    assert report_without_spark(parquet(tmp_path), wanted) is None
    assert read == []


def test_assay_verify_starts_no_java_for_groups_histograms_and_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one_file(tmp_path)
    checks = "checks:\n  - sum(id) >= -3 by kind\n  - completeness(city) >= 0 by kind, flag\n"
    checks += "  - histogram(city) = 4\n  - histogram(id, bins=5) = 5\n"
    checks += "  - key_digest(id) = 4\n  - bloom_filter(city) = 4\n  - sample(day, n=2) = 2\n"
    verify_without_java(tmp_path, checks, monkeypatch)
    assert "7 success; 0 Spark jobs" in capsys.readouterr().out
