"""Between which figures the value of an assertion must lie, where it says so with literals."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from execution_engine.exact import Number as ExactNumber
from execution_engine.exact import from_json as from_stored
from execution_engine.language.evaluate import ZeroDivision, of_known
from execution_engine.language.tree import (
    Assertion,
    Between,
    By,
    Comparator,
    Comparison,
    Duration,
    Expression,
    History,
    HistoryFunction,
    Number,
    Percentage,
    operands,
)


@dataclass(frozen=True, kw_only=True)
class PlotBounds:
    """The least and the greatest value that hold; None where there is none, or it is not a literal."""

    low: float | None = None
    high: float | None = None
    is_duration: bool = False  # in seconds
    widths: float | None = None  # of an anomaly: how many halves of the interval that is expected its value may be off


UPPER = (Comparator.LESS, Comparator.AT_MOST)
LOWER = (Comparator.GREATER, Comparator.AT_LEAST)


def bounds(tree: Assertion) -> PlotBounds:
    """The bounds of a single comparison, or of the share of groups that hold; none for several comparisons."""
    match tree:
        case By():
            return PlotBounds(low=tree.needed)
        case Between(negated=False):
            return _bounds(tree.low, tree.high)
        case Comparison():
            return _of_comparison(tree)
    return PlotBounds()


def bounds_with(tree: Assertion, measured: Mapping[str, Any]) -> PlotBounds:
    """The bounds of a single comparison whose sides were measured too, as they were with these values of its operands.

    ``measured`` is as a run keeps it, by the text of each operand. None where a value is not there.
    """
    known = {text: from_stored(value) for text, value in measured.items()}
    match tree:
        case Between(negated=False):
            return PlotBounds(low=_reckoned(tree.value, tree.low, known), high=_reckoned(tree.value, tree.high, known))
        case Comparison() if tree.comparator in UPPER:
            return PlotBounds(high=_reckoned(tree.left, tree.right, known))
        case Comparison() if tree.comparator in LOWER:
            return PlotBounds(low=_reckoned(tree.left, tree.right, known))
    return PlotBounds()


def _reckoned(value: Expression, bound: Expression, known: Mapping[str, ExactNumber | None]) -> float | None:
    """What a bound came to, where it is a number."""
    compared = Comparison(comparator=Comparator.AT_LEAST, left=value, right=bound)
    if any(operand.text not in known for operand in operands(compared)):
        return None
    found = of_known(compared, known, zero=ZeroDivision.NULL).bound
    return None if found is None else float(found)


def _of_comparison(tree: Comparison) -> PlotBounds:
    is_mirrored = _figure(tree.left) is not None
    literal, measured = (tree.left, tree.right) if is_mirrored else (tree.right, tree.left)
    if tree.comparator is Comparator.EQUAL:
        return _bounds(literal, literal)
    if tree.comparator in UPPER:
        found = _bounds(literal, None) if is_mirrored else _bounds(None, literal)
        is_anomaly = isinstance(measured, History) and measured.function is HistoryFunction.ANOMALY
        return replace(found, widths=found.high) if is_anomaly else found
    if tree.comparator in LOWER:
        return _bounds(None, literal) if is_mirrored else _bounds(literal, None)
    return PlotBounds()


def _bounds(low: Expression | None, high: Expression | None) -> PlotBounds:
    is_duration = isinstance(low, Duration) or isinstance(high, Duration)
    return PlotBounds(low=_figure(low), high=_figure(high), is_duration=is_duration)


def _figure(expression: Expression | None) -> float | None:
    match expression:
        case Number(value=value):
            return float(value)
        case Percentage(percent=percent):
            return percent / 100
        case Duration(seconds=seconds):
            return seconds
    return None
