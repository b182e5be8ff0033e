"""Verifying data: all metrics of all checks in one scan, then every constraint by itself; and what came of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from execution_engine.engines.protocol import (
    Engine,
    FailingRows,
    Measured,
    MeasurementRequest,
    ScanReport,
    Table,
    failed,
)
from execution_engine.exact import Number, digits_of, to_json
from execution_engine.metrics.definition import MetricKind
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason
from execution_engine.read_by import NO_VALUES, ReadBy, together

from .check import Check, On
from .constraints import (
    ConstraintInput,
    ConstraintStatus,
    EarlierValues,
    Judgement,
    Level,
    MetricRequest,
    Status,
    gravest,
    status_of,
    value_text,
)
from .data import as_tables, name_of, read_failing_rows, scan
from .repository import DeltaStates, MetricsRepository, ResultKey, StoredMetrics, series

if TYPE_CHECKING:  # it takes longer to import pandas than most checks to run
    import pandas as pd
    from pyspark.sql import DataFrame

_NO_DELTA = failed(
    Reason.INVALID,
    "a check on='delta' needs to know what was added: say add_up(FolderOfStates(…), key) before run(), "
    "or leave on= out for a check of all the data given",
)


COLUMNS = (
    *("check", "level", "on", "check_status", "constraint", "status", "metric", "bound", "value", "exact"),
    *("message", "hint"),
)


@dataclass(frozen=True, kw_only=True)
class ConstraintResult(Judgement):
    """What came of one constraint: its text, the metric that was measured for it, and the bound, such as ``>= 0.99``.

    ``value`` met or broke the bound: an int or a Decimal where a float would lose digits, None where there is none.
    ``hint`` is empty where it succeeded; ``failure`` has the reason where the status is error or learning; ``detail``
    what else the metric tells, such as the bins of a histogram; ``asks`` what the constraint has asked for.
    """

    constraint: str
    hint: str = ""
    asks: tuple[MetricRequest, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """``Failure(is_unique(id), uniqueness(id) = 1, 0.9967)``: with the value only where it broke the bound."""
        parts = [self.constraint, f"{self.metric} {self.bound}".strip()]
        if self.status is ConstraintStatus.FAILURE and self.value is not None:
            parts.append(value_text(self.value))
        elif self.failure is not None:
            parts.append(self.message)
        return f"{self.status.value.capitalize()}({', '.join(parts)})"


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What came of one check; ``constraints`` are in the order of the check's."""

    name: str
    level: Level
    constraints: tuple[ConstraintResult, ...]
    on: On = "whole"

    @property
    def status(self) -> Status:
        """The most serious status that its constraints come to at its level."""
        return status_of(self.level, (result.status for result in self.constraints))


@dataclass(frozen=True, kw_only=True)
class VerificationResult:
    """What ``Verification.run`` returns: all checks, and every metric that was measured for them.

    As a text, by ``print``, it has one line for each constraint. ``metrics`` has the values by the texts of their
    metrics: None where a metric has no value; one that could not be measured is left out. ``read_by`` says how many
    values footers, kernels and Spark have read, ``seconds`` how long that took. ``snapshots`` says which snapshot was
    read of each dataset that has a log, as ``Delta version 12``.
    """

    table: str
    checks: tuple[CheckResult, ...]
    metrics: Mapping[str, Number | None]
    spark_jobs: int = 0
    read_by: ReadBy = NO_VALUES
    seconds: float = 0.0
    snapshots: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        """The most serious status of all checks."""
        return gravest(check.status for check in self.checks)

    @property
    def failed(self) -> tuple[ConstraintResult, ...]:
        """The results of the constraints that the data breaks, those of status failure."""
        results = (result for check in self.checks for result in check.constraints)
        return tuple(result for result in results if result.status is ConstraintStatus.FAILURE)

    def to_dataframe(self) -> "pd.DataFrame":
        """A DataFrame of pandas, one row for each constraint.

        ``value`` is the nearest float, and ``exact`` all digits as a text where the float loses some.
        """
        import pandas as pd

        return pd.DataFrame([[row[name] for name in COLUMNS] for row in self.to_rows()], columns=list(COLUMNS))

    def to_rows(self) -> list[dict[str, Any]]:
        """A dict for each constraint: the columns of ``to_dataframe``, ``detail`` and ``reason``."""
        return [
            {
                "check": check.name,
                "level": check.level.value,
                "on": check.on,
                "check_status": check.status.value,
                "constraint": result.constraint,
                "status": result.status.value,
                "metric": result.metric,
                "bound": result.bound,
                "value": None if result.value is None else float(result.value),
                "message": result.message,
                "hint": result.hint,
                "detail": result.detail,
                "exact": digits_of(result.value) or None,
                "reason": result.failure.reason.value if result.failure else None,
            }
            for check in self.checks
            for result in check.constraints
        ]

    def to_dict(self) -> dict[str, Any]:
        """All as JSON can hold it; ``constraints`` is ``to_rows``. A metric that no float holds is a text of digits."""
        return {
            "table": self.table,
            "status": self.status.value,
            "constraints": self.to_rows(),
            "metrics": {name: to_json(value) for name, value in self.metrics.items()},
            "spark_jobs": self.spark_jobs,
            "read_by": self.read_by.to_json(),
            "seconds": round(self.seconds, 3),
            "snapshots": dict(self.snapshots),
        }

    def to_json(self) -> str:
        """What ``to_dict`` returns, as a text."""
        return json.dumps(self.to_dict(), indent=2, default=str)

    def __str__(self) -> str:
        return "\n".join(str(result) for check in self.checks for result in check.constraints)


