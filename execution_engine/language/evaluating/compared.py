"""A comparison with the values of its sides, seen from the side that was measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from execution_engine.language.operands import operands
from execution_engine.language.tree import Between, Comparator, Comparison, Expression, Predicate

from .number import Quantity
from .truth import Truth

_FLIPPED = {
    Comparator.LESS: Comparator.GREATER,
    Comparator.AT_MOST: Comparator.AT_LEAST,
    Comparator.GREATER: Comparator.LESS,
    Comparator.AT_LEAST: Comparator.AT_MOST,
}


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What was measured, the bounds it was held against (two for between), and what came out."""

    node: Predicate
    wanted: str  # the comparator or ``between``, as it stands behind the measured side
    measured: Expression
    limits: tuple[Expression, ...]
    value: Quantity
    bounds: tuple[Quantity, ...]
    truth: Truth

    @property
    def bound(self) -> Quantity:
        """The bound nearest to the value; when broken, the one it violates."""
        known = [bound for bound in self.bounds if bound is not None]
        if self.value is None or not known:
            return known[0] if known else None
        value = self.value
        return min(known, key=lambda bound: abs(value - bound))


def faced(node: Predicate, values: Sequence[Quantity], truth: Truth) -> Compared:
    """``node`` with its values; ``0.99 <= completeness(email)`` is turned round, so that the measured side is left."""
    match node:
        case Between(value=measured, low=low, high=high, negated=negated):
            wanted, limits = f"{'not ' * negated}between", (low, high)
            return _compared(node, wanted, (measured, *limits), values, truth)
        case Comparison(comparator=comparator, left=left, right=right):
            if operands(left) or not operands(right):
                return _compared(node, comparator, (left, right), values, truth)
            flipped = _FLIPPED.get(comparator, comparator)
            return _compared(node, flipped, (right, left), values[::-1], truth)


def _compared(
    node: Predicate, wanted: str, sides: tuple[Expression, ...], values: Sequence[Quantity], truth: Truth
) -> Compared:
    return Compared(
        node=node,
        wanted=wanted,
        measured=sides[0],
        limits=sides[1:],
        value=values[0],
        bounds=tuple(values[1:]),
        truth=truth,
    )
