"""How a metric is measured: its call, its kind and, for an aggregate, its SQL."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from .signature import Signature
from .spec import MetricSpec


class Kind(StrEnum):
    """What one measurement costs."""

    AGGREGATE = "aggregate"  # one expression of the one select that all aggregates of a scan share
    GROUPING = "grouping"  # needs the rows brought together by key
    COMPOUND = "compound"  # has queries of its own, and may leave a state behind
    DERIVED = "derived"  # computed from other measurements, without reading the data


@dataclass(frozen=True, kw_only=True)
class Expressions:
    """Writes SQL for one metric in one dialect; whatever it returns sees only the rows that meet ``where``."""

    quote: Callable[[str], str]
    translate: Callable[[str], str]  # a Spark SQL condition, in the dialect of the engine
    where: str | None = None

    def only(self, expression: str) -> str:
        """``expression``, NULL on the rows left out. CASE, as MySQL knows no FILTER clause."""
        if self.where is None:
            return expression
        return f"case when {self.condition(self.where)} then {expression} end"

    def condition(self, text: str) -> str:
        """``text`` in brackets and on a line of its own, so that no comment in it swallows what follows."""
        return f"(\n{self.translate(text)}\n)"

    def column(self, name: str) -> str:
        """The column ``name``, NULL on the rows left out."""
        return self.only(self.quote(name))

    def number(self, name: str) -> str:
        """The column ``name`` as a double: sums of integers do not overflow, quotients are not cut."""
        return self.only(f"{self.quote(name)} * 1e0")

    def rows(self) -> str:
        """The number of rows that meet ``where``."""
        return f"count({self.only('1')})"

    def share(self, counted: str) -> str:
        """The share of the rows for which ``counted`` is not NULL; NULL where there are no rows."""
        return f"count({counted}) * 1e0 / nullif({self.rows()}, 0)"


AggregateSql = Callable[[MetricSpec, Expressions], str]


@dataclass(frozen=True, kw_only=True)
class MetricDefinition:
    """One metric of the registry."""

    signature: Signature
    kind: Kind
    sql: AggregateSql | None = None  # of an aggregate only
    inputs: tuple[str, ...] = ()  # the metrics whose states it builds on
    portable: bool = True  # measured outside the lake too

    @property
    def name(self) -> str:
        """The name it is called by."""
        return self.signature.name
