"""Tasks read by Arrow, of stores that Spark cannot open, the rows that Spark's own reader reads of the same files."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame

from execution_engine.engines.files.listing import UnableToListFiles, list_part
from execution_engine.engines.protocol import WHOLE, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.failures import SPARK_ERRORS, failure_of
from execution_engine.engines.spark.live_rows import live_frame
from execution_engine.engines.spark.sources import columns_in, open_source
from execution_engine.outcome import Reason
from tests.integration.kernels.tables import write_drawn
from tests.integration.verification.shapes_of_files import SHAPES, nothing

pytestmark = pytest.mark.only_on_spark("local", "cluster", why="a server reads no files of this test")
AT = datetime(2026, 11, 1, 12, 30, 1, 999_999, tzinfo=UTC)


def read_twice(engine: SparkEngine, folder: Path) -> Iterator[Counter[str] | Reason]:
    """The rows by Spark's own reader, and by Arrow in its tasks, or why they are not read."""
    table = Table(name="rides", storage="parquet", location=str(folder))

    def by_arrow() -> DataFrame:
        listing = list_part(table, WHOLE)
        columns = columns_in(engine.session, table, listing) | dict.fromkeys(listing.folder_columns, "string")
        return live_frame(engine.session, listing, columns)

    def by_spark() -> DataFrame:
        return open_source(engine.session, table, WHOLE).frame

    for open_frame in (by_spark, by_arrow):
        try:
            yield Counter(map(repr, open_frame().collect()))
        except UnableToListFiles as error:
            yield error.failure.reason
        except SPARK_ERRORS as error:
            yield failure_of(error, "rides").reason


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape is not nothing], ids=lambda shape: shape.__name__)
def test_files_of_every_shape_have_the_same_rows(
    shape: Callable[[Path], None], spark_engine: SparkEngine, tmp_path: Path
) -> None:
    shape(tmp_path)
    by_spark, by_arrow = read_twice(spark_engine, tmp_path)
    assert by_arrow == by_spark


@pytest.mark.parametrize("seed", range(4))
def test_drawn_files_have_the_same_rows(seed: int, spark_engine: SparkEngine, tmp_path: Path) -> None:
    write_drawn(Random(seed), tmp_path)
    by_spark, by_arrow = read_twice(spark_engine, tmp_path)
    assert by_arrow == by_spark
    assert by_arrow


def many_types() -> pa.Table:
    struct = pa.struct([("a b", pa.int32()), ("inner", pa.struct([("x", pa.large_string())]))])
    columns = {
        "tiny": pa.array([255, None], pa.uint8()),
        "unsigned": pa.array([2**64 - 1, None], pa.uint64()),
        "half": pa.array([1.5, None], pa.float32()),
        "nothing": pa.nulls(2),
        "word": pa.array(["a", None]).dictionary_encode(),
        "long": pa.array(["ä" * 9, None], pa.large_string()),
        "bytes": pa.array([b"\x00\xff", None], pa.large_binary()),
        "price": pa.array([Decimal("12345678901234567890.12"), None], pa.decimal128(22, 2)),
        "nanos": pa.array([-1_500, 1_999], pa.timestamp("ns")),
        "millis": pa.array([AT, None], pa.timestamp("ms")),
        "zoned": pa.array([AT, None], pa.timestamp("us", "Europe/Oslo")),
        "day": pa.array([AT.date(), None], pa.date32()),
        "nested": pa.array([{"a b": 1, "inner": {"x": "y"}}, None], struct),
        "list": pa.array([[[1], None], None], pa.list_(pa.list_(pa.int64()))),
        "map": pa.array([[("k", 1.5)], None], pa.map_(pa.string(), pa.float64())),
    }
    return pa.table(columns)


def test_every_type_that_spark_reads_is_the_same(spark_engine: SparkEngine, tmp_path: Path) -> None:
    pq.write_table(many_types(), tmp_path / "a.parquet")
    by_spark, by_arrow = read_twice(spark_engine, tmp_path)
    assert by_arrow == by_spark
    assert isinstance(by_arrow, Counter)
    assert by_arrow.total() == 2


OTHERS = {
    "an int that is a long now": pa.table({"id": pa.array([1], pa.int32())}),
    "another case": pa.table({"ID": [1]}),
    "a double": pa.table({"id": [1.5]}),
    "a text": pa.table({"id": ["1"]}),
    "without the column": pa.table({"other": [1]}),
    "without a field": pa.table({"id": [1], "inner": pa.array([{"x": 1}], pa.struct([("x", pa.int64())]))}),
    "a field more": pa.table({"id": [1], "inner": pa.array([{"x": 1, "y": "b", "z": 3}])}),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_an_older_file_gives_what_spark_reads_of_it_or_fails_as_there(
    other: pa.Table, spark_engine: SparkEngine, tmp_path: Path
) -> None:
    pq.write_table(other, tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": [2, 3], "inner": [{"x": 1, "y": "a"}, None]}), tmp_path / "b.parquet")
    by_spark, by_arrow = read_twice(spark_engine, tmp_path)
    assert by_arrow == by_spark
