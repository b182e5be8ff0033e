"""One statement about data: which metrics it asks for, the bound that it holds them to, and what came of it."""

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from math import inf, isclose
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from assay.time.durations import Step, UnableToStep, shift
from execution_engine.anomalies.expectation import expected
from execution_engine.anomalies.series import Series
from execution_engine.anomalies.strategies import Strategy, strategy_text
from execution_engine.engines.protocol import Measured
from execution_engine.exact import Number, decimal_of, is_whole, number_of, to_json
from execution_engine.language.checking import DatasetSchema, UnableToCheck, check
from execution_engine.language.evaluate import Value, evaluate, with_notes
from execution_engine.language.parse import UnableToParse, parse
from execution_engine.language.past import WithPast
from execution_engine.language.serialise import number_shown, number_text
from execution_engine.language.tree import (
    Assertion,
    AssertionProblem,
    By,
    History,
    HistoryFunction,
    Metric,
    Operand,
    metric_of,
    operands,
    postorder,
)
from execution_engine.metrics.definition import NOTE, MetricKind
from execution_engine.metrics.registry import GROUPABLE, METRICS, SIGNATURES
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import GroupValues
from execution_engine.outcome import Failure, Outcome, Reason

# What a metric's value is held against: a number, one of the bounds below, or the user's own function.

Holds = Callable[[Any], object]  # of a float; of an int or a Decimal where a float would lose digits


@dataclass(frozen=True)
class Bound:
    """A condition on a number; ``at_least`` and its kin make it. ``text`` is how results write it: ``>= 0.99``."""

    text: str
    holds: Holds

    def __call__(self, value: Number) -> bool:
        """Whether the value meets the bound; raises what a function of yours raises."""
        return bool(self.holds(value))


Expected = Number | Bound | Holds  # a number: exactly that one


def equal_to(number: Number) -> Bound:
    """The value is the number: whole numbers and decimals in every digit, floats within 1e-12 of it.

    Write the number as it is where a method takes ``expected``.
    """
    limit = decimal_of(number)

    def holds(value: Number) -> bool:
        exact = decimal_of(value)
        are_exact = (is_whole(limit) and is_whole(exact)) or not isinstance(value, float)
        return exact == limit or (not are_exact and isclose(value, number, rel_tol=1e-12, abs_tol=1e-12))

    return Bound(f"= {bound_text(number)}", holds)


def at_least(number: Number) -> Bound:
    """The value is equal to or above the number."""
    return compared_to(">=", number, operator.ge)


def at_most(number: Number) -> Bound:
    """The value is equal to or below the number."""
    return compared_to("<=", number, operator.le)


def above(number: Number) -> Bound:
    """The value is above the number."""
    return compared_to(">", number, operator.gt)


def below(number: Number) -> Bound:
    """The value is below the number."""
    return compared_to("<", number, operator.lt)


def between(low: Number, high: Number) -> Bound:
    """The value lies from ``low`` to ``high``, both included. ValueError: ``low`` is above ``high``."""
    if low > high:
        raise ValueError(f"nothing lies between {low} and {high}: write the lower bound first")
    least, most = decimal_of(low), decimal_of(high)
    text = f"between {bound_text(low)} and {bound_text(high)}"
    return Bound(text, lambda value: least <= decimal_of(value) <= most)


def compared_to(sign: str, number: Number, compare: Callable[[Any, Any], object]) -> Bound:
    limit = decimal_of(number)
    return Bound(f"{sign} {bound_text(number)}", lambda value: compare(decimal_of(value), limit))


def bound_of(expected: Expected) -> Bound:
    """The bound that is meant; a function of the user's is called by its name."""
    if isinstance(expected, Bound):
        return expected
    return Bound(f"meets {function_name(expected)}", expected) if callable(expected) else equal_to(expected)


def function_name(function: Callable[..., object]) -> str:
    """The name of a function; that of a lambda is of no use to its reader."""
    name = getattr(function, "__name__", type(function).__name__)
    return "a function of the user's" if name == "<lambda>" else name


