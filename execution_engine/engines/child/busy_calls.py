"""The calls that a process is busy with, and how one of them is stopped: by a tag on the Spark jobs of its thread."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from time import sleep
from typing import Any

from pyspark.sql import SparkSession

from execution_engine.engines.spark.failures import is_connect

AGAIN_SECONDS = 0.2  # a scan of many queries goes on with the next when one is interrupted


class RunningCalls:
    """Of an engine that has a Spark ``session``."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._running: set[int] = set()
        self._lock = Lock()

    @contextmanager
    def running(self, id_: int) -> Iterator[None]:
        """Marks what its body does, in this thread, as one call."""
        with self._lock:
            self._running.add(id_)
        try:
            with suppress(Exception):  # a session that cannot be started: the engine says why
                _add_tag(self._engine.session, _tag(id_))
            yield
        finally:
            with suppress(Exception):
                _remove_tag(self._engine.session, _tag(id_))
            with self._lock:
                self._running.discard(id_)

    def cancel(self, id_: int) -> None:
        """Interrupt the call's jobs, those too that it will still start, until it has ended."""
        Thread(target=self._interrupt, args=(id_,), name=f"interrupt of call {id_}", daemon=True).start()

    def _interrupt(self, id_: int) -> None:
        while self._is_running(id_):
            with suppress(Exception):
                _cancel(self._engine.session, _tag(id_))
            sleep(AGAIN_SECONDS)

    def _is_running(self, id_: int) -> bool:
        with self._lock:
            return id_ in self._running


# A classic session's own interruptTag finds nothing in Spark 4.3 (it answers with no operation and the job goes on),
# its context's does; on Connect there is only the session's.


def _add_tag(session: SparkSession, tag: str) -> None:
    (session.addTag if is_connect(session) else session.sparkContext.addJobTag)(tag)


def _remove_tag(session: SparkSession, tag: str) -> None:
    (session.removeTag if is_connect(session) else session.sparkContext.removeJobTag)(tag)


def _cancel(session: SparkSession, tag: str) -> None:
    (session.interruptTag if is_connect(session) else session.sparkContext.cancelJobsWithTag)(tag)


def _tag(id_: int) -> str:
    return f"assay-call-{id_}"
