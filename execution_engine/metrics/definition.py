"""How a metric is measured: its call, its formula, and what a scan gathers for it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pkgutil import resolve_name
from typing import Any, Protocol

from assay.catalog.column_types import Declared
from assay.time.windows import Window
from execution_engine.exact import Number
from execution_engine.metrics.states.statistics import Statistic, Summary, over_nothing
from execution_engine.outcome import Failure

from .expressions import PLAIN_EXPRESSIONS, Expressions
from .spec import MetricSpec


class ValueType(StrEnum):
    """The type of a metric's value: a plain number, or a length of time in seconds."""

    NUMBER = "number"
    DURATION = "duration"


class ColumnKind(StrEnum):
    """Which columns a metric takes."""

    ANY = "any"
    NUMERIC = "numeric"
    TEXT = "text"
    TEMPORAL = "temporal"


_KINDS = (
    (re.compile(r"(tiny|small|big)?int(eger)?\b|long|short|byte|float|double|real|dec|numeric"), ColumnKind.NUMERIC),
    (re.compile(r"(var)?char|string|text"), ColumnKind.TEXT),
    (re.compile(r"date|time"), ColumnKind.TEMPORAL),
)


@lru_cache(maxsize=4096)  # a catalog has few types, in many columns
def column_kind(declared: str) -> ColumnKind:
    """The kind of a column of the declared type; ``ANY`` where the type tells nothing."""
    lowered = declared.lower()
    return next((kind for pattern, kind in _KINDS if pattern.match(lowered)), ColumnKind.ANY)


class ArgumentType(StrEnum):
    """The type of a literal argument."""

    NUMBER = "number"
    TEXT = "text"
    SQL = "sql"  # a condition of Spark SQL on rows
    QUERY = "query"  # a whole query of Spark SQL
    DATASET = "dataset"  # the full name of a dataset


TEMPLATED = (ArgumentType.SQL, ArgumentType.QUERY)  # window templates are allowed in them


@dataclass(frozen=True, kw_only=True)
class Signature:
    """The shape of one metric's call."""

    name: str
    min_columns: int = 0
    max_columns: int | None = 0  # None: any number
    column_kind: ColumnKind = ColumnKind.ANY
    arguments: tuple[ArgumentType, ...] = ()  # positional literals, all required, after the columns
    options: Mapping[str, ArgumentType] = field(default_factory=dict)  # keyword literals, all optional
    returns: ValueType = ValueType.NUMBER
    takes_where: bool = True
    needs_datacenter: bool = False  # ``keys_found`` means nothing without the other side

    def texts(self, kind: ArgumentType, arguments: Sequence[float | int | str]) -> list[str]:
        """Those of a call's arguments that are of one type."""
        return [str(value) for type_, value in zip(self.arguments, arguments, strict=False) if type_ is kind]


class Dimension(StrEnum):
    """What of data is good or bad: Apache Griffin's dimensions, as "Banyu's data quality centre" (2021) lists them."""

    ACCURACY = "accuracy"  # values are what really was
    COMPLETENESS = "completeness"  # nothing is missing
    TIMELINESS = "timeliness"  # it is there in time
    UNIQUENESS = "uniqueness"  # nothing is there twice
    VALIDITY = "validity"  # values have the form, type and range that they should have
    CONSISTENCY = "consistency"  # copies and tables do not contradict each other


NOTE = "note"  # in the detail of a measurement: a sentence that whoever reads the value must know


class MetricKind(StrEnum):
    """What one measurement costs, and whether it merges."""

    AGGREGATE = "aggregate"  # statistics of the one pass that all of a scan share
    SKETCH = "sketch"  # the same, by an approximation with a stated error
    GROUPING = "grouping"  # needs to know how often each key occurs
    COMPOUND = "compound"  # has queries of its own, and may leave a state behind
    DERIVED = "derived"  # computed from other measurements, without reading the data
    LAYOUT = "layout"  # of the keys of the partitions, known to whoever knows the format of the dataset's keys


# Who has a function for a metric that is not gathered together with others.
LAKE = "lake"  # Spark: (source, wanted) -> Measured
DATABASE = "database"  # the engine of SQL databases: (source, wanted) -> Measured
SERVICE = "service"  # what is derived: (measurement, inputs) -> Measured; a layout: (engine, table, keys) -> ScanReport