def bound_text(number: Number) -> str:
    return number_text(number_of(number))


# How grave a check is, and what came of a constraint.


class Level(StrEnum):
    """How serious it is that a check fails: the status of the check is then ``error``, or ``warning``."""

    ERROR = "error"
    WARNING = "warning"


class ConstraintStatus(StrEnum):
    """What came of one constraint."""

    SUCCESS = "success"  # the data meets it
    FAILURE = "failure"  # the data breaks it
    ERROR = "error"  # it could not be evaluated: an unknown column, no values, a function that raised
    LEARNING = "learning"  # there are too few earlier values; the status of its check does not change by it


class Status(StrEnum):
    """What came of a check or of all checks; from the least serious to the most."""

    SUCCESS = "success"  # no constraint failed, and all could be evaluated or are learning
    WARNING = "warning"  # a constraint of a check of level warning failed
    UNABLE = "unable"  # a constraint could not be evaluated, and nothing worse is known
    ERROR = "error"  # a constraint of a check of level error failed


def status_of(level: Level, constraints: Iterable[ConstraintStatus]) -> Status:
    """The status of a check from those of its constraints."""
    statuses = set(constraints)
    if ConstraintStatus.FAILURE in statuses and level is Level.ERROR:
        return Status.ERROR
    if ConstraintStatus.ERROR in statuses:
        return Status.UNABLE
    return Status.WARNING if ConstraintStatus.FAILURE in statuses else Status.SUCCESS


def gravest(statuses: Iterable[Status]) -> Status:
    """The gravest of them; SUCCESS of none."""
    return max(statuses, key=list(Status).index, default=Status.SUCCESS)


# What a constraint asks for, and what it is judged by.


@dataclass(frozen=True, kw_only=True)
class MetricRequest:
    """One metric of a dataset; of the one under test where it names none."""

    spec: MetricSpec
    dataset: str | None = None


@dataclass(frozen=True, kw_only=True)
class EarlierValues:
    """The values of one metric before ``at``, the date of the data under test; the oldest first."""

    at: datetime
    series: Sequence[tuple[datetime, Number]]

    def local(self) -> tuple[list[datetime], datetime]:
        """The dates of the values and ``at``, in UTC and without a zone."""
        *when, at = (
            date.astimezone(UTC).replace(tzinfo=None) for date in (*(date for date, _ in self.series), self.at)
        )
        return when, at


