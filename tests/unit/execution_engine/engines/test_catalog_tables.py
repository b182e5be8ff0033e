"""What a catalog says of a table decides whether its files are its rows, to kernels as to Spark."""

from dataclasses import replace
from typing import Any

import pytest

from execution_engine.engines.protocol import HIVE_NULL, WHOLE, Part, Table
from execution_engine.engines.spark.catalog_tables import (
    CatalogTable,
    LeftToSpark,
    Partition,
    check_partitions,
    check_table,
    partitions_with,
    place_of,
)

FORMAT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
TRIPS = CatalogTable(
    kind="EXTERNAL",
    provider="hive",
    location="file:/lake/trips",
    input_format=FORMAT,
    columns={"id": "bigint", "day": "date", "hour": "int", "city": "string", "at": "timestamp"},
    partition_columns=("day", "hour"),
)


def test_a_table_of_parquet_is_read_by_its_files() -> None:
    check_table(TRIPS, converts=True)
    check_table(replace(TRIPS, provider="parquet", input_format=""), converts=False)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kind": "VIEW"}, "it is a view"),
        ({"properties": {"transactional": "true"}}, "it is a transactional table of Hive"),
        ({"input_format": "org.apache.hudi.hadoop.HoodieParquetInputFormat"}, "its files are no parquet, but hive"),
        ({"provider": "csv"}, "its files are no parquet, but csv"),
        ({"is_bucketed": True}, "it is bucketed"),
        ({"options": frozenset({"path", "mergeSchema"})}, "it is read with options"),
        ({"tracks_partitions": False}, "its partitions are not in the catalog"),
        ({"padded": frozenset({"day"})}, "its partition column day is padded"),
    ],
)
def test_what_spark_reads_in_a_way_of_its_own_is_left_to_it(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(LeftToSpark, match=why):
        check_table(replace(TRIPS, **changes), converts=True)


def test_a_session_that_reads_hive_by_its_serde_reads_alone() -> None:
    with pytest.raises(LeftToSpark, match="convertMetastoreParquet is false"):
        check_table(TRIPS, converts=False)


@pytest.mark.parametrize(
    ("name", "text", "is_plain"),
    [
        ("hour", "7", True),
        ("hour", "07", False),
        ("hour", "seven", False),
        ("hour", None, True),
        ("day", "2026-11-01", True),
        ("day", "2026-11-1", False),
        ("day", "20261101", False),
        ("city", "07 / x", True),
        ("at", "2026-11-01 00:00:00", False),
    ],
)
def test_a_key_counts_as_it_is_written_where_it_is_what_its_value_is_written_as(
    name: str, text: str | None, is_plain: bool
) -> None:
    partitions = [Partition(location="file:/lake/x", values={name: text}, input_format=FORMAT)]
    if is_plain:
        check_partitions(TRIPS, partitions)
        return
    with pytest.raises(LeftToSpark, match=f"a key of its partition column {name} is cast by Spark"):
        check_partitions(TRIPS, partitions)


def test_a_partition_with_files_of_another_kind_leaves_the_table_to_spark() -> None:
    with pytest.raises(LeftToSpark, match="a partition has files of another kind"):
        check_partitions(
            TRIPS, [Partition(location="file:/lake/x", input_format="org.apache.hadoop.mapred.TextInputFormat")]
        )


def test_a_part_is_the_partitions_that_have_its_keys_wherever_they_lie() -> None:
    first, second, null = (
        Partition(location=place, values={"day": day, "hour": "1"})
        for place, day in (("file:/lake/trips/day=2026-11-01", "2026-11-01"), ("s3a://b/c", "2026-11-02"), ("x", None))
    )
    every = [first, second, null]
    assert partitions_with(TRIPS, every, "DAY", Part(keys=("2026-11-02", HIVE_NULL))) == [second, null]
    assert partitions_with(TRIPS, every, None, WHOLE) == every
    with pytest.raises(LeftToSpark, match="the catalog does not cut it by its partition key"):
        partitions_with(TRIPS, every, "city", Part(keys=("Rome",)))


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("file:/lake/a%20b", "/lake/a b"),
        ("file:///lake/day%3D2026%252F11", "/lake/day=2026%2F11"),
        ("s3a://bucket/a%3Db", "s3://bucket/a=b"),
        ("hdfs://name:8020/x", "hdfs://name:8020/x"),
    ],
)
def test_a_uri_of_hadoop_names_a_path_or_a_store(uri: str, place: str) -> None:
    assert place_of(uri) == place


def test_a_table_that_has_a_log_of_its_own_is_read_by_it() -> None:
    table = Table(name="trips", storage="table", location="raw.trips")
    delta = replace(TRIPS, provider="delta").logged(table)
    iceberg = replace(TRIPS, properties={"metadata_location": "s3a://lake/t/metadata/v2.metadata.json"}).logged(table)
    assert (delta and delta.storage, delta and delta.location) == ("delta", "/lake/trips")
    assert iceberg
    assert iceberg.location == "s3://lake/t/metadata/v2.metadata.json"
    assert TRIPS.logged(table) is None
