"""``assay init``: the catalog of a folder, as its files say, and what follows from it."""

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, TimestampType

from assay.catalog.partitions import partition_entry
from assay.catalog.yaml.provider import load
from assay.command_line.cli import run as run_command
from assay.command_line.exit_codes import ExitCode
from tests.fixture_types import Capture


def answer(capsys: Capture, *arguments: str) -> tuple[int, Any]:
    """The exit code and what was printed as JSON, or else the error."""
    capsys.readouterr()
    code = run_command([*arguments, "--json"])
    found = capsys.readouterr()
    return code, json.loads(found.out) if found.out else found.err


def write(path: Path, **columns: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Tables of each kind, and what is none."""
    for day in ("2026-03-01", "2026-03-02"):
        write(tmp_path / f"trips/day={day}/part-0.parquet", trip_id=[1, 2], fare=[1.5, 2.5], city_id=[1, 1])
    write(tmp_path / "cities/part-0.parquet", name=["Rome", "Oslo"])
    (tmp_path / "orders.csv").write_text('id,note\n1,"a ""b"""\n2,c\n')
    (tmp_path / "hudi/.hoodie").mkdir(parents=True)
    rows = pa.table({"day": ["2026-03-01", "2026-03-02"], "ride_id": [1, 2]})
    write_deltalake(str(tmp_path / "rides"), rows, partition_by=["day"])
    write_deltalake(str(tmp_path / "warehouse/ops/shifts"), pa.table({"shift_id": [1, 2]}))
    write_deltalake(str(tmp_path / "warehouse/hr/people"), pa.table({"id": [1, 2]}))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/read.me").write_text("no table")
    return tmp_path


def test_each_table_of_a_folder_is_in_the_catalog_with_what_its_files_say(lake: Path, capsys: Capture) -> None:
    code, result = answer(capsys, "init", str(lake), "--owner", "ann@example.com")
    assert code == ExitCode.HELD, result
    people, shifts, *others = sorted(
        load(lake / "catalog.yaml").datasets, key=lambda table: table.namespace == lake.name
    )
    assert [table.full_name for table in (people, shifts)] == ["hr.people", "ops.shifts"]
    cities, orders, rides, trips = others
    assert trips.partition is not None
    assert (trips.primary_key, trips.partition.column, trips.partition.first) == (("trip_id",), "day", "2026-03-01")
    assert {column.name: column.type for column in trips.columns} == {
        "trip_id": "bigint",
        "fare": "double",
        "city_id": "bigint",
    }
    assert (cities.partition, cities.primary_key, cities.owner) == (None, (), "ann@example.com")
    (replica,) = orders.replicas
    assert (orders.primary_key, replica.storage, replica.options) == (("id",), "csv", {"escape": '"'})
    assert rides.partition is not None
    assert (rides.replicas[0].storage, rides.primary_key, rides.partition.column) == ("delta", ("ride_id",), "day")
    assert [line.partition(":")[0] for line in result["left_out"]] == ["hudi", "notes"]


def test_a_table_of_iceberg_is_cut_by_the_day_of_its_times(tmp_path: Path, capsys: Capture) -> None:
    catalog = SqlCatalog("shop", uri=f"sqlite:///{tmp_path}/shop.db", warehouse=f"file://{tmp_path}/lake")
    catalog.create_namespace("shop")
    schema = Schema(NestedField(1, "visit_id", LongType()), NestedField(2, "at", TimestampType()))
    by = [PartitionField(1, 1000, BucketTransform(4), "bucket"), PartitionField(2, 1001, DayTransform(), "at_day")]
    table = catalog.create_table("shop.visits", schema=schema, partition_spec=PartitionSpec(*by))
    for day in (2, 1):  # pyiceberg by itself writes no table that is cut so
        file = tmp_path / f"lake/shop/visits/data/{day}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        at = datetime(2026, 3, day)
        pq.write_table(pa.Table.from_arrays([[day], [at]], schema=table.schema().as_arrow()), file)
        content = DataFile.from_args(
            content=DataFileContent.DATA, file_format=FileFormat.PARQUET, file_path=file.as_uri(), record_count=1,
            file_size_in_bytes=file.stat().st_size, partition=Record(3, (at - datetime(1970, 1, 1)).days),
        )  # fmt: skip
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            append.append_data_file(content)
    code, result = answer(capsys, "init", str(tmp_path / "lake"))
    assert (code, result["left_out"]) == (ExitCode.HELD, [])
    (visits,) = load(tmp_path / "lake/catalog.yaml").datasets
    assert visits.partition is not None
    assert (visits.full_name, visits.partition.column, visits.partition.first) == (
        "shop.visits",
        "at_day",
        "2026-03-01",
    )


def test_a_catalog_that_is_there_is_not_written_anew(lake: Path, capsys: Capture) -> None:
    (lake / "catalog.yaml").write_text("mine")
    code, error = answer(capsys, "init", str(lake))
    assert code == ExitCode.UNABLE
    assert "is there already: correct it, or name another file with --output" in error
    assert (lake / "catalog.yaml").read_text() == "mine"


@pytest.mark.parametrize(("folder", "message"), [("none", "there is no folder"), ("notes", "has no table: read.me")])
def test_a_folder_without_tables_is_refused(lake: Path, capsys: Capture, folder: str, message: str) -> None:
    code, error = answer(capsys, "init", str(lake / folder))
    assert (code, message in error) == (ExitCode.UNABLE, True), error


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["2026-03-01", "2026-03-02"], {"granularity": "day"}),
        (["20260301"], {"granularity": "day", "key_format": "%Y%m%d"}),
        (["2026-03-01-07"], {"granularity": "hour"}),
        (["2026-03"], {"granularity": "month"}),
        (["2026-W09"], {"granularity": "week"}),
        (["2026-03-01T00", "2026-03-02T00", "2026-03-03T00"], {"granularity": "day", "key_format": "%Y-%m-%dT%H"}),
        (["2026-03-02", "2026-03-09", "2026-03-23"], {"granularity": "week", "key_format": "%Y-%m-%d"}),
        (["20260101", "20260201", "20260301"], {"granularity": "month", "key_format": "%Y%m%d"}),
        (["2026-03-02", "2026-03-09"], {"granularity": "day"}),
        (["2026-03-02", "2026-03-09", "2026-03-10"], {"granularity": "day"}),
        (["2026-03-01 07:00:00"], {"granularity": "hour", "key_format": "%Y-%m-%d %H:%M:%S"}),
        (["2026-03-01 07:15:00"], None),
        (["2026-03-01", "rome"], None),
        (["2026-3-1"], None),
    ],
)
def test_partitions_are_known_by_their_keys(keys: list[str], expected: dict[str, str] | None) -> None:
    assert partition_entry("day", keys) == (expected and {"column": "day", "first": keys[0], **expected})


