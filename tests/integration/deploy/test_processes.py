"""Processes that are looked after: started again when they end, later and later, and gone when the fleet is."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP

import pytest

from deploy.local.process import LONGEST_DELAY, Process, ProcessState, Supervisor, alone, delay, end_left, note
from deploy.local.programs import UnableToStart

SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)"]
WITH_A_CHILD = [sys.executable, "-c", f"import subprocess; subprocess.run({SLEEPS!r})"]
LIMIT = 20.0  # seconds


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    """One that ends what it has started."""
    made = Supervisor()
    yield made
    made.end()


def process(folder: Path, command: list[str], name: str = "sleeper") -> Process:
    """One with its log in the folder."""
    return Process(name=name, command=command, environment=os.environ, log=folder / f"{name}.log")


def until(is_so: Callable[[], bool]) -> None:
    """Return once it is so."""
    deadline = time.monotonic() + LIMIT
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_there(pid: int) -> bool:
    """Whether a process lives; one that has ended and was not asked for its status does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children_of(pid: int) -> list[int]:
    """What a process has started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_killed_process_is_started_again(tmp_path: Path, supervisor: Supervisor) -> None:
    sleeper = process(tmp_path, SLEEPS)
    supervisor.start(sleeper)
    first = sleeper.pid
    sleeper.signal(SIGKILL)
    until(lambda: sleeper.restarts == 1 and sleeper.pid != first)
    assert is_there(sleeper.pid)
    assert not is_there(first)


def test_what_it_started_is_killed_with_it(tmp_path: Path, supervisor: Supervisor) -> None:
    parent = process(tmp_path, WITH_A_CHILD)
    supervisor.start(parent)
    until(lambda: bool(children_of(parent.pid)))
    (child,) = children_of(parent.pid)
    os.kill(parent.pid, SIGKILL)
    until(lambda: not is_there(child))


def test_a_stopped_process_is_there_and_goes_on(tmp_path: Path, supervisor: Supervisor) -> None:
    sleeper = process(tmp_path, SLEEPS)
    supervisor.start(sleeper)
    sleeper.signal(SIGSTOP)
    assert sleeper.state is ProcessState.STOPPED
    sleeper.signal(SIGCONT)
    assert (sleeper.state, sleeper.restarts) == (ProcessState.RUNS, 0)


def test_one_that_was_ended_stays_down_until_it_is_started(tmp_path: Path, supervisor: Supervisor) -> None:
    sleeper = process(tmp_path, SLEEPS)
    supervisor.start(sleeper)
    sleeper.end(5)
    sleeper.look_after()
    assert (sleeper.state, is_there(sleeper.pid)) == (ProcessState.ENDED, False)
    sleeper.start()
    assert is_there(sleeper.pid)


def test_one_that_cannot_start_tells_why(tmp_path: Path, supervisor: Supervisor) -> None:
    dies = process(tmp_path, [sys.executable, "-c", "raise SystemExit('no space left')"])
    with pytest.raises(UnableToStart, match="no space left"):
        supervisor.start(dies, lambda: False)


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0.1), (1, 0.2), (4, 1.6), (9, 30.0), (100_000, LONGEST_DELAY.total_seconds())]
)
def test_the_more_often_it_failed_the_longer_it_waits(failures: int, seconds: float) -> None:
    assert delay(failures) == seconds


def test_what_a_killed_fleet_left_is_ended_by_the_next(tmp_path: Path) -> None:
    sleeper = process(tmp_path, SLEEPS)
    sleeper.start()
    note(tmp_path, [sleeper])
    assert end_left(tmp_path) == ["sleeper"]
    sleeper.end(5)
    assert end_left(tmp_path) == []


def test_another_process_with_a_noted_id_is_left_alone(tmp_path: Path) -> None:
    sleeper = process(tmp_path, SLEEPS)
    sleeper.start()
    note(tmp_path, [sleeper])
    (tmp_path / "processes.json").write_text(json.dumps({"sleeper": [sleeper.pid, "1"]}))
    assert end_left(tmp_path) == []
    assert is_there(sleeper.pid)
    sleeper.end(5)


def test_a_folder_has_one_fleet_at_a_time(tmp_path: Path) -> None:
    with alone(tmp_path), pytest.raises(UnableToStart, match="runs in"), alone(tmp_path):
        pass
    with alone(tmp_path):
        pass
