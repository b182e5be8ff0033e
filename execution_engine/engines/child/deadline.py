"""Deadlines for an engine in this very process: its calls are cancelled by a tag on the Spark jobs of their threads."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from itertools import count
from threading import Thread
from time import sleep
from typing import Any

from execution_engine.engines.protocol import CallAnswer, Table, TooLate, too_late, wait_for
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.failures import is_connect

from .engine import BoundedEngine
from .process import UnableToAnswer

AGAIN_SECONDS = 0.2  # a scan of many queries goes on with the next when one is interrupted


class RunningCalls:
    """The calls that an engine with a Spark ``session`` is busy with."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._running: set[int] = set()

    @contextmanager
    def running(self, id_: int) -> Iterator[None]:
        """Marks what its body does, in this thread, as one call."""
        self._running.add(id_)
        try:
            self._tag(id_, "addTag", "addJobTag")
            yield
        finally:
            self._tag(id_, "removeTag", "removeJobTag")
            self._running.discard(id_)

    def cancel(self, id_: int) -> None:
        """Interrupt the call's jobs, those too that it will still start, until it has ended."""

        def interrupt() -> None:
            while id_ in self._running:
                self._tag(id_, "interruptTag", "cancelJobsWithTag")
                sleep(AGAIN_SECONDS)

        Thread(target=interrupt, name=f"interrupt of call {id_}", daemon=True).start()

    def _tag(self, id_: int, of_session: str, of_context: str) -> None:
        """Call one method or the other, as a classic session's interruptTag finds nothing in Spark 4.3.

        It answers with no operation and the job goes on; its context's does it. On Connect there is only the session's.
        """
        with suppress(Exception):  # a session that cannot be started: the engine says why
            session = self._engine.session
            holder, name = (session, of_session) if is_connect(session) else (session.sparkContext, of_context)
            getattr(holder, name)(f"assay-call-{id_}")


class DeadlineEngine(BoundedEngine):
    """Spark Connect, whose server is not ours to kill.

    A call that passes its deadline is cancelled; if it goes on, its session is closed and the caller stops waiting.
    """

    def __init__(self, engine: SparkEngine, deadline_seconds: float) -> None:
        super().__init__(deadline_seconds)
        self._engine = engine
        self._running = RunningCalls(engine)
        self._ids = count(1)

    def close(self) -> None:
        """Ends the session; a later scan starts another."""
        self._engine.close()

    def partitions(self, table: Table) -> tuple[str, ...] | None:
        """As the engine's, which lists the folders too: the deadline holds for a store that does not answer."""
        with suppress(UnableToAnswer):
            keys: tuple[str, ...] | None = self.ask("partitions", table).result
            return keys
        return None

    def ask(self, method: str, *args: Any) -> CallAnswer:
        """What a method of the engine gives; raises UnableToAnswer."""
        id_, answer = next(self._ids), Future[Any]()

        def call() -> None:
            try:
                with self._running.running(id_):
                    answer.set_result(getattr(self._engine, method)(*args))
            except BaseException as error:
                answer.set_exception(error)

        Thread(target=call, name=f"{method} {id_}", daemon=True).start()
        try:
            return wait_for(answer, self._seconds, lambda: self._running.cancel(id_))
        except TooLate:
            self._engine.close()
            raise UnableToAnswer(too_late(self._seconds)) from None
