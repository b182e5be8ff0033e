"""Folders in an object store are read as folders of this machine are: the same values, files and rows."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from deltalake import write_deltalake
from pyarrow import orc
from pyarrow.fs import S3FileSystem

from assay.command_line.cli import run as run_command
from assay.command_line.exit_codes import ExitCode
from execution_engine import storage
from execution_engine.engines.child.engine import ChildEngine
from execution_engine.engines.child.process import ChildOptions
from execution_engine.engines.files.listing import (
    UnableToListFiles,
    list_part,
    list_partitions,
    read_fingerprints_by_key,
)
from execution_engine.engines.protocol import (
    WHOLE,
    MeasurementRequest,
    Part,
    RowsRequest,
    ScanReport,
    SparkOptions,
    Table,
)
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason
from tests.fixture_types import Capture
from tests.integration.engines.alike import alike, magnitudes_in
from tests.integration.engines.stored import DAYS, SECRET, put, store, write_trips

BY_KERNELS = (
    MetricSpec(name="row_count"),
    MetricSpec(name="mean", columns=("fare",)),
    MetricSpec(name="completeness", columns=("city",)),
    MetricSpec(name="distinct_count", columns=("id",)),
    MetricSpec(name="max", columns=("fare",), where="city = 'oslo'"),
    MetricSpec(name="uniqueness", columns=("id",)),
)
BY_SPARK = (
    MetricSpec(name="row_count", where="hash(city) > 0"),
    MetricSpec(name="max", columns=("fare",), where="hash(id) > 0"),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores")
    write_trips(folder / "trips")
    return folder


@pytest.fixture(scope="module")
def owner(home: Path) -> Iterator[S3FileSystem]:
    with store({"prefix": "s3://away", "endpoint": "http://127.0.0.1:9", "anonymous": True}) as owner:
        put(owner, home / "trips", "lake/trips")
        yield owner


@pytest.fixture(scope="module")
def engine(owner: S3FileSystem, home: Path) -> Iterator[ChildEngine]:
    """Spark in a child, whose tasks open the store by what stands in their environment."""
    (home / "events").mkdir()
    log = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (home / "events").as_uri(),
    }
    engine = ChildEngine(ChildOptions(spark=SparkOptions(conf=log)))
    yield engine
    engine.close()


def trips(location: object) -> Table:
    return Table(name="trips", storage="parquet", location=str(location), partition_column="day")


def values(report: ScanReport) -> dict[str, Any]:
    return {key: item.failure or (item.value, item.detail) for key, item in report.measured.items()}


def test_verify_reads_a_store_with_one_setting_and_no_java(
    home: Path, owner: S3FileSystem, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(home)
    Path("checks.yaml").write_text(json.dumps({"checks": [f"{spec.text} != 7" for spec in BY_KERNELS]}))
    printed, engine = [], ChildEngine()
    for table in ("trips", "s3://lake/trips", f"s3://lake/trips/day={DAYS[0]}/part-0.parquet"):
        with storage.using(engine):
            assert run_command(["verify", table, "--checks", "checks.yaml", "--json"]) == ExitCode.HELD
        printed.append(json.loads(capsys.readouterr().out))
    assert engine.pid is None
    local, stored, file = (answer["metrics"] for answer in printed)
    assert stored == local
    assert file["row_count()"] == 2_000
    assert printed[1]["read_by"] == printed[0]["read_by"]


def test_files_partitions_and_fingerprints_are_found_as_on_disk(home: Path, owner: S3FileSystem) -> None:
    local, stored = trips(home / "trips"), trips("s3a://lake/trips/")
    assert list_partitions(stored) == list_partitions(local) == DAYS
    for part in (WHOLE, Part(keys=DAYS[1:]), Part(keys=("2026-12-24",))):
        of_store, on_disk = list_part(stored, part), list_part(local, part)
        assert [(f.path[len("lake/trips") :], f.size) for f in of_store.files] == [
            (f.path[len(str(home / "trips")) :], f.size) for f in on_disk.files
        ]
    before = read_fingerprints_by_key(stored, WHOLE) or {}
    pq.write_table(pa.table({"id": [1]}), "lake/trips/day=2026-11-04/part-0.parquet", filesystem=owner)
    after = read_fingerprints_by_key(stored, WHOLE) or {}
    owner.delete_file("lake/trips/day=2026-11-04/part-0.parquet")
    assert after.keys() - before.keys() == {"2026-11-04"}
    assert {key: after[key] for key in before} == before


def test_init_describes_a_store_as_it_does_a_folder(
    home: Path, owner: S3FileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake/trips").symlink_to(home / "trips")
    catalogs = []
    for place, output in (("lake", "disk.yaml"), ("s3://lake", "catalog.yaml")):
        assert run_command(["init", place, "--output", output]) == ExitCode.HELD
        (trips,) = (d for d in yaml.safe_load(Path(output).read_text())["datasets"] if d["name"] == "lake.trips")
        catalogs.append(trips)
    assert catalogs[1].pop("replicas") == [{"datacenter": "local", "storage": "parquet", "location": "s3://lake/trips"}]
    assert catalogs[0].pop("replicas")[0]["location"] == "lake/trips"
    assert catalogs[0] == catalogs[1]
    assert run_command(["init", "s3://lake/none", "--output", "none.yaml"]) == ExitCode.UNABLE
    assert "correct the location" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("part", [WHOLE, Part(keys=DAYS[:1])])
def test_spark_measures_in_a_store_what_it_measures_on_disk(
    part: Part, home: Path, owner: S3FileSystem, engine: ChildEngine
) -> None:
    requests = [MeasurementRequest(key=spec.text, spec=spec) for spec in (*BY_KERNELS, *BY_SPARK)]
    local, stored = (engine.scan(trips(place), part, requests) for place in (home / "trips", "s3://lake/trips"))
    magnitudes = magnitudes_in(str(home / "trips"))
    assert [
        spec
        for spec in (*BY_KERNELS, *BY_SPARK)
        if not alike(spec, stored.measured[spec.text], local.measured[spec.text], magnitudes)
    ] == []
    assert not [key for key, item in stored.measured.items() if item.failure]
    assert stored.read_by == local.read_by
    kernels = engine.scan(trips("s3://lake/trips"), part, requests[: len(BY_KERNELS)])
    assert kernels.read_by.spark == 0


def test_orc_is_read_by_kernels_where_it_lies_and_by_spark_from_a_copy(
    home: Path, owner: S3FileSystem, engine: ChildEngine, tmp_path: Path
) -> None:
    (tmp_path / "day=2026-11-01").mkdir()
    for part in range(2):
        rows = pq.ParquetFile(home / "trips" / "day=2026-11-01" / f"part-{part}.parquet").read()
        orc.write_table(rows, tmp_path / "day=2026-11-01" / f"part-{part}.orc")
    put(owner, tmp_path, "lake/orc")
    local, stored = (replace(trips(place), storage="orc") for place in (tmp_path, "s3://lake/orc"))
    for specs in (BY_KERNELS, BY_SPARK):
        requests = [MeasurementRequest(key=spec.text, spec=spec) for spec in specs]
        here, there = (engine.scan(table, WHOLE, requests) for table in (local, stored))
        assert values(there) == values(here)
        assert there.read_by == here.read_by
        assert (there.read_by.spark == 0) is (specs is BY_KERNELS)


def test_a_query_reads_tables_of_a_store(owner: S3FileSystem, engine: ChildEngine) -> None:
    table = trips("s3://lake/trips")
    spec = MetricSpec(name="query", arguments=("select count(city) from trips where city = 'oslo'",))
    request = MeasurementRequest(key="oslo", spec=spec, tables={"trips": table})
    assert values(engine.scan(table, WHOLE, [request])) == {"oslo": (4_000, {})}


def test_rows_that_break_are_found_and_written_as_on_disk(
    home: Path, owner: S3FileSystem, engine: ChildEngine, tmp_path: Path
) -> None:
    specs = (MetricSpec(name="completeness", columns=("fare",)), BY_KERNELS[-1])
    seen = []
    for at, place in enumerate((home / "trips", "s3://lake/trips")):
        rows = engine.failing_rows(trips(place), Part(keys=DAYS[:1]), specs, 1000)
        bad = tmp_path / str(at)
        bad.mkdir()
        written = engine.write_rows(trips(place), WHOLE, RowsRequest(specs=specs, bad=str(bad)))
        seen.append((sorted(rows.rows, key=str), rows.failures, written.bad, written.by, written.failures))
    assert seen[0] == seen[1]
    assert seen[0][2] > 1000
    assert seen[0][3] == "kernels"


@pytest.mark.parametrize(("name", "text"), [("a.csv", "id,city\n1,rome\n2,\n"), ("a.json", '{"id": 1}\n{"id": 2}\n')])
def test_files_that_only_spark_reads_are_read_from_a_store_too(
    name: str, text: str, owner: S3FileSystem, engine: ChildEngine, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    put(owner, tmp_path / name, f"lake/other/{name}")
    kind = name.partition(".")[2]
    table = Table(name="other", storage=kind, location=f"s3://lake/other/{name}")
    report = engine.scan(table, WHOLE, [MeasurementRequest(key="sum", spec=MetricSpec(name="sum", columns=("id",)))])
    assert values(report) == {"sum": (3, {})}


def test_spark_goes_on_where_a_store_is_away(home: Path, engine: ChildEngine) -> None:
    asked = [MeasurementRequest(key="mean", spec=BY_KERNELS[1])]
    engine.scan(trips(home / "trips"), WHOLE, asked)
    before = engine.pid
    failure = engine.scan(trips("s3://away/trips"), WHOLE, asked).measured["mean"].failure
    assert failure is not None
    assert (failure.reason, failure.transient) == (Reason.STORE_UNREACHABLE, True)
    assert engine.scan(trips("s3://lake/trips"), WHOLE, asked).measured["mean"].value
    assert engine.pid == before


def test_secrets_stand_in_no_plan_and_no_event_of_spark(home: Path, engine: ChildEngine) -> None:
    engine.scan(trips("s3://lake/trips"), WHOLE, [MeasurementRequest(key="mean", spec=BY_KERNELS[1])])
    engine.close()
    events = "".join(path.read_text() for path in (home / "events").rglob("*") if path.is_file())
    assert "SparkListenerApplicationStart" in events
    assert SECRET not in events
    assert SECRET in os.environ.values()


def test_the_log_of_a_table_that_a_request_named_leads_to_nothing_but_its_folder(
    owner: S3FileSystem, tmp_path: Path
) -> None:
    write_deltalake(str(tmp_path / "open"), pa.table({"id": [1, 2]}))
    commit = next((tmp_path / "open" / "_delta_log").glob("*.json"))
    file = next((tmp_path / "open").glob("*.parquet"))
    commit.write_text(commit.read_text().replace(file.name, "s3://lake/pay/part.parquet"))
    put(owner, tmp_path / "open", "lake/open")
    put(owner, file, "lake/pay/part.parquet")
    table = Table(name="raw.open", storage="delta", location="s3://lake/open")
    assert list_part(table, WHOLE).urls == ["s3://lake/pay/part.parquet"]  # as an operator's file may have it
    with pytest.raises(UnableToListFiles, match="lies out of its folder"):
        list_part(replace(table, within=("s3://lake/open",)), WHOLE)
