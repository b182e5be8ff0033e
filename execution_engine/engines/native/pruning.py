"""What a condition may come to on the rows of a row group, by its footer alone (pure)."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

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


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What the footer tells of one column: its nulls, and the least and greatest whole number where it has those."""

    rows: int
    nulls: int
    low: int | None = None
    high: int | None = None


BoundsOf = Callable[[str], Bounds | None]


def outcomes(node: Node, bounds_of: BoundsOf) -> Outcomes:
    """Everything that the condition may come to on any of the rows; too much rather than too little."""
    match node:
        case Truth():
            return frozenset({node.value})
        case Surely():
            return frozenset(outcome is True for outcome in outcomes(node.of, bounds_of))
        case Negation():
            return frozenset(None if outcome is None else not outcome for outcome in outcomes(node.of, bounds_of))
        case Conjunction():
            return frozenset(_both(*pair) for pair in _pairs(node, bounds_of))
        case Disjunction():  # not both are not met
            pairs = _pairs(node, bounds_of)
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


def _pairs(node: Conjunction | Disjunction, bounds_of: BoundsOf) -> list[tuple[bool | None, bool | None]]:
    return list(product(outcomes(node.left, bounds_of), outcomes(node.right, bounds_of)))


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
    if bounds.low is None or bounds.high is None or literal.kind is not LiteralKind.EXACT:
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
