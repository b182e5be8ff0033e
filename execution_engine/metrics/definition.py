"""How a metric is measured: its call, its formula, and what a scan gathers for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from execution_engine.exact import Number
from execution_engine.metrics.states.statistics import Statistic
from execution_engine.metrics.states.summary import Summary

from .expressions import Expressions
from .signature import Signature
from .spec import MetricSpec

NOTE = "note"  # in the detail of a measurement: a sentence that whoever reads the value must know


class Kind(StrEnum):
    """What one measurement costs, and whether it merges."""

    AGGREGATE = "aggregate"  # statistics of the one pass that all of a scan share
    SKETCH = "sketch"  # the same, by an approximation with a stated error
    GROUPING = "grouping"  # needs to know how often each key occurs
    COMPOUND = "compound"  # has queries of its own, and may leave a state behind
    DERIVED = "derived"  # computed from other measurements, without reading the data
    LAYOUT = "layout"  # of the keys of the partitions, known to whoever knows the format of the dataset's keys


SHARED = (Kind.AGGREGATE, Kind.SKETCH, Kind.GROUPING)  # what all metrics of a scan gather together


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """The keys to count: rows alike in ``columns``, of those rows where none of ``present`` is null.

    A row in which a column is null has no key; with ``partial`` only one in which all of them are.
    """

    columns: tuple[str, ...]
    present: tuple[str, ...] = ()
    partial: bool = False


Statistics = Callable[[MetricSpec, Expressions], Mapping[str, Statistic]]
FromStatistics = Callable[[MetricSpec, Mapping[str, Any]], Number | None]
FromSummaries = Callable[[MetricSpec, tuple[Summary, ...]], float | None]
DetailOfKeys = Callable[[MetricSpec, tuple[Summary, ...]], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class MetricDefinition:
    """One metric of the registry.

    An aggregate or a sketch has ``statistics``, and ``value`` computes it from these by their names; a grouping has
    ``groupings``, and ``from_summaries`` computes it from what is known of each.
    """

    signature: Signature
    kind: Kind
    formula: str  # over the rows D, N = |D|; V the distinct values, c(v) how often each occurs
    source: str  # the paper, peer or standard that defines it
    statistics: Statistics | None = None
    value: FromStatistics | None = None
    detail: Callable[[MetricSpec, Mapping[str, Any]], dict[str, Any]] | None = None
    groupings: Callable[[MetricSpec], tuple[Grouping, ...]] | None = None
    from_summaries: FromSummaries | None = None
    detail_of_keys: DetailOfKeys | None = None
    breaks: Callable[[MetricSpec, Expressions], str] | None = None  # SQL: does this row break it? for samples of rows
    problem: Callable[[MetricSpec], str | None] | None = None  # what is wrong with a call, beyond its signature
    inputs: tuple[str, ...] = ()  # the metrics whose states it builds on
    portable: bool = True  # measured outside the lake too
    tells_values: bool = False  # its value, detail or state is made of the column's values, not of how many there are

    @property
    def name(self) -> str:
        """The name it is called by."""
        return self.signature.name

    @property
    def merges(self) -> bool:
        """Whether its state over a union follows from those of the parts."""
        return self.kind in SHARED and self.name != "quantile"
