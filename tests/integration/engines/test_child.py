"""Spark in a process of its own: what it answers, what it cannot see, and that it can always be ended."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from execution_engine.engines.child.engine import ChildEngine
from execution_engine.engines.child.process import ChildOptions, members
from execution_engine.engines.protocol import WHOLE, Limits, Measured, MeasurementRequest, SparkOptions
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.outcome import Reason
from tests.integration.engines.raw_spark import HOSTED, NOWHERE, raw
from tests.integration.engines.trips import measure, measure_one, metric, write_trips

pytestmark = pytest.mark.only_on_spark("local", why="it starts a child whose Spark is local")
DEADLINE = 10.0  # of a call to a Spark that is warm; beside another test on two cores it fills its memory in four
LATEST = DEADLINE + 10
PLANNING_HANGS = f"select count(*) from range(1) where '{'a' * 80}b' like '{'%a' * 24}%c'"
A_TASK_HANGS = f"select count(*) from range(4) where concat(repeat('a', 80), id) like '{'%a' * 24}%c'"
CROSS_JOIN = "select count(*) from range(10000000) a, range(10000000) b where a.id % 7 < b.id % 5"
FILLS_JAVA = (
    "select size(sequence(1, 300000000)) + id from range(1)",
    "select length(repeat('a', 2000000000)) + id from range(1)",
)
HARMLESS = "select 42"


@pytest.fixture(scope="module")
def engine() -> Iterator[ChildEngine]:
    """A child that runs anything, under tight bounds."""
    engine = ChildEngine(ChildOptions(limits=Limits(deadline_seconds=DEADLINE, memory="1g"), hosted=HOSTED))
    yield engine
    engine.close()


def run(engine: ChildEngine, *texts: str) -> list[Measured]:
    report = engine.scan(NOWHERE, WHOLE, [raw(text) for text in texts])
    return [report.measured[text] for text in texts]


def reason(measured: Measured) -> Reason | None:
    return measured.failure.reason if measured.failure else None


def works(engine: ChildEngine) -> bool:
    return run(engine, HARMLESS) == [Measured(value=42)]


def pid_of(engine: ChildEngine) -> int:
    assert works(engine)
    assert engine.pid is not None
    return engine.pid


@pytest.mark.only_on_spark("local", "cluster", why="nobody starts a child for Connect")
def test_a_child_measures_what_spark_here_measures(
    spark_options: SparkOptions, spark_engine: SparkEngine, tmp_path: Path
) -> None:
    table = write_trips(tmp_path)
    specs = [metric("row_count"), metric("mean", "fare"), metric("completeness", "city"), metric("mean", "nothing")]
    specs += [metric("bloom_filter", "trip_id"), metric("max", "fare", where="city = 'rome'")]
    child = ChildEngine(ChildOptions(spark=spark_options))
    try:
        assert measure(child, table, *specs) == measure(spark_engine, table, *specs)
        (built,) = measure(child, table, metric("bloom_filter", "trip_id"))
        probe = MeasurementRequest(
            key="p", spec=metric("keys_found", "trip_id"), inputs={"bloom_filter": built.state or b""}
        )
        assert measure_one(child, table, probe) == measure_one(spark_engine, table, probe)
        assert child.fingerprint(table, WHOLE) == spark_engine.fingerprint(table, WHOLE)
        assert child.partitions(table) == spark_engine.partitions(table)
    finally:
        child.close()


def test_scans_of_several_threads_run_beside_each_other(engine: ChildEngine) -> None:
    assert works(engine)
    started = time.monotonic()
    with ThreadPoolExecutor(4) as threads:
        reports = list(threads.map(lambda _: run(engine, "sleep 2"), range(4)))
    assert reports == [[Measured(value=0)]] * 4
    assert time.monotonic() - started < 2 * 3


def test_no_secret_of_ours_is_in_the_environment_of_any_of_its_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DATABASE_URL", "mysql://assay:swordfish@db/assay")
    monkeypatch.setenv("DB_PASSWORD", "swordfish")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "for the lake")
    engine = ChildEngine(ChildOptions(limits=Limits(variables=("AWS_ACCESS_KEY_ID",)), hosted=HOSTED))
    try:
        assert run(engine, "worker 0") == [Measured(value=2)]
        seen = [Path(f"/proc/{pid}/environ").read_text().split("\0") for pid in members(pid_of(engine))]
        (literal,) = run(engine, "select '${env:AWS_ACCESS_KEY_ID}' = concat('$', '{env:AWS_ACCESS_KEY_ID}')")
    finally:
        engine.close()
    assert len(seen) >= 4  # the child, its Java, Java's daemon and a worker
    assert not [line for lines in seen for line in lines if "swordfish" in line or line.startswith("ASSAY")]
    assert all("AWS_ACCESS_KEY_ID=for the lake" in lines for lines in seen)
    assert literal.value == 1


def test_what_spark_can_cancel_is_cancelled_and_its_neighbours_are_unharmed(engine: ChildEngine) -> None:
    assert works(engine)
    started = time.monotonic()
    with ThreadPoolExecutor(3) as threads:
        asleep = threads.submit(run, engine, "worker 60")
        joined = threads.submit(run, engine, HARMLESS, CROSS_JOIN)
        time.sleep(DEADLINE / 2)
        neighbour = threads.submit(run, engine, f"sleep {DEADLINE * 0.7}")
        (slow,), (first, second) = asleep.result(), joined.result()
        assert time.monotonic() - started < LATEST
    assert reason(slow) is reason(second) is Reason.TIMEOUT
    assert f"deadline of {DEADLINE:g} s" in str(second.failure)
    assert (first.value, neighbour.result()) == (42, [Measured(value=0)])


def test_a_task_that_does_not_heed_is_left_behind_with_its_process(engine: ChildEngine) -> None:
    pid = pid_of(engine)
    (measured,) = run(engine, A_TASK_HANGS)
    assert reason(measured) is Reason.TIMEOUT
    _wait_for_the_end_of(pid)
    assert works(engine)


def test_what_cannot_be_cancelled_is_killed_and_its_neighbours_come_again(engine: ChildEngine) -> None:
    pid = pid_of(engine)
    started = time.monotonic()
    with ThreadPoolExecutor(2) as threads:
        hung = threads.submit(run, engine, PLANNING_HANGS)
        time.sleep(DEADLINE)
        neighbour = threads.submit(run, engine, f"sleep {DEADLINE * 0.9}").result()[0]
        assert reason(hung.result()[0]) is Reason.TIMEOUT
    assert time.monotonic() - started < LATEST
    assert neighbour.failure is not None
    assert neighbour.failure.transient
    assert "Spark was restarted" in str(neighbour.failure)
    assert not list(members(pid))
    assert works(engine)


def test_java_out_of_memory_is_said(engine: ChildEngine) -> None:
    (measured,) = run(engine, FILLS_JAVA[0])
    assert measured.failure is not None
    assert measured.failure.reason is Reason.OUT_OF_MEMORY
    assert "memory of 1g" in str(measured.failure)
    assert works(engine)


def test_a_scan_in_greedy_company_is_measured_all_the_same(engine: ChildEngine) -> None:
    assert works(engine)
    with ThreadPoolExecutor(2) as threads:
        innocent = threads.submit(run, engine, "sleep 3")
        time.sleep(0.5)
        (greedy,) = run(engine, FILLS_JAVA[1])
    assert innocent.result() == [Measured(value=0)]
    assert reason(greedy) is Reason.OUT_OF_MEMORY


def test_python_out_of_memory_is_said_and_the_next_scan_works(engine: ChildEngine) -> None:
    (measured,) = run(engine, "allocate 3000000000")
    assert reason(measured) is Reason.OUT_OF_MEMORY
    assert works(engine)


def test_java_killed_by_a_stranger_costs_a_scan_no_more_than_time(engine: ChildEngine) -> None:
    pid = pid_of(engine)
    (java,) = (each for each in members(pid) if Path(f"/proc/{each}/comm").read_text() == "java\n")
    threading.Timer(1, os.kill, (java, signal.SIGKILL)).start()
    (measured,) = run(engine, "sleep 3")
    assert measured.failure is None
    assert works(engine)


def test_what_ends_every_spark_that_runs_it_is_told_so(engine: ChildEngine) -> None:
    (measured,) = run(engine, "die")
    assert reason(measured) is Reason.CRASHED
    assert "killed by signal 9" in str(measured.failure)
    assert works(engine)


def test_a_fresh_child_takes_over_after_its_share_of_scans() -> None:
    engine = ChildEngine(ChildOptions(limits=Limits(scans_per_child=2), hosted=HOSTED))
    try:
        first, second, third = (pid_of(engine) for _ in range(3))
        assert first == second != third
        _wait_for_the_end_of(first)
    finally:
        engine.close()
    assert not list(members(third))


PARENT = """
from tests.integration.engines.test_child import ChildEngine, ChildOptions, HOSTED, pid_of, run
engine = ChildEngine(ChildOptions(hosted=HOSTED))
print(pid_of(engine), flush=True)
run(engine, "worker 600")
"""


def test_a_parent_that_is_killed_leaves_no_process_behind(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        while len(list(members(pid))) < 4:
            time.sleep(0.1)
        parent.kill()
    _wait_for_the_end_of(pid)
    assert not list(tmp_path.glob("assay-spark-*"))


def _wait_for_the_end_of(session: int) -> None:
    until = time.monotonic() + 20
    while list(members(session)):
        assert time.monotonic() < until, "its processes are still there"
        time.sleep(0.1)


def test_a_call_too_large_to_be_sent_is_told_so_and_the_child_goes_on(
    engine: ChildEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = pid_of(engine)
    with monkeypatch.context() as small:
        small.setattr("execution_engine.engines.child.wire.MOST_BYTES", 10_000)
        (refused,) = run(engine, f"select '{'a' * 10_000}'")
    assert refused.failure is not None
    assert refused.failure.reason is Reason.QUERY_FAILED
    assert "asks for too much at once" in refused.failure.detail
    assert pid_of(engine) == pid
