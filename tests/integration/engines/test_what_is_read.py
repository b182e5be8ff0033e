"""What a scan opens and asks a store for: each footer once, no row group that a condition clears, no cliff of files."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import S3FileSystem
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.lake.server import store_server
from execution_engine.engines.files.last_used import LastUsed
from execution_engine.engines.files.listing import _format_in_store, list_part, read_footer, read_snapshot
from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, Part, Table, Unit
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.metrics.spec import MetricSpec
from execution_engine.read_by import ReadBy
from tests.integration.engines.stored import SECRET, put, settings, stores
from tests.integration.engines.trips import metric

ROWS, FILES = 9_000, 300
SPECS = (
    metric("row_count"),
    metric("mean", "id"),
    metric("uniqueness", "id"),
    metric("entropy", "city"),
    metric("max_length", "note"),
    metric("sum", "id", where="city = 'oslo' and day = 'b'"),
)


def rows() -> pa.Table:
    return pa.table(
        {
            "id": range(ROWS),
            "city": [("rome", "oslo", None)[at % 3] for at in range(ROWS)],
            "note": ["x" * (at % 50) for at in range(ROWS)],
        }
    )


def write_files(folder: Path, files: int) -> Table:
    """The rows in so many files of two folders, of which every third has a column more."""
    size = ROWS // files
    for at in range(files):
        part = rows().slice(at * size, size)
        if at * size % 3_000 == 0:
            part = part.append_column("late", pa.array([1] * size))
        place = folder / f"day={'ab'[at * size >= ROWS // 2]}"
        place.mkdir(parents=True, exist_ok=True)
        pq.write_table(part, place / f"{at:04}.parquet", use_dictionary=at % 100 < 50)
    return Table(name="trips", storage="parquet", location=str(folder))


def values(table: Table, specs: Sequence[MetricSpec] = SPECS) -> tuple[dict[str, object], ReadBy]:
    report = report_without_spark(table, [MeasurementRequest(key=spec.text, spec=spec) for spec in specs])
    assert report is not None
    return {key: item.value for key, item in report.measured.items()}, report.read_by


def test_many_small_files_are_read_as_few_large_ones_are(tmp_path: Path) -> None:
    many, few = (values(write_files(tmp_path / str(files), files)) for files in (FILES, 6))
    assert many[0] == pytest.approx(few[0])
    assert many[1] == few[1]


def test_a_footer_is_read_once_while_its_file_is_the_same(tmp_path: Path) -> None:
    table = write_files(tmp_path / "trips", 1)

    def footer() -> object:
        listing = list_part(table, WHOLE)
        return read_footer(listing.root, listing.newest)

    first = footer()
    assert footer() is first
    pq.write_table(rows().slice(0, 10), tmp_path / "trips/day=a/0000.parquet")
    assert footer() is not first
    assert values(table, [metric("row_count")])[0] == {"row_count()": 10}


def test_what_was_not_used_for_longest_goes_first() -> None:
    held: LastUsed[str, int] = LastUsed(10)
    for at, key in enumerate("abc"):
        held.put(key, at, 4)
        held.get("a")
    assert [held.get(key) for key in "abc"] == [0, None, 2]
    held.put("d", 3, 11)
    assert [held.get(key) for key in "acd"] == [None, None, None]


def test_no_request_is_asked_of_a_store_twice(tmp_path: Path) -> None:
    write_files(tmp_path / "trips", 6)
    with (
        store_server() as server,
        settings(ASSAY_STORES=stores(server.endpoint), LAKE_KEY="k", LAKE_SECRET=SECRET),
    ):
        owner = S3FileSystem(
            access_key="k",
            secret_key=SECRET,
            endpoint_override=server.endpoint.partition("://")[2],
            scheme="http",
            allow_bucket_creation=True,
        )
        owner.create_dir("lake")
        put(owner, tmp_path / "trips", "lake/trips")
        table = Table(name="trips", storage="parquet", location="s3://lake/trips")
        _format_in_store.cache_clear()  # another server may have had a bucket of this name
        seen = []
        for _ in range(2):
            server.counts()
            results = values(table)
            seen.append(server.counts())
        assert results == values(Table(name="trips", storage="parquet", location=str(tmp_path / "trips")))
    # three logs that may lie above and the folder itself; each file opened, fetched, and looked at when it was read
    assert {name: seen[0][name] for name in ("LIST", "HEAD", "GET")} == {"LIST": 4, "HEAD": 12, "GET": 6}
    assert {name: seen[1][name] for name in ("HEAD", "GET")} == {"HEAD": 6, "GET": 0}
    assert seen[1]["LIST"] in (1, 4)  # what lies above is asked once a minute


def test_row_groups_that_no_row_of_a_condition_can_be_in_are_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "trips"
    folder.mkdir()
    pq.write_table(rows(), folder / "a.parquet", row_group_size=3_000, use_dictionary=False, compression="none")
    spoilt = bytearray((folder / "a.parquet").read_bytes())
    group = pq.read_metadata(folder / "a.parquet").row_group(2)
    for at in range(group.num_columns):
        start = group.column(at).data_page_offset
        spoilt[start : start + 40] = b"\xff" * 40
    (folder / "a.parquet").write_bytes(spoilt)
    table = Table(name="trips", storage="parquet", location=str(folder))
    specs = (metric("mean", "id", where="id < 3000"), metric("uniqueness", "city", where="id between 3000 and 5999"))
    assert values(table, specs)[0] == {specs[0].text: 1499.5, specs[1].text: 0.0}
    assert (
        report_without_spark(table, [MeasurementRequest(key="k", spec=metric("mean", "id", where="id < 6001"))]) is None
    )


def write_iceberg(folder: Path, commits: int) -> Table:
    """A thousand rows a commit, each in a partition and of a day of its own; the days, before 1970, go back."""
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.types import DateType, LongType, NestedField, StringType, TimestamptzType

    catalog = SqlCatalog("test", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace("raw")
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "day", StringType()),
        NestedField(3, "fare", LongType()),
        NestedField(4, "on", DateType()),
        NestedField(5, "at", TimestamptzType()),
    )
    spec = PartitionSpec(PartitionField(source_id=2, field_id=1000, transform=IdentityTransform(), name="day"))
    table = catalog.create_table("raw.rides", schema=schema, partition_spec=spec)
    for at in range(commits):
        ids = range(at * 1_000, (at + 1) * 1_000)
        started = datetime(1969, 12, 31 - at, tzinfo=UTC)
        columns = {"id": ids, "day": [f"2026-01-0{at + 1}"] * 1_000, "fare": [id_ % 7 for id_ in ids]}
        times = {"on": [started.date()] * 1_000, "at": [started + timedelta(microseconds=n) for n in range(1_000)]}
        table.append(pa.table(columns | times).cast(table.schema().as_arrow()))
    return Table(name="rides", storage="iceberg", location=table.location(), partition_column="day")


@pytest.mark.parametrize(
    ("where", "outside"),
    [
        ("id < 1000", "id < 1001"),
        ("day = '2026-01-01'", "day <= '2026-01-02'"),
        ("day in ('2026-01-01') and fare >= 0", "fare >= 0"),
        ("`on` > date'1969-12-30'", "`on` >= date'1969-12-30'"),
        ("at > timestamp'1969-12-30 00:00:00.000999'", "at >= timestamp'1969-12-30 00:00:00.000999'"),
    ],
)
def test_files_that_the_log_of_a_table_clears_are_not_opened(tmp_path: Path, where: str, outside: str) -> None:
    table = write_iceberg(tmp_path, 3)
    for path in Path(table.location.removeprefix("file://")).glob("data/day=2026-01-0[23]/*.parquet"):
        path.unlink()
    spec = metric("sum", "fare", where=where)
    expected = sum(id_ % 7 for id_ in range(1_000))
    assert values(table, [spec])[0] == {spec.text: expected}
    of_others = MeasurementRequest(key="k", spec=metric("sum", "fare", where=outside))
    assert report_without_spark(table, [of_others]) is None


def test_a_manifest_is_read_once(tmp_path: Path) -> None:
    table = write_iceberg(tmp_path, 2)
    before = read_snapshot(table)
    catalog = SqlCatalog("test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    iceberg = catalog.load_table("raw.rides")
    snapshot = iceberg.current_snapshot()
    assert snapshot is not None
    manifests = [Path(manifest.manifest_path.removeprefix("file://")) for manifest in snapshot.manifests(iceberg.io)]
    iceberg.append(pa.table({"id": [9_999], "day": ["2026-02-01"], "fare": [1]}))
    for manifest in manifests:
        manifest.unlink()
    assert len(read_snapshot(table).files) == len(before.files) + 1


@pytest.mark.usefixtures("kernels_always_pay")
def test_small_partitions_of_a_table_of_a_log_share_a_job(spark_engine: SparkEngine, tmp_path: Path) -> None:

    table = write_iceberg(tmp_path, 3)
    specs = (metric("sum", "fare"), metric("distinct_count", "fare"), metric("sum", "id", where="fare > 2"))
    requests = tuple(MeasurementRequest(key=spec.text, spec=spec) for spec in specs)
    units = [Unit(table=table, part=Part(keys=(f"2026-01-0{at}",)), requests=requests) for at in (1, 2, 3)]
    together = spark_engine.scan_all(units)
    alone = [spark_engine.scan(unit.table, unit.part, unit.requests) for unit in units]
    assert [report.measured for report in together] == [report.measured for report in alone]
    assert [report.spark_jobs for report in together] == [1, 0, 0]
