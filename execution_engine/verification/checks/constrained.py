"""What every kind of constraint is added with."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self, TypedDict

from execution_engine.metrics.columns import named
from execution_engine.metrics.spec import Literal, MetricSpec, quoted
from execution_engine.verification.constraints.bounds import Expected, bound_of, equal_to
from execution_engine.verification.constraints.constraints import Constraint, MetricConstraint
from execution_engine.verification.constraints.levels import Level
from execution_engine.verification.constraints.sql_text import both

from .scope import On, checked

ALL = equal_to(1.0)


class Said(TypedDict, total=False):
    """What may be said of any constraint."""

    hint: str  # told where it fails
    where: str | None  # only over the rows that meet it


@dataclass(frozen=True)
class Constrained:
    """Constraints of one level, over the rows that meet ``where``. Each method returns a new object with one more.

    ``on="delta"``: over the rows alone that were added, where the suite says ``add_up``; else over all so far.
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
        """With one constraint more, of any kind."""
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
        """With a bound on one metric more."""
        spec = replace(spec, where=both(self.where, both(spec.where, where)))
        return self.adding(MetricConstraint(text=text, spec=spec, bound=bound_of(expected), hint=hint, **more))


def metric(name: str, *columns: str, arguments: Sequence[Literal] = ()) -> MetricSpec:
    """One metric call; a name that is none in the language, such as ``order id``, is a column all the same."""
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
