"""What every kind of constraint is added with."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self, TypedDict, get_args

from execution_engine.metrics.expressions import named
from execution_engine.metrics.spec import Literal as SpecLiteral
from execution_engine.metrics.spec import MetricSpec, quoted
from execution_engine.verification.constraints.constraints import (
    AskedMetric,
    Constraint,
    Expected,
    Level,
    MetricConstraint,
    both,
    bound_of,
    equal_to,
)

# What a check is on: all the data so far, or the delta alone that was added to it.

On = Literal["whole", "delta"]


def checked(on: str) -> None:
    """Nothing for a part of the data that a check can be on; else ValueError."""
    if on not in get_args(On):
        raise ValueError(f"on={on!r} is no part of the data: write on='whole', or on='delta' for what was added")


def stored_name(ask: AskedMetric, on: On, table: str) -> str:
    """What a metric is called in results and repositories: that of the table's delta has a series of its own."""
    if ask.dataset not in (None, table):
        return f"{ask.spec.text} of {ask.dataset}"
    return f"{ask.spec.text} on delta" if on == "delta" else ask.spec.text


ALL = equal_to(1.0)


class Said(TypedDict, total=False):
    """What may be said of any constraint."""

    hint: str  # told where it fails
    where: str | None  # only over the rows that meet it


@dataclass(frozen=True)
class Constrained:
    """What constraints of every kind are added by.

    Shared parameters:
        column: the name of a column. A dot leads into a struct: ``"item.one"`` is the field ``one`` of ``item``.
        columns: the names of the columns, one or more.
        expected: the bound on the value: a number (exactly this one), a bound such as ``at_least(0.99)``, or your own
            function, which takes the value and returns whether it is good.
        where: a condition of Spark SQL. The constraint looks only at the rows that meet it and the ``where`` of the
            check.
        hint: a text for whoever reads the result. The result holds it unless the constraint succeeds.

    Shared errors:
        expected: ``TypeError`` or ``ValueError`` where ``expected`` is neither a bound nor a function, and cannot be
            read as a number.
    """

    level: Level = Level.ERROR
    name: str = ""
    _: KW_ONLY
    where: str | None = None
    on: On = "whole"
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        checked(self.on)

    def adding(self, constraint: Constraint) -> Self:
        """Adds a constraint of any kind, also one of your own class.

        Parameters:
            constraint: an object with the ``text``, ``hint``, ``asks`` and ``judge`` of ``constraints.Constraint``.

        Errors: none.

        Example:
            Check().adding(Check().has_size(10).constraints[0])  # success
        """
        return replace(self, constraints=(*self.constraints, constraint))

    def bounded(
        self,
        text: str,
        spec: MetricSpec,
        expected: Expected,
        *,
        hint: str = "",
        where: str | None = None,
        **more: Any,
    ) -> Self:
        """Bounds any metric. All methods that take ``expected`` are made of this one.

        Parameters:
            text: what results call the constraint.
            spec: the metric, as ``metric`` writes it.
            more: ``of_rows=True`` lets the constraint succeed where there is no row to judge. ``reads=`` takes a
                function that finds the value in the measurement.

        Example:
            Check().bounded("no long texts", metric("max_length", "city"), at_most(4))  # success
        """
        spec = replace(spec, where=both(self.where, both(spec.where, where)))
        return self.adding(MetricConstraint(text=text, spec=spec, bound=bound_of(expected), hint=hint, **more))


def metric(name: str, *columns: str, arguments: Sequence[SpecLiteral] = ()) -> MetricSpec:
    """A metric as ``has_no_anomalies`` and ``bounded`` take it; [metrics](metrics.md) lists all.

    A name that the metrics do not have is found when the check runs, as a constraint of status ``error``.

    Parameters:
        name: the name of the metric, such as ``"mean"``.
        columns: the names of its columns. Write a name with a space as it is: ``"order id"``.
        arguments: what stands behind the columns in the call, in its order: the ``0.5`` of ``quantile(fare, 0.5)``.

    Errors: none.

    Example:
        >>> metric("quantile", "fare", arguments=[0.5]).text
        'quantile(fare, 0.5)'
    """
    return MetricSpec(name=name, columns=tuple(map(named, columns)), arguments=tuple(arguments))


def call(name: str, *arguments: object) -> str:
    """A constraint as its user wrote it; columns without quotes, as they were given."""
    return f"{name}({', '.join(str(argument) for argument in arguments)})"


def listed(values: Sequence[object]) -> str:
    """``('hi', 'lo')``."""
    return f"({', '.join(quoted(value) if isinstance(value, str) else str(value) for value in values)})"


def columns_of(given: str | Sequence[str]) -> tuple[str, ...]:
    """One column or several."""
    return (given,) if isinstance(given, str) else tuple(given)
