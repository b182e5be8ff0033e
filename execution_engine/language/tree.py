"""The tree of an assertion: frozen dataclasses named as the rules of grammar.lark; equal whatever their places."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from unicodedata import combining, east_asian_width

from execution_engine.anomalies.series import holidays_of
from execution_engine.metrics.definition import Dimension
from execution_engine.metrics.expressions import path_of
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import Literal as OptionValue
from execution_engine.metrics.spec import MetricSpec, quoted, written_literal
from execution_engine.novelty.days import LEARNING, Method

if TYPE_CHECKING:
    from execution_engine.anomalies.expectation import Detector


# Where in an assertion something is wrong, and the drawing that shows it.

WIDTH = 100  # characters of a line that are shown around the place


@dataclass(frozen=True, kw_only=True)
class Span:
    """Characters ``[start, end)`` of the assertion's text."""

    start: int
    end: int


NOWHERE = Span(start=0, end=0)


@dataclass(frozen=True, kw_only=True)
class AssertionProblem:
    """One thing wrong with an assertion: what, where, and how to mend it."""

    message: str
    place: Span | None = None  # None: the text as a whole

    def explain(self, source: str) -> str:
        """The message above the line it is about, with a caret under the place."""
        return self.message if self.place is None else f"{self.message}\n{draw(source, self.place)}"


