"""A verdict in words: ``completeness(email) = 0.93, wanted >= 0.99``."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from execution_engine.exact import number_of
from execution_engine.language.to_text import UNITS, to_text
from execution_engine.language.tree import (
    Arithmetic,
    Call,
    Duration,
    Expression,
    Negative,
    Node,
    Number,
    Operator,
    Percentage,
)
from execution_engine.language.walk import fold
from execution_engine.metrics.definition import NOTE

from .compared import Compared
from .number import Quantity

MOST_DIGITS = 40  # of a number that is shown whole: a quotient has more


def sentence(compared: Sequence[Compared], *, negated: bool = False) -> str:
    """One comparison with its value and what was wanted; of several, which are true."""
    if len(compared) == 1:
        return _one(compared[0], negated)
    return "; ".join(f"{to_text(one.node)} is {_TRUTHS[one.truth]} ({_value(one)})" for one in compared)


def with_notes(said: str, details: Iterable[Mapping[str, Any]]) -> str:
    """A sentence, and what must be known of the measurements behind it: rows left out, a constant column."""
    return "; ".join(dict.fromkeys([said, *(str(detail[NOTE]) for detail in details if NOTE in detail)]))


def number_shown(value: Quantity, bound: Quantity = None) -> str:
    """A number in six digits; in all where six would make it look like its bound, or where no float holds it."""
    if value is None:
        return "NULL"
    if value == value.to_integral_value() and abs(value) < 10**15:
        return str(int(value))
    few = len(value.as_tuple().digits) <= MOST_DIGITS
    if abs(value) >= 10**6 and few and not isinstance(number_of(value), float):
        return f"{value:f}"
    short = f"{value:.6g}" if abs(value) < 10**6 else f"{value:.0f}"
    hides = bound is not None and value != bound and float(short) == float(bound)
    if not hides:
        return short
    return f"{value:f}" if few else repr(float(value))


def length_shown(value: Quantity) -> str:
    """Seconds in their two largest units: ``5h 12m``."""
    if value is None:
        return "NULL"
    left, parts = round(abs(value)), []
    for unit, size in UNITS:
        count, left = divmod(left, size)
        parts += [f"{count}{unit}"] if count else []
    return ("-" if value < 0 else "") + (" ".join(parts[:2]) or "0s")


def _one(compared: Compared, negated: bool) -> str:
    limits = " and ".join(_limit(*pair, compared) for pair in zip(compared.limits, compared.bounds, strict=True))
    wanted = f"wanted {'not ' * negated}{compared.wanted} {limits}"
    return f"{to_text(compared.measured)} = {_value(compared)}, {wanted}"


def _limit(limit: Expression, bound: Quantity, compared: Compared) -> str:
    text = to_text(limit)
    return text if _is_constant(limit) else f"{text} ({_shown(bound, compared)})"


def _value(compared: Compared) -> str:
    return _shown(compared.value, compared)


def _shown(value: Quantity, compared: Compared) -> str:
    if any(is_length(side) for side in (compared.measured, *compared.limits)):
        return length_shown(value)
    return number_shown(value, compared.bound)


def _is_constant(node: Expression) -> bool:
    return isinstance(node, Number | Percentage | Duration)


def is_length(tree: Expression) -> bool:
    """Whether an expression is a length of time, as far as it says so itself."""
    return fold(tree, _length)


def _length(node: Node, below: Sequence[bool]) -> bool:
    match node:
        case Duration():
            return True
        case Arithmetic(operator=Operator.DIVIDE):
            return below[0] and not below[1]
        case Arithmetic() | Call() | Negative():
            return any(below)
    return False


_TRUTHS = {True: "true", False: "false", None: "unknown"}
