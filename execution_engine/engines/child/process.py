"""One Spark child: a Python process in a session of its own that hosts an engine, and the calls it is busy with."""

import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from pathlib import Path
from queue import SimpleQueue
from signal import SIGKILL, SIGTERM
from threading import Event, Lock, Thread
from typing import Any

from assay.config import config
from assay.spark_conf import variables_of
from assay.stores import environment_of
from execution_engine.engines.protocol import Limits, SparkOptions, bytes_of
from execution_engine.outcome import Failure, Reason

from .wire import MOST_BYTES, Message, UnableToSend, check_result, read_answer, write_call

# All processes of a session: Spark's child, its Java and Java's Python workers, which have groups of their own.

PROC = Path("/proc")
_SWEEPS = 20  # a process may be born while its session is killed
INTERVAL = 0.5  # seconds between two looks at the memory
LEAST = 1024**3  # bytes; what Python, pandas and two workers start with is a part of this


def kill_session(leader: int, *, spare: int | None = None) -> None:
    """SIGKILL every process of the session but ``spare``; the leader must not have been waited for."""
    for _ in range(_SWEEPS):
        alive = [pid for pid in members(leader) if pid != spare]
        if not alive:
            return
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def members(leader: int) -> Iterator[int]:
    """The living processes of the session; where there is no /proc, the leader only."""
    if not PROC.is_dir():
        yield leader
        return
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError, ValueError):  # gone meanwhile
                state, _, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
                if state not in "ZX" and int(session) == leader:
                    yield int(folder.name)


def memory_of(leader: int, *, but: str) -> int:
    """The bytes that the session's processes hold for themselves, but for those whose name is ``but``."""
    pages = 0
    for pid in members(leader):
        with suppress(OSError, ValueError):
            folder = PROC / str(pid)
            if (folder / "comm").read_text().strip() != but:
                _, resident, shared = map(int, (folder / "statm").read_text().split()[:3])
                pages += resident - shared
    return pages * resource.getpagesize()


class MemoryWatch:
    """Calls ``overflow`` once the processes of a session, but for Java, hold more than ``bound`` bytes.

    Java bounds its own memory. The others are watched from outside: a bound on the address space (RLIMIT_AS) makes
    allocators fail that only reserve, and a process that is busy filling its memory may not get round to look.
    """

    def __init__(self, leader: int, bound: int, overflow: Callable[[], None]) -> None:
        self._ended = Event()

        def watch() -> None:
            while not self._ended.wait(INTERVAL):
                if memory_of(leader, but="java") > max(bound, LEAST):
                    overflow()
                    return

        Thread(target=watch, name=f"memory of Spark child {leader}", daemon=True).start()

    def end(self) -> None:
        """Stop looking; to be called before the processes are buried."""
        self._ended.set()


# The environment of a Spark child: what Spark needs and nothing else, so that user SQL finds no secret in it.

NEEDED = (
    "PATH",
    "JAVA_HOME",
    "SPARK_HOME",
    "SPARK_CONF_DIR",
    "SPARK_SUBMIT_OPTS",
    "HADOOP_HOME",
    "HADOOP_CONF_DIR",
    "YARN_CONF_DIR",
    "PYSPARK_PYTHON",
    "LD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "TZ",
)
UTF_8 = "C.UTF-8"