def draw(source: str, place: Span) -> str:
    """The line that holds ``place``, indented by two, and carets under it (up to the end of that line)."""
    first = source.rfind("\n", 0, place.start) + 1
    last = source.find("\n", place.start)
    line = source[first:] if last < 0 else source[first:last]
    start = place.start - first
    end = max(start + 1, min(place.end - first, len(line)))
    if len(line) > WIDTH:  # the part around the place, marked with ``…`` where it was cut
        left = max(0, min(start - WIDTH // 2, len(line) - WIDTH))
        before, after = "…" if left else "", "…" if left + WIDTH < len(line) else ""
        start, end = start + len(before) - left, min(end, left + WIDTH) + len(before) - left
        line = before + line[left : left + WIDTH] + after
    plain = "".join(character if character.isprintable() else " " for character in line)
    return f"  {plain}\n  {' ' * _columns(line[:start])}{'^' * max(1, _columns(line[start:end]))}"


def _columns(text: str) -> int:
    """How many terminal columns ``text`` takes; East Asian wide characters take two."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


class Comparator(StrEnum):
    """How the two sides of a comparison are compared."""

    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    EQUAL = "="
    UNEQUAL = "!="


class Operator(StrEnum):
    """The four operations of arithmetic."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"


class Function(StrEnum):
    """The functions of numbers."""

    ABS = "abs"
    LEAST = "least"
    GREATEST = "greatest"
    COALESCE = "coalesce"


class HistoryFunction(StrEnum):
    """The functions over past windows; a new one is a line here and one in past.py."""

    MEAN = "mean"
    MEDIAN = "median"
    STDDEV = "stddev"
    MIN = "min"
    MAX = "max"
    LAST = "last"  # the newest that is known
    LAG = "lag"  # the one so many windows before, and no other
    ANOMALY = "anomaly"  # how far the value now lies from what is expected after those before
    NOVELTY = "novelty"  # how unlike those before the rows now are, by their profiles


ONE_VALUE = frozenset({HistoryFunction.LAST, HistoryFunction.LAG})  # those that choose one value, and need no more
WITH_OPTIONS = frozenset({HistoryFunction.ANOMALY, HistoryFunction.NOVELTY})  # whose options are their own
PROFILE = "profile"  # the metric that novelty compares


@dataclass(frozen=True, kw_only=True)
class Placed:
    """What every node has: its place in the text, which says nothing about what it means."""

    place: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class PlacedParts(Placed):
    """A node whose parts have places too: ``column 0``, ``argument 1``, or a keyword such as ``last``."""

    parts: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)

    def at(self, part: str) -> Span:
        """The place of a part; of the whole if it is not known."""
        return self.parts.get(part, self.place)


@dataclass(frozen=True, kw_only=True)
class Number(Placed):
    """A plain number, with every digit that was written (execution_engine.exact)."""

    value: float | Decimal


@dataclass(frozen=True, kw_only=True)
class Percentage(Placed):
    """``1 %`` has percent 1 and the value 0.01."""

    percent: float


@dataclass(frozen=True, kw_only=True)
class Duration(Placed):
    """A length of time in seconds."""

    seconds: float


@dataclass(frozen=True, kw_only=True)
class Text(Placed):
    """A text outside an argument; the type check refuses it, as no metric gives a text."""

    value: str


@dataclass(frozen=True, kw_only=True)
class Metric(PlacedParts):
    """A metric of a dataset (None: the test's own) in a datacenter (None: where the test runs), ``ago`` or now."""

    spec: MetricSpec
    dataset: str | None = None
    datacenter: str | None = None
    ago: str | None = None

    @cached_property
    def text(self) -> str:
        """The canonical call with its groups, the key of its value; equal operands have equal texts."""
        return f"{self.call}{self.spec.grouping}"

    @property
    def call(self) -> str:
        """The canonical call without its groups."""
        named = {"dataset": self.dataset, "datacenter": self.datacenter}
        parts = [f"{name}={quoted(value)}" for name, value in named.items() if value is not None]
        parts += [] if self.ago is None else [f"ago={self.ago}"]
        call = self.spec.call[:-1]
        return f"{call}{'' if call.endswith('(') or not parts else ', '}{', '.join(parts)})"


@dataclass(frozen=True, kw_only=True)
class History(PlacedParts):
    """A function of a metric over the ``last`` partitions before this one, of which ``min`` must be known.

    With ``every`` the partitions are not those right before, but this one moved back by one step, by two, ….
    ``options`` are those of an anomaly's strategy, or how novelty judges.
    """

    function: HistoryFunction
    metric: Metric
    last: int
    min: int | None = None
    every: str | None = None
    options: tuple[tuple[str, OptionValue], ...] = ()

    @cached_property
    def text(self) -> str:
        """The canonical call with its groups, the key of its values."""
        return f"{self.call}{self.metric.spec.grouping}"

    @property
    def call(self) -> str:
        """The canonical call without its groups."""
        last = self.last if self.function is HistoryFunction.LAG else f"last={self.last}"
        every = "" if self.every is None else f", every={self.every}"
        least = "" if self.min is None else f", min={self.min}"
        options = "".join(f", {name}={written_literal(value)}" for name, value in self.options)
        return f"{self.function}({self.metric.call}, {last}{every}{least}{options})"

    @property
    def needed(self) -> int:
        """How many values it needs; half of ``last``, rounded up, unless ``min`` says otherwise; one for one value.

        An anomaly needs as many as its strategy does, novelty those it learns from, or ``min`` where that is more.
        """
        if self.function in ONE_VALUE:
            return 1
        if self.function is HistoryFunction.ANOMALY:
            return max(self.detector.strategy.needed, self.min or 1)
        if self.function is HistoryFunction.NOVELTY:
            return max(LEARNING, self.min or 1)
        return -(-self.last // 2) if self.min is None else self.min

    @property
    def detector(self) -> "Detector":
        """What tells anomalies; ValueError where its options are wrong."""
        from execution_engine.anomalies.expectation import Detector  # with it numpy, for what asks for anomalies

        return Detector.of_options(dict(self.options))

    @property
    def method(self) -> Method:
        """How novelty judges; ValueError where its options are wrong."""
        options = dict(self.options)
        method, country = options.pop("method", Method.PREDICTIVE.value), options.pop("country", None)
        if options:
            raise ValueError(f"novelty has no option {next(iter(options))}=: it takes method= and country=")
        if method not in tuple(Method):
            raise ValueError(f"there is no method {method!r}: take one of {', '.join(Method)}")
        if country is not None and method != Method.PREDICTIVE:
            raise ValueError(f"country= is of method='{Method.PREDICTIVE}': {method} knows no holidays")
        return Method(str(method))

    @property
    def country(self) -> str:
        """Whose public holidays novelty compares with each other, none if empty; ValueError where nobody knows it."""
        country = dict(self.options).get("country", "")
        if country:
            try:
                holidays_of(str(country))
            except ValueError as error:
                raise ValueError(f"country={country!r} is {error}") from None
        return str(country)


@dataclass(frozen=True, kw_only=True)
class Arithmetic(Placed):
    """``left + right`` and the like."""

    operator: Operator
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, kw_only=True)
class Negative(Placed):
    """``- value``."""

    value: "Expression"


@dataclass(frozen=True, kw_only=True)
class Call(Placed):
    """A function of numbers; all but ``coalesce`` are NULL where an argument is."""

    function: Function
    arguments: tuple["Expression", ...]


@dataclass(frozen=True, kw_only=True)
class Comparison(Placed):
    """``left < right`` and the like."""

    comparator: Comparator
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, kw_only=True)
class Between(Placed):
    """``value between low and high``, both included; negated: ``not between``."""

    value: "Expression"
    low: "Expression"
    high: "Expression"
    negated: bool = False


@dataclass(frozen=True, kw_only=True)
class And(Placed):
    """All of two or more conditions."""

    terms: tuple["Condition", ...]


@dataclass(frozen=True, kw_only=True)
class Or(Placed):
    """Any of two or more conditions."""

    terms: tuple["Condition", ...]


@dataclass(frozen=True, kw_only=True)
class Not(Placed):
    """The opposite of a condition."""

    term: "Condition"


@dataclass(frozen=True, kw_only=True)
class By(PlacedParts):
    """A condition on every group of rows that are alike in the columns; ``percent`` of the groups must meet it."""

    condition: "Condition"
    columns: tuple[str, ...]
    percent: float | None = None  # None: all

    @property
    def needed(self) -> float:
        """The share of the groups that must hold, from 0 to 1."""
        return 1.0 if self.percent is None else float(Decimal(repr(self.percent)) / 100)


Operand = Metric | History
Literal = Number | Percentage | Duration | Text
Expression = Literal | Operand | Arithmetic | Negative | Call
Predicate = Comparison | Between
Condition = Predicate | And | Or | Not
Assertion = Condition | By
Node = Expression | Assertion


