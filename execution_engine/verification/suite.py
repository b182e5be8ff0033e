"""Verifying data: all metrics of all checks in one scan, then every constraint by itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from execution_engine.engines.protocol import Engine, FailingRows, Measured, ScanReport, Table, Wanted
from execution_engine.metrics.definition import Kind
from execution_engine.metrics.registry import METRICS
from execution_engine.outcome import Failure, Reason

from .check import Check
from .constraints import Ask, Constraint, Found
from .data import as_tables, name_of, reader_of
from .failing import broken_metrics
from .growing import FolderOfStates, added_up
from .levels import ConstraintStatus
from .repository import MetricsRepository, ResultKey, StoredMetrics, series
from .results import CheckResult, ConstraintResult, VerificationResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, kw_only=True)
class VerificationSuite:
    """``VerificationSuite().on(frame).add_check(check).run()``; each method returns a new suite."""

    engine: Engine | None = None  # reads tables and paths; DataFrames are read in their own session

    def on(self, data: "DataFrame | Table | str | Path", name: str = "") -> "Verification":
        """The data to verify: a DataFrame, a path of parquet files, a table of Spark's catalog, or a Table."""
        return Verification(data=data, name=name or name_of(data), engine=self.engine)


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Data with the checks to run on it."""

    data: "DataFrame | Table | str | Path"
    name: str
    engine: Engine | None = None
    checks: tuple[Check, ...] = ()
    tables: Mapping[str, "DataFrame | Table | str | Path"] = field(default_factory=dict)
    repository: MetricsRepository | None = None
    key: ResultKey | None = None
    states: FolderOfStates | None = None

    def add_check(self, *checks: Check) -> "Verification":
        """With these checks too."""
        return replace(self, checks=(*self.checks, *checks))

    def with_table(self, name: str, data: "DataFrame | Table | str | Path") -> "Verification":
        """With another dataset, which ``refers_to``, ``query(…)`` and ``dataset='…'`` know by this name."""
        return replace(self, tables={**self.tables, name: data})

    def use_repository(self, repository: MetricsRepository, key: ResultKey) -> "Verification":
        """With the metrics of earlier runs; this run's are saved there under ``key``."""
        return replace(self, repository=repository, key=key)

    def add_up(self, states: FolderOfStates, key: ResultKey) -> "Verification":
        """With the data as the delta of ``key``: every check is on all deltas up to it, of which this one is read."""
        return replace(self, states=states, key=key)

    def run(self) -> VerificationResult:
        """Measure everything that the checks ask for, judge every constraint, and save the metrics."""
        constraints = [constraint for check in self.checks for constraint in check.constraints]
        asks = list(dict.fromkeys(ask for constraint in constraints for ask in constraint.asks))
        measured, reports = self._measured(asks)
        found = Found(measured=measured, earlier=self._earlier if self.repository else None)
        values = {_text(ask): one.value for ask, one in measured.items() if one.failure is None}
        result = VerificationResult(
            table=self.name,
            checks=tuple(judged(check, found) for check in self.checks),
            metrics=values,
            spark_jobs=sum(report.spark_jobs for report in reports),
            seconds=sum(report.seconds for report in reports),
        )
        self._save(values)
        return result

    def failing_rows(self, result: VerificationResult, limit: int = 100) -> FailingRows:
        """Up to ``limit`` rows that break what failed in ``result``, each with the metrics that it breaks."""
        specs = broken_metrics(result)
        return reader_of(self.data, self.name, self.engine).failing_rows(specs, limit) if specs else FailingRows()

    def _measured(self, asks: Sequence[Ask]) -> tuple[dict[Ask, Measured], list[ScanReport]]:
        """Of each dataset in one scan."""
        measured: dict[Ask, Measured] = {}
        reports: list[ScanReport] = []
        with as_tables(self._beside(asks)) as tables:
            for dataset in dict.fromkeys(ask.dataset for ask in asks):
                some = [ask for ask in asks if ask.dataset == dataset]
                data = self.data if dataset in (None, self.name) else self.tables.get(dataset or "")
                if data is None:
                    measured |= dict.fromkeys(some, Measured(failure=self._unknown(dataset or "")))
                    continue
                report = reader_of(data, dataset or self.name, self.engine).scan(self._wanted(some, tables))
                measured |= {ask: self._summed(ask, report.measured[str(at)]) for at, ask in enumerate(some)}
                reports.append(report)
        return measured, reports

    def _wanted(self, asks: Sequence[Ask], tables: Mapping[str, Table]) -> list[Wanted]:
        """The measurements, by their numbers."""
        keep = self.states is not None
        return [
            Wanted(key=str(at), spec=ask.spec, tables=tables if _reads_tables(ask) else {}, keep_state=keep)
            for at, ask in enumerate(asks)
        ]

    def _summed(self, ask: Ask, measured: Measured) -> Measured:
        if self.states is None or self.key is None or ask.dataset is not None:
            return measured
        return added_up(self.states, self.key, ask.spec, measured)

    def _beside(self, asks: Iterable[Ask]) -> dict[str, "DataFrame | Table | str | Path"]:
        """The datasets that metrics of several open by themselves; none where no such metric is asked for."""
        return {self.name: self.data, **self.tables} if any(map(_reads_tables, asks)) else {}

    def _unknown(self, dataset: str) -> Failure:
        known = ", ".join(self.tables) or "none"
        detail = f"there is no dataset {dataset!r} beside {self.name}: give it by with_table(…); known: {known}"
        return Failure(reason=Reason.INVALID, detail=detail)

    def _earlier(self, metric: str) -> list[tuple[datetime, float]]:
        assert self.repository is not None
        assert self.key is not None
        return series(self.repository, metric, self.key)

    def _save(self, values: Mapping[str, float | None]) -> None:
        if self.repository is not None and self.key is not None:
            known = {name: value for name, value in values.items() if value is not None}
            self.repository.save(StoredMetrics(key=self.key, values=known))


def judged(check: Check, found: Found) -> CheckResult:
    """The check with the results of its constraints."""
    results = tuple(_result(constraint, found) for constraint in check.constraints)
    return CheckResult(name=check.name, level=check.level, constraints=results)


def _result(constraint: Constraint, found: Found) -> ConstraintResult:
    judgement = constraint.judge(found)
    return ConstraintResult(
        constraint=constraint.text,
        status=judgement.status,
        metric=judgement.metric,
        bound=judgement.bound,
        value=judgement.value,
        message=judgement.message,
        hint=constraint.hint if judgement.status is not ConstraintStatus.SUCCESS else "",
        failure=judgement.failure,
        detail=judgement.detail,
        asks=constraint.asks,
    )


def _reads_tables(ask: Ask) -> bool:
    definition = METRICS.get(ask.spec.name)
    return definition is not None and definition.kind is Kind.COMPOUND


def _text(ask: Ask) -> str:
    return ask.spec.text if ask.dataset is None else f"{ask.spec.text} of {ask.dataset}"