def test_what_a_provider_tells_is_written_as_a_catalog_file(tmp_path: Path, capsys: Capture) -> None:
    database = tmp_path / "shop.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(
            "create table customers (id integer primary key, mail text);"
            "create table orders (id integer primary key, customer_id integer references customers(id), day date);"
        )
    file = tmp_path / "catalog.yaml"
    words = ("kind=sql", f"location=sqlite:///{database}", "lineage=true", "dataset=shop.{table}")
    code, result = answer(capsys, "init", *words, "--owner", "ann", "--datacenter", "sea", "--output", str(file))
    assert code == ExitCode.HELD, result
    catalog = load(file)
    customers, orders = catalog.datasets
    assert (orders.full_name, orders.owner, orders.tier, orders.primary_key) == ("shop.orders", "ann", 3, ("id",))
    assert {column.name for column in customers.columns} == {"id", "mail"}
    assert (orders.replicas[0].datacenter, orders.replicas[0].options["table"]) == ("sea", "orders")
    assert [(edge.upstream, edge.downstream) for edge in catalog.lineage] == [("shop.customers", "shop.orders")]
    assert "is there already" in answer(capsys, "init", *words, "--output", str(file))[1]


def test_what_is_no_folder_and_no_provider_is_refused(tmp_path: Path, capsys: Capture) -> None:
    output = ("--output", str(tmp_path / "catalog.yaml"))
    for words, sentence in (
        (["no-folder"], "there is no folder no-folder"),
        (["kind=dbt", "target"], "'target' says nothing of a provider: write KEY=VALUE"),
        (["kind=nothing"], "'nothing' is no kind of provider: known are datahub"),
        (["kind=dbt"], "its entry has no target"),
        ([str(tmp_path), "more"], "'more' is one folder too many"),
    ):
        code, text = answer(capsys, "init", *words, *output)
        assert (code, sentence in text) == (ExitCode.UNABLE, True), text


@pytest.mark.django_db(transaction=True)
def test_the_sample_of_a_shop_holds_until_a_day_is_loaded_twice(tmp_path: Path, capsys: Capture) -> None:
    shop = tmp_path / "shop"
    code, result = answer(capsys, "init", str(shop), "--sample", "--tier", "0")
    assert code == ExitCode.HELD, result
    assert answer(capsys, "sync", str(shop / "catalog.yaml"))[0] == ExitCode.HELD
    newest = sorted((shop / "orders").iterdir())[-1]
    part = newest / "part-0.parquet"
    (newest / "part-1.parquet").write_bytes(part.read_bytes())
    window = newest.name.removeprefix("day=")
    assert answer(capsys, "run", "shop.orders", "--window", window)[0] == ExitCode.FAILED
    code, answered = answer(capsys, "gate", "shop.orders", "--window", window)
    assert (code, answered["decision"]) == (ExitCode.FAILED, "block")
    (newest / "part-1.parquet").unlink()
    answer(capsys, "run", "shop.orders", "--window", window)
    assert answer(capsys, "gate", "shop.orders", "--window", window)[0] == ExitCode.HELD