def broken_metrics(result: VerificationResult) -> tuple[MetricSpec, ...]:
    """The metrics of the constraints that failed, as far as single rows break them; those of groups as a whole."""
    requests = (request for broken in result.failed for request in broken.asks)
    specs = (request.spec for request in requests if request.dataset in (None, result.table))
    return tuple(dict.fromkeys(spec for spec in specs if not spec.by and METRICS[spec.name].is_of_rows))


def constraints_without_rows(result: VerificationResult) -> list[str]:
    """The texts of the constraints that failed and that no single row breaks."""
    specs = set(broken_metrics(result))
    return [broken.constraint for broken in result.failed if specs.isdisjoint(request.spec for request in broken.asks)]


def columns_and_rows(sample: FailingRows) -> Sequence[dict[str, object]]:
    """Each row as a JSON object: its values by column, and what it breaks."""
    return [
        {"row": dict(zip(sample.columns, row.values, strict=True)), "breaks": list(row.breaks)} for row in sample.rows
    ]


@dataclass(frozen=True, kw_only=True)
class VerificationSuite:
    """Where a verification begins. ``engine`` reads tables and paths; without one, a process of its own does."""

    engine: Engine | None = None

    def on(self, data: "DataFrame | Table | str | Path", name: str = "") -> "Verification":
        """Names a Spark DataFrame, the path or URL of files, or a table of Spark's catalog, and reads nothing yet.

        Without a ``name``, results call it by the last part of its path, or ``data``.
        """
        return Verification(data=data, name=name or name_of(data), engine=self.engine)


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Data with the checks to run on it. ``VerificationSuite.on`` makes it, and its methods fill it.

    A verification is never changed: each method but ``run`` and ``failing_rows`` returns a new one.
    """

    data: "DataFrame | Table | str | Path"
    name: str
    engine: Engine | None = None
    checks: tuple[Check, ...] = ()
    tables: Mapping[str, "DataFrame | Table | str | Path"] = field(default_factory=dict)
    repository: MetricsRepository | None = None
    key: ResultKey | None = None
    states: DeltaStates | None = None

    def add_check(self, *checks: Check) -> "Verification":
        """Adds one check, or more."""
        return replace(self, checks=(*self.checks, *checks))

    def with_table(self, name: str, data: "DataFrame | Table | str | Path") -> "Verification":
        """Adds another dataset, which ``refers_to``, ``query(…)`` and ``dataset='…'`` know by this name."""
        return replace(self, tables={**self.tables, name: data})

    def use_repository(self, repository: MetricsRepository, key: ResultKey) -> "Verification":
        """Reads the metrics of earlier runs, of the same tags as ``key``, and saves those of this run there."""
        return replace(self, repository=repository, key=key)

    def add_up(self, states: DeltaStates, key: ResultKey) -> "Verification":
        """Treats the data as a delta, rows that were added to a table: checks are on all deltas up to this one.

        A metric that does not add up makes its constraint an ``error`` ([which do](metrics.md#every-metric)).
        """
        return replace(self, states=states, key=key)

    def run(self) -> VerificationResult:
        """Measures all that the checks ask for in as few passes as can be, judges them, and saves the metrics.

        What is wrong with the data or with a constraint is not raised: that constraint has the status ``error``.
        UnableToReadRepository and OSError: the repository or the folder of states cannot be read or written.
        """
        requests: dict[On, list[MetricRequest]] = {"whole": [], "delta": []}
        for check in self.checks:
            requests[check.on] += [request for constraint in check.constraints for request in constraint.asks]
        measured, reports = self._scan(requests["whole"], requests["delta"] if self.states else ())
        parts: dict[On, Mapping[MetricRequest, Measured]] = {
            "whole": {
                request: measured[request]
                if self.states is None or self.key is None or self._dataset(request) != self.name
                else self.states.add_up(self.key, request.spec, measured[request])
                for request in dict.fromkeys(requests["whole"])
            },
            "delta": {request: measured[request] if self.states else _NO_DELTA for request in requests["delta"]},
        }
        inputs = {on: self._inputs(on, part) for on, part in parts.items()}
        values: dict[str, Number | None] = {
            self._stored_name(request, on): metric.value
            for on, part in parts.items()
            for request, metric in part.items()
            if metric.failure is None
        }
        result = VerificationResult(
            table=self.name,
            checks=tuple(_judge(check, inputs[check.on]) for check in self.checks),
            metrics=values,
            spark_jobs=sum(report.spark_jobs for report in reports.values()),
            read_by=together(report.read_by for report in reports.values()),
            seconds=sum(report.seconds for report in reports.values()),
            snapshots={dataset: report.snapshot for dataset, report in reports.items() if report.snapshot},
        )
        if self.repository is not None and self.key is not None:
            stored = {name: value for name, value in values.items() if value is not None}
            self.repository.save(StoredMetrics(key=self.key, values=stored))
        return result

    def failing_rows(self, result: VerificationResult, limit: int = 100) -> FailingRows:
        """Reads the data again, and returns some of the rows, 1,000 at most, that break what failed.

        Each has its ``values`` as texts and the metrics that it ``breaks``; ``failures`` says why a metric has none.
        """
        specs = broken_metrics(result)
        return read_failing_rows(self.data, self.name, self.engine, specs, limit) if specs else FailingRows()

    def _scan(
        self, summed: Sequence[MetricRequest], single: Sequence[MetricRequest]
    ) -> tuple[dict[MetricRequest, Measured], dict[str, ScanReport]]:
        """Of each dataset in one scan, whose reports are by dataset; with the states of those that are to be summed."""
        by_dataset: dict[str, list[MetricRequest]] = {}
        for request in dict.fromkeys([*summed, *single]):
            by_dataset.setdefault(self._dataset(request), []).append(request)
        keep = frozenset(summed if self.states else ())
        has_compounds = any(_reads_tables(request) for requests in by_dataset.values() for request in requests)
        measured: dict[MetricRequest, Measured] = {}
        reports: dict[str, ScanReport] = {}
        with as_tables({self.name: self.data, **self.tables} if has_compounds else {}) as tables:
            for dataset, requests in by_dataset.items():
                data = self.data if dataset == self.name else self.tables.get(dataset)
                if data is None:
                    names = ", ".join(self.tables) or "none"
                    detail = (
                        f"there is no dataset {dataset!r} beside {self.name}: give it by with_table(…); known: {names}"
                    )
                    failure = Failure(reason=Reason.INVALID, detail=detail)
                    measured |= dict.fromkeys(requests, Measured(failure=failure))
                    continue
                scan_requests = [
                    MeasurementRequest(
                        key=str(at),
                        spec=request.spec,
                        tables=tables if _reads_tables(request) else {},
                        keep_state=request in keep,
                    )
                    for at, request in enumerate(requests)
                ]
                report = reports[dataset] = scan(data, dataset, self.engine, scan_requests)
                measured |= {request: report.measured[str(at)] for at, request in enumerate(requests)}
        if (
            self.states is not None
            and self.key is not None
            and any(
                self._dataset(request) == self.name and metric.failure is None for request, metric in measured.items()
            )
        ):
            self.states.note(self.key)  # there was this delta, as something of it could be measured
        return measured, reports

    def _dataset(self, request: MetricRequest) -> str:
        return self.name if request.dataset is None else request.dataset

    def _stored_name(self, request: MetricRequest, on: On) -> str:
        """What a metric is called in results and repositories: that of the table's delta has a series of its own."""
        if self._dataset(request) != self.name:
            return f"{request.spec.text} of {request.dataset}"
        return f"{request.spec.text} on delta" if on == "delta" else request.spec.text

    def _inputs(self, on: On, measured: Mapping[MetricRequest, Measured]) -> ConstraintInput:
        """What the checks on one part of the data are judged by; the repository is read when it must be, and once."""
        if self.repository is None or self.key is None:
            return ConstraintInput(measured=measured)
        runs, key = cache(self.repository.load), self.key

        def past(request: MetricRequest) -> EarlierValues:
            return EarlierValues(at=key.at, series=series(runs(), self._stored_name(request, on), key))

        return ConstraintInput(measured=measured, past=past)


def _reads_tables(request: MetricRequest) -> bool:
    definition = METRICS.get(request.spec.name)
    return definition is not None and definition.kind is MetricKind.COMPOUND


def _judge(check: Check, inputs: ConstraintInput) -> CheckResult:
    results = []
    for constraint in check.constraints:
        judgement, text = constraint.judge(inputs), constraint.text
        results.append(
            ConstraintResult(
                **vars(judgement),
                constraint=f"{text} on delta" if check.on == "delta" else text,
                hint=constraint.hint if judgement.status is not ConstraintStatus.SUCCESS else "",
                asks=constraint.asks,
            )
        )
    return CheckResult(name=check.name, level=check.level, constraints=tuple(results), on=check.on)