@dataclass(frozen=True, kw_only=True)
class ConstraintInput:
    """What was measured now, and the earlier values of a metric; None without a repository."""

    measured: Mapping[MetricRequest, Measured]
    past: Callable[[MetricRequest], EarlierValues] | None = None


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a constraint came to."""

    status: ConstraintStatus
    message: str
    metric: str = ""
    bound: str = ""
    value: Number | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None


class Constraint(Protocol):
    """One statement about data: what the user wrote, the hint where it fails, what must be measured, the judgement."""

    @property
    def text(self) -> str: ...
    @property
    def hint(self) -> str: ...
    @property
    def asks(self) -> tuple[MetricRequest, ...]: ...

    def judge(self, inputs: ConstraintInput) -> Judgement: ...


def unable(failure: Failure, *, metric: str = "", bound: str = "") -> Judgement:
    """The judgement on what could not be evaluated; what only wants time is learning."""
    waits = failure.reason is Reason.WARMING_UP
    status = ConstraintStatus.LEARNING if waits else ConstraintStatus.ERROR
    return Judgement(status=status, message=str(failure), metric=metric, bound=bound, failure=failure)


def value_text(value: Number) -> str:
    """A number for readers: a whole one in all its digits, others in six."""
    return number_shown(decimal_of(value))


# A bound on one metric, and a function of a column's histogram.


@dataclass(frozen=True, kw_only=True)
class MetricConstraint:
    """A bound on what one metric gives; ``of_rows``: on a share of rows, of which none is none too few."""

    text: str
    spec: MetricSpec
    bound: Bound
    hint: str = ""
    of_rows: bool = False
    reads: Callable[[Measured], Any] = operator.attrgetter("value")

    @property
    def asks(self) -> tuple[MetricRequest, ...]:
        return (MetricRequest(spec=self.spec),)

    def judge(self, inputs: ConstraintInput) -> Judgement:
        """Success where the value meets the bound."""
        measured = inputs.measured[self.asks[0]]
        metric, bound = self.spec.text, self.bound.text
        if measured.failure is not None:
            return unable(measured.failure, metric=metric, bound=bound)
        value = self.reads(measured)
        if value is None and self.of_rows:
            message = f"{metric}: there is no row to judge"
            return Judgement(status=ConstraintStatus.SUCCESS, message=message, metric=metric, bound=bound)
        if value is None:
            why = measured.detail.get(NOTE, "it has no values; say has_size(above(0)) where there must be rows")
            failure = Failure(reason=Reason.UNDEFINED, detail=f"{metric} is NULL: {why}")
            return unable(failure, metric=metric, bound=bound)
        try:
            met = self.bound(value)
        except Exception as error:  # the user's own function may raise whatever it likes
            failure = Failure(reason=Reason.INVALID, detail=self.error_text(error, value))
            return unable(failure, metric=metric, bound=bound)
        status = ConstraintStatus.SUCCESS if met else ConstraintStatus.FAILURE
        value, message = self.value_and_message(measured, value)
        return Judgement(
            status=status, message=message, metric=metric, bound=bound, value=value, detail=measured.detail
        )

    def value_and_message(self, measured: Measured, value: Any) -> tuple[Number | None, str]:
        """What results have of a value that could be judged."""
        message = f"{self.spec.text} = {value_text(value)}, wanted {self.bound.text}"
        return value, with_notes(message, [measured.detail])

    def error_text(self, error: Exception, value: Any) -> str:
        return f"{self.bound.text}: it raised {error!r} for {value}; mend the function"


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """How often each value of a column occurs. A function that ``has_histogram_values`` takes is given one.

    ``bins`` is the number of different values, null being one. ``counts`` has the number of rows by the value as Spark
    writes it, or None for null, of the 1,000 most frequent values at most; ``ratios`` the same as shares of all rows.
    """

    bins: int
    counts: Mapping[str | None, int] = field(default_factory=dict)
    ratios: Mapping[str | None, float] = field(default_factory=dict)

    def count(self, value: object) -> int:
        """The number of the rows that have a value (a text, number, boolean or None); 0 where none is known."""
        return self.counts.get(_written_by_spark(value), 0)

    def ratio(self, value: object) -> float:
        """The share of the rows, from 0 to 1, that have a value; 0 where none is known."""
        return self.ratios.get(_written_by_spark(value), 0.0)


def _written_by_spark(value: object) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def histogram_of(measured: Measured) -> Histogram:
    """The histogram that a measurement's detail holds."""
    bins = measured.detail.get("bins", [])
    return Histogram(
        bins=int(measured.value or 0),
        counts={entry["value"]: int(entry["count"]) for entry in bins},
        ratios={entry["value"]: float(entry["ratio"]) for entry in bins},
    )


@dataclass(frozen=True, kw_only=True)
class HistogramConstraint(MetricConstraint):
    """The user's function, in the bound, holds of a column's histogram."""

    reads: Callable[[Measured], Any] = histogram_of

    def value_and_message(self, measured: Measured, value: Any) -> tuple[Number | None, str]:
        return measured.value, f"{self.spec.text} has {value.bins} bins; wanted: {self.bound.text}"

    def error_text(self, error: Exception, value: Any) -> str:
        return f"{self.text}: the function raised {error!r}; mend it"


# An assertion of the language: several metrics, arithmetic, other datasets, ``by`` groups.

_NO_PAST = (
    "{} is over earlier runs: keep their metrics, by use_repository(…) before run() "
    "or by --repository FILE --date DAY of `assay verify`"
)
_NO_GROUPS = "a metrics repository keeps no values of groups: leave the history out, or 'by'"
_NO_PROFILES = "a metrics repository keeps no profiles: ask `assay novelty`, or test it in the service"
_UTC = ZoneInfo("UTC")


