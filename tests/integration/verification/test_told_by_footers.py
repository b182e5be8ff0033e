"""What the footers of files answer without Spark is what Spark answers that reads the rows."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.cli import run as run_command
from assay.exit_codes import ExitCode
from execution_engine import storage
from execution_engine.engines.child.engine import ChildEngine
from execution_engine.engines.protocol import WHOLE, Measured, Table, Wanted
from execution_engine.engines.spark import source
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.told import told_by_footers
from execution_engine.metrics.columns import written
from execution_engine.metrics.spec import MetricSpec
from tests.integration.engines.trips import metric

NAN = float("nan")
AT = datetime(2026, 3, 10, 12, 30, 15, 123456, tzinfo=UTC)
COLUMNS: dict[str, pa.Array] = {
    "id": pa.array([1, 2, 3, -4], pa.int64()),
    "small": pa.array([1, None, -128, 127], pa.int8()),
    "unsigned": pa.array([0, 2**32 - 1, None, 7], pa.uint32()),
    "huge": pa.array([0, 2**64 - 1, None, 7], pa.uint64()),
    "fare": pa.array([1.5, None, NAN, -2.0], pa.float64()),
    "share": pa.array([0.1, 0.2, None, 0.4], pa.float32()),
    "price": pa.array([Decimal("1.10"), None, Decimal("-3.05"), Decimal("9.99")], pa.decimal128(12, 2)),
    "long_price": pa.array([Decimal("1.1"), Decimal("12345678901234567890123.5"), None, None], pa.decimal128(38, 1)),
    "city": pa.array(["rome", None, "", "東京"], pa.string()),
    "kind": pa.array(["a", "b", None, "a"]).dictionary_encode(),
    "blob": pa.array([b"\xff", None, b"", b"a"], pa.binary()),
    "flag": pa.array([True, None, False, True], pa.bool_()),
    "day": pa.array([date(2026, 3, 10), None, date(1, 1, 1), date(9999, 12, 31)], pa.date32()),
    "at": pa.array([AT, None, AT, AT], pa.timestamp("us", tz="UTC")),
    "local": pa.array([AT.replace(tzinfo=None), None, None, None], pa.timestamp("us")),
    "fine": pa.array([1, None, 2**60, -5], pa.timestamp("ns")),
    "nothing": pa.array([None] * 4, pa.int32()),
    "void": pa.nulls(4),
    "address": pa.array([{"zip": 1}, None, {"zip": None}, {"zip": 2}], pa.struct({"zip": pa.int32()})),
    "tags": pa.array([["a"], None, [], [None]], pa.list_(pa.string())),
    "order id": pa.array([1, None, 3, 4], pa.int64()),
    "item.one": pa.array([1, None, 3, 4], pa.int64()),
    "back`tick": pa.array([1, None, 3, 4], pa.int64()),
    "UPPER": pa.array([1, None, 3, 4], pa.int64()),
    "ключ": pa.array([1, None, 3, 4], pa.int64()),
}
ROWS = pa.table(COLUMNS)
NAMES = tuple(map(written, COLUMNS))
OF_ONE = ("completeness", "min", "max", "sum", "mean", "stddev", "count_distinct", "approx_count_distinct")
OTHERS = (
    metric("row_count"),
    metric("row_count", where="id > 1"),
    metric("completeness", "city", where="no_such = 1"),
    metric("completeness", "id", where="1 = 1; drop table x"),
    metric("completeness", "upper"),
    metric("completeness", "address.zip"),
    metric("completeness", "address.no_such"),
    metric("completeness", "item.one"),
    metric("completeness", "no_such"),
    metric("completeness", "datestr"),
    metric("completeness"),
    metric("no_such"),
    metric("uniqueness", "id"),
    metric("uniqueness", "id", "city"),
    metric("quantile", "fare", arguments=(0.5,)),
    metric("compliance", arguments=("id > 0",)),
    metric("sample_size"),
    MetricSpec(name="completeness", columns=("id",), by=("city",)),
    MetricSpec(name="row_count", by=("no_such",)),
)
SPECS = (*(metric(name, column) for name in OF_ONE for column in NAMES), *OTHERS)


def one_file(folder: Path) -> None:
    pq.write_table(ROWS, folder / "a.parquet")


def one_path(folder: Path) -> None:
    """Without an ending, as Spark's own parts may be."""
    pq.write_table(ROWS, folder / "part-0")


def no_rows(folder: Path) -> None:
    pq.write_table(ROWS.slice(0, 0), folder / "a.parquet")


def no_rows_in_one(folder: Path) -> None:
    pq.write_table(ROWS, folder / "a.parquet")
    pq.write_table(ROWS.slice(0, 0), folder / "b.parquet")


def many_groups(folder: Path) -> None:
    pq.write_table(pa.concat_tables([ROWS, ROWS.slice(1, 1)]), folder / "a.parquet", row_group_size=1)


def without_statistics(folder: Path) -> None:
    pq.write_table(ROWS, folder / "a.parquet", write_statistics=False)


