"""An assertion of the language as a constraint: several metrics, arithmetic, other datasets, ``by`` groups."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from math import inf
from zoneinfo import ZoneInfo

from assay.time.durations import Step, UnableToStep, shift
from execution_engine.anomalies.expectation import expected
from execution_engine.anomalies.series import Series
from execution_engine.anomalies.strategies import Interval, Strategy, strategy_text
from execution_engine.engines.protocol import Measured
from execution_engine.exact import Number, to_json
from execution_engine.language.checking import DatasetSchema, UnableToCheck, check
from execution_engine.language.evaluate import Value, evaluate, with_notes
from execution_engine.language.parse import UnableToParse, parse
from execution_engine.language.past import WithPast
from execution_engine.language.tree import (
    Assertion,
    By,
    History,
    HistoryFunction,
    Metric,
    Operand,
    Problem,
    operands,
    postorder,
)
from execution_engine.metrics.definition import Kind
from execution_engine.metrics.registry import GROUPABLE, METRICS, SIGNATURES
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import GroupValues
from execution_engine.outcome import Failure, Outcome, Reason

from .constraints import AskedMetric, ConstraintStatus, Found, Judgement, Past, both, shown, unable

_NO_PAST = (
    "{} is over earlier runs: keep their metrics, by use_repository(…) before run() "
    "or by --repository FILE --date DAY of `assay verify`"
)
_NO_GROUPS = "a metrics repository keeps no values of groups: leave the history out, or 'by'"
_NO_PROFILES = "a metrics repository keeps no profiles: ask `assay novelty`, or test it in the service"
_UTC = ZoneInfo("UTC")
_STATUS = {Outcome.HELD: ConstraintStatus.SUCCESS, Outcome.BROKEN: ConstraintStatus.FAILURE}


class UnableToAssert(ValueError):
    """``Check.holds`` was given a text that is no assertion. The message draws the place and says how to mend it.

    Example:
        >>> Check().holds("completness(id) = 1")
        Traceback (most recent call last):
        execution_engine.verification.constraints.assertion.UnableToAssert: Cannot accept the assertion: there is no ...
    """


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
        """Its name, or what the user wrote."""
        return self.name or self.assertion

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        """Its metrics and histories."""
        return operands(self.tree)

    @cached_property
    def asks(self) -> tuple[AskedMetric, ...]:
        """What it compares; what is compared with its past is measured too, so that there is one."""
        return tuple(dict.fromkeys(map(self._ask, self.operands)))

    def judge(self, found: Found) -> Judgement:
        """Its verdict."""
        values = {one.text: self._value(one, found) for one in self.operands}
        metric = ", ".join(one.text for one in self.operands)
        verdict = evaluate(self.tree, values)
        details = [found.measured[ask].detail for ask in self.asks]
        if verdict.failure is not None:
            told = replace(verdict.failure, detail=with_notes(verdict.failure.detail, details))
            return unable(told, metric=metric, bound=self.assertion)
        return Judgement(
            status=_STATUS[verdict.outcome],
            message=with_notes(verdict.sentence, details),
            metric=metric,
            bound=self.assertion,
            value=verdict.value,
            detail={"operands": {text: to_json(each) for text, each in verdict.operands.items()}, **verdict.findings},
        )

    def _value(self, operand: Operand, found: Found) -> Value:
        ask = self._ask(operand)
        measured = found.measured[ask]
        if measured.failure is not None:
            return measured.failure
        if isinstance(operand, Metric):
            return _value(operand, measured)
        if found.past is None:
            return Failure(reason=Reason.INVALID, detail=_NO_PAST.format(operand.text))
        if operand.function is HistoryFunction.ANOMALY:
            return _with_past(operand, measured.value, found.past(ask))
        return [value for _, value in past_values(operand, found.past(ask))]

    def _ask(self, operand: Operand) -> AskedMetric:
        metric = operand.metric if isinstance(operand, History) else operand
        takes = SIGNATURES[metric.spec.name].takes_where and metric.dataset is None
        where = both(metric.spec.where, self.where) if takes else metric.spec.where
        return AskedMetric(spec=replace(metric.spec, where=where), dataset=metric.dataset)


def assertion_constraint(
    text: str, *, name: str = "", hint: str = "", where: str | None = None, datasets: Collection[str] | None = None
) -> AssertionConstraint:
    """The constraint that ``text`` says; UnableToAssert for anything else.

    ``datasets``: the names of the others that it may name; None: any, found out when it is run.
    """
    try:
        tree = parse(text)
        check(
            tree,
            home=_schema("this table"),
            schema_of=lambda other: _schema(other) if datasets is None or other in datasets else None,
            signatures=SIGNATURES,
            source=text,
            groupable=GROUPABLE,
            fault_of=_fault_of,
        )
        histories = [node for node in postorder(tree) if isinstance(node, History)]
        if isinstance(tree, By) and histories:
            raise UnableToCheck([Problem(message=_NO_GROUPS, place=each.place) for each in histories], text)
        if profiles := [each for each in histories if each.function is HistoryFunction.NOVELTY]:
            raise UnableToCheck([Problem(message=_NO_PROFILES, place=each.place) for each in profiles], text)
    except (UnableToParse, UnableToCheck) as error:
        raise UnableToAssert(str(error)) from None
    return AssertionConstraint(assertion=text, tree=tree, name=name, hint=hint, where=where)


def _schema(name: str) -> DatasetSchema:
    """What is known before the data is opened: without a catalog there are no partitions, and there is one place."""
    return DatasetSchema(name=name, columns=None, partitioned=False, earlier_runs=True)


def _fault_of(spec: MetricSpec) -> str | None:
    definition = METRICS[spec.name]
    if definition.kind is Kind.DERIVED or definition.inputs or definition.signature.needs_datacenter:
        return f"{spec.name} needs the catalog: test it there, by `assay sync` and `assay run`"
    return definition.problem(spec) if definition.problem else None


def _value(operand: Metric, measured: Measured) -> Value:
    if not operand.spec.by:
        return measured.value
    if not measured.state:
        detail = f"{operand.text} was measured as a whole: the engine of this table cannot group"
        return Failure(reason=Reason.QUERY_FAILED, detail=detail)
    return GroupValues.from_bytes(measured.state).groups


def _with_past(history: History, now: Number | None, past: Past) -> WithPast[Number | None]:
    series = past_values(history, past)
    when = [instant.astimezone(_UTC).replace(tzinfo=None) for instant, _ in series]
    at = past.at.astimezone(_UTC).replace(tzinfo=None)
    return WithPast(now=now, past=[value for _, value in series], when=when, at=at)


def past_values(history: History, past: Past) -> list[tuple[datetime, Number]]:
    """The values a history is over, the oldest first; with ``every`` those of the very instants, stepped in UTC."""
    is_lag = history.function is HistoryFunction.LAG
    if history.every is None:
        values = list(past.series[-history.last :])
        return values if not is_lag else values[:1] if len(values) == history.last else []
    counts = [history.last] if is_lag else range(history.last, 0, -1)
    known, step = dict(past.series), -Step.parse(history.every)
    instants = _existing(past.at, [replace(step, amount=step.amount * count) for count in counts])
    return [(instant, known[instant]) for instant in instants if instant in known]


def _existing(at: datetime, steps: list[Step]) -> Iterator[datetime]:
    """The instants the steps lead to, without those before the year 1."""
    for step in steps:
        try:
            yield shift(at, step, _UTC)
        except UnableToStep:
            continue


# ``has_no_anomalies``: a metric's value against its own past in a repository.

_NO_REPOSITORY = "there are no earlier values: say use_repository(…) before run()"


@dataclass(frozen=True, kw_only=True)
class AnomalyConstraint:
    """The metric lies where the strategy expects it after its earlier values."""

    spec: MetricSpec
    strategy: Strategy
    hint: str = ""

    @property
    def text(self) -> str:
        """The metric and the strategy."""
        return f"has_no_anomalies({self.spec.text}, {strategy_text(self.strategy)})"

    @property
    def asks(self) -> tuple[AskedMetric, ...]:
        """The metric."""
        return (AskedMetric(spec=self.spec),)

    def judge(self, found: Found) -> Judgement:
        """Failure outside the interval expected; learning while there are too few earlier values."""
        measured = found.measured[self.asks[0]]
        failure = measured.failure or self._problem(found, measured.value)
        if failure is not None or measured.value is None:
            unknown = Failure(reason=Reason.UNDEFINED, detail=f"{self.spec.text} is NULL, as it has no values")
            return unable(failure or unknown, metric=self.spec.text)
        series = _series(found, self.asks[0])
        low, high = expected(self.strategy, series)
        bound = _text((low, high))
        said = f"{self.spec.text} = {shown(measured.value)}, wanted {bound}"
        return Judgement(
            status=ConstraintStatus.SUCCESS if low <= measured.value <= high else ConstraintStatus.FAILURE,
            message=f"{said} by {strategy_text(self.strategy)} after {len(series.values)} earlier values",
            metric=self.spec.text,
            bound=bound,
            value=measured.value,
            detail={"earlier": list(series.values[-100:])},
        )

    def _problem(self, found: Found, value: Number | None) -> Failure | None:
        if found.past is None and self.strategy.needed:
            return Failure(reason=Reason.INVALID, detail=f"{self.text}: {_NO_REPOSITORY}")
        known = len(_series(found, self.asks[0]).values)
        if known < self.strategy.needed:
            detail = f"{self.spec.text} has {known} of the {self.strategy.needed} earlier values needed"
            return Failure(reason=Reason.WARMING_UP, detail=detail)
        return None


def _series(found: Found, ask: AskedMetric) -> Series:
    if found.past is None:
        return Series(values=())
    past = found.past(ask)
    *when, at = (each.astimezone(UTC).replace(tzinfo=None) for each in (*(day for day, _ in past.series), past.at))
    return Series(values=tuple(float(value) for _, value in past.series), when=tuple(when), at=at)


def _text(interval: Interval) -> str:
    low, high = interval
    if low == -inf:
        return "anything" if high == inf else f"<= {shown(high)}"
    return f">= {shown(low)}" if high == inf else f"between {shown(low)} and {shown(high)}"
