"""One process that is to be there: started again, after a while that grows, whenever it ends."""

import os
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM, Signals
from threading import RLock

from assay.time.durations import doubled

from .programs import ROOT

FIRST_DELAY, LONGEST_DELAY = timedelta(seconds=0.1), timedelta(seconds=30)  # until it is started again
STEADY_AFTER = 10.0  # seconds: what has lived so long and ends then has failed for the first time
MOST_LOG = 10_000_000  # bytes; a longer log is put aside, in place of the one before, when its process starts


class State(StrEnum):
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
    state: State = State.ENDED
    _child: subprocess.Popen[bytes] | None = None
    _failures: int = 0
    _started_at: float = 0.0  # of the monotonic clock, as the next
    _starts_at: float = 0.0
    _lock: RLock = field(default_factory=RLock)

    @property
    def pid(self) -> int:
        """The id of the process that runs, or of the last that did; 0 before the first."""
        return self._child.pid if self._child else 0

    def start(self) -> None:
        """Start it, unless it is there."""
        with self._lock:
            if self.state in (State.RUNS, State.STOPPED) and self._is_alive():
                return
            self._put_log_aside()
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
            self._started_at, self.state = time.monotonic(), State.RUNS

    def look_after(self) -> None:
        """Start it again where it has ended, once its time has come."""
        with self._lock:
            if self.state in (State.RUNS, State.STOPPED) and not self._is_alive():
                self._note_end()
            if self.state is State.WAITS and time.monotonic() >= self._starts_at:
                self.restarts += 1
                self.start()

    def signal(self, number: Signals) -> None:
        """Send a signal to it and to all that it has started."""
        with self._lock:
            self._signal(number)
            if number in (SIGSTOP, SIGCONT) and self._is_alive():
                self.state = State.STOPPED if number is SIGSTOP else State.RUNS

    def ask_to_end(self) -> None:
        """Send SIGTERM, and do not start it again."""
        with self._lock:
            self.state = State.ENDED
            self._signal(SIGTERM, group=False)
            self._signal(SIGCONT)

    def end(self, limit: float) -> None:
        """Ask it to end, and make it after ``limit`` seconds; it is not started again."""
        self.ask_to_end()
        if self._child is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(limit)
        self._signal(SIGKILL)
        self._child.wait()

    def _is_alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def _note_end(self) -> None:
        """What it started goes with it; failures that follow each other closely make it wait longer."""
        self._signal(SIGKILL)
        is_steady = time.monotonic() - self._started_at >= STEADY_AFTER
        self._failures = 0 if is_steady else self._failures + 1
        self._starts_at, self.state = time.monotonic() + delay(self._failures), State.WAITS

    def _signal(self, number: Signals, *, group: bool = True) -> None:
        if self._child is None:
            return
        with suppress(ProcessLookupError):
            if group:
                os.killpg(self._child.pid, number)
            else:
                self._child.send_signal(number)

    def _put_log_aside(self) -> None:
        if self.log.exists() and self.log.stat().st_size > MOST_LOG:
            self.log.replace(self.log.with_suffix(".before.log"))
