"""A tree written as an assertion again, with no more parentheses than it needs; ``parse`` reads an equal tree."""

from collections.abc import Sequence
from decimal import Decimal

from execution_engine.exact import Number as Exact
from execution_engine.exact import decimal_of
from execution_engine.metrics.spec import quoted

from .tree import (
    And,
    Arithmetic,
    Between,
    By,
    Call,
    Comparison,
    Duration,
    History,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    Operator,
    Or,
    Percentage,
    Text,
)
from .walk import fold

UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))

# How tightly a node binds; a node in a place that needs a tighter one is put into parentheses.
OR, AND, NOT, PREDICATE, SUM, PRODUCT, SIGNED, ATOM = range(8)
_LEVELS = {Operator.ADD: SUM, Operator.SUBTRACT: SUM, Operator.MULTIPLY: PRODUCT, Operator.DIVIDE: PRODUCT}

Piece = tuple[str, int]  # what a node is written as, and how tightly it binds


def to_text(tree: Node) -> str:
    """The assertion, or the part of one, that ``tree`` stands for, in its canonical writing."""
    return fold(tree, _write)[0]


def number_text(value: Exact) -> str:
    """A number as the language writes it: 0.99, 1000000; the shortest text that reads back equal."""
    if not isinstance(value, float):
        return f"{decimal_of(value):f}"
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)


def duration_text(seconds: float) -> str:
    """Seconds in the largest unit that keeps them whole: 4h, 90m, 0.5s."""
    if seconds.is_integer():
        unit, size = next((unit, size) for unit, size in UNITS if seconds % size == 0)
        return f"{int(seconds) // size}{unit}"
    return f"{Decimal(repr(seconds)):f}s"


def _write(node: Node, below: Sequence[Piece]) -> Piece:
    match node:
        case Number(value=value):
            return number_text(value), ATOM
        case Percentage(percent=percent):
            return f"{number_text(percent)} %", ATOM
        case Duration(seconds=seconds):
            return duration_text(seconds), ATOM
        case Text(value=text):
            return quoted(text), ATOM
        case Metric() | History():
            return node.call, ATOM
        case Call(function=function):
            return f"{function}({', '.join(text for text, _ in below)})", ATOM
        case Negative():
            return f"-{_at(below[0], SIGNED)}", SIGNED
        case Arithmetic(operator=operator):
            level = _LEVELS[operator]
            return f"{_at(below[0], level)} {operator} {_at(below[1], level + 1)}", level
    return _write_condition(node, below)


def _write_condition(node: Node, below: Sequence[Piece]) -> Piece:
    match node:
        case Comparison(comparator=comparator):
            return f"{below[0][0]} {comparator} {below[1][0]}", PREDICATE
        case Between(negated=negated):
            return f"{below[0][0]} {'not ' * negated}between {below[1][0]} and {below[2][0]}", PREDICATE
        case Not():
            return f"not {_at(below[0], NOT)}", NOT
        case And():
            return " and ".join(_at(piece, NOT) for piece in below), AND
        case Or():
            return " or ".join(_at(piece, AND) for piece in below), OR
        case By(columns=columns, percent=percent):
            share = "" if percent is None else f" for {number_text(percent)} % of groups"
            return f"{below[0][0]} by {', '.join(columns)}{share}", OR
    raise TypeError(f"{type(node).__name__} is no node of an assertion")


def _at(piece: Piece, level: int) -> str:
    text, own = piece
    return text if own >= level else f"({text})"
