"""A task of the kernels that is killed, sleeps or fills its memory ends no worse than a Python task of Spark alone."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.child.engine import ChildEngine
from execution_engine.engines.child.process import ChildOptions, members
from execution_engine.engines.protocol import WHOLE, Limits, MeasurementRequest, ScanReport, SparkOptions, Table
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason
from execution_engine.read_by import FallbackKind, Left
from tests.integration.engines.doomed import ASLEEP, FILLED, FOLDER, HOSTED, KILLED, NOTHING, begun, doom
from tests.integration.engines.trips import metric
from tests.integration.sparks import CHOSEN, CLUSTER

ATTEMPTS = 4 if CHOSEN == CLUSTER else 1  # at a task, before Spark gives up
DEADLINE, GRACE = 0.4, 10.0  # seconds; within the grace it is cancelled, and killed if that does not help
FOR_TWO = 8.0  # for both tasks to begin on a busy machine
PATIENT = 120.0  # as a busy machine takes its time to start a child's first worker
SPECS = (metric("sum", "id"), metric("uniqueness", "city"), metric("compliance", arguments=("city rlike '^c[0-4]'",)))
FILTER = (MetricSpec(name="bloom_filter", columns=("id",), options=(("format", "pybloom"),)),)

pytestmark = [
    pytest.mark.only_on_spark("local", "cluster", why="nobody starts a child for Connect"),
    pytest.mark.timeout(600),
]


@dataclass(frozen=True, kw_only=True)
class Place:
    """An engine in a child, and the folder that dooms its tasks."""

    engine: ChildEngine
    folder: Path

    def scan(self, table: Table, specs: Sequence[MetricSpec], seconds: float = PATIENT) -> ScanReport:
        self.engine._seconds = seconds
        return self.engine.scan(table, WHOLE, [MeasurementRequest(key=spec.text, spec=spec) for spec in specs])


@pytest.fixture(scope="module")
def place(spark_options: SparkOptions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("doom")
    spark = replace(spark_options, conf={**spark_options.conf, FOLDER: str(folder)})
    engine = ChildEngine(ChildOptions(spark=spark, limits=Limits(memory="1g"), hosted=HOSTED))
    yield Place(engine=engine, folder=folder)
    engine.close()


@pytest.fixture
def table(tmp_path: Path) -> Table:
    numbers = range(10_000)
    pq.write_table(pa.table({"id": numbers, "city": [f"c{number % 10}" for number in numbers]}), tmp_path / "a.parquet")
    return Table(name="rides", storage="parquet", location=str(tmp_path))


def reasons(report: ScanReport) -> set[Reason | None]:
    return {each.failure.reason if each.failure else None for each in report.measured.values()}


def goes_on(place: Place, table: Table) -> bool:
    doom(place.folder, NOTHING)
    return reasons(place.scan(table, (*SPECS, *FILTER))) == {None}


def test_kernels_whose_worker_is_killed_at_each_attempt_leave_their_values_to_spark(place: Place, table: Table) -> None:
    doom(place.folder, NOTHING)
    expected = place.scan(table, SPECS)
    assert (expected.read_by.kernels, expected.read_by.spark, begun(place.folder)) == (3, 0, 1)
    doom(place.folder, KILLED)
    found = place.scan(table, SPECS)
    assert begun(place.folder) == ATTEMPTS
    assert found.measured == expected.measured
    assert found.read_by.left == (Left(kind=FallbackKind.FAILED, why="a task of the kernels failed", values=3),)


def test_spark_s_own_task_whose_worker_is_killed_at_each_attempt_fails(place: Place, table: Table) -> None:
    doom(place.folder, KILLED)
    assert reasons(place.scan(table, FILTER)) == {Reason.QUERY_FAILED}
    assert begun(place.folder) == ATTEMPTS
    assert goes_on(place, table)


def test_a_task_that_sleeps_is_stopped_at_the_deadline(place: Place, table: Table) -> None:
    """The kernels' and one of Spark alone, beside each other."""
    assert goes_on(place, table)
    doom(place.folder, ASLEEP)
    with ThreadPoolExecutor(2) as threads:
        reports = list(threads.map(lambda specs: place.scan(table, specs, FOR_TWO), (SPECS, FILTER)))
    assert begun(place.folder) == 2
    assert [reasons(report) for report in reports] == [{Reason.TIMEOUT}] * 2
    assert max(report.seconds for report in reports) < FOR_TWO + GRACE


@pytest.mark.only_on_spark("local", why="a child bounds the memory of its own processes, and of no executor")
def test_a_kernel_that_fills_the_memory_is_told_so_as_any_python_is(place: Place, table: Table) -> None:
    assert goes_on(place, table)
    pid = place.engine.pid
    assert pid is not None
    doom(place.folder, FILLED)
    assert reasons(place.scan(table, SPECS)) == {Reason.OUT_OF_MEMORY}
    assert not list(members(pid))
    assert goes_on(place, table)


@pytest.mark.parametrize("native", [True, False], ids=["by the kernels", "by Spark alone"])
def test_a_long_scan_is_stopped_at_its_deadline(place: Place, tmp_path: Path, *, native: bool) -> None:
    random = np.random.default_rng(5)
    columns = {f"c{at}": random.integers(0, 1 << 60, 1_000_000) for at in range(8)}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", use_dictionary=False)
    long = Table(name="wide", storage="parquet", location=str(tmp_path))
    doom(place.folder, NOTHING, native=native)
    warm = place.scan(long, (metric("sum", "c0", where="c1 > 5"),))
    assert (warm.read_by.kernels, warm.read_by.spark) == ((1, 0) if native else (0, 1))
    late = place.scan(long, [metric("uniqueness", name, "c0") for name in list(columns)[1:]], DEADLINE)
    assert reasons(late) == {Reason.TIMEOUT}
    assert late.seconds < DEADLINE + GRACE
