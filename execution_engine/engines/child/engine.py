"""The engine of the lake in a process that can be killed: no query outlives its deadline, however it hangs."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import Any

from assay.catalog.profile import FILES
from execution_engine.engines.files.commits import ListedFiles
from execution_engine.engines.files.listing import UnableToListFiles, list_partitions
from execution_engine.engines.protocol import (
    CallAnswer,
    CommitLog,
    DescribedCatalog,
    FailingRows,
    Measured,
    MeasurementRequest,
    Part,
    RowsRequest,
    ScanReport,
    Table,
    TooLate,
    Unit,
    WrittenRows,
    is_done,
    none_failing,
    none_written,
    too_late,
    wait_for,
)
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

from .process import Child, ChildOptions, Retired, UnableToAnswer

BY_CANCELLING = frozenset({Reason.TIMEOUT, Reason.QUERY_FAILED, Reason.ENGINE_UNREACHABLE, Reason.UNREADABLE})
START_SECONDS = 180.0
TRIES = 3


class BoundedEngine(ListedFiles, ABC):
    """The engine of the lake, whose calls have a deadline; files are listed here, and without Spark."""

    name = "spark"

    def __init__(self, deadline_seconds: float) -> None:
        self._seconds = deadline_seconds

    @abstractmethod
    def ask(self, method: str, *args: Any) -> CallAnswer:
        """What a method of the engine gives, wherever it runs; raises UnableToAnswer."""

    @abstractmethod
    def close(self) -> None:
        """Frees what the engine holds."""

    def scan(self, table: Table, part: Part, requests: Sequence[MeasurementRequest]) -> ScanReport:
        """Every measurement wanted; a failure where it passes its deadline or its memory, or was taken along by one."""
        started = monotonic()
        try:
            answer = self.ask("scan", table, part, requests)
        except UnableToAnswer as error:
            return _all_failed(requests, error.failure, monotonic() - started)
        report: ScanReport = answer.result
        return self._past_deadline(report) if answer.is_late else report

    def scan_all(self, units: Sequence[Unit]) -> tuple[ScanReport, ...]:
        """The reports of several scans, in their order; the deadline is that of all together."""
        started = monotonic()
        try:
            answer = self.ask("scan_all", units) if units else CallAnswer(result=())
        except UnableToAnswer as error:
            return tuple(_all_failed(unit.requests, error.failure, monotonic() - started) for unit in units)
        return tuple(self._past_deadline(report) if answer.is_late else report for report in answer.result)

    def failing_rows(self, table: Table, part: Part, specs: Sequence[MetricSpec], limit: int) -> FailingRows:
        """As the engine's; none where it passes its deadline or its memory."""
        try:
            sample: FailingRows = self.ask("failing_rows", table, part, specs, limit).result
            return sample
        except UnableToAnswer as error:
            return none_failing(specs, error.failure)

    def write_rows(self, table: Table, part: Part, request: RowsRequest) -> WrittenRows:
        """As the engine's; none where it passes its deadline or its memory."""
        try:
            written: WrittenRows = self.ask("write_rows", table, part, request).result
            return written
        except UnableToAnswer as error:
            return none_written(request.specs, error.failure)

    def fingerprint(self, table: Table, part: Part) -> str | None:
        """Of the files of a part; of a table of Spark's catalog by Spark, and None where that does not answer."""
        with suppress(UnableToAnswer):
            return self.fingerprints(table, [part])[0]
        return None

    def fingerprints(self, table: Table, parts: Sequence[Part]) -> tuple[str | None, ...]:
        """The same of several parts; raises UnableToAnswer, as nobody has looked then."""
        if table.storage != "table":
            return super().fingerprints(table, parts)
        prints: tuple[str | None, ...] = self.ask("fingerprints", table, parts).result
        return prints

    def commits(self, table: Table, mark: str, now: datetime) -> CommitLog:
        """By the log or the files of a table; of one of Spark's catalog by Spark."""
        if table.storage != "table":
            return super().commits(table, mark, now)
        try:
            log: CommitLog = self.ask("commits", table, mark, now).result
            return log
        except UnableToAnswer as error:
            return CommitLog(mark=mark, fault=error.failure.detail)

    def partitions(self, table: Table) -> tuple[str, ...] | None:
        """The keys present, sorted: from the folders' names, else by Spark from the column; None where unreadable."""
        if table.partition_column is None:
            return None
        try:
            keys = list_partitions(table) if table.storage in FILES else None
            if keys is None:
                keys = self.ask("partitions", table).result
            return keys
        except (UnableToListFiles, UnableToAnswer):
            return None

    def list_tables(self, catalog: str) -> DescribedCatalog:
        """As the engine's; a failure where it passes its deadline or its memory."""
        return self._described("list_tables", catalog)

    def describe_tables(self, names: Sequence[str]) -> DescribedCatalog:
        """As the engine's; a failure where it passes its deadline or its memory."""
        return self._described("describe_tables", names)

    def _described(self, method: str, *args: Any) -> DescribedCatalog:
        try:
            catalog: DescribedCatalog = self.ask(method, *args).result
            return catalog
        except UnableToAnswer as error:
            return DescribedCatalog(failure=error.failure)

    def _past_deadline(self, report: ScanReport) -> ScanReport:
        """What was measured before the deadline stays; what cancelling made fail, failed by the deadline."""
        late = Measured(failure=too_late(self._seconds))
        measured = {
            key: late if item.failure and item.failure.reason in BY_CANCELLING else item
            for key, item in report.measured.items()
        }
        return replace(report, measured=measured)