def child_environment(environment: Mapping[str, str], passed: Collection[str], scratch: Path) -> dict[str, str]:
    """The child's own; ``passed`` names the variables more that it may see, for example of an object store."""
    parent_variables = {name: environment[name] for name in (*NEEDED, *passed) if name in environment}
    return (
        {"LANG": UTF_8, "PYSPARK_PYTHON": sys.executable}  # on nodes of a cluster it may lie elsewhere
        | parent_variables
        | {
            "HOME": str(scratch),
            "TMPDIR": str(scratch),
            "SPARK_LOCAL_DIRS": str(scratch),
            "PYTHONPATH": os.pathsep.join(import_path()),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
    )


def import_path() -> list[str]:
    """The folders that this process imports from, so that the child finds the very same code."""
    return [str(Path(entry).absolute()) for entry in sys.path if entry and Path(entry).exists()]


# Why a Spark child ended, and what that says of the scans that it was busy with.

JAVA_OUT_OF_MEMORY = 3  # the exit status of a Java told to exit when its memory is used up
VMSTAT = Path("/proc/vmstat")


class UnableToAnswer(Exception):
    """A child gave no answer; the failure says why. ``alone``: no other call was in the child."""

    def __init__(self, failure: Failure, *, alone: bool = True) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.alone = alone


@dataclass(frozen=True, kw_only=True)
class Death:
    """How a child ended; statuses as ``subprocess`` has them, negative for a signal, None where not known."""

    java: int | None = None
    python: int | None = None
    kernel_kills: int = 0  # processes that the kernel killed meanwhile for want of memory
    ordered: str = ""  # why we killed it, if we did
    overflowed: bool = False  # its Python processes held too much
    was_ready: bool = True  # before that it ran nobody's query


def failure_of_death(death: Death, memory: str) -> Failure:
    """What a scan that was in the child, or waited for it to start, is told; the latter is never to blame."""
    reason = Reason.OUT_OF_MEMORY
    if death.overflowed:
        detail = (
            f"Spark's Python held more than {memory}; make the query or the key smaller, or raise ASSAY_SPARK_MEMORY"
        )
    elif death.ordered:
        reason, detail = Reason.ENGINE_UNREACHABLE, f"Spark was restarted: {death.ordered}; this is tried again"
    elif death.java == JAVA_OUT_OF_MEMORY:
        detail = f"Spark used up its memory of {memory}; make the query or the key smaller, or raise ASSAY_SPARK_MEMORY"
    elif -SIGKILL in (death.java, death.python) and death.kernel_kills:
        detail = (
            f"the kernel killed Spark as the machine ran out of memory; lower ASSAY_SPARK_MEMORY (now {memory}), "
            "run fewer workers here, or make the query smaller"
        )
    else:
        is_stopped = SIGTERM in (-(death.java or 0), -(death.python or 0))
        reason = Reason.ENGINE_UNREACHABLE if is_stopped else Reason.CRASHED
        who, status = ("Spark's Java", death.java) if death.java is not None else ("the Spark child", death.python)
        end = f"was killed by signal {-status}" if status and status < 0 else f"ended with status {status}"
        detail = f"{who} {'went away' if status is None else end}; Spark is restarted by the next scan"
    return Failure(reason=reason if death.was_ready else Reason.ENGINE_UNREACHABLE, detail=detail)


def kernel_kills() -> int:
    """How many processes this machine's kernel has killed for want of memory since it started; 0 where it tells not."""
    try:
        lines = dict(line.split() for line in VMSTAT.read_text().splitlines())
    except (OSError, ValueError):
        return 0
    return int(lines.get("oom_kill", 0))


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


class Child:
    """Started at once; ``ready`` is done when Spark runs, or raises UnableToAnswer."""

    def __init__(self, options: ChildOptions) -> None:
        self.options = options
        self.ready: Future[None] = Future()
        self.is_retired = False  # whether it takes no more calls, dead or alive
        self._scratch = Path(tempfile.mkdtemp(prefix="assay-spark-"))
        self._pipe, theirs = Pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "execution_engine.engines.child.main", str(theirs.fileno())],
            env=child_environment(os.environ, options.limits.variables, self._scratch)
            | environment_of(config().object_stores, os.environ)
            | {name: os.environ[name] for name in variables_of(options.spark.conf) if name in os.environ},
            stdin=subprocess.DEVNULL,
            # Java's own words before it reads a setting, and what anything there prints
            stdout=2 if options.limits.shows_log else subprocess.DEVNULL,
            stderr=None if options.limits.shows_log else subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self._kernel_kills = kernel_kills()
        self._answers: dict[int, tuple[str, Future[Any]]] = {}  # by number: the method, and what waits for it
        self._taken = 0
        self._is_buried = False
        self._java: int | None = None
        self._ordered = ""
        self._has_overflowed = False
        self._lock = Lock()
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        for work in (self._write, self._read):
            Thread(target=work, name=f"{work.__name__} of Spark child {self.pid}", daemon=True).start()
        self._memory = MemoryWatch(self.pid, bytes_of(options.limits.memory), self._overflow)
        # by the pipe, not the command line: settings of Spark may hold what others on the machine must not read
        self._send("start", 0, (options, str(self._scratch)))

    @property
    def pid(self) -> int:
        """Its process id, which is that of its session."""
        return self._process.pid

    def ask(self, method: str, args: tuple[Any, ...]) -> tuple[int, Future[Any]]:
        """Send a call: its number and its answer; raises Retired where the child takes none any more."""
        answer: Future[Any] = Future()
        with self._lock:
            if self.is_retired or self._taken >= self.options.limits.scans_per_child:
                raise Retired
            self._taken += 1
            id_ = self._taken
            self._answers[id_] = method, answer
        try:
            self._send("call", id_, (method, args))
        except UnableToSend as error:
            with self._lock:
                self._answers.pop(id_, None)
            detail = f"the scan asks for too much at once ({error}); ask for a shorter range, or for less in one test"
            raise UnableToAnswer(Failure(reason=Reason.QUERY_FAILED, detail=detail)) from None
        return id_, answer

    def cancel(self, id_: int) -> None:
        """Ask it to stop the Spark jobs of a call; the call's answer says whether it did."""
        self._send("cancel", id_)

    def kill(self, why: str) -> None:
        """End it and all that it started at once; other calls are told why."""
        with self._lock:
            self._ordered = self._ordered or why
            self.is_retired = True
            if not self._is_buried:  # else its number may be another's by now
                kill_session(self.pid)

    def retire(self) -> None:
        """Take no more calls, and end once those under way are answered."""
        with self._lock:
            self.is_retired = True
            is_idle = not self._answers
        if is_idle:
            self._say_goodbye()

    def close(self) -> None:
        """End it now; Spark is given a moment to take leave of its cluster."""
        with self._lock:
            self.is_retired = True
        self._say_goodbye()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSE_SECONDS)
        self.kill("it was closed")

    def _overflow(self) -> None:
        self._has_overflowed = True
        self.kill("its memory was used up")

    def _say_goodbye(self) -> None:
        self._send("close", 0)
        self._outgoing.put(None)

    def _send(self, kind: str, id_: int, content: Any = None) -> None:
        self._outgoing.put(write_call((kind, id_, content)))

    def _write(self) -> None:
        """In a thread of its own, as a child that hangs may not read what it is sent."""
        with suppress(OSError):
            while (message := self._outgoing.get()) is not None:
                self._pipe.send_bytes(message)

    def _read(self) -> None:
        try:
            while True:
                self._take(read_answer(self._pipe.recv_bytes(MOST_BYTES)))
        except (EOFError, ConnectionError):
            pass
        except Exception as error:  # whatever a pickle that is no message of ours may raise
            self.kill(f"the Spark child cannot go on ({error})")
        self._memory.end()
        until = time.monotonic() + EXIT_SECONDS
        while self._process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        with self._lock:
            kill_session(self.pid)
            status = self._process.wait()
            self._is_buried = self.is_retired = True
            left, self._answers = [answer for _, answer in self._answers.values()], {}
        death = Death(
            java=self._java,
            python=status,
            kernel_kills=kernel_kills() - self._kernel_kills,
            ordered=self._ordered,
            overflowed=self._has_overflowed,
            was_ready=self.ready.done(),
        )
        failure = failure_of_death(death, self.options.limits.memory)
        self._outgoing.put(None)
        self._pipe.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
        if not self.ready.done():
            self.ready.set_exception(UnableToAnswer(failure))
        for answer in left:
            answer.set_exception(UnableToAnswer(failure, alone=len(left) == 1))

    def _take(self, message: Message) -> None:
        kind, id_, content = message
        match kind:
            case "ready":
                self.ready.set_result(None)
            case "broken":
                raise pickle.UnpicklingError(str(content)[:500])
            case "java":
                self._java = int(content)
        with self._lock:
            call = self._answers.get(id_)
        if call is None:
            return
        method, answer = call  # which waits on where the content is refused, and is told how the child ends
        if kind == "result":
            answer.set_result(check_result(method, content))
        else:
            detail, is_of_memory = content
            reason = Reason.OUT_OF_MEMORY if is_of_memory else Reason.ENGINE_UNREACHABLE
            answer.set_exception(UnableToAnswer(Failure(reason=reason, detail=str(detail)[:1000])))
        with self._lock:
            del self._answers[id_]
            is_last = self.is_retired and not self._answers
        if is_last:
            self._say_goodbye()
