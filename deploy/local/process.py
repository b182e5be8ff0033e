"""Processes that are to be there: each is started again, after a while that grows, whenever it ends.

By hand, as no library does the same in fewer lines: honcho starts nothing again; supervisor and circus wait for no
readiness, know no process that is stopped, and leave all behind when they are killed themselves.
"""

import fcntl
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM, Signals
from threading import Event, RLock, Thread

from assay.time.durations import doubled

from .programs import MOST_OUTPUT, ROOT, UnableToStart

FIRST_DELAY, LONGEST_DELAY = timedelta(seconds=0.1), timedelta(seconds=30)  # until it is started again
STEADY_AFTER = 10.0  # seconds: what has lived so long and ends then has failed for the first time
MOST_LOG = 10_000_000  # bytes; a longer log is put aside, in place of the one before, when its process starts
LOOK_EVERY = 0.1  # seconds
START_LIMIT = 180.0  # a busy machine is no reason; one that ends is seen at once
STOP_LIMIT = 30.0
NOTE = "processes.json"


class ProcessState(StrEnum):
    """What a process is doing."""

    RUNS = "runs"
    STOPPED = "stopped"
    WAITS = "waits to be started again"
    ENDED = "ended"


def delay(failures: int) -> float:
    """Seconds until a process that has failed so often in a row is started again."""
    return doubled(FIRST_DELAY, failures, most=LONGEST_DELAY).total_seconds()


@dataclass(kw_only=True)
class Process:
    """A command with its log; it leads a group of its own, in which all that it starts is signalled with it."""

    name: str
    command: list[str]
    environment: Mapping[str, str]
    log: Path
    is_server: bool = False  # others need it, and end before it
    restarts: int = 0
    state: ProcessState = ProcessState.ENDED
    _child: subprocess.Popen[bytes] | None = None
    _failures: int = 0
    _started_at: float = 0.0  # of the monotonic clock, as the next
    _starts_at: float = 0.0
    _lock: RLock = field(default_factory=RLock)

    @property
    def pid(self) -> int:
        """The id of the process that runs, or of the last that did; 0 before the first."""
        return self._child.pid if self._child else 0

    @property
    def _is_alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        """Start it, unless it is there."""
        with self._lock:
            if self.state in (ProcessState.RUNS, ProcessState.STOPPED) and self._is_alive:
                return
            if self.log.exists() and self.log.stat().st_size > MOST_LOG:
                self.log.replace(self.log.with_suffix(".before.log"))
            with self.log.open("ab") as log:
                self._child = subprocess.Popen(
                    self.command,
                    env=dict(self.environment),
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            self._started_at, self.state = time.monotonic(), ProcessState.RUNS

    def look_after(self) -> None:
        """Start it again where it has ended, once its time has come; what it started ends with it."""
        with self._lock:
            if self.state in (ProcessState.RUNS, ProcessState.STOPPED) and not self._is_alive:
                self._signal_group(SIGKILL)
                is_steady = time.monotonic() - self._started_at >= STEADY_AFTER
                self._failures = 0 if is_steady else self._failures + 1
                self._starts_at, self.state = time.monotonic() + delay(self._failures), ProcessState.WAITS
            if self.state is ProcessState.WAITS and time.monotonic() >= self._starts_at:
                self.restarts += 1
                self.start()

    def signal(self, number: Signals) -> None:
        """Send a signal to it and to all that it has started."""
        with self._lock:
            self._signal_group(number)
            if number in (SIGSTOP, SIGCONT) and self._is_alive:
                self.state = ProcessState.STOPPED if number is SIGSTOP else ProcessState.RUNS

    def ask_to_end(self) -> None:
        """Send SIGTERM, and do not start it again."""
        with self._lock:
            self.state = ProcessState.ENDED
            if self._child is not None:
                self._child.send_signal(SIGTERM)
                self._signal_group(SIGCONT)

    def end(self, limit: float) -> None:
        """Ask it to end, and make it after ``limit`` seconds; it is not started again."""
        self.ask_to_end()
        if self._child is not None:
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(limit)
            self._signal_group(SIGKILL)
            self._child.wait()

    def _signal_group(self, number: Signals) -> None:
        if self._child is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._child.pid, number)


