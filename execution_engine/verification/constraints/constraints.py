"""One statement about data: which metrics it asks for, and what it says of their values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from math import isclose
from typing import Any, Protocol

from execution_engine.engines.columns.column_types import literal
from execution_engine.engines.protocol import Measured
from execution_engine.exact import Number, decimal_of, is_whole, number_of
from execution_engine.guard import in_sql
from execution_engine.language.evaluate import with_notes
from execution_engine.language.serialise import number_shown, number_text
from execution_engine.metrics.definition import NOTE
from execution_engine.metrics.expressions import named
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

# What a metric's value is held against: a number, one of the bounds below, or the user's own function.

Holds = Callable[[Any], object]  # of a float; of an int or a Decimal where a float would lose digits


@dataclass(frozen=True)
class Bound:
    """A condition on a number; ``at_least`` and its kin make it.

    Parameters:
        text: how results write it behind the metric: ``>= 0.99``.
        holds: a function of the value, which returns whether it is good.

    Errors: none.

    Example:
        >>> at_least(0.99).text
        '>= 0.99'
        >>> Bound("is even", lambda rows: rows % 2 == 0)(4)
        True
    """

    text: str
    holds: Holds

    def __call__(self, value: Number) -> bool:
        """Whether the value meets the bound.

        Parameters:
            value: an int, a float or a Decimal.

        Errors: none, but what a function of yours raises.

        Example:
            >>> at_least(3)(2)
            False
        """
        return bool(self.holds(value))


Expected = Number | Bound | Holds  # a number: exactly that one


def equal_to(number: Number) -> Bound:
    """The value is the number: whole numbers and decimals in every digit, floats within 1e-12 of it.

    Parameters:
        number: an int, a float or a Decimal. Write it as it is where a method takes ``expected``.

    Errors:
        TypeError or ValueError: ``number`` cannot be read as a number.

    Example:
        >>> equal_to(0.3)(0.1 + 0.2)
        True
        >>> equal_to(9007199254740993)(9007199254740992)
        False
    """
    wanted = decimal_of(number)

    def holds(value: Number) -> bool:
        found = decimal_of(value)
        are_exact = (is_whole(wanted) and is_whole(found)) or not isinstance(value, float)
        return found == wanted or (not are_exact and isclose(value, number, rel_tol=1e-12, abs_tol=1e-12))

    return Bound(f"= {_shown(number)}", holds)


def at_least(number: Number) -> Bound:
    """The value is equal to or above the number.

    Parameters:
        number: an int, a float or a Decimal.

    Errors:
        TypeError or ValueError: ``number`` cannot be read as a number.

    Example:
        >>> at_least(0.5)(0.5)
        True
    """
    wanted = decimal_of(number)
    return Bound(f">= {_shown(number)}", lambda value: decimal_of(value) >= wanted)


def at_most(number: Number) -> Bound:
    """The value is equal to or below the number.

    Parameters:
        number: an int, a float or a Decimal.

    Errors:
        TypeError or ValueError: ``number`` cannot be read as a number.

    Example:
        >>> at_most(0.5)(0.5)
        True
    """
    wanted = decimal_of(number)
    return Bound(f"<= {_shown(number)}", lambda value: decimal_of(value) <= wanted)


def above(number: Number) -> Bound:
    """The value is above the number.

    Parameters:
        number: an int, a float or a Decimal.

    Errors:
        TypeError or ValueError: ``number`` cannot be read as a number.

    Example:
        >>> above(0.5)(0.5)
        False
    """
    wanted = decimal_of(number)
    return Bound(f"> {_shown(number)}", lambda value: decimal_of(value) > wanted)


def below(number: Number) -> Bound:
    """The value is below the number.

    Parameters:
        number: an int, a float or a Decimal.

    Errors:
        TypeError or ValueError: ``number`` cannot be read as a number.

    Example:
        >>> below(0.5)(0.5)
        False
    """
    wanted = decimal_of(number)
    return Bound(f"< {_shown(number)}", lambda value: decimal_of(value) < wanted)


def between(low: Number, high: Number) -> Bound:
    """The value lies from ``low`` to ``high``, both included.

    Parameters:
        low: an int, a float or a Decimal.
        high: an int, a float or a Decimal, not below ``low``.

    Errors:
        ValueError: ``low`` is above ``high``.
        TypeError or ValueError: one of them cannot be read as a number.

    Example:
        >>> between(1, 2)(2)
        True
        >>> between(2, 1)
        Traceback (most recent call last):
        ValueError: nothing lies between 2 and 1: write the lower bound first
    """
    if low > high:
        raise ValueError(f"nothing lies between {low} and {high}: write the lower bound first")
    least, most = decimal_of(low), decimal_of(high)
    return Bound(f"between {_shown(low)} and {_shown(high)}", lambda value: least <= decimal_of(value) <= most)


def bound_of(expected: Expected) -> Bound:
    """The bound that is meant; a function of the user's is called by its name."""
    if isinstance(expected, Bound):
        return expected
    if callable(expected):
        return Bound(f"meets {name_of(expected)}", expected)
    return equal_to(expected)