class UnableToAssert(ValueError):
    """``Check.holds`` was given a text that is no assertion. The message draws the place and says how to mend it."""


@dataclass(frozen=True, kw_only=True)
class AssertionConstraint:
    """An assertion, with ``where`` added to each of its metrics of the table under test."""

    assertion: str
    tree: Assertion
    name: str = ""
    hint: str = ""
    where: str | None = None

    @property
    def text(self) -> str:
        return self.name or self.assertion

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        """Its metrics and histories."""
        return operands(self.tree)

    @cached_property
    def asks(self) -> tuple[MetricRequest, ...]:
        """What it compares; what is compared with its past is measured too, so that there is one."""
        return tuple(dict.fromkeys(map(self._request, self.operands)))

    def judge(self, inputs: ConstraintInput) -> Judgement:
        verdict = evaluate(self.tree, {operand.text: self._value(operand, inputs) for operand in self.operands})
        metric = ", ".join(operand.text for operand in self.operands)
        details = [inputs.measured[request].detail for request in self.asks]
        if verdict.failure is not None:
            failure = replace(verdict.failure, detail=with_notes(verdict.failure.detail, details))
            return unable(failure, metric=metric, bound=self.assertion)
        return Judgement(
            status=ConstraintStatus.SUCCESS if verdict.outcome is Outcome.HELD else ConstraintStatus.FAILURE,
            message=with_notes(verdict.sentence, details),
            metric=metric,
            bound=self.assertion,
            value=verdict.value,
            detail={"operands": {text: to_json(value) for text, value in verdict.operands.items()}, **verdict.findings},
        )

    def _value(self, operand: Operand, inputs: ConstraintInput) -> Value:
        request = self._request(operand)
        measured = inputs.measured[request]
        if measured.failure is not None:
            return measured.failure
        if isinstance(operand, Metric):
            if not operand.spec.by:
                return measured.value
            if not measured.state:
                detail = f"{operand.text} was measured as a whole: the engine of this table cannot group"
                return Failure(reason=Reason.QUERY_FAILED, detail=detail)
            return GroupValues.from_bytes(measured.state).groups
        if inputs.past is None:
            return Failure(reason=Reason.INVALID, detail=_NO_PAST.format(operand.text))
        past = past_values(operand, inputs.past(request))
        values = [value for _, value in past.series]
        if operand.function is not HistoryFunction.ANOMALY:
            return values
        when, at = past.local()
        return WithPast(now=measured.value, past=values, when=when, at=at)

    def _request(self, operand: Operand) -> MetricRequest:
        metric = metric_of(operand)
        takes = SIGNATURES[metric.spec.name].takes_where and metric.dataset is None
        where = both(metric.spec.where, self.where) if takes else metric.spec.where
        return MetricRequest(spec=replace(metric.spec, where=where), dataset=metric.dataset)


def assertion_constraint(
    text: str, *, name: str = "", hint: str = "", where: str | None = None, datasets: Collection[str] | None = None
) -> AssertionConstraint:
    """The constraint that ``text`` says; UnableToAssert for anything else.

    ``datasets``: the names of the others that it may name; None: any, found out when it is run.
    """

    def schema(name: str) -> DatasetSchema:  # without a catalog there are no partitions, and there is one place
        return DatasetSchema(name=name, columns=None, partitioned=False, earlier_runs=True)

    def fault_of(spec: MetricSpec) -> str | None:
        definition = METRICS[spec.name]
        if definition.kind is MetricKind.DERIVED or definition.inputs or definition.signature.needs_datacenter:
            return f"{spec.name} needs the catalog: test it there, by `assay sync` and `assay run`"
        return definition.problem(spec) if definition.problem else None

    try:
        tree = parse(text)
        check(
            tree,
            home=schema("this table"),
            schema_of=lambda other: schema(other) if datasets is None or other in datasets else None,
            signatures=SIGNATURES,
            source=text,
            groupable=GROUPABLE,
            fault_of=fault_of,
        )
        histories = [node for node in postorder(tree) if isinstance(node, History)]
        if isinstance(tree, By) and histories:
            raise UnableToCheck(
                [AssertionProblem(message=_NO_GROUPS, place=history.place) for history in histories], text
            )
        if profiles := [history for history in histories if history.function is HistoryFunction.NOVELTY]:
            raise UnableToCheck(
                [AssertionProblem(message=_NO_PROFILES, place=history.place) for history in profiles], text
            )
    except (UnableToParse, UnableToCheck) as error:
        raise UnableToAssert(str(error)) from None
    return AssertionConstraint(assertion=text, tree=tree, name=name, hint=hint, where=where)


