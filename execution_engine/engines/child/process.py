"""One Spark child: a Python process in a session of its own that hosts an engine, and the calls it is busy with."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from execution_engine.engines.limits import Limits, bytes_of
from execution_engine.engines.spark.start.options import SparkOptions
from execution_engine.outcome import Failure, Reason

from .codec import UnableToDecode, call_frame, result_of
from .death import Death, UnableToAnswer, failure_of_death, kernel_kills
from .environment import child_environment
from .frames import Frame, UnableToReadFrame, read_frame, write_frame
from .process_session import MemoryWatch, kill_session

SPARK = "execution_engine.engines.spark.engine:SparkEngine"
CLOSE_SECONDS = 10.0
EXIT_SECONDS = 2.0  # between the end of a child's pipe and that of the child


class Retired(Exception):
    """The child takes no more calls."""


@dataclass(frozen=True, kw_only=True)
class ChildOptions:
    """What a child is started with; ``hosted`` names the class of its engine, which takes SparkOptions."""

    spark: SparkOptions = field(default_factory=SparkOptions)
    limits: Limits = field(default_factory=Limits)
    hosted: str = SPARK


@dataclass(frozen=True, kw_only=True)
class ChildCall:
    """A call that a child is busy with."""

    id: int
    method: str
    answer: Future[Any] = field(default_factory=Future)


class Child:
    """Started at once; ``ready`` is done when Spark runs, or raises UnableToAnswer."""

    def __init__(self, options: ChildOptions) -> None:
        self.options = options
        self.ready: Future[None] = Future()
        self._scratch = Path(tempfile.mkdtemp(prefix="assay-spark-"))
        self._process = _start(options, self._scratch)
        self._kernel_kills = kernel_kills()
        self._calls: dict[int, ChildCall] = {}
        self._taken = 0
        self._is_retired = self._is_buried = False
        self._java: int | None = None
        self._ordered = ""
        self._has_overflowed = False
        self._lock = Lock()
        self._outgoing: SimpleQueue[Frame | None] = SimpleQueue()
        for work in (self._write, self._read):
            Thread(target=work, name=f"{work.__name__} of Spark child {self.pid}", daemon=True).start()
        self._memory = MemoryWatch(self.pid, bytes_of(options.limits.memory), self._overflow)
        self._outgoing.put(_first_frame(options, self._scratch))

    @property
    def pid(self) -> int:
        """Its process id, which is that of its session."""
        return self._process.pid

    @property
    def is_retired(self) -> bool:
        """Whether it takes no more calls, dead or alive."""
        return self._is_retired

    def ask(self, method: str, args: tuple[Any, ...]) -> ChildCall:
        """Send a call; raises Retired where the child takes none any more."""
        with self._lock:
            if self._is_retired or self._taken >= self.options.limits.scans_per_child:
                raise Retired
            self._taken += 1
            call = ChildCall(id=self._taken, method=method)
            self._calls[call.id] = call
        self._outgoing.put(call_frame(call.id, method, args))
        return call

    def cancel(self, call: ChildCall) -> None:
        """Ask it to stop the Spark jobs of a call; the call's answer says whether it did."""
        self._outgoing.put(Frame(header={"cancel": call.id}))

    def kill(self, why: str) -> None:
        """End it and all that it started at once; other calls are told why."""
        with self._lock:
            self._ordered = self._ordered or why
            self._is_retired = True
            if not self._is_buried:  # else its number may be another's by now
                kill_session(self.pid)

    def retire(self) -> None:
        """Take no more calls, and end once those under way are answered."""
        with self._lock:
            self._is_retired = True
            idle = not self._calls
        if idle:
            self._say_goodbye()

    def close(self) -> None:
        """End it now; Spark is given a moment to take leave of its cluster."""
        with self._lock:
            self._is_retired = True
        self._say_goodbye()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSE_SECONDS)
        self.kill("it was closed")

    def _overflow(self) -> None:
        self._has_overflowed = True
        self.kill("its memory was used up")

    def _say_goodbye(self) -> None:
        self._outgoing.put(Frame(header={"close": True}))
        self._outgoing.put(None)

    def _write(self) -> None:
        """In a thread of its own, as a child that hangs may not read what it is sent."""
        assert self._process.stdin is not None
        with suppress(OSError):
            while (frame := self._outgoing.get()) is not None:
                try:
                    write_frame(self._process.stdin, frame)  # type: ignore[arg-type]
                except UnableToReadFrame as error:
                    self._refuse(frame, error)
        with suppress(OSError):
            self._process.stdin.close()

    def _refuse(self, frame: Frame, error: UnableToReadFrame) -> None:
        """Tell whoever waits that the call was too large to be sent; calls after it go their way."""
        with self._lock:
            call = self._calls.pop(frame.header["id"], None)
        if call is not None:
            detail = f"the scan asks for too much at once ({error}); ask for a shorter range, or for less in one test"
            call.answer.set_exception(UnableToAnswer(Failure(reason=Reason.QUERY_FAILED, detail=detail)))

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while frame := read_frame(self._process.stdout):  # type: ignore[arg-type]
                self._take(frame)
        except (UnableToReadFrame, UnableToDecode, OSError, TypeError, ValueError) as error:
            self.kill(f"the Spark child cannot go on ({error})")
        self._end()

    def _take(self, frame: Frame) -> None:
        if "ready" in frame.header and not self.ready.done():
            self.ready.set_result(None)
        if "broken" in frame.header:
            raise UnableToReadFrame(str(frame.header["broken"])[:500])
        if "java" in frame.header:
            self._java = int(frame.header["java"])
        with self._lock:
            call = self._calls.pop(frame.header.get("id", 0), None)
            is_last = self._is_retired and not self._calls
        if call is not None:
            _answer(call, frame)
            if is_last:
                self._say_goodbye()

    def _end(self) -> None:
        """Bury it, and tell all that wait for it."""
        death = self._death()
        failure = failure_of_death(death, self.options.limits.memory)
        with self._lock:
            self._is_retired = True
            left, self._calls = list(self._calls.values()), {}
        self._outgoing.put(None)
        shutil.rmtree(self._scratch, ignore_errors=True)
        if not self.ready.done():
            self.ready.set_exception(UnableToAnswer(failure))
        for call in left:
            call.answer.set_exception(UnableToAnswer(failure, alone=len(left) == 1))

    def _death(self) -> Death:
        self._memory.end()
        until = time.monotonic() + EXIT_SECONDS
        while self._process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        with self._lock:
            kill_session(self.pid)
            status = self._process.wait()
            self._is_buried = True
        return Death(
            java=self._java,
            python=status,
            kernel_kills=kernel_kills() - self._kernel_kills,
            ordered=self._ordered,
            overflowed=self._has_overflowed,
            was_ready=self.ready.done(),
        )