# What an engine knows an input by: its metric, and this behind it where the same is built on from both sides.
OTHER_SIDE = "@other"


class Keys(StrEnum):
    """Which rows have a key."""

    ALL = "all"  # every one, a null being a value like any other
    WHOLE = "whole"  # those without a null


SHARED = (MetricKind.AGGREGATE, MetricKind.SKETCH, MetricKind.GROUPING)  # what all metrics of a scan gather together


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """The keys to count: rows alike in ``columns``, of those rows where none of ``present`` is null.

    A row in which a column is null has no key; with ``partial`` only one in which all of them are.
    """

    columns: tuple[str, ...]
    present: tuple[str, ...] = ()
    partial: bool = False


class At(StrEnum):
    """Where a measurement that another builds on is taken."""

    HERE = "here"  # at the place of that other one
    THERE = "there"  # in the datacenter that its call names
    UPSTREAM = "upstream"  # at the home of the dataset that its call names first
    SUPPLIES = "supplies"  # at each place that the window is measured against: at home, or at one-to-one upstreams
    OPERANDS = "operands"  # what a business metric's expression is computed from, each where its own dataset lies
    SOURCES = "sources"  # at each source of a business metric
    SAMPLED = "sampled"  # at the place itself, once for each sampled upstream, where nothing else supplies it


class DatasetFacts(Protocol):
    """What the definition of a metric may know of a dataset."""

    @property
    def name(self) -> str: ...
    @property
    def primary_key(self) -> tuple[str, ...]: ...
    @property
    def declared(self) -> tuple[Declared, ...]: ...
    @property
    def share(self) -> float: ...  # of its upstream's rows, that makes it complete where nobody asks for another
    @property
    def unprofiled(self) -> tuple[str, ...]: ...  # the columns that a profile of all columns leaves out
    @property
    def expression(self) -> str: ...  # what a business metric is computed by; empty for any other dataset
    def key_upstream(self, upstream: str) -> tuple[str, ...]: ...  # the names that its key's columns have upstream


@dataclass(frozen=True, kw_only=True)
class Input:
    """A measurement that another one builds on, whose ``call`` and the dataset that it is taken of say what it is."""

    spec: Callable[[MetricSpec, DatasetFacts], MetricSpec]
    at: At = At.HERE
    inputs: tuple["Input", ...] = ()  # in place of those of its own definition, by the places of the same call


Statistics = Callable[[MetricSpec, Expressions], Mapping[str, Statistic]]
FromStatistics = Callable[[MetricSpec, Mapping[str, Any]], Number | None]
FromSummaries = Callable[[MetricSpec, tuple[Summary, ...]], float | None]
HeldTo = Callable[[MetricSpec, DatasetFacts, Window | None], MetricSpec | Failure]  # None: without partitions
Settle = Callable[[Mapping[str, bytes], bytes | None], tuple[float, dict[str, Any]] | None]  # states by name, their key
DetailOfKeys = Callable[[MetricSpec, tuple[Summary, ...]], dict[str, Any]]


def text_noop(text: str) -> str:
    """The text as it is: who gathers texts to translate finds it by this call, which knows no framework."""
    return text


