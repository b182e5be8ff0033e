"""Bad input costs its own test alone: the loop over real files goes on, and says what is wrong and where."""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import call_command

from assay import clock
from assay.command_line.exit_codes import ExitCode
from assay.models import DataTest
from assay.queue.drain import advance
from execution_engine import storage
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.models import Run

pytestmark = pytest.mark.usefixtures("db")

MONDAY = "datestr=2026-03-09"
TABLE = """
  - name: raw.{name}
    owner: {name}
    tier: 2
    novelty: false
    {columns}
    primary_key: [id]
    partition: {{column: datestr, granularity: day}}
    replicas: [{{datacenter: sea, storage: parquet, location: {folder}/{name}}}]
"""
CUSTOM = """
tests:
  - {{dataset: raw.bad, name: own, assertion: "{assertion}"}}
"""
COLUMNS = "columns: {id: bigint, fare: double}"


@pytest.fixture(autouse=True)
def lake(db: None, spark_engine: SparkEngine) -> Iterator[None]:
    """Real files, read by Spark, from Monday morning on."""
    clock.simulate(at("2026-03-09 09:00"))
    with storage.using(spark_engine):
        yield


def at(text: str) -> datetime:
    """The instant in UTC."""
    return datetime.fromisoformat(f"{text}+00:00")


def sync(folder: Path, *, assertion: str | None = None, columns: str = COLUMNS, more: str = "") -> int:
    """Sync a catalog of a good and a bad table; the command's exit code."""
    tables = [TABLE.format(name=name, columns=columns, folder=folder) for name in ("good", "bad")]
    tests = CUSTOM.format(assertion=assertion) if assertion else ""
    (folder / "catalog.yaml").write_text(f"datasets:{''.join(tables)}{tests}{more}")
    with pytest.raises(SystemExit) as exited:
        call_command("sync", str(folder / "catalog.yaml"))
    return int(exited.value.code or 0)


def write(part: Path, ids: int = 100) -> Path:
    """Rows in one file of a folder."""
    part.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": pa.array(range(ids), pa.int64()), "fare": [1.0] * ids}), part / "part-0.parquet")
    return part / "part-0.parquet"


def outcomes(name: str) -> dict[str, tuple[str, str]]:
    """The newest outcome of every test of a table over Monday, with the reason of an error."""
    runs = Run.objects.filter(data_test__dataset__name=name, evaluated_at__isnull=False).order_by("pk")
    return {run.data_test.name: (run.outcome, run.error_reason) for run in runs.select_related("data_test")}


GOOD = {"freshness": ("held", ""), "duplicates": ("held", "")}


def as_it_should_be(folder: Path) -> None:
    write(folder / MONDAY)


def nothing_at_all(folder: Path) -> None:
    """The whole folder is missing."""


def no_rows(folder: Path) -> None:
    write(folder / MONDAY, ids=0)


def no_files(folder: Path) -> None:
    write(folder / "datestr=2026-03-08")


def no_parquet(folder: Path) -> None:
    write(folder / MONDAY).write_bytes(b"this is no parquet file")


def no_partition_column(folder: Path) -> None:
    write(folder)


@pytest.mark.parametrize(
    ("damage", "freshness", "duplicates"),
    [
        (nothing_at_all, ("error", "table cannot be read"), ("error", "table cannot be read")),
        (no_parquet, ("error", "table cannot be read"), ("error", "table cannot be read")),
        (no_partition_column, ("error", "partition column is missing"), ("error", "partition column is missing")),
        (no_rows, ("broken", ""), ("error", "no data")),
        (no_files, ("broken", ""), ("error", "no data")),
    ],
)
def test_a_damaged_table_says_what_is_wrong_and_its_neighbour_is_judged(
    tmp_path: Path,
    damage: Callable[[Path], None],
    freshness: tuple[str, str],
    duplicates: tuple[str, str],
) -> None:
    as_it_should_be(tmp_path / "good")
    damage(tmp_path / "bad")
    assert sync(tmp_path) == ExitCode.HELD
    advance(at("2026-03-10 06:00"))
    assert outcomes("good") == GOOD
    assert outcomes("bad") == {"freshness": freshness, "duplicates": duplicates}
    assert not Run.objects.filter(judged_at__isnull=True).exists()


def test_a_column_that_the_files_lack_is_named_and_costs_its_own_test_alone(tmp_path: Path) -> None:
    for name in ("good", "bad"):
        as_it_should_be(tmp_path / name)
    assert sync(tmp_path, assertion="mean(tip) > 0", columns="") == ExitCode.HELD
    advance(at("2026-03-10 06:00"))
    assert outcomes("bad") == {**GOOD, "own": ("error", "unknown column")}
    assert "tip" in Run.objects.get(data_test__name="own").sentence


@pytest.mark.parametrize(
    ("assertion", "says"),
    [
        ("mean(tip) > 0", "tip"),  # the catalog knows the columns, and this is none
        ("row_count() < 4h", "4h"),  # a count is no duration
        ("row_count( > 4", "^"),
        ("median(fare) > 4", "median"),
    ],
)
def test_a_test_that_cannot_be_evaluated_is_refused_with_the_place_and_nothing_is_written(
    tmp_path: Path, assertion: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sync(tmp_path, assertion=assertion) == ExitCode.UNABLE
    assert says in capsys.readouterr().err
    assert not DataTest.objects.exists()


@pytest.mark.parametrize("more", ["\n  - name: [", "\ndatasets: twice", "\nlineage: {up: down}", "\n\ttests: []"])
def test_a_catalog_that_cannot_be_read_leaves_the_last_one_at_work(
    tmp_path: Path, more: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("good", "bad"):
        as_it_should_be(tmp_path / name)
    assert sync(tmp_path) == ExitCode.HELD
    assert sync(tmp_path, more=more) == ExitCode.UNABLE
    assert "catalog.yaml:" in capsys.readouterr().err
    advance(at("2026-03-10 06:00"))
    assert (outcomes("good"), outcomes("bad")) == (GOOD, GOOD)