def name_of(function: Callable[..., object]) -> str:
    """The name of a function; that of a lambda is of no use to its reader."""
    name = getattr(function, "__name__", type(function).__name__)
    return "a function of the user's" if name == "<lambda>" else name


def _shown(number: Number) -> str:
    return number_text(number_of(number))


# How grave a check is, and what came of a constraint.


class Level(StrEnum):
    """How serious it is that a check fails.

    Values:
        ERROR: the status of the check is ``error``.
        WARNING: the status of the check is ``warning``.

    Errors:
        ValueError: ``Level(…)`` of another text.

    Example:
        >>> Level("warning")
        <Level.WARNING: 'warning'>
    """

    ERROR = "error"
    WARNING = "warning"


class ConstraintStatus(StrEnum):
    """What came of one constraint.

    Values:
        SUCCESS: the data meets it.
        FAILURE: the data breaks it.
        ERROR: it could not be evaluated: an unknown column, no values, a function that raised.
        LEARNING: there are too few earlier values. The status of its check does not change by it.

    Errors:
        ValueError: ``ConstraintStatus(…)`` of another text.

    Example:
        >>> ConstraintStatus.LEARNING == "learning"
        True
    """

    SUCCESS = "success"
    FAILURE = "failure"
    ERROR = "error"
    LEARNING = "learning"


class Status(StrEnum):
    """What came of a check or of all checks; from the least serious to the most.

    Values:
        SUCCESS: no constraint failed, and all could be evaluated or are learning.
        WARNING: a constraint of a check of level warning failed.
        UNABLE: a constraint could not be evaluated, and nothing worse is known.
        ERROR: a constraint of a check of level error failed.

    Errors:
        ValueError: ``Status(…)`` of another text.

    Example:
        >>> Status.UNABLE.value
        'unable'
    """

    SUCCESS = "success"
    WARNING = "warning"
    UNABLE = "unable"
    ERROR = "error"


STATUSES = (Status.SUCCESS, Status.WARNING, Status.UNABLE, Status.ERROR)


def status_of(level: Level, constraints: Iterable[ConstraintStatus]) -> Status:
    """The status of a check from those of its constraints."""
    found = set(constraints)
    if ConstraintStatus.FAILURE in found and level is Level.ERROR:
        return Status.ERROR
    if ConstraintStatus.ERROR in found:
        return Status.UNABLE
    return Status.WARNING if ConstraintStatus.FAILURE in found else Status.SUCCESS


def gravest(statuses: Iterable[Status]) -> Status:
    """The gravest of them; SUCCESS of none."""
    return max(statuses, key=STATUSES.index, default=Status.SUCCESS)


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


# Conditions of Spark SQL, written from columns and Python's values.

Scalar = str | bool | int | float | Decimal | date | datetime


def both(first: str | None, second: str | None) -> str | None:
    """The condition that both meet; None is met by every row."""
    if first is None or second is None:
        return first if second is None else second
    return f"({first}) and ({second})"


def identifier(column: str) -> str:
    """The column as SQL names it, in backticks where it must be; ``a.b`` is the field b of a struct."""
    return in_sql(named(column))


def is_null(column: str) -> str:
    """``column is null``."""
    return f"{identifier(column)} is null"


def none_null(columns: Sequence[str]) -> str:
    """The condition that every column has a value."""
    return " and ".join(f"{identifier(column)} is not null" for column in columns)


def one_of(column: str, values: Sequence[Scalar]) -> str:
    """The condition that the column is null or has one of ``values``; ValueError if ``values`` is empty."""
    if not values:
        raise ValueError(f"no value is allowed for {column}: name those that it may have, such as ['open', 'closed']")
    return f"{is_null(column)} or {identifier(column)} in ({', '.join(map(constant, values))})"


def constant(value: Scalar) -> str:
    """The value as a literal; TypeError for what SQL has no literal of."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return literal(value)
        case int() | float() | Decimal():
            return str(value)
        case datetime():
            return f"timestamp '{value.isoformat(sep=' ')}'"
        case date():
            return f"date '{value.isoformat()}'"
    raise TypeError(f"{value!r} is no text, number, truth or date: write the condition with satisfies(…)")