@dataclass(frozen=True, kw_only=True)
class MetricPhrase:
    """How people name a metric's value; of a share also what was, and what is wrong with the rows not counted.

    ``%(columns)s`` are those of its call, ``%(first)s`` and ``%(second)s`` two of them, ``%(literal)s`` its first
    argument that is no column, ``%(low)s`` and ``%(high)s`` the first and the last of these, ``%(test)s`` the test.
    """

    noun: str
    fault: tuple[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class MetricDefinition:
    """One metric of the registry.

    An aggregate or a sketch has ``statistics``, and ``value`` computes it from these by their names; a grouping has
    ``groupings``, and ``from_summaries`` computes it from what is known of each. For any other kind ``taken_by`` names
    the functions that measure it. Where it is of no concern to a metric, a field is left as it is.
    """

    signature: Signature
    kind: MetricKind
    formula: str  # over the rows D, N = |D|; V the distinct values, c(v) how often each occurs
    source: str  # the paper, peer or standard that defines it
    meaning: str  # what its value is, in plain words for people who choose one
    dimension: Dimension  # of quality, of which it tells
    phrase: MetricPhrase = MetricPhrase(noun=text_noop("the value of %(test)s"))  # what titles of incidents call it
    statistics: Statistics | None = None
    value: FromStatistics | None = None
    detail: Callable[[MetricSpec, Mapping[str, Any]], dict[str, Any]] | None = None
    groupings: Callable[[MetricSpec], tuple[Grouping, ...]] | None = None
    from_summaries: FromSummaries | None = None
    detail_of_keys: DetailOfKeys | None = None
    breaks: Callable[[MetricSpec, Expressions], str] | None = None  # SQL: does this row break it? for samples of rows
    problem: Callable[[MetricSpec], str | None] | None = None  # what is wrong with a call, beyond its signature
    inputs: tuple[Input, ...] = ()  # the measurements that it builds on
    held_to: HeldTo | None = None  # the call as it is meant at one place
    settle: Settle | None = None  # its value and detail, where the states of its inputs tell it without reading data
    stays_while_missed: bool = False  # what builds on it takes the newest one of which it has not found all yet
    spared: frozenset[str] = frozenset()  # the metrics among its inputs that it can do without
    both_sides: bool = False  # a comparison builds on it from both sides; that of the other is an input by OTHER_SIDE
    # who measures it
    taken_by: Mapping[str, str] = field(default_factory=dict)  # LAKE, DATABASE or SERVICE: "module:function"
    plain_sql: bool = True  # of an aggregate: databases outside the lake understand what it gathers
    # what its value says
    counts: Keys | None = None  # its value is how many distinct keys the rows have
    repeats_break: bool = False  # a row whose key is repeated breaks it
    sums_bound: bool = False  # over a table it is no more than the sum of its values over the table's parts
    adds_up: bool = False  # over rows it is the sum of its values over any parts of them
    waits_for_sla: bool = False  # while its detail calls the window incomplete, it says nothing before the SLA
    divides_shares: bool = False  # most shares are divided by it: what a test tells of, its other metrics say
    judges_no_data: bool = False  # that an input has no data is what it tells, and no failure of its own
    zero_if_empty: bool = False  # where there is nothing to read, and the dataset may be empty, it is 0
    # what it tells of the data, for columns that are sensitive
    tells_values: bool = False  # its value, detail or state is made of the column's values, not of how many there are
    tells_types: bool = False  # its detail is made of names and types of columns, and quotes no value
    of_primary_key: bool = False  # it reads the primary key, whatever columns the call names

    @property
    def name(self) -> str:
        """The name it is called by."""
        return self.signature.name

    @property
    def portable(self) -> bool:
        """Whether it is measured outside the lake too."""
        if self.kind is MetricKind.AGGREGATE:
            return self.plain_sql
        return DATABASE in self.taken_by or SERVICE in self.taken_by

    @property
    def is_of_rows(self) -> bool:
        """Whether single rows break it, so that a sample of them can be told."""
        return self.breaks is not None or self.repeats_break

    @property
    def is_share(self) -> bool:
        """Whether its value is a share of the rows that single rows break."""
        return self.is_of_rows and self.counts is None

    def function_for(self, whom: str) -> Any:
        """The function that takes it there, imported when it is asked for; KeyError where there is none."""
        return resolve_name(self.taken_by[whom])

    @property
    def groupable(self) -> bool:
        """Whether it is measured ``by`` columns: only what is computed from the rows of one scan alone is."""
        return self.kind in SHARED

    def over_no_rows(self, spec: MetricSpec) -> Number | None:
        """What it is where there are no rows, such as in a group that is gone."""
        if self.groupings is not None and self.from_summaries is not None:
            return self.from_summaries(spec, tuple(Summary() for _ in self.groupings(spec)))
        if self.statistics is None or self.value is None:
            return None
        statistics = self.statistics(spec, PLAIN_EXPRESSIONS)
        return self.value(spec, {name: over_nothing(statistic) for name, statistic in statistics.items()})

    def merges(self, spec: MetricSpec) -> bool:
        """Whether a call's state over a union follows from those of the parts."""
        gathered = self.statistics(spec, PLAIN_EXPRESSIONS).values() if self.statistics else ()
        return self.kind in SHARED and all(statistic.merges for statistic in gathered)
