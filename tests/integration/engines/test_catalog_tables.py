"""Tables of a Hive metastore: kernels read the files that it knows, and what Spark reads in its own way is Spark's."""

import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow.fs import LocalFileSystem

from execution_engine.engines.files.iceberg import metadata_file
from execution_engine.engines.protocol import HIVE_NULL, WHOLE, MeasurementRequest, Part, ScanReport, Table, Unit
from execution_engine.metrics.spec import MetricSpec
from tests.integration.engines.hive_scans import conf_in
from tests.integration.engines.laid import lay_iceberg
from tests.integration.engines.trips import metric, write

ROWS = (
    "(1, 'Rome', 2.5, timestamp'2020-01-01 10:00:00', 1.25, date'2026-11-01', 1), "
    "(2, null, 4.5, timestamp'1200-01-01 00:00:00.123456', 2.50, date'2026-11-01', 2), "
    "(2, 'Oslo', double('nan'), null, null, date'2026-11-02', 1), "
    "(null, 'Oslo', -0.0, timestamp'2020-01-01 10:00:00', 7.75, null, 1), "
    "(5, 'Bonn', 9.5, timestamp'2024-02-29 23:59:59', 0.01, date'2026-11-03', 3)"
)
COLUMNS = "Id bigint, City string, fare double, At timestamp, Amount decimal(10,2)"
METRICS = (
    metric("row_count"),
    metric("row_count", where="city = 'Oslo' and day >= date'2026-11-02'"),
    metric("row_count", where="n = 1"),
    metric("completeness", "city"),
    metric("completeness", "day"),
    metric("min", "id"),
    metric("max", "fare"),
    metric("mean", "amount"),
    metric("max", "n"),
    metric("uniqueness", "id"),
    metric("distinct_count", "city", "day"),
    metric("count_distinct", "at"),
)
SPARK_ALONE = {
    "viewed": "it is a view",
    "lines": "its files are no parquet, but orc",
    "buckets": "it is bucketed",
    "keys": "a key of its partition column n is cast by Spark",
    "deep": "folders lie in a folder of its files",
    "wide": "id has several types, or one of an old writer",
    "padded": "code is no plain column of the files",
}
FEW = (metric("row_count"), metric("sum", "id"))
EVERY = ("2026-11-02", "2026-11-03", "2026-11-09", HIVE_NULL)


def statements(folder: Path, berg: str) -> list[str]:
    rides = f"create external table mart.rides ({COLUMNS}) partitioned by (day date, n int) stored as parquet"
    return [
        "create database mart",
        f"create table mart.trips ({COLUMNS}, day date, n int) using parquet partitioned by (day, n)",
        f"insert into mart.trips values {ROWS}",
        f"{rides} location 'file:{folder}/rides'",
        f"insert into mart.rides values {ROWS}",
        "alter table mart.rides drop partition (day='2026-11-03')",  # its folder stays
        f"alter table mart.rides add partition (day='2026-11-09', n=7) location 'file:{folder}/else where'",
        "insert into mart.rides partition (day='2026-11-09', n=7) values (9, 'Köln', 1.0, null, 3.00)",
        f"create external table mart.wide (id bigint, late string) stored as parquet location 'file:{folder}/wide'",
        f"create external table mart.deep (id bigint) stored as parquet location 'file:{folder}/deep'",
        "create view mart.viewed as select * from mart.wide",
        "create table mart.lines (id bigint) using orc",
        "insert into mart.lines values (1), (2)",
        "create table mart.buckets (id bigint) using parquet clustered by (id) into 2 buckets",
        "insert into mart.buckets values (1), (2)",
        "create table mart.keys (id bigint) partitioned by (n double) stored as parquet",
        "insert into mart.keys partition (n=1.5) values (1)",
        "create table mart.padded (id bigint, code char(3)) using parquet",
        "insert into mart.padded values (1, 'a')",
        f"create table mart.berg (id bigint) stored as parquet tblproperties ('metadata_location'='file:{berg}')",
    ]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[ScanReport, ScanReport]]:
    """Of each table, and of some partitions of two, what kernels give and what Spark gives alone."""
    folder = tmp_path_factory.mktemp("hive")
    write(folder / "wide", pa.table({"ID": [1, 2]}))
    write(folder / "wide", pa.table({"id": pa.array([3], pa.int32()), "late": ["x"]}), "part-1.parquet")
    write(folder / "deep" / "inside", pa.table({"id": [1]}))
    rows = [pa.table({"id": [1, 2, 3]})]
    berg = lay_iceberg(rows, rows[0].schema, [], f"file://{folder}/warehouse", folder, {})
    metadata = metadata_file(LocalFileSystem(), berg.removeprefix("file://")).path
    units = {name: unit_of(f"mart.{name}", METRICS) for name in ("trips", "rides")}
    units |= {f"{name} of days": unit_of(f"mart.{name}", METRICS, Part(keys=EVERY)) for name in ("trips", "rides")}
    units |= {name: unit_of(f"mart.{name}", FEW) for name in (*SPARK_ALONE, "berg")}
    units["padded"] = unit_of("mart.padded", (metric("row_count", where="code = 'a  '"),))
    command = [sys.executable, "-m", "tests.integration.engines.hive_scans"]
    sent = pickle.dumps((conf_in(folder), statements(folder, metadata), list(units.values())))
    answer = subprocess.run(command, input=sent, check=True, stdout=subprocess.PIPE).stdout
    return dict(zip(units, pickle.loads(answer), strict=True))


def unit_of(name: str, metrics: Sequence[MetricSpec], part: Part = WHOLE) -> Unit:
    requests = tuple(MeasurementRequest(key=spec.text, spec=spec) for spec in metrics)
    return Unit(
        table=Table(name=name, storage="table", location=name, partition_column="Day"), part=part, requests=requests
    )


def values_of(report: ScanReport) -> Mapping[str, str]:
    return {key: str(item.failure or item.value) for key, item in report.measured.items()}


Reports = Mapping[str, tuple[ScanReport, ScanReport]]
pytestmark = [pytest.mark.whole, pytest.mark.only_on_spark("local", why="it starts a Spark of its own")]


@pytest.mark.parametrize("name", ["trips", "rides", "trips of days", "rides of days"])
def test_kernels_read_the_files_that_the_metastore_knows(reports: Reports, name: str) -> None:
    by_kernels, by_spark = reports[name]
    assert values_of(by_kernels) == values_of(by_spark)
    assert by_kernels.read_by.left == ()
    assert by_kernels.read_by.kernels > 5
    assert by_spark.read_by.kernels == 0


def test_a_folder_that_the_metastore_does_not_know_does_not_count_and_one_elsewhere_does(reports: Reports) -> None:
    whole, of_days = (reports[name][0].measured for name in ("rides", "rides of days"))
    assert whole["row_count()"].value == 5  # one was dropped, and one added
    assert of_days["max(n)"].value == 7
    assert reports["rides"][0].fingerprint != reports["rides of days"][0].fingerprint


@pytest.mark.parametrize(("name", "why"), SPARK_ALONE.items())
def test_what_spark_reads_in_a_way_of_its_own_is_left_to_it(reports: Reports, name: str, why: str) -> None:
    by_kernels, by_spark = reports[name]
    assert values_of(by_kernels) == values_of(by_spark)
    assert why in {left.why for left in by_kernels.read_by.left}


def test_a_table_of_iceberg_that_a_metastore_knows_is_read_by_its_log(reports: Reports) -> None:
    report, _ = reports["berg"]
    assert values_of(report) == {"row_count()": "3.0", "sum(id)": "6.0"}
    assert report.read_by.left == ()