# Walking a tree with an explicit stack: linear, and no deeper in Python's stack than one call.

T = TypeVar("T")
Unfolded = Sequence[tuple[Node, int]]  # every node after the nodes below it, with the number of those right below


# The fields that hold the nodes directly below a node, in the order they are written.
FIELDS_BELOW: Mapping[type[Placed], tuple[str, ...]] = {
    Arithmetic: ("left", "right"),
    Comparison: ("left", "right"),
    Between: ("value", "low", "high"),
    Negative: ("value",),
    Call: ("arguments",),
    And: ("terms",),
    Or: ("terms",),
    Not: ("term",),
    By: ("condition",),
}


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below ``node``, in the order they are written."""
    below = [getattr(node, name) for name in FIELDS_BELOW.get(type(node), ())]
    return below[0] if below and isinstance(below[0], tuple) else tuple(below)


def fields_of(kind: type[Placed], below: Sequence[object]) -> dict[str, Any]:
    """The fields of a node of a kind for the nodes directly below it; ValueError where they are too few or many."""
    names = FIELDS_BELOW.get(kind, ())
    return dict(zip(names, [tuple(below)] if names in (("arguments",), ("terms",)) else below, strict=True))


def postorder(tree: Node) -> list[Node]:
    """Every node, each after the nodes below it, left before right."""
    order: list[Node] = []
    stack: list[Node] = [tree]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(children(node))
    return order[::-1]


def fold(tree: Node, combine: Callable[[Node, Sequence[T]], T]) -> T:
    """The result of ``combine(node, results of its children)`` at the root, from the leaves up."""
    return fold_again(unfolded(tree), combine)


def unfolded(tree: Node) -> Unfolded:
    """The tree as ``fold_again`` takes it, for a tree that is folded many times."""
    return [(node, len(children(node))) for node in postorder(tree)]


def fold_again(nodes: Unfolded, combine: Callable[[Node, Sequence[T]], T]) -> T:
    """``fold`` of a tree that was unfolded before."""
    results: list[T] = []
    for node, count in nodes:
        first = len(results) - count
        below = results[first:]
        del results[first:]
        results.append(combine(node, below))
    return results[0]


def depth(tree: Node) -> int:
    """How many nodes the longest way from the root to a leaf has."""
    return fold(tree, lambda _, below: 1 + max(below, default=0))


# What an assertion needs to be measured, and what it tells of.


def operands(tree: Node) -> tuple[Operand, ...]:
    """The distinct operands, in the order they are written; those of ``by`` are measured by its columns."""
    nodes = [node for node in postorder(tree) if isinstance(node, Metric | History)]
    if isinstance(tree, By):
        nodes = [grouped(operand, tree.columns) for operand in nodes]
    return tuple({operand.text: operand for operand in nodes}.values())


def grouped(operand: Operand, columns: tuple[str, ...]) -> Operand:
    """The operand, measured once for each group."""
    metric = metric_of(operand)
    metric = replace(metric, spec=replace(metric.spec, by=columns))
    return replace(operand, metric=metric) if isinstance(operand, History) else metric


def metric_of(operand: Operand) -> Metric:
    """The metric that is measured."""
    return operand.metric if isinstance(operand, History) else operand


def compares_profiles(tree: Node) -> bool:
    """Whether it asks how novel rows are, so that it matters which batches were accepted."""
    return any(isinstance(node, History) and node.function is HistoryFunction.NOVELTY for node in postorder(tree))


def columns_named(tree: Node) -> tuple[str, ...]:
    """The columns of its own dataset that it names outside of conditions, as they are written, each once."""
    specs = [metric.spec for metric in map(metric_of, operands(tree)) if metric.dataset is None]
    return tuple(dict.fromkeys(path_of(column)[0] for spec in specs for column in (*spec.columns, *spec.by)))


OF_CATEGORY = {  # the categories that are of one dimension of quality, whatever their tests ask for
    "freshness": Dimension.TIMELINESS,
    "completeness": Dimension.COMPLETENESS,
    "duplicates": Dimension.UNIQUENESS,
    "consistency": Dimension.CONSISTENCY,
    "schema": Dimension.VALIDITY,
    "anomaly": Dimension.ACCURACY,
    "novelty": Dimension.ACCURACY,
}


def dimension_of(category: str, tree: Node) -> Dimension:
    """The one of its category; where that has tests of all kinds, the one of the first metric that it asks for.

    What shares are divided by decides only where nothing else is asked for. What compares datacenters is of
    consistency.
    """
    if category in OF_CATEGORY:
        return OF_CATEGORY[category]
    metrics = [metric_of(operand) for operand in operands(tree)]
    if any(metric.datacenter for metric in metrics):
        return Dimension.CONSISTENCY
    definitions = [METRICS[metric.spec.name] for metric in metrics if metric.spec.name in METRICS]
    definitions.sort(key=lambda metric: metric.divides_shares)  # keeps the order of those that are alike
    return definitions[0].dimension if definitions else Dimension.ACCURACY
