"""What the benchmark says of a way to read small tables is measured of that way, and each answers alike."""

from pathlib import Path

import pytest

from benchmarks.data.small import write
from benchmarks.data.spoilt import ROWS, spoilt_trips
from benchmarks.engine.contenders import contender
from benchmarks.engine.contenders.ours import Ours
from benchmarks.engine.contenders.protocol import Answer, Task
from benchmarks.engine.contenders.small_together import SmallTogether
from benchmarks.engine.parts import SMALL_WAYS
from benchmarks.engine.suite import suite
from execution_engine.engines.protocol import WHOLE, ScanReport
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.read_by import FallbackKind

TABLES = 8  # two of each schema, which share a job

pytestmark = [
    pytest.mark.only_on_spark("local", why="the benchmark starts a local Spark"),
    pytest.mark.usefixtures("spark_engine"),  # whose Java the contenders share
]


@pytest.fixture(scope="module")
def small(spark_engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, SmallTogether]:
    """Each way over the same few tables."""
    folder = tmp_path_factory.mktemp("small")
    write(folder, TABLES)
    assert spark_engine.session
    return {name: _prepared(name, folder) for name in SMALL_WAYS}


def _prepared(name: str, folder: Path) -> SmallTogether:
    made = contender(name)
    assert isinstance(made, SmallTogether)
    made.prepare(Task(path=str(folder)))
    return made


def reports_of(made: SmallTogether) -> tuple[ScanReport, ...]:
    return made.engine.scan_all(tuple(made.units.values()))


@pytest.mark.parametrize("name", SMALL_WAYS)
def test_all_checks_of_small_tables_hold_whoever_reads_them(small: dict[str, SmallTogether], name: str) -> None:
    assert small[name].run() == Answer(checks=5 * TABLES, failed=frozenset())


def test_without_kernels_spark_reads_the_values_as_the_setting_says(small: dict[str, SmallTogether]) -> None:
    for report in reports_of(small["small_without_kernels"]):
        assert report.read_by.kernels == 0
        assert set(report.read_by.left_by_kind) == {FallbackKind.OFF}


def test_together_the_kernels_read_them_in_a_job(small: dict[str, SmallTogether]) -> None:
    reports = reports_of(small["small_together"])
    assert all(report.read_by.kernels > 0 and report.read_by.spark == 0 for report in reports)
    assert sum(report.spark_jobs for report in reports) > 0


def test_in_process_the_kernels_read_them_without_a_job(small: dict[str, SmallTogether]) -> None:
    reports = reports_of(small["small_in_process"])
    assert all(report.read_by.kernels > 0 and report.read_by.spark == 0 for report in reports)
    assert sum(report.spark_jobs for report in reports) == 0


def test_with_and_without_kernels_the_same_checks_of_the_spoilt_table_fail(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASSAY_BENCH_HOME", str(tmp_path))
    task = Task(path=str(spoilt_trips()), checks=suite(ROWS))
    found = {}
    for name in ("ours", "ours_without_kernels"):
        made = contender(name)
        assert isinstance(made, Ours)
        made.prepare(task)
        found[name] = made.run()
        read_by = made.engine.scan(made.table, WHOLE, made.wanted).read_by
        assert (read_by.kernels > 0) == (name == "ours")
    assert found["ours"] == found["ours_without_kernels"]
    assert found["ours"].failed
