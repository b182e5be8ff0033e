"""On two workers kernels read stores and lakes; what is lost or refused in mid-scan leaves nothing wrong."""

import io
import json
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from assay.config import config
from deploy.local.programs import free_port
from execution_engine.engines.child.engine import ChildEngine
from execution_engine.engines.child.process import ChildOptions
from execution_engine.engines.protocol import (
    SMALL_BYTES,
    WHOLE,
    Limits,
    MeasurementRequest,
    ScanReport,
    SparkOptions,
    Table,
)
from execution_engine.outcome import Failure, Reason
from execution_engine.read_by import FallbackKind
from tests.integration.engines import lakes
from tests.integration.engines.connect_client import start, stop
from tests.integration.engines.stored import SECRET, put, settings, store, stores
from tests.integration.engines.trips import metric
from tests.integration.kernels.cluster import Cluster, cluster, of_a_driver
from tests.integration.kernels.proxy import Answer, Proxy, before

CLIENT = Path(__file__).with_name("connect_store_client.py")
ROOT = CLIENT.parents[3]
FILES, ROWS = 4, 1_200_000  # of 10 MB: no small table, so each task reads a share
KEY_ID = "AKIALAKEKEY"
SPECS = (metric("sum", "number"), metric("mean", "number"), metric("row_count", where="number > 0.5"))
TABLE = Table(name="numbers", storage="parquet", location="s3://lake/numbers")
RIDES = Table(name="rides", storage="delta", location="s3://lake/delta")

pytestmark = [
    pytest.mark.whole,  # a cluster, and a Spark of its own for most tests
    pytest.mark.timeout(600),
    pytest.mark.only_on_spark("local", why="it starts a cluster of its own"),
]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("numbers")
    for at in range(FILES):
        write_numbers(folder / f"{at}.parquet", at)
    assert sum(file.stat().st_size for file in folder.iterdir()) > SMALL_BYTES
    return folder


