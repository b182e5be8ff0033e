"""Reading the literals of the language: numbers, percentages, lengths of time and texts."""

from collections.abc import Sequence
from decimal import Decimal
from math import isfinite

from execution_engine import exact
from execution_engine.language.problem import ParseRefusal, Span
from execution_engine.language.tree import Negative, Number, Percentage, Text
from execution_engine.metrics.columns import written
from execution_engine.metrics.spec import Literal

MAX_NUMBER = 40  # characters
_EXACT = 2**53
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def read_number(token: str, place: Span) -> exact.Number:
    """The number a token says, with every digit; refuses one that is too long or too large."""
    if len(token) > MAX_NUMBER:
        raise ParseRefusal(f"a number may have {MAX_NUMBER} characters, not {len(token)}: round it", place)
    if not isfinite(float(token)):
        raise ParseRefusal("this number is too large to be held: write one below 1e308", place)
    return exact.number_of(Decimal(token))


def read_duration(token: str, place: Span) -> float:
    """The seconds a token such as ``4h`` says; refuses months and years, which have no fixed length."""
    if token.endswith(("mo", "y")):
        message = "a month or a year has no fixed length: write days, such as 30d (1mo and 1y are for ago= and every=)"
        raise ParseRefusal(message, place)
    return float(exact.decimal_of(read_number(token[:-1], place)) * _SECONDS[token[-1]])


def read_text(token: str) -> str:
    """What stands between the quotes, doubled quotes made single."""
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote)


def read_column(tokens: Sequence[str]) -> str:
    """The column that names say, with or without backticks, in its one writing."""
    return written(*(read_text(token) if token.startswith("`") else token for token in tokens))


def argument_value(node: object, place: Span) -> Literal:
    """The value of a literal as a metric takes it: whole numbers as int, so that 1 and 1.0 are one metric."""
    match node:
        case Number(value=value):
            return _whole(value)
        case Percentage(percent=percent):
            return _whole(float(Decimal(repr(percent)) / 100))
        case Text(value=text):
            return text
        case Negative(value=Number(value=value)):
            return _whole(-value)
    raise ParseRefusal("a duration can be given to ago= and every= only: write a number or a text in quotes", place)


def _whole(value: exact.Number) -> float | int:
    """Whole numbers with every digit; of others what a float holds."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _EXACT else value
    return value if isinstance(value, int) else float(value)
