"""Three looser and three stricter bounds than that of an assertion, in steps that its own values give (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from statistics import median

from execution_engine.language.evaluating.verdict import only_predicate
from execution_engine.language.to_text import to_text
from execution_engine.language.tree import (
    Between,
    By,
    Comparator,
    Comparison,
    Condition,
    Duration,
    Expression,
    Negative,
    Not,
    Number,
    Percentage,
)

STRICTER = (0.75, 0.5, 0.25)  # of the distance between the bound and the median of the values
LOOSER = (1.25, 1.5, 2.0)
OF_NO_DISTANCE = 0.01  # of the bound, where the median is the bound itself
DIGITS = 6

Bound = Number | Percentage | Duration


@dataclass(frozen=True, kw_only=True)
class OtherBound:
    """An assertion with another bound."""

    text: str
    is_looser: bool
    tree: Condition


def other_bounds(tree: Condition | By, values: Sequence[float]) -> list[OtherBound]:
    """The stricter ones first, the strictest at the start; none where there is no single bound, or no value.

    Each bound moves away from the median of the values, or towards it, by a share of its distance from it.
    """
    only = None if isinstance(tree, By) else only_predicate(tree)
    if only is None or only[1] or isinstance(tree, Not | By) or not values:
        return []
    predicate, middle = only[0], median(values)
    factors = [(factor, False) for factor in sorted(STRICTER)] + [(factor, True) for factor in LOOSER]
    found = {
        to_text(moved): OtherBound(text=to_text(moved), is_looser=looser, tree=moved)
        for factor, looser in factors
        for moved in _moved(predicate, middle, factor)
    }
    return [one for text, one in found.items() if text != to_text(predicate)]


def _moved(predicate: Comparison | Between, middle: float, factor: float) -> Iterator[Condition]:
    if isinstance(predicate, Between):
        low, high = _value(predicate.low), _value(predicate.high)
        if low is not None and high is not None and not predicate.negated and low <= middle <= high:
            lower, upper = _at(predicate.low, middle, factor), _at(predicate.high, middle, factor)
            yield replace(predicate, low=lower, high=upper)
        return
    if predicate.comparator in (Comparator.EQUAL, Comparator.UNEQUAL):
        return
    is_mirrored = _value(predicate.left) is not None
    bound = predicate.left if is_mirrored else predicate.right
    value = _value(bound)
    upper_side = (predicate.comparator in (Comparator.LESS, Comparator.AT_MOST)) is not is_mirrored
    if value is None or (middle > value if upper_side else middle < value):
        return
    other = _at(bound, middle, factor, upwards=upper_side)
    yield replace(predicate, left=other) if is_mirrored else replace(predicate, right=other)


def _at(bound: Expression, middle: float, factor: float, *, upwards: bool | None = None) -> Expression:
    """The bound so far from the median; where that is the bound itself, a hundredth of it looser for each step."""
    value = _value(bound)
    assert value is not None
    moved = middle + (value - middle) * factor
    if value == middle and factor > 1 and upwards is not None:
        step = OF_NO_DISTANCE * (abs(value) or 1.0) * LOOSER_STEPS[factor]
        moved = value + step if upwards else value - step
    return _written(bound, float(f"{moved:.{DIGITS}g}"))


LOOSER_STEPS = dict(zip(LOOSER, (1, 2, 5), strict=True))


def _written(bound: Expression, value: float) -> Expression:
    match bound:
        case Percentage():
            return Percentage(percent=float(f"{value * 100:.{DIGITS}g}"))
        case Duration():
            return Duration(seconds=float(round(max(value, 0.0))))
    return Negative(value=Number(value=-value)) if value < 0 else Number(value=value)


def _value(node: Expression) -> float | None:
    """The number that a literal says."""
    match node:
        case Number(value=value):
            return float(value)
        case Negative(value=Number(value=value)):
            return -float(value)
        case Percentage(percent=percent):
            return float(Decimal(repr(percent)) / 100)
        case Duration(seconds=seconds):
            return seconds
    return None