@pytest.fixture(scope="module")
def proxy(numbers: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """Before a store that holds the numbers and a table of Delta, to which the settings lead."""
    rides = tmp_path_factory.mktemp("rides")
    lakes.write_delta(rides / "delta")
    with store() as owner, before(config().object_stores[0].endpoint, owner) as proxy:
        put(owner, numbers, "lake/numbers")
        put(owner, rides / "delta", "lake/delta")
        with settings(ASSAY_STORES=stores(proxy.endpoint), LAKE_KEY=KEY_ID, LAKE_SECRET=SECRET):
            yield proxy


@pytest.fixture
def engine_of(running: Cluster, tmp_path: Path) -> Iterator[Callable[..., ChildEngine]]:
    """Engines on the cluster, whose executors' Python lacks the packages that are named."""
    engines: list[ChildEngine] = []

    def start(*missing: str, **conf: str) -> ChildEngine:
        for engine in engines:
            engine.close()  # its executors leave their places
        folder = tmp_path / f"engine-{len(engines)}"
        folder.mkdir()
        spark = SparkOptions(master=running.master, conf={**of_a_driver(folder, "512m", *missing), **conf})
        engines.append(ChildEngine(ChildOptions(spark=spark, limits=Limits(memory="1g"))))
        return engines[-1]

    yield start
    for engine in engines:
        engine.close()


def write_numbers(path: Path, seed: int) -> None:
    numbers = np.random.default_rng(seed).random(ROWS)
    pq.write_table(pa.table({"number": numbers}), path, row_group_size=ROWS // 4)


def scan(engine: ChildEngine, table: Table) -> ScanReport:
    return engine.scan(table, WHOLE, [MeasurementRequest(key=spec.text, spec=spec) for spec in SPECS])


def values(report: ScanReport) -> dict[str, object]:
    return {key: of.value if of.failure is None else of.failure for key, of in report.measured.items()}


def expected(folder: Path) -> object:
    every = pq.read_table(folder)["number"].to_numpy()
    return pytest.approx(
        {SPECS[0].text: every.sum(), SPECS[1].text: every.mean(), SPECS[2].text: int((every > 0.5).sum())}
    )


def reasons(report: ScanReport) -> set[Reason]:
    return {of.failure.reason for of in report.measured.values() if isinstance(of.failure, Failure)}


def table_in_mid_scan(engine: ChildEngine, proxy: Proxy, numbers: Path, name: str) -> tuple[Table, int]:
    """A table of the numbers that nobody has read yet, and the number of a request amid those of its tasks."""
    for copy in ("rehearsal", name):
        put(proxy.owner, numbers, f"lake/{copy}")
    scan(engine, replace(TABLE, location="s3://lake/numbers"))  # the session knows that its executors reach the store
    proxy.begin()
    scan(engine, replace(TABLE, location="s3://lake/rehearsal"))
    proxy.owner.delete_dir("lake/rehearsal")
    return replace(TABLE, location=f"s3://lake/{name}"), proxy.seen * 7 // 10


def test_kernels_on_executors_read_stores_and_lakes_and_no_key_shows(
    engine_of: Callable[..., ChildEngine], running: Cluster, proxy: Proxy, numbers: Path, tmp_path: Path
) -> None:
    (tmp_path / "events").mkdir()
    port = str(free_port())
    shown = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file:{tmp_path}/events",
        "spark.ui.enabled": "true",
        "spark.ui.port": port,
    }
    engine = engine_of(**shown)
    proxy.begin()
    report = scan(engine, TABLE)
    assert values(report) == expected(numbers)
    assert (report.read_by.kernels, report.read_by.spark) == (2, 0)
    for spec, kernels, value in (
        (metric("distinct_count", "number"), 1, len(pc.unique(lakes.living_rows()["number"].drop_null()))),
        (metric("row_count", where="hash(person) > -9999999999"), 0, len(lakes.living_rows())),
    ):
        lake = engine.scan(RIDES, WHOLE, [MeasurementRequest(key="k", spec=spec)])
        assert (lake.measured["k"].value, lake.measured["k"].failure) == (value, None)
        assert lake.read_by.kernels == kernels
    places = [*tmp_path.rglob("*"), *Path(running.folder).rglob("std*")]
    pages = [urlopen(f"http://127.0.0.1:{port}/{page}").read().decode() for page in pages_of(port)]
    engine.close()
    said = [*pages, *(place.read_text(errors="replace") for place in places if place.is_file())]
    assert any("SparkListenerJobEnd" in text for text in said)
    assert [text for text in said if SECRET in text or KEY_ID in text] == []


def test_what_only_spark_knows_of_parquet_in_a_store_needs_no_jars_and_other_files_do(
    engine_of: Callable[..., ChildEngine], proxy: Proxy, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"number": [0.25, 0.75]}), tmp_path / "few.parquet")
    put(proxy.owner, tmp_path / "few.parquet", "lake/few/few.parquet")
    sparks = metric("row_count", where="hash(number) > 0")
    (tmp_path / "few.csv").write_text("number\n0.25\n")
    put(proxy.owner, tmp_path / "few.csv", "lake/text/few.csv")
    requests = [MeasurementRequest(key=spec.text, spec=spec) for spec in (SPECS[0], sparks)]
    engine = engine_of()
    every = engine.scan(replace(TABLE, location="s3://lake/numbers"), WHOLE, requests)
    assert (every.read_by.kernels, every.read_by.spark) == (1, 1)
    few = engine.scan(replace(TABLE, location="s3://lake/few"), WHOLE, requests).measured
    assert few[SPECS[0].text].value == 1.0
    assert [of.failure for report in (every.measured, few) for of in report.values()] == [None] * 4
    assert 0 < (every.measured[sparks.text].value or 0) < FILES * ROWS
    text = engine.scan(replace(TABLE, storage="csv", location="s3://lake/text"), WHOLE, requests[1:]).measured
    failure = text[sparks.text].failure
    assert failure is not None
    assert "which has none for s3://: name the jars" in failure.detail


