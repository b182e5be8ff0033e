"""Small tables of parquet files, each written in another way, over columns of every type."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.metrics.expressions import written
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