def _start(options: ChildOptions, scratch: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "execution_engine.engines.child.main"],
        env=child_environment(os.environ, options.limits.variables, scratch),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if options.limits.shows_log else subprocess.DEVNULL,  # Java's own words before it reads a setting
        start_new_session=True,
    )


def _first_frame(options: ChildOptions, scratch: Path) -> Frame:
    """By the pipe, not the command line: settings of Spark may hold what others on the machine must not read."""
    return Frame(
        header={
            "spark": asdict(options.spark),
            "memory": options.limits.memory,
            "hosted": options.hosted,
            "scratch": str(scratch),
        }
    )


def _answer(call: ChildCall, frame: Frame) -> None:
    if "raised" in frame.header:
        reason = Reason.OUT_OF_MEMORY if frame.header.get("memory") else Reason.ENGINE_UNREACHABLE
        failure = Failure(reason=reason, detail=str(frame.header["raised"])[:1000])
        call.answer.set_exception(UnableToAnswer(failure))
        return
    try:
        call.answer.set_result(result_of(frame, call.method))
    except UnableToDecode as error:
        failure = Failure(reason=Reason.ENGINE_UNREACHABLE, detail=f"the Spark child sent what is no answer: {error}")
        call.answer.set_exception(UnableToAnswer(failure))
        raise