class Supervisor:
    """Processes by name, in the order in which they were started; a thread looks after them until it is told to end."""

    def __init__(self, folder: Path | None = None) -> None:
        """``folder`` holds the note of what runs, for the next fleet if this one is killed."""
        self.processes: dict[str, Process] = {}
        self._folder, self._noted = folder, [0]
        self._has_ended = Event()
        self._thread = Thread(target=self._look_after, name="supervisor", daemon=True)

    def start(self, process: Process, is_ready: Callable[[], bool] | None = None) -> None:
        """Start a process and look after it; return once it is ready, or raise UnableToStart with what it said."""
        self.processes[process.name] = process
        process.start()
        self._note()
        if not self._thread.is_alive():
            self._thread.start()
        if is_ready:
            wait_until(is_ready, process)

    def end(self) -> None:
        """End all: those that were started last are asked first, and together where they do not serve others."""
        self._has_ended.set()
        if self._thread.is_alive():
            self._thread.join()
        until = time.monotonic() + STOP_LIMIT
        servers = [process for process in self.processes.values() if process.is_server]
        others = [process for process in self.processes.values() if not process.is_server]
        for process in others:
            process.ask_to_end()
        for process in reversed(others):
            process.end(max(0.0, until - time.monotonic()))
        for process in reversed(servers):
            process.end(STOP_LIMIT)
        if self._folder:
            note(self._folder, ())

    def _look_after(self) -> None:
        while not self._has_ended.wait(LOOK_EVERY):
            for process in list(self.processes.values()):
                process.look_after()
            self._note()

    def _note(self) -> None:
        processes = list(self.processes.values())
        if self._folder and (ids := [process.pid for process in processes]) != self._noted:
            self._noted = ids
            note(self._folder, processes)


def wait_until(is_ready: Callable[[], bool], process: Process) -> None:
    """Return once it is ready; raises UnableToStart with the end of its log."""
    deadline, restarts = time.monotonic() + START_LIMIT, process.restarts
    while not is_ready():
        has_ended = process.restarts > restarts or process.state in (ProcessState.WAITS, ProcessState.ENDED)
        if has_ended or time.monotonic() > deadline:
            process.end(0)
            raise UnableToStart(f"{process.name} did not come up:\n{process.log.read_text()[-MOST_OUTPUT:]}")
        time.sleep(0.05)


# One fleet in a folder at a time; what an earlier one left when it was killed is found by its note of process ids.


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keeps a second fleet out of the folder; raises UnableToStart where one is there."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UnableToStart(f"a service runs in {folder} already: end that, or set ASSAY_HOME") from None
        yield


def note(folder: Path, processes: Iterable[Process]) -> None:
    """Write down the id and the beginning of each process that runs."""
    entries = {process.name: (process.pid, _start_time(process.pid)) for process in processes if process.pid}
    unfinished = folder / f"{NOTE}.unfinished"
    unfinished.write_text(json.dumps(entries))
    unfinished.replace(folder / NOTE)


def end_left(folder: Path) -> list[str]:
    """SIGKILL what is noted and still there, each with all that it started; the names."""
    path = folder / NOTE
    entries: dict[str, tuple[int, str]] = json.loads(path.read_text()) if path.exists() else {}
    pids = {name: pid for name, (pid, start) in entries.items() if start and _start_time(pid) == start}
    for pid in pids.values():
        with suppress(ProcessLookupError):
            os.killpg(pid, SIGKILL)
    path.unlink(missing_ok=True)
    return sorted(pids)


def _start_time(pid: int) -> str:
    """In ticks since the machine began: another process with the same id began later; empty for none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
