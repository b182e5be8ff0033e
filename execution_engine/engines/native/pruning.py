"""What a condition may come to on the rows of a file, or of a row group, by what is known without its rows (pure)."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

import pyarrow.parquet as pq

from .language import (
    ColumnNode,
    Compare,
    Compared,
    Conjunction,
    Disjunction,
    IsIn,
    IsNull,
    Literal,
    LiteralKind,
    Negation,
    Node,
    RegexMatch,
    Surely,
    TextContainment,
    Truth,
)

Outcomes = frozenset[bool | None]  # None: NULL
ANY: Outcomes = frozenset({True, False, None})
KNOWN: Outcomes = frozenset({True, False})
NULL: Outcomes = frozenset({None})
_WHOLE_NUMBERS = {"INT32", "INT64"}


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What is known of a column: its nulls at most, and between which whole numbers its values lie.

    ``kind``: of the literals that it is compared with, as dates are days, and timestamps microseconds.
    """

    rows: int
    nulls: int
    low: int | None = None
    high: int | None = None
    kind: LiteralKind = LiteralKind.EXACT


BoundsOf = Callable[[str], Bounds | None]
Exactly = Callable[[Node], Outcomes | None]  # of a condition on columns that are the same in all rows; None of others


def may_count(conditions: Collection[Node], bounds_of: BoundsOf, exactly: Exactly = lambda _: None) -> bool:
    """Whether any of the rows may meet any of the conditions."""
    return any(True in outcomes(node, bounds_of, exactly) for node in conditions)


def bounds_of_chunk(chunk: pq.ColumnChunkMetaData, rows: int) -> Bounds | None:
    """What the footer tells of one column in a row group of so many rows."""
    statistics = chunk.statistics
    if statistics is None or not statistics.has_null_count:
        return None
    is_whole = chunk.physical_type in _WHOLE_NUMBERS and statistics.has_min_max
    low, high = (statistics.min, statistics.max) if is_whole else (None, None)
    is_plain = type(low) is int and type(high) is int  # no date, time or decimal
    low, high = (low, high) if is_plain else (None, None)
    return Bounds(rows=rows, nulls=statistics.null_count, low=low, high=high)


def outcomes(node: Node, bounds_of: BoundsOf, exactly: Exactly = lambda _: None) -> Outcomes:
    """Everything that the condition may come to on any of the rows; too much rather than too little."""
    if (exact := exactly(node)) is not None:
        return exact
    match node:
        case Truth():
            return frozenset({node.value})
        case Surely():
            return frozenset(outcome is True for outcome in outcomes(node.of, bounds_of, exactly))
        case Negation():
            return frozenset(
                None if outcome is None else not outcome for outcome in outcomes(node.of, bounds_of, exactly)
            )
        case Conjunction():
            return frozenset(_both(*pair) for pair in _pairs(node, bounds_of, exactly))
        case Disjunction():  # not both are not met
            pairs = _pairs(node, bounds_of, exactly)
            return frozenset(_not(_both(_not(left), _not(right))) for left, right in pairs)
        case IsNull(of=ColumnNode() as column):
            bounds = bounds_of(column.name)
            if bounds is None:
                return KNOWN
            return frozenset({*([True] if bounds.nulls else []), *([False] if bounds.nulls < bounds.rows else [])})
        case Compared(left=ColumnNode() as column, right=Literal() as literal):
            return _with_nulls(bounds_of(column.name), lambda bounds: _compared(node.by, bounds, literal))
        case IsIn(of=ColumnNode() as column) | RegexMatch(of=ColumnNode() as column):
            return _with_nulls(bounds_of(column.name), lambda _: KNOWN)
        case TextContainment(of=ColumnNode() as column):
            return _with_nulls(bounds_of(column.name), lambda _: KNOWN)
    return ANY


def _pairs(
    node: Conjunction | Disjunction, bounds_of: BoundsOf, exactly: Exactly
) -> list[tuple[bool | None, bool | None]]:
    left, right = (outcomes(part, bounds_of, exactly) for part in (node.left, node.right))
    return list(product(left, right))


def _both(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _not(outcome: bool | None) -> bool | None:
    return None if outcome is None else not outcome


def _with_nulls(bounds: Bounds | None, of_values: Callable[[Bounds], Outcomes]) -> Outcomes:
    if bounds is None:
        return ANY
    values = of_values(bounds) if bounds.nulls < bounds.rows else frozenset()
    return values | NULL if bounds.nulls else values


def _compared(by: Compare, bounds: Bounds, literal: Literal) -> Outcomes:
    if bounds.low is None or bounds.high is None or literal.kind is not bounds.kind:
        return KNOWN
    value = Decimal(literal.value)
    some_less, some_more = bounds.low < value, bounds.high > value
    may_equal = bounds.low <= value <= bounds.high
    match by:
        case Compare.LT | Compare.GE:
            less = {*([True] if some_less else []), *([False] if may_equal or some_more else [])}
            return frozenset(less if by is Compare.LT else {not outcome for outcome in less})
        case Compare.GT | Compare.LE:
            more = {*([True] if some_more else []), *([False] if may_equal or some_less else [])}
            return frozenset(more if by is Compare.GT else {not outcome for outcome in more})
    equal = {*([True] if may_equal else []), *([False] if some_less or some_more else [])}
    return frozenset(equal if by is Compare.EQ else {not outcome for outcome in equal})