def statistics_of_some(folder: Path) -> None:
    pq.write_table(ROWS, folder / "a.parquet")
    pq.write_table(ROWS, folder / "b.parquet", write_statistics=["id"])


def old_times(folder: Path) -> None:
    pq.write_table(ROWS, folder / "a.parquet", use_deprecated_int96_timestamps=True)


def decimals_as_numbers(folder: Path) -> None:
    pq.write_table(ROWS, folder / "a.parquet", store_decimal_as_integer=True)


def partitions(folder: Path) -> None:
    for day in ("2026-03-09", "2026-03-10", "__HIVE_DEFAULT_PARTITION__"):
        (folder / f"datestr={day}").mkdir()
        pq.write_table(ROWS, folder / f"datestr={day}" / "a.parquet")


def columns_added(folder: Path) -> None:
    pq.write_table(ROWS.drop_columns(["city", "price", "order id"]), folder / "a.parquet")
    pq.write_table(ROWS, folder / "b.parquet")


def hidden_beside(folder: Path) -> None:
    one_file(folder)
    pq.write_table(ROWS, folder / "_temporary.parquet")
    (folder / "_SUCCESS").write_text("")


def nothing(folder: Path) -> None:
    """No file at all."""


def damaged(folder: Path) -> None:
    one_file(folder)
    (folder / "b.parquet").write_bytes((folder / "a.parquet").read_bytes()[:-20])


SHAPES = (
    *(one_file, one_path, no_rows, no_rows_in_one, many_groups, without_statistics, statistics_of_some, old_times),
    *(decimals_as_numbers, partitions, columns_added, hidden_beside, nothing, damaged),
)


@pytest.fixture
def of_rows(spark_engine: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> SparkEngine:
    """Spark that must read the rows, whatever the footers say."""
    monkeypatch.setattr(source, "footer_statistics", lambda root, files: None)
    return spark_engine


def told(table: Table, spec: MetricSpec) -> Measured | None:
    report = told_by_footers(table, [Wanted(key="one", spec=spec)])
    return None if report is None else report.measured["one"]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_footers_tell_what_spark_finds_in_the_rows(
    shape: Callable[[Path], None], of_rows: SparkEngine, tmp_path: Path
) -> None:
    shape(tmp_path)
    table = Table(name="rides", storage="parquet", location=str(tmp_path))
    by_footers = {spec.text: each for spec in SPECS if (each := told(table, spec)) is not None}
    wanted = [Wanted(key=spec.text, spec=spec) for spec in SPECS if spec.text in by_footers]
    by_rows = dict(of_rows.scan(table, WHOLE, wanted).measured) if wanted else {}
    assert {text: repr(each) for text, each in by_footers.items()} == {
        text: repr(each) for text, each in by_rows.items()
    }
    assert bool(by_footers) is (shape not in (nothing, damaged))


def test_they_tell_counts_and_the_extremes_of_whole_numbers_and_decimals(tmp_path: Path) -> None:
    one_file(tmp_path)
    table = Table(name="rides", storage="parquet", location=str(tmp_path))
    flat = [name for name in NAMES if name not in ("address", "tags", "void", "`item.one`")]
    whole = ["id", "small", "unsigned", *map(written, ("order id", "UPPER", "ключ", "back`tick"))]
    found = {spec.text for spec in SPECS if (one := told(table, spec)) is not None and one.failure is None}
    assert {metric("row_count").text, *(metric("completeness", name).text for name in flat)} <= found
    assert {metric(each, name).text for each in ("min", "max") for name in (*whole, "price")} <= found
    assert not [text for text in found if text.startswith(("sum", "mean", "stddev", "count_distinct", "uniqueness"))]
    assert {metric(each, name).text for each in ("min", "max") for name in ("fare", "share")} & found == set()


def test_another_storage_and_a_scan_that_needs_one_row_are_left_to_the_engine(tmp_path: Path) -> None:
    one_file(tmp_path)
    table = Table(name="rides", storage="parquet", location=str(tmp_path))
    known, unknown = metric("row_count"), metric("mean", "id")
    wanted: list[Any] = [Wanted(key=spec.text, spec=spec) for spec in (known, unknown)]
    assert told_by_footers(table, wanted[:1]) is not None
    assert told_by_footers(table, wanted) is None
    assert told_by_footers(Table(name="rides", storage="csv", location=str(tmp_path)), wanted[:1]) is None


def test_assay_verify_starts_no_java_for_what_footers_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one_file(tmp_path)
    checks = "checks:\n  - row_count() = 4\n  - completeness(city) = 0.75\n  - {is_complete: id}\n  - max(price) < 10\n"
    (tmp_path / "checks.yaml").write_text(checks)
    monkeypatch.chdir(tmp_path)
    engine = ChildEngine()
    with storage.using(engine):
        assert run_command(["verify", "a.parquet", "--checks", "checks.yaml"]) == ExitCode.HELD
    assert engine.pid is None
    assert "0 Spark jobs" in capsys.readouterr().out
