"""Verifying data: all metrics of all checks in one scan, then every constraint by itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from execution_engine.engines.protocol import Engine, FailingRows, Measured, ScanReport, Table, Wanted, failed
from execution_engine.exact import Number
from execution_engine.metrics.definition import Kind
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason
from execution_engine.read_by import together
from execution_engine.verification.checks.check import Check
from execution_engine.verification.checks.constrained import On, stored_name
from execution_engine.verification.constraints.constraints import AskedMetric, Constraint, ConstraintStatus, Found, Past

from .data import as_tables, name_of, reader_of
from .repository import FolderOfStates, MetricsRepository, ResultKey, StoredMetrics, added_up, series
from .results import CheckResult, ConstraintResult, VerificationResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# The rows behind what failed: a sample, with what each row breaks.


def broken_metrics(result: VerificationResult) -> tuple[MetricSpec, ...]:
    """The metrics of the constraints that failed, as far as single rows break them; those of groups as a whole."""
    specs = (ask.spec for each in result.failed for ask in each.asks if ask.dataset in (None, result.table))
    return tuple(dict.fromkeys(spec for spec in specs if not spec.by and METRICS[spec.name].is_of_rows))


def columns_and_rows(found: FailingRows) -> Sequence[dict[str, object]]:
    """Each row as a JSON object: its values by column, and what it breaks."""
    return [
        {"row": dict(zip(found.columns, each.values, strict=True)), "breaks": list(each.breaks)} for each in found.rows
    ]


_NO_DELTA = failed(
    Reason.INVALID,
    "a check on='delta' needs to know what was added: say add_up(FolderOfStates(…), key) before run(), "
    "or leave on= out for a check of all the data given",
)


@dataclass(frozen=True, kw_only=True)
class VerificationSuite:
    """Where a verification begins: ``VerificationSuite().on(data).add_check(check).run()``.

    Parameters:
        engine: what reads tables and paths. Without one, a process of its own does. A DataFrame is read in its own
            session.

    Errors: none.

    Example:
        >>> suite = VerificationSuite()
    """

    engine: Engine | None = None

    def on(self, data: "DataFrame | Table | str | Path", name: str = "") -> "Verification":
        """Names the data, and reads nothing yet.

        Parameters:
            data: a Spark DataFrame, the path or URL of a file or folder, the name of a table of Spark's catalog, or a
                ``Table`` of the engines.
            name: what results and queries call it; by default the last part of the path, or ``data``.

        Errors: none. What cannot be read is found by ``Verification.run``.

        Example:
            >>> VerificationSuite().on("lake/rides").name
            'rides'
        """
        return Verification(data=data, name=name or name_of(data), engine=self.engine)


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Data with the checks to run on it. ``VerificationSuite.on`` makes it, and its methods fill it.

    A verification is never changed: each method but ``run`` and ``failing_rows`` returns a new one.

    Parameters:
        data: a Spark DataFrame, a path, the name of a table, or a ``Table`` of the engines.
        name: what results and queries call it.
        engine: what reads tables and paths.
        checks: what ``add_check`` has added.
        tables: what ``with_table`` has added.
        repository: that of ``use_repository``.
        key: the date and tags of the data.
        states: the folder of ``add_up``.

    Errors: none.

    Example:
        >>> verification = VerificationSuite().on(rides, "rides").add_check(Check().is_unique("ride_id"))
        >>> today = ResultKey.of(date(2026, 3, 10))
    """

    data: "DataFrame | Table | str | Path"
    name: str
    engine: Engine | None = None
    checks: tuple[Check, ...] = ()
    tables: Mapping[str, "DataFrame | Table | str | Path"] = field(default_factory=dict)
    repository: MetricsRepository | None = None
    key: ResultKey | None = None
    states: FolderOfStates | None = None

    def add_check(self, *checks: Check) -> "Verification":
        """Adds checks.

        Parameters:
            checks: one check, or more.

        Errors: none.

        Example:
            >>> more = verification.add_check(Check(Level.WARNING, "size").has_size(10))
            >>> len(verification.checks), len(more.checks)
            (1, 2)
        """
        return replace(self, checks=(*self.checks, *checks))

    def with_table(self, name: str, data: "DataFrame | Table | str | Path") -> "Verification":
        """Adds another dataset, which ``refers_to``, ``query(…)`` and ``dataset='…'`` know by this name.

        Parameters:
            name: its name. A dataset of the same name is replaced.
            data: a Spark DataFrame, a path, the name of a table, or a ``Table`` of the engines.

        Errors: none. A dataset that is named and was not added makes its constraint an ``error``.

        Example:
            >>> check = Check().refers_to("rider_id", "riders", at_least(0.8))
            >>> print(VerificationSuite().on(rides).with_table("riders", riders).add_check(check).run())
            Success(refers_to(rider_id, riders), referential_integrity(rider_id, 'riders') >= 0.8)
        """
        return replace(self, tables={**self.tables, name: data})

    def use_repository(self, repository: MetricsRepository, key: ResultKey) -> "Verification":
        """Reads the metrics of earlier runs from a repository, and saves those of this run there.

        Parameters:
            repository: a ``FileRepository``, an ``InMemoryRepository``, or an object with their two methods.
            key: the date and tags of the data. Earlier runs are those of the same tags and earlier dates.

        Errors: none. ``run`` raises what the repository raises.

        Example:
            >>> repository = InMemoryRepository()
            >>> _ = verification.use_repository(repository, today).run()
            >>> [dict(run.values) for run in repository.load()]
            [{'uniqueness(ride_id)': 0.8}]
        """
        return replace(self, repository=repository, key=key)

    def add_up(self, states: FolderOfStates, key: ResultKey) -> "Verification":
        """Treats the data as a delta: rows that were added to a table. Only these are read.

        Checks are on all deltas up to this one, those with ``on="delta"`` on this one alone. A metric that does not add
        up makes its constraint an ``error`` ([which do](metrics.md#every-metric)).

        Parameters:
            states: the folder of the states of earlier deltas.
            key: the date and tags of the delta. A delta of the same key is replaced.

        Errors: none. ``run`` raises an OSError where the folder cannot be written.

        Example:
            >>> check = Check().has_size(20).has_completeness("city", 0.9)
            >>> states = FolderOfStates(folder / "deltas")
            >>> growing = VerificationSuite().on(rides).add_check(check)
            >>> _ = growing.add_up(states, ResultKey.of(date(2026, 3, 9))).run()
            >>> growing.add_up(states, today).run().status.value
            'success'
        """
        return replace(self, states=states, key=key)

    def run(self) -> VerificationResult:
        """Measures everything that the checks ask for, judges every constraint, and saves the metrics.

        All checks together read each dataset in as few passes as their metrics allow. Returns a ``VerificationResult``.
        What is wrong with the data or with a constraint is not raised: that constraint has the status ``error``.

        Errors:
            AttributeError: the data is of no kind that ``VerificationSuite.on`` takes.
            UnableToReadRepository: the file of the repository has a line that is no run, and a constraint needs it.
            OSError: the repository or the folder of states cannot be read or written.

        Example:
            >>> print(verification.run())
            Failure(is_unique(ride_id), uniqueness(ride_id) = 1, 0.8)
        """
        of_whole, of_delta = self._asks("whole"), self._asks("delta")
        measured, reports = self._measured(of_whole, of_delta if self.states else ())
        self._note(measured)
        parts: dict[On, Mapping[AskedMetric, Measured]] = {
            "whole": {ask: self._summed(ask, measured[ask]) for ask in of_whole},
            "delta": {ask: measured[ask] if self.states else _NO_DELTA for ask in of_delta},
        }
        found: dict[On, Found] = {on: self._found(on, part) for on, part in parts.items()}
        values = {name: value for on, part in parts.items() for name, value in self._named(on, part).items()}
        result = VerificationResult(
            table=self.name,
            checks=tuple(_judged(check, found[check.on]) for check in self.checks),
            metrics=values,
            spark_jobs=sum(report.spark_jobs for report in reports),
            read_by=together(report.read_by for report in reports),
            seconds=sum(report.seconds for report in reports),
        )
        self._save(values)
        return result

    def failing_rows(self, result: VerificationResult, limit: int = 100) -> FailingRows:
        """Reads the data again, and returns some of the rows that break what failed.

        The answer has ``columns``, the names, and ``rows``, each with its ``values`` as texts and the metrics that it
        ``breaks``. ``failures`` says why there is no row for a metric. There is none where only all rows together can
        break it, such as a mean.

        Parameters:
            result: what ``run`` of the same verification has returned.
            limit: the greatest number of rows, 1,000 at most.

        Errors: none. What cannot be read is in ``failures``.

        Example:
            >>> found = verification.failing_rows(verification.run(), limit=10)
            >>> [(row.values[0], row.breaks) for row in found.rows]
            [('9', ('uniqueness(ride_id)',)), ('9', ('uniqueness(ride_id)',))]
        """
        specs = broken_metrics(result)
        return reader_of(self.data, self.name, self.engine).failing_rows(specs, limit) if specs else FailingRows()

    def _asks(self, on: On) -> list[AskedMetric]:
        """What the checks on one part of the data ask for, once each."""
        constraints = [constraint for check in self.checks if check.on == on for constraint in check.constraints]
        return list(dict.fromkeys(ask for constraint in constraints for ask in constraint.asks))

    def _measured(
        self, summed: Sequence[AskedMetric], single: Sequence[AskedMetric]
    ) -> tuple[dict[AskedMetric, Measured], list[ScanReport]]:
        """Of each dataset in one scan; with the states of those that are to be summed."""
        asks = list(dict.fromkeys([*summed, *single]))
        keep = frozenset(summed if self.states else ())
        measured: dict[AskedMetric, Measured] = {}
        reports: list[ScanReport] = []
        with as_tables(self._beside(asks)) as tables:
            for dataset in dict.fromkeys(map(self._dataset, asks)):
                some = [ask for ask in asks if self._dataset(ask) == dataset]
                data = self.data if dataset == self.name else self.tables.get(dataset)
                if data is None:
                    measured |= dict.fromkeys(some, Measured(failure=self._unknown(dataset)))
                    continue
                report = reader_of(data, dataset, self.engine).scan(
                    [
                        Wanted(
                            key=str(at),
                            spec=ask.spec,
                            tables=tables if _reads_tables(ask) else {},
                            keep_state=ask in keep,
                        )
                        for at, ask in enumerate(some)
                    ]
                )
                measured |= {ask: report.measured[str(at)] for at, ask in enumerate(some)}
                reports.append(report)
        return measured, reports

    def _note(self, measured: Mapping[AskedMetric, Measured]) -> None:
        """Keep that there was this delta, once anything of it could be measured."""
        known = any(self._dataset(ask) == self.name and one.failure is None for ask, one in measured.items())
        if known and self.states is not None and self.key is not None:
            self.states.note(self.key)

    def _summed(self, ask: AskedMetric, measured: Measured) -> Measured:
        if self.states is None or self.key is None or self._dataset(ask) != self.name:
            return measured
        return added_up(self.states, self.key, ask.spec, measured)

    def _dataset(self, ask: AskedMetric) -> str:
        return self.name if ask.dataset is None else ask.dataset

    def _beside(self, asks: Iterable[AskedMetric]) -> dict[str, "DataFrame | Table | str | Path"]:
        """The datasets that metrics of several open by themselves; none where no such metric is asked for."""
        return {self.name: self.data, **self.tables} if any(map(_reads_tables, asks)) else {}

    def _unknown(self, dataset: str) -> Failure:
        known = ", ".join(self.tables) or "none"
        detail = f"there is no dataset {dataset!r} beside {self.name}: give it by with_table(…); known: {known}"
        return Failure(reason=Reason.INVALID, detail=detail)

    def _named(self, on: On, measured: Mapping[AskedMetric, Measured]) -> dict[str, Number | None]:
        """The values that could be measured, by their stored names."""
        return {stored_name(ask, on, self.name): one.value for ask, one in measured.items() if one.failure is None}

    def _found(self, on: On, measured: Mapping[AskedMetric, Measured]) -> Found:
        """What the checks on one part of the data are judged by; the repository is read when it must be, and once."""
        if self.repository is None or self.key is None:
            return Found(measured=measured)
        runs, key = cache(self.repository.load), self.key

        def past(ask: AskedMetric) -> Past:
            return Past(at=key.at, series=series(runs(), stored_name(ask, on, self.name), key))

        return Found(measured=measured, past=past)

    def _save(self, values: Mapping[str, Number | None]) -> None:
        if self.repository is not None and self.key is not None:
            known = {name: value for name, value in values.items() if value is not None}
            self.repository.save(StoredMetrics(key=self.key, values=known))


def _reads_tables(ask: AskedMetric) -> bool:
    definition = METRICS.get(ask.spec.name)
    return definition is not None and definition.kind is Kind.COMPOUND


def _judged(check: Check, found: Found) -> CheckResult:
    """The check with the results of its constraints."""
    results = tuple(_result(constraint, found) for constraint in check.constraints)
    if check.on == "delta":
        results = tuple(replace(each, constraint=f"{each.constraint} on delta") for each in results)
    return CheckResult(name=check.name, level=check.level, constraints=results, on=check.on)


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
