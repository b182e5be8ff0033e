"""The Spark child itself: ``python -m execution_engine.engines.child.main``, spoken to by frames on its pipes only.

It dies with its parent: when the pipe ends, so do Java, Java's Python workers and this process, whatever they do.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from threading import Event, Lock, Thread
from typing import Any, BinaryIO

from execution_engine.engines.protocol import ScanReport
from execution_engine.engines.spark.start.options import SparkOptions
from execution_engine.outcome import Reason

from .busy_calls import RunningCalls
from .process import kill_session
from .wire import Frame, UnableToReadFrame, call_of, read_frame, result_frame, write_frame

# A watch over the Java of this process: when it ends, so does the process, once it has said how.

SETTLE_SECONDS = 3.0  # between the end of Java's connections and that of Java


class JavaWatch:
    """Gives ``end`` the last words of the process: the exit status of Java, negative for a signal."""

    def __init__(self, end: Callable[[Frame], None]) -> None:
        self._end = end
        self._ended = Event()

    def start(self) -> None:
        """Once Java runs: it is the only child that this process has."""
        if hasattr(os, "waitid"):
            Thread(target=self._watch, name="watch over Java", daemon=True).start()

    def has_ended(self) -> bool:
        """Whether Java is gone; its connections end a moment before it does."""
        return self._ended.wait(SETTLE_SECONDS)

    def _watch(self) -> None:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            return  # no Java of ours: Spark is elsewhere
        self._ended.set()
        if ended is not None:
            status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
            self._end(Frame(header={"java": status}))


def is_unreached(result: Any) -> bool:
    """Whether a report says that Java could not be reached; it may be the first to notice its end."""
    reports = result if isinstance(result, tuple) else (result,)
    measured = [item for each in reports if isinstance(each, ScanReport) for item in each.measured.values()]
    return any(item.failure is not None and item.failure.reason is Reason.ENGINE_UNREACHABLE for item in measured)


JAVA_ENDED = 70  # the exit status
CLOSE_SECONDS = 5.0
THREADS = 64  # of calls at a time; a worker has fewer
JAVA_OPTIONS = "-XX:+ExitOnOutOfMemoryError -XX:-UsePerfData -Djava.io.tmpdir={scratch}"


class Host:
    """Serves the calls of one pipe with one engine."""

    def __init__(self, replies: BinaryIO, engine: Any, scratch: str) -> None:
        self._replies = replies
        self._scratch = scratch
        self._engine = engine
        self._writing = Lock()
        self._running = RunningCalls(engine)
        self._java = JavaWatch(self._end)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="call")

    def start(self) -> None:
        """Start Spark; where it cannot, every call will say why."""
        try:
            _ = self._engine.session
        except Exception as error:
            print(f"assay: Spark does not start: {type(error).__name__}: {error}"[:1000], file=sys.stderr)
        else:
            self._java.start()
        self.send(Frame(header={"ready": True}))

    def take(self, frame: Frame) -> None:
        """Begin what the frame asks for."""
        if "cancel" in frame.header:
            self._running.cancel(frame.header["cancel"])
        else:
            self._threads.submit(self._serve, frame)

    def close(self) -> None:
        """Take leave of Spark, unless that takes long."""
        leaving = Thread(target=self._engine.close, name="leave", daemon=True)
        leaving.start()
        leaving.join(CLOSE_SECONDS)

    def send(self, frame: Frame) -> None:
        """One frame to the parent, whole."""
        with self._writing, suppress(BrokenPipeError):  # whoever asked has ended: so will this process, by its pipe
            write_frame(self._replies, frame)

    def _end(self, frame: Frame) -> None:
        """The last frame: nobody else's may be cut in two behind it."""
        self._writing.acquire()
        with suppress(OSError):  # the parent may be gone as well, and nobody is left to be told
            write_frame(self._replies, frame)
        shutil.rmtree(self._scratch, ignore_errors=True)  # Java may have ended because this process is about to
        os._exit(JAVA_ENDED)

    def _serve(self, frame: Frame) -> None:
        id_ = frame.header["id"]
        try:
            _, method, arguments = call_of(frame)
            with self._running.running(id_):
                result = getattr(self._engine, method)(**arguments)
            if is_unreached(result) and self._java.has_ended():
                return  # the end of Java tells more than what the engine saw of it
            self.send(result_frame(id_, result))
        except Exception as error:
            if isinstance(error, MemoryError) or not self._java.has_ended():
                self.send(_raised(id_, error))


def _raised(id_: int, error: Exception) -> Frame:
    said = f"the engine failed: {type(error).__name__}: {error}"[:1000]
    return Frame(header={"id": id_, "raised": said, "memory": isinstance(error, MemoryError)})


def main() -> None:
    """Serve until the pipe ends."""
    requests, replies = _take_pipes()
    first = read_frame(requests)
    if first is None:
        return
    scratch = str(first.header["scratch"])
    try:
        host = Host(replies, _engine(first.header), scratch)
    except Exception as error:
        write_frame(replies, Frame(header={"broken": f"{type(error).__name__}: {error}"}))
        raise
    Thread(target=host.start, name="start of Spark", daemon=True).start()
    try:
        while (frame := read_frame(requests)) is not None:
            if "close" in frame.header:
                host.close()
                break
            host.take(frame)
    except UnableToReadFrame as error:
        print(f"assay: the Spark child cannot read what it is sent: {error}", file=sys.stderr)
    _die(scratch)


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The pipes of the parent, kept from whatever prints or reads in this process and those it starts."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return requests, replies


def _engine(header: Mapping[str, Any]) -> Any:
    """The engine that the parent names, told to let go of Java rather than to go on without memory."""
    module, _, name = str(header["hosted"]).partition(":")
    java_options = JAVA_OPTIONS.format(scratch=header["scratch"])
    options = SparkOptions(**header["spark"] | {"memory": header["memory"], "java_options": java_options})
    return getattr(import_module(module), name)(options)


def _die(scratch: str) -> None:
    """End everything that this process started, and itself."""
    kill_session(os.getpid(), spare=os.getpid())
    shutil.rmtree(scratch, ignore_errors=True)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
