"""The arithmetic of assertions: decimal, as people reckon, so that ``1 - 99 / 100 <= 0.01`` holds.

In binary floating point that difference is 0.010000000000000009 and the test would break at its very bound. Here a
measured value counts as the shortest decimal that names it, or with all its digits (``exact.py``).
Results keep 80 digits, and two numbers are compared by their first 60, so that (1 / 3) * 3 is 1 and sums of decimals
differ in their last digit. A NULL (None) goes through every operation but ``coalesce``.
"""

from collections.abc import Callable, Sequence
from decimal import Context, Decimal

from execution_engine.exact import decimal_of
from execution_engine.language.tree import Comparator, Function, Operator

Quantity = Decimal | None

_REASONING = Context(prec=80, Emax=9999, Emin=-9999, traps=[])
_COMPARING = Context(prec=60, Emax=9999, Emin=-9999, traps=[])

_ARITHMETIC: dict[Operator, Callable[[Decimal, Decimal], Decimal]] = {
    Operator.ADD: _REASONING.add,
    Operator.SUBTRACT: _REASONING.subtract,
    Operator.MULTIPLY: _REASONING.multiply,
    Operator.DIVIDE: _REASONING.divide,
}

_COMPARISONS: dict[Comparator, Callable[[Decimal, Decimal], bool]] = {
    Comparator.LESS: Decimal.__lt__,
    Comparator.AT_MOST: Decimal.__le__,
    Comparator.GREATER: Decimal.__gt__,
    Comparator.AT_LEAST: Decimal.__ge__,
    Comparator.EQUAL: Decimal.__eq__,
    Comparator.UNEQUAL: Decimal.__ne__,
}


quantity = decimal_of


def calculate(operator: Operator, left: Quantity, right: Quantity) -> Quantity:
    """``left operator right``; NULL for a NULL side and for a division by zero."""
    if left is None or right is None or (operator is Operator.DIVIDE and right == 0):
        return None
    return _ARITHMETIC[operator](left, right)


def negate(value: Quantity) -> Quantity:
    """``-value``."""
    return None if value is None else _REASONING.minus(value)


def call(function: Function, arguments: Sequence[Quantity]) -> Quantity:
    """The function's value; ``least`` and ``greatest`` are NULL where any argument is, as in MySQL and SQLite."""
    known = [argument for argument in arguments if argument is not None]
    if function is Function.COALESCE:
        return known[0] if known else None
    if len(known) < len(arguments):
        return None
    match function:
        case Function.ABS:
            return _REASONING.abs(known[0])
        case Function.LEAST:
            return min(known)
        case Function.GREATEST:
            return max(known)


def compare(comparator: Comparator, left: Quantity, right: Quantity) -> bool | None:
    """Whether the comparison is true; None (unknown) where a side is NULL."""
    if left is None or right is None:
        return None
    return _COMPARISONS[comparator](_COMPARING.plus(left), _COMPARING.plus(right))
