"""Numbers that keep every digit: a float where it says the very number, else an int or a Decimal (pure).

Counts, shares and most values are floats, as numpy and JavaScript know them. 9223372036854775807 and a sum of decimals
with 30 digits are not: these stay an int or a Decimal, from Spark to the verdict and its sentence.
"""

from collections.abc import Sequence
from decimal import Context, Decimal
from math import isfinite
from numbers import Integral

Number = float | Decimal  # an int where it is whole; mypy takes one for a float

MAX_DIGITS = 76  # of a number that is kept with every digit; twice what Spark's decimals have
_SUMMING = Context(prec=200, Emax=9999, Emin=-9999, traps=[])


def decimal_of(value: Number) -> Decimal:
    """The number as people write it: of a float the shortest decimal that names it, so that 0.1 is one tenth."""
    if isinstance(value, Decimal):
        return value
    return Decimal(int(value)) if isinstance(value, Integral) else Decimal(repr(float(value)))


def is_whole(value: Decimal) -> bool:
    """Whether there is nothing behind the point."""
    return value == value.to_integral_value()


def number_of(value: Number) -> Number:
    """The same number, as a float wherever a float says it; NaN and infinity are floats."""
    nearest = float(value)
    if isinstance(value, float) or not isfinite(nearest):
        return nearest
    exact = decimal_of(value)
    if Decimal(repr(nearest)) == exact or len(exact.as_tuple().digits) > MAX_DIGITS:
        return nearest
    return int(exact) if is_whole(exact) else exact


def total(values: Sequence[Number]) -> Number:
    """The sum; of whole numbers and decimals with every digit."""
    if not any(isinstance(value, Decimal) for value in values):
        return sum(values)
    result = Decimal(0)
    for value in values:
        result = _SUMMING.add(result, decimal_of(value))
    return result


def to_json(value: Number | None) -> float | str | None:
    """A number of JSON, or its digits as a text where readers of JSON, who know floats only, would lose some."""
    if value is None or isinstance(number_of(value), float):
        return None if value is None else float(value)
    return f"{decimal_of(value):f}"


def from_json(value: float | str | None) -> Number | None:
    """The number that ``to_json`` wrote."""
    return number_of(Decimal(value)) if isinstance(value, str) else value


def digits_of(value: Number | None) -> str:
    """What to keep beside the nearest float: all digits where it loses some, else nothing."""
    json_value = to_json(value)
    return json_value if isinstance(json_value, str) else ""
