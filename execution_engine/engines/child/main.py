"""The Spark child itself: ``python -m execution_engine.engines.child.main FD``, spoken to by its pipe only.

It dies with its parent: when the pipe ends, so do Java, Java's Python workers and this process, whatever they do.
"""

import os
import pickle
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from multiprocessing.connection import Connection
from threading import Event, Lock, Thread
from typing import Any

from execution_engine.outcome import Reason

from .deadline import RunningCalls
from .engine import failed_for
from .process import ChildOptions, kill_session
from .wire import write_answer

SETTLE_SECONDS = 3.0  # between the end of Java's connections and that of Java
JAVA_ENDED = 70  # the exit status
CLOSE_SECONDS = 5.0
THREADS = 64  # of calls at a time; a worker has fewer
JAVA_OPTIONS = "-XX:+ExitOnOutOfMemoryError -XX:-UsePerfData -Djava.io.tmpdir={scratch}"


class Host:
    """Serves the calls of one pipe with one engine; when its Java ends, so does the process, once it has said how."""

    def __init__(self, parent: Connection, engine: Any, scratch: str) -> None:
        self.running = RunningCalls(engine)
        self._parent = parent
        self._scratch = scratch
        self._engine = engine
        self._writing = Lock()
        self._java_ended = Event()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="call")

    def start(self) -> None:
        """Start Spark; where it cannot, every call will say why."""

        def watch_java() -> None:  # it is the only child that this process has, once it runs
            with suppress(ChildProcessError):  # no Java of ours: Spark is elsewhere
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
                self._java_ended.set()
                if ended is not None:
                    self.end(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)

        try:
            _ = self._engine.session
        except Exception as error:
            print(f"assay: Spark does not start: {type(error).__name__}: {error}"[:1000], file=sys.stderr)
        else:
            if hasattr(os, "waitid"):
                Thread(target=watch_java, name="watch over Java", daemon=True).start()
        self.send("ready")

    def take(self, id_: int, method: str, args: tuple[Any, ...]) -> None:
        """Begin a call."""

        def serve() -> None:
            try:
                with self.running.running(id_):
                    result = getattr(self._engine, method)(*args)
                if not (failed_for(Reason.ENGINE_UNREACHABLE, result) and self._has_java_ended()):
                    self.send("result", id_, result)
            except Exception as error:
                is_of_memory = isinstance(error, MemoryError)
                if is_of_memory or not self._has_java_ended():
                    description = f"the engine failed: {type(error).__name__}: {error}"[:1000]
                    self.send("raised", id_, (description, is_of_memory))

        self._threads.submit(serve)

    def close(self) -> None:
        """Take leave of Spark, unless that takes long."""
        leaving = Thread(target=self._engine.close, name="leave", daemon=True)
        leaving.start()
        leaving.join(CLOSE_SECONDS)

    def send(self, kind: str, id_: int = 0, content: Any = None) -> None:
        """One message to the parent, whole."""
        message = write_answer((kind, id_, content))
        with self._writing, suppress(OSError):  # whoever asked has ended: so will this process, by its pipe
            self._parent.send_bytes(message)

    def end(self, java: int) -> None:
        """Send the last message, the exit status of Java; nobody else's may be cut in two behind it."""
        self._writing.acquire()
        with suppress(OSError):  # the parent may be gone as well, and nobody is left to be told
            self._parent.send_bytes(write_answer(("java", 0, java)))
        shutil.rmtree(self._scratch, ignore_errors=True)  # Java may have ended because this process is about to
        os._exit(JAVA_ENDED)

    def _has_java_ended(self) -> bool:
        """Whether Java is gone; its connections end a moment before it does, and that end tells more than they do."""
        return self._java_ended.wait(SETTLE_SECONDS)


def main() -> None:
    """Serve until the pipe ends."""
    parent = Connection(int(sys.argv[1]))
    os.set_inheritable(parent.fileno(), False)  # or Java would hold it open
    try:
        options, scratch = pickle.loads(parent.recv_bytes())[2]
    except EOFError:
        return
    try:
        host = Host(parent, _engine(options, scratch), scratch)
    except Exception as error:
        parent.send_bytes(write_answer(("broken", 0, f"{type(error).__name__}: {error}")))
        raise
    Thread(target=host.start, name="start of Spark", daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            match pickle.loads(parent.recv_bytes()):
                case "call", id_, (method, args):
                    host.take(id_, method, args)
                case "cancel", id_, _:
                    host.running.cancel(id_)
                case _:
                    host.close()
                    break
    # end everything that this process started, and itself
    kill_session(os.getpid(), spare=os.getpid())
    shutil.rmtree(scratch, ignore_errors=True)
    os.kill(os.getpid(), signal.SIGKILL)


def _engine(options: ChildOptions, scratch: str) -> Any:
    """The engine that the parent names, told to let go of Java rather than to go on without memory."""
    module, _, name = options.hosted.partition(":")
    java_options = JAVA_OPTIONS.format(scratch=scratch)
    return getattr(import_module(module), name)(
        replace(options.spark, memory=options.limits.memory, java_options=java_options)
    )


if __name__ == "__main__":
    main()