def test_kernels_on_a_connect_server_read_stores_and_no_key_shows(
    proxy: Proxy, numbers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server does not have the keys: they go along with what the client sends."""
    events = f"-Dspark.eventLog.enabled=true -Dspark.eventLog.compress=false -Dspark.eventLog.dir=file:{tmp_path}"
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'platform'}")
    with monkeypatch.context() as of_server:
        of_server.setenv("SPARK_SUBMIT_OPTS", events)
        for name in ("ASSAY_STORES", "LAKE_KEY", "LAKE_SECRET"):
            of_server.delenv(name)
        server = start(port := str(free_port()))
    proxy.begin()
    try:
        command = [sys.executable, str(CLIENT), TABLE.location, port]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        stop(server, port)
    report = json.loads(done.stdout or done.stderr[-2000:])
    every = pq.read_table(numbers)["number"].to_numpy()
    assert (report["rows"], report["kernels"], report["spark"]) == (int((every > 0.5).sum()), 1, 0)
    assert proxy.key_ids == {KEY_ID}
    said = [done.stderr, *(place.read_text(errors="replace") for place in tmp_path.rglob("*") if place.is_file())]
    assert any("SparkListenerConnectOperation" in text for text in said)
    assert [text for text in said if SECRET in text or KEY_ID in text] == []


def pages_of(port: str) -> list[str]:
    """What the UI of a driver shows of its settings, plans and jobs."""
    (application,) = json.load(urlopen(f"http://127.0.0.1:{port}/api/v1/applications"))
    api = f"api/v1/applications/{application['id']}"
    plans = [f"SQL/execution/?id={query['id']}" for query in json.load(urlopen(f"http://127.0.0.1:{port}/{api}/sql"))]
    return ["environment/", "jobs/", "SQL/", *plans, f"{api}/environment", f"{api}/sql?details=true", f"{api}/jobs"]


def test_executors_without_pyarrow_are_told_of_and_have_it_shipped(
    engine_of: Callable[..., ChildEngine], numbers: Path, tmp_path: Path
) -> None:
    table = Table(name="numbers", storage="parquet", location=str(numbers))
    poor = scan(engine_of("pyarrow"), table)
    assert values(poor) == expected(numbers)
    assert {(left.kind, left.why.split(":")[0]) for left in poor.read_by.left} == {
        (FallbackKind.EXECUTORS, "the executors' Python has no pyarrow")
    }
    shipped = {"spark.archives": f"{packed_python(tmp_path)}#python", "spark.pyspark.python": "./python/bin/python"}
    rich = scan(engine_of("pyarrow", **shipped), table)
    assert values(rich) == expected(numbers)
    assert (rich.read_by.kernels, rich.read_by.spark) == (2, 0)


def packed_python(folder: Path) -> Path:
    """An archive with a Python that has all packages, as conda-pack or venv-pack make one."""
    script = f"""#!/bin/sh
    PYTHONPATH=$(printf %s "$PYTHONPATH" | tr : '\\n' | grep -v /block$ | paste -s -d :) exec {sys.executable} "$@"
    """
    member = tarfile.TarInfo("bin/python")
    member.size, member.mode = len(script), 0o755
    with tarfile.open(folder / "environment.tar.gz", "w:gz") as archive:
        archive.addfile(member, io.BytesIO(script.encode()))
    return folder / "environment.tar.gz"


def test_a_store_that_answers_503_for_a_while_costs_a_scan_and_stores_nothing(
    engine_of: Callable[..., ChildEngine], proxy: Proxy, numbers: Path
) -> None:
    engine = engine_of()
    table, amid = table_in_mid_scan(engine, proxy, numbers, "slow-down")
    proxy.begin(lambda number: (503, "SlowDown") if number >= amid else None)
    report = scan(engine, table)
    assert reasons(report) == {Reason.STORE_UNREACHABLE}
    assert {of.value for of in report.measured.values()} == {None}
    proxy.begin()
    assert values(scan(engine, table)) == expected(numbers)


def test_keys_that_expire_in_mid_scan_cost_a_scan_and_the_next_takes_those_of_then(
    engine_of: Callable[..., ChildEngine], proxy: Proxy, numbers: Path, tmp_path: Path
) -> None:
    """The store takes requests that are signed with the newest key alone."""
    key = tmp_path / "key"
    key.write_text("AKIAOLD")
    named = stores(proxy.endpoint, access_key=f"file:{key}")
    with settings(ASSAY_STORES=named, LAKE_SECRET=SECRET):
        engine = engine_of()
        table, amid = table_in_mid_scan(engine, proxy, numbers, "expired")
        proxy.begin(lambda number: (400, "ExpiredToken") if number >= amid else None)
        report = scan(engine, table)
        assert reasons(report) == {Reason.STORE_UNREACHABLE}
        assert {of.value for of in report.measured.values()} == {None}
        key.write_text("AKIANEW")
        proxy.begin()
        assert values(scan(engine, table)) == expected(numbers)
        assert proxy.key_ids == {"AKIANEW"}


def test_an_object_that_is_replaced_in_mid_scan_is_read_anew(
    engine_of: Callable[..., ChildEngine], proxy: Proxy, numbers: Path, tmp_path: Path
) -> None:
    engine = engine_of()
    table, amid = table_in_mid_scan(engine, proxy, numbers, "replaced")
    changed = tmp_path / "numbers"
    changed.mkdir()
    for file in numbers.iterdir():
        (changed / file.name).write_bytes(file.read_bytes())
    write_numbers(changed / "1.parquet", FILES)

    def put_others(number: int) -> Answer:
        if number == amid:
            put(proxy.owner, changed, "lake/replaced")
        return None

    proxy.begin(put_others)
    report = scan(engine, table)
    proxy.begin()
    assert values(report) == expected(changed)
    assert report.fingerprint == engine.fingerprint(table, WHOLE)


def test_a_worker_that_is_lost_in_mid_scan_costs_no_value(
    engine_of: Callable[..., ChildEngine], running: Cluster, proxy: Proxy, numbers: Path
) -> None:
    """The last, as it leaves one worker."""
    engine = engine_of()
    table, amid = table_in_mid_scan(engine, proxy, numbers, "lost")

    def kill(number: int) -> Answer:
        if number == amid:
            for pid in (running.executors()[0], running.workers[0].pid):
                os.kill(pid, signal.SIGKILL)
        return None

    proxy.begin(kill)
    report = scan(engine, table)
    assert values(report) == expected(numbers)
    assert (report.read_by.kernels, report.read_by.spark) == (2, 0)
