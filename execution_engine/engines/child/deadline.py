"""Deadlines for an engine in this very process: Spark Connect, whose server is not ours to kill."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from itertools import count
from threading import Thread
from time import monotonic
from typing import Any

from execution_engine.engines.protocol import (
    CallAnswer,
    FailingRows,
    Part,
    ScanReport,
    Table,
    TooLate,
    Unit,
    Wanted,
    none_failing,
    too_late,
    wait_for,
)
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.metrics.spec import MetricSpec

from .busy_calls import RunningCalls
from .engine import all_failed, past_deadline


class DeadlineEngine:
    """Cancels a call that passes its deadline; if it goes on, its session is closed and the caller stops waiting."""

    name = "spark"

    def __init__(self, engine: SparkEngine, deadline_seconds: float) -> None:
        self._engine = engine
        self._seconds = deadline_seconds
        self._running = RunningCalls(engine)
        self._ids = count(1)

    def scan(self, table: Table, part: Part, wanted: Sequence[Wanted]) -> ScanReport:
        """Every measurement wanted; those that pass the deadline are failures."""
        started = monotonic()
        try:
            answer = self._ask("scan", table, part, wanted)
        except TooLate:
            return all_failed(wanted, too_late(self._seconds), monotonic() - started)
        report: ScanReport = answer.result
        return past_deadline(report, too_late(self._seconds)) if answer.is_late else report

    def scan_all(self, units: Sequence[Unit]) -> tuple[ScanReport, ...]:
        """The reports of several scans, in their order; the deadline is that of all together."""
        started = monotonic()
        try:
            answer = self._ask("scan_all", units)
        except TooLate:
            seconds = monotonic() - started
            return tuple(all_failed(unit.wanted, too_late(self._seconds), seconds) for unit in units)
        late = too_late(self._seconds)
        return tuple(past_deadline(each, late) if answer.is_late else each for each in answer.result)

    def failing_rows(self, table: Table, part: Part, specs: Sequence[MetricSpec], limit: int) -> FailingRows:
        """As the engine's; none where it passes the deadline."""
        try:
            found: FailingRows = self._ask("failing_rows", table, part, specs, limit).result
            return found
        except TooLate:
            return none_failing(specs, too_late(self._seconds))

    def fingerprint(self, table: Table, part: Part) -> str | None:
        """As the engine's, without Spark."""
        return self._engine.fingerprint(table, part)

    def fingerprints(self, table: Table, parts: Sequence[Part]) -> tuple[str | None, ...]:
        """As the engine's, without Spark."""
        return self._engine.fingerprints(table, parts)

    def fingerprints_by_key(self, table: Table, part: Part) -> Mapping[str, str] | None:
        """As the engine's, without Spark."""
        return self._engine.fingerprints_by_key(table, part)

    def written_at(self, table: Table, part: Part) -> datetime | None:
        """As the engine's, without Spark."""
        return self._engine.written_at(table, part)

    def partitions(self, table: Table) -> tuple[str, ...] | None:
        """As the engine's; None where it passes the deadline."""
        try:
            keys: tuple[str, ...] | None = self._ask("partitions", table).result
            return keys
        except TooLate:
            return None

    def close(self) -> None:
        """Ends the session; a later scan starts another."""
        self._engine.close()

    def _ask(self, method: str, *args: Any) -> CallAnswer:
        id_, answer = next(self._ids), Future[Any]()
        Thread(target=self._call, args=(id_, answer, method, args), name=f"{method} {id_}", daemon=True).start()
        try:
            return wait_for(answer, self._seconds, lambda: self._running.cancel(id_))
        except TooLate:
            self._engine.close()
            raise

    def _call(self, id_: int, answer: Future[Any], method: str, args: tuple[Any, ...]) -> None:
        try:
            with self._running.running(id_):
                answer.set_result(getattr(self._engine, method)(*args))
        except BaseException as error:
            answer.set_exception(error)
