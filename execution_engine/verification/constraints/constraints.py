"""One statement about data: which metrics it asks for, and what it says of their values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from execution_engine.engines.protocol import Measured
from execution_engine.exact import Number, decimal_of
from execution_engine.language.evaluating.sentence import number_shown, with_notes
from execution_engine.metrics.definition import NOTE
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

from .bounds import Bound
from .levels import ConstraintStatus


@dataclass(frozen=True, kw_only=True)
class AskedMetric:
    """One metric of a dataset; of the one under test where it names none."""

    spec: MetricSpec
    dataset: str | None = None


Series = Sequence[tuple[datetime, Number]]


@dataclass(frozen=True, kw_only=True)
class Past:
    """The values of one metric before ``at``, the date of the data under test; the oldest first."""

    at: datetime
    series: Series


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was measured now, and the earlier values of what is asked; None without a repository."""

    measured: Mapping[AskedMetric, Measured]
    past: Callable[[AskedMetric], Past] | None = None


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
    """One statement about data."""

    @property
    def text(self) -> str:
        """What the user wrote: ``is_complete(title)``."""
        ...

    @property
    def hint(self) -> str:
        """What the user wants told where it fails."""
        ...

    @property
    def asks(self) -> tuple[AskedMetric, ...]:
        """What must be measured for it."""
        ...

    def judge(self, found: Found) -> Judgement:
        """What it comes to with the values measured."""
        ...


def value_itself(measured: Measured) -> Number | None:
    """The metric's own value."""
    return measured.value


@dataclass(frozen=True, kw_only=True)
class MetricConstraint:
    """A bound on what one metric gives; ``of_rows``: on a share of rows, of which none is none too few."""

    text: str
    spec: MetricSpec
    bound: Bound
    hint: str = ""
    of_rows: bool = False
    reads: Callable[[Measured], Number | None] = value_itself

    @property
    def asks(self) -> tuple[AskedMetric, ...]:
        """The metric."""
        return (AskedMetric(spec=self.spec),)

    def judge(self, found: Found) -> Judgement:
        """Success where the value meets the bound."""
        measured = found.measured[self.asks[0]]
        if measured.failure is not None:
            return unable(measured.failure, metric=self.spec.text, bound=self.bound.text)
        value = self.reads(measured)
        if value is None:
            return self._of_nothing(measured)
        try:
            met = self.bound(value)
        except Exception as error:  # the user's own function may raise whatever it likes
            detail = f"{self.bound.text}: it raised {error!r} for {value}; mend the function"
            return unable(Failure(reason=Reason.INVALID, detail=detail), metric=self.spec.text, bound=self.bound.text)
        return Judgement(
            status=ConstraintStatus.SUCCESS if met else ConstraintStatus.FAILURE,
            message=with_notes(f"{self.spec.text} = {shown(value)}, wanted {self.bound.text}", [measured.detail]),
            metric=self.spec.text,
            bound=self.bound.text,
            value=value,
            detail=measured.detail,
        )

    def _of_nothing(self, measured: Measured) -> Judgement:
        if self.of_rows:
            message = f"{self.spec.text}: there is no row to judge"
            return Judgement(
                status=ConstraintStatus.SUCCESS, message=message, metric=self.spec.text, bound=self.bound.text
            )
        why = measured.detail.get(NOTE, "it has no values; say has_size(above(0)) where there must be rows")
        detail = f"{self.spec.text} is NULL: {why}"
        return unable(Failure(reason=Reason.UNDEFINED, detail=detail), metric=self.spec.text, bound=self.bound.text)


def unable(failure: Failure, *, metric: str = "", bound: str = "") -> Judgement:
    """The judgement on what could not be evaluated; what only wants time is learning."""
    waits = failure.reason is Reason.WARMING_UP
    status = ConstraintStatus.LEARNING if waits else ConstraintStatus.ERROR
    return Judgement(status=status, message=str(failure), metric=metric, bound=bound, failure=failure)


def shown(value: Number) -> str:
    """A number for readers: a whole one in all its digits, others in six."""
    return number_shown(decimal_of(value))