def _all_failed(requests: Sequence[MeasurementRequest], failure: Failure, seconds: float) -> ScanReport:
    measured = {item.key: Measured(failure=failure) for item in requests}
    return ScanReport(measured=measured, spark_jobs=0, seconds=seconds, fingerprint=None)


def failed_for(reason: Reason, result: Any) -> bool:
    """Whether any measurement of a call's result, one report or several, has failed for this reason."""
    reports = result if isinstance(result, tuple) else (result,)
    measured = [item for report in reports if isinstance(report, ScanReport) for item in report.measured.values()]
    return any(item.failure is not None and item.failure.reason is reason for item in measured)


class ChildEngine(BoundedEngine):
    """One child at a time, started by the first scan, restarted when it is gone; scans may run in several threads."""

    def __init__(self, options: ChildOptions | None = None) -> None:
        self._options = options or ChildOptions()
        super().__init__(self._options.limits.deadline_seconds)
        self._child: Child | None = None
        self._starting = Lock()
        self._alone = Lock()

    @property
    def pid(self) -> int | None:
        """The process id of the child, if one runs; it leads a session of all that it started."""
        child = self._child
        return None if child is None or child.is_retired else child.pid

    def ask(self, method: str, *args: Any) -> CallAnswer:
        """What any method of the engine gives in the child; raises UnableToAnswer."""
        try:
            return self._ask_shared(method, args)
        except UnableToAnswer as error:
            reason = error.failure.reason
            # of a crash it is tried once more; by itself a call would only fill the memory again
            if reason is not Reason.CRASHED and (reason is not Reason.OUT_OF_MEMORY or error.alone):
                raise
        with self._alone:  # so that this call is not blamed for a neighbour or for somebody else who killed the child
            own = Child(self._options)
            try:
                return self._ask_child(own, method, args)
            finally:
                own.close()

    def close(self) -> None:
        """Ends the child; a later scan starts another."""
        with self._starting:
            child, self._child = self._child, None
        if child is not None:
            child.close()

    def _ask_shared(self, method: str, args: tuple[Any, ...]) -> CallAnswer:
        for _ in range(TRIES):
            with self._starting:
                child = self._child = self._child or Child(self._options)
            try:
                answer = self._ask_child(child, method, args)
            except Retired:
                self._leave(child)
                continue
            except UnableToAnswer as error:
                if child.is_retired or error.failure.reason is Reason.OUT_OF_MEMORY:
                    self._leave(child)
                raise
            if answer.is_late or failed_for(Reason.OUT_OF_MEMORY, answer.result):
                self._leave(child)  # a task that Spark gave up goes on in its thread until it looks whether it may
            return answer
        failure = Failure(reason=Reason.ENGINE_UNREACHABLE, detail=f"Spark ended {TRIES} times as soon as it ran")
        raise UnableToAnswer(failure)

    def _ask_child(self, child: Child, method: str, args: tuple[Any, ...]) -> CallAnswer:
        """The child's answer; where cancelling does not help, the child is killed."""
        if not is_done(child.ready, START_SECONDS):
            child.kill("it did not start in time")
            detail = f"Spark did not start within {START_SECONDS:g} s; see its log, or give the machine more room"
            raise UnableToAnswer(Failure(reason=Reason.ENGINE_UNREACHABLE, detail=detail))
        child.ready.result()
        id_, answer = child.ask(method, args)
        try:
            return wait_for(answer, self._seconds, lambda: child.cancel(id_))
        except TooLate:
            child.kill("another scan in it passed its deadline")
            raise UnableToAnswer(too_late(self._seconds)) from None

    def _leave(self, child: Child) -> None:
        """Let the next call have a fresh child; this one ends with the calls it has."""
        with self._starting:
            if self._child is child:
                self._child = None
        child.retire()