def past_values(history: History, past: EarlierValues) -> EarlierValues:
    """The values a history is over, the oldest first; with ``every`` those of the very instants, stepped in UTC."""
    is_lag = history.function is HistoryFunction.LAG
    if history.every is None:
        values = past.series[-history.last :]
        return replace(past, series=values if not is_lag else values[:1] if len(values) == history.last else [])
    values_by_instant, step, values = dict(past.series), -Step.parse(history.every), []
    for count in [history.last] if is_lag else range(history.last, 0, -1):
        with suppress(UnableToStep):  # before the year 1
            instant = shift(past.at, replace(step, amount=step.amount * count), _UTC)
            if instant in values_by_instant:
                values.append((instant, values_by_instant[instant]))
    return replace(past, series=values)


# ``has_no_anomalies``: a metric's value against its own past in a repository.


@dataclass(frozen=True, kw_only=True)
class AnomalyConstraint:
    """The metric lies where the strategy expects it after its earlier values."""

    spec: MetricSpec
    strategy: Strategy
    hint: str = ""

    @property
    def text(self) -> str:
        return f"has_no_anomalies({self.spec.text}, {strategy_text(self.strategy)})"

    @property
    def asks(self) -> tuple[MetricRequest, ...]:
        return (MetricRequest(spec=self.spec),)

    def judge(self, inputs: ConstraintInput) -> Judgement:
        """Failure outside the interval expected; learning while there are too few earlier values."""
        measured, metric, needed = inputs.measured[self.asks[0]], self.spec.text, self.strategy.needed
        series, failure = Series(values=()), measured.failure
        if failure is None and inputs.past is not None:
            past = inputs.past(self.asks[0])
            when, at = past.local()
            series = Series(values=tuple(float(value) for _, value in past.series), when=tuple(when), at=at)
        if failure is None and inputs.past is None and needed:
            detail = f"{self.text}: there are no earlier values: say use_repository(…) before run()"
            failure = Failure(reason=Reason.INVALID, detail=detail)
        elif failure is None and len(series.values) < needed:
            detail = f"{metric} has {len(series.values)} of the {needed} earlier values needed"
            failure = Failure(reason=Reason.WARMING_UP, detail=detail)
        if failure is not None or measured.value is None:
            undefined = Failure(reason=Reason.UNDEFINED, detail=f"{metric} is NULL, as it has no values")
            return unable(failure or undefined, metric=metric)
        low, high = expected(self.strategy, series)
        if low == -inf:
            bound = "anything" if high == inf else f"<= {value_text(high)}"
        else:
            bound = f">= {value_text(low)}" if high == inf else f"between {value_text(low)} and {value_text(high)}"
        by = f"by {strategy_text(self.strategy)} after {len(series.values)} earlier values"
        return Judgement(
            status=ConstraintStatus.SUCCESS if low <= measured.value <= high else ConstraintStatus.FAILURE,
            message=f"{metric} = {value_text(measured.value)}, wanted {bound} {by}",
            metric=metric,
            bound=bound,
            value=measured.value,
            detail={"earlier": list(series.values[-100:])},
        )


def both(first: str | None, second: str | None) -> str | None:
    """The condition of Spark SQL that both meet; None is met by every row."""
    if first is None or second is None:
        return first if second is None else second
    return f"({first}) and ({second})"
