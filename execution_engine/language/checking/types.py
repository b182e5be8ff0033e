"""Which numbers are lengths of time, and what may be done with both."""

from collections.abc import Sequence
from dataclasses import dataclass

from execution_engine.language.tree import (
    Arithmetic,
    Between,
    Call,
    Comparison,
    Duration,
    Negative,
    Node,
    Number,
    Operator,
    Percentage,
)
from execution_engine.metrics.signature import ValueType

Type = ValueType | None  # None: a condition, or an expression in which a problem was found already

_NUMBER, _DURATION = ValueType.NUMBER, ValueType.DURATION
_PRODUCTS = {
    (Operator.MULTIPLY, _NUMBER, _NUMBER): _NUMBER,
    (Operator.MULTIPLY, _NUMBER, _DURATION): _DURATION,
    (Operator.MULTIPLY, _DURATION, _NUMBER): _DURATION,
    (Operator.DIVIDE, _NUMBER, _NUMBER): _NUMBER,
    (Operator.DIVIDE, _DURATION, _NUMBER): _DURATION,
    (Operator.DIVIDE, _DURATION, _DURATION): _NUMBER,
}


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """Why a node has no type."""

    message: str


def type_of(node: Node, below: Sequence[Type]) -> Type | Mismatch:
    """The type of a node that is neither operand nor text, from the types below it."""
    match node:
        case Number() | Percentage():
            return _NUMBER
        case Duration():
            return _DURATION
        case Negative():
            return below[0]
        case Call():
            return _common(below, f"{node.function} takes numbers or durations, not both: give all a unit, such as 4h")
        case Comparison() | Between():
            found = _common(below, "a duration is compared with a number: give both a unit, such as 4h or 400s")
            return found if isinstance(found, Mismatch) else None
        case Arithmetic(operator=Operator.MULTIPLY | Operator.DIVIDE):
            return _product(node.operator, below)
        case Arithmetic():
            return _common(
                below, "a duration and a number cannot be added or subtracted: give both a unit, such as 4h or 400s"
            )
    return None


def _common(types: Sequence[Type], problem: str) -> Type | Mismatch:
    if len(set(types) - {None}) > 1:
        return Mismatch(message=problem)
    return None if None in types else types[0]


def _product(operator: Operator, below: Sequence[Type]) -> Type | Mismatch:
    left, right = below
    if left is None or right is None:
        return None
    verb = "multiplied" if operator is Operator.MULTIPLY else "divided"
    problem = f"a {left} cannot be {verb} by a {right}: multiply durations by numbers only"
    return _PRODUCTS.get((operator, left, right), Mismatch(message=problem))
