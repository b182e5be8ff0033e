from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.protocol import MeasurementRequest, Part, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.exact import Number
from execution_engine.outcome import Failure, Reason
from tests.integration.engines.trips import DAY, OTHER_DAY, ROWS, arrow, measure, metric, parquet, write, write_trips
from tests.integration.kernels.grouped import scanned
from tests.integration.storages import stored


def rows_of(engine: SparkEngine, table: Table, *keys: str) -> Number | Failure | None:
    (measured,) = measure(engine, table, metric("row_count"), keys=keys or None)
    return measured.failure or measured.value


def test_a_missing_partition_has_no_rows_and_its_columns(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = write_trips(tmp_path)
    rows, fare = measure(spark_engine, table, metric("row_count"), metric("mean", "fare"), keys=("2014-01-01",))
    assert (rows.value, rows.failure, fare.value, fare.failure) == (0, None, None, None)


def test_an_empty_folder_has_no_rows(spark_engine: SparkEngine, tmp_path: Path) -> None:
    assert rows_of(spark_engine, parquet(tmp_path), DAY) == 0


@pytest.mark.parametrize("declared", ["int) as id, (select 1", "varchar2(20)", "int, x int", "bigint not null"])
def test_a_declared_type_that_spark_does_not_know_is_not_pasted_into_its_sql(
    spark_engine: SparkEngine, tmp_path: Path, declared: str
) -> None:
    table = stored(Table(name="t", storage="parquet", location=str(tmp_path), columns={"id": declared}))
    (count,) = measure(spark_engine, table, metric("distinct_count", "id"), keys=None)
    assert (count.value, count.failure) == (0, None)


def test_a_partition_may_be_a_column_of_plain_files(spark_engine: SparkEngine, tmp_path: Path) -> None:
    days = [date(2013, 1, 1), date(2013, 1, 1), date(2013, 1, 2)]
    write(tmp_path, pa.table({"id": [1, 2, 3], "datestr": pa.array(days)}))
    write(tmp_path, pa.table({"id": [4], "datestr": pa.array([date(2013, 1, 2)])}), "part-1.parquet")
    table = parquet(tmp_path)
    assert [rows_of(spark_engine, table, key) for key in (DAY, OTHER_DAY, "2013-01-03")] == [2, 2, 0]
    assert spark_engine.partitions(table) == (DAY, OTHER_DAY)


def test_partitions_may_lie_below_others(spark_engine: SparkEngine, tmp_path: Path) -> None:
    for region in ("eu", "us"):
        write(tmp_path / f"region={region}" / f"datestr={DAY}", arrow(ROWS[DAY]))
    (eu,) = measure(spark_engine, parquet(tmp_path), metric("row_count", where="region = 'eu'"))
    assert eu.value == 5
    assert rows_of(spark_engine, parquet(tmp_path), DAY) == 10


def test_names_that_spark_hides_or_globs_are_read_as_they_are(spark_engine: SparkEngine, tmp_path: Path) -> None:
    root = tmp_path / "odd [name] {x}"
    write(root / "datestr=2013-01-01 05%3A00", arrow(ROWS[DAY]))
    for hidden in ("_SUCCESS", ".part-0.parquet.crc"):
        (root / "datestr=2013-01-01 05%3A00" / hidden).write_bytes(b"")
    assert rows_of(spark_engine, parquet(root), "2013-01-01 05:00") == 5
    assert spark_engine.partitions(parquet(root)) == ("2013-01-01 05:00",)


def test_keys_stay_text_however_much_they_look_like_numbers(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write(tmp_path / "datestr=007", arrow(ROWS[DAY]))
    (seven,) = measure(spark_engine, parquet(tmp_path), metric("row_count", where="datestr = '007'"), keys=None)
    assert seven.value == 5


def test_types_that_pandas_writes_are_read(spark_engine: SparkEngine, tmp_path: Path) -> None:
    columns = {
        "at": pa.array([datetime(2013, 1, 1, 5), None], pa.timestamp("ns")),
        "small": pa.array([200, 1], pa.uint8()),
        "large": pa.array([2**63, 1], pa.uint64()),
        "city": pa.array(["rome", "oslo"]).dictionary_encode(),
        "nothing": pa.nulls(2),
        "tags": pa.array([["a"], []]),
        "place": pa.array([{"x": 1}, None]),
    }
    write(tmp_path / f"datestr={DAY}", pa.table(columns))
    asked = (
        metric("compliance", arguments=("at = timestamp'2013-01-01 05:00:00'",)),
        metric("sum", "small"),
        metric("max", "large"),
        metric("row_count", where="city = 'rome'"),
        metric("completeness", "nothing"),
        metric("row_count", where="size(tags) = 1 and place.x = 1"),
    )
    measured = measure(spark_engine, parquet(tmp_path), *asked)
    assert [one.failure for one in measured] == [None] * 6
    assert [one.value for one in measured] == [0.5, 201, 2.0**63, 1, 0, 1]


def test_timestamps_of_96_bits_are_read(spark_engine: SparkEngine, tmp_path: Path) -> None:
    folder = tmp_path / f"datestr={DAY}"
    folder.mkdir()
    table = pa.table({"at": pa.array([datetime(2013, 1, 1, 5)], pa.timestamp("ns"))})
    pq.write_table(table, folder / "part-0.parquet", use_deprecated_int96_timestamps=True)
    condition = "at = timestamp'2013-01-01 05:00:00'"
    (five,) = measure(spark_engine, parquet(tmp_path), metric("row_count", where=condition))
    assert (five.value, five.failure) == (1, None)


def test_timestamps_that_spark_itself_writes_are_read_by_kernels_as_by_spark(
    spark_engine: SparkEngine, tmp_path: Path
) -> None:
    times = "(timestamp'0001-01-01'), (timestamp'1582-10-10 03:00:00'), (timestamp'1899-12-31 23:59:59.999999'), (null)"
    rows = spark_engine.session.sql(f"select * from values {times}, (timestamp'9999-12-31 23:59:59.999999') as t(at)")
    rows.coalesce(1).write.parquet(str(tmp_path / "rows"))
    specs = [metric(name, "at") for name in ("completeness", "count_distinct", "key_digest")]
    specs += [
        metric("row_count", where=f"at {test}")
        for test in ("< timestamp'1582-10-11 00:00:00'", "> timestamp'9999-12-31 00:00:00'")
    ]
    table = Table(name="rows", storage="parquet", location=str(tmp_path / "rows"))
    ours, theirs = (scanned(spark_engine, table, specs, native=native) for native in (True, False))
    assert dict(ours.measured) == dict(theirs.measured)
    assert (ours.read_by.kernels > 0, ours.read_by.left) == (True, ())


def test_a_column_that_older_files_lack_is_null_there(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write(tmp_path / f"datestr={DAY}", pa.table({"id": [1]}))
    write(tmp_path / f"datestr={DAY}", pa.table({"id": [2], "tip": [1.0]}), "part-1.parquet")
    (tip,) = measure(spark_engine, parquet(tmp_path), metric("completeness", "tip"))
    assert tip.value == 0.5


def test_a_missing_root_is_unreadable(spark_engine: SparkEngine, tmp_path: Path) -> None:
    failure = rows_of(spark_engine, parquet(tmp_path / "gone"), DAY)
    assert isinstance(failure, Failure)
    assert failure.reason is Reason.UNREADABLE
    assert str(tmp_path / "gone") in failure.detail


@pytest.mark.parametrize("newest", [True, False])
def test_a_corrupt_file_is_named(spark_engine: SparkEngine, tmp_path: Path, newest: bool) -> None:
    folder = tmp_path / f"datestr={DAY}"
    sound = write(folder, arrow(ROWS[DAY]))
    corrupt = write(folder, arrow(ROWS[DAY]), "part-1.parquet")
    corrupt.write_bytes(b"PAR1" + b"\0" * 100)
    (sound if not newest else corrupt).touch()
    failure = rows_of(spark_engine, parquet(tmp_path), DAY)
    assert isinstance(failure, Failure)
    assert failure.reason is Reason.UNREADABLE
    assert "part-1.parquet" in failure.detail


def test_neither_folders_nor_a_column_is_a_failure_of_its_own(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write(tmp_path, arrow(ROWS[DAY]))
    failure = rows_of(spark_engine, parquet(tmp_path), DAY)
    assert isinstance(failure, Failure)
    assert failure.reason is Reason.NO_PARTITION_COLUMN


def test_a_catalog_table_is_read_by_its_name(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write_trips(tmp_path)
    frame = spark_engine.session.read.option("basePath", str(tmp_path)).parquet(str(tmp_path))
    frame.createOrReplaceTempView("lake_trips")
    table = Table(name="raw.trips", storage="table", location="lake_trips", partition_column="datestr")
    assert [rows_of(spark_engine, table, DAY), rows_of(spark_engine, table)] == [5, 8]
    assert spark_engine.partitions(table) == (DAY, OTHER_DAY)
    gone = rows_of(spark_engine, Table(name="x", storage="table", location="no_such_table"))
    assert isinstance(gone, Failure)
    assert gone.reason is Reason.UNREADABLE


def test_the_fingerprint_changes_with_the_files_of_the_part_only(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = write_trips(tmp_path)
    before = [spark_engine.fingerprint(table, Part(keys=(day,))) for day in (DAY, OTHER_DAY)]
    read = spark_engine.scan(table, Part(keys=(DAY,)), [MeasurementRequest(key="rows", spec=metric("row_count"))])
    write(tmp_path / f"datestr={DAY}", arrow(ROWS[DAY]), "part-1.parquet")
    after = [spark_engine.fingerprint(table, Part(keys=(day,))) for day in (DAY, OTHER_DAY)]
    assert read.fingerprint == before[0] != after[0]
    assert before[1] == after[1]
