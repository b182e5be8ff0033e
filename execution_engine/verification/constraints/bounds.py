"""What a metric's value is held against: a number, one of the bounds below, or the user's own function."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isclose
from typing import Any

from execution_engine.exact import Number, decimal_of, is_whole, number_of
from execution_engine.language.to_text import number_text

Holds = Callable[[Any], object]  # of a float; of an int or a Decimal where a float would lose digits


@dataclass(frozen=True)
class Bound:
    """A condition on a number, with its text behind the metric: ``>= 0.99``."""

    text: str
    holds: Holds

    def __call__(self, value: Number) -> bool:
        """Whether the value meets it."""
        return bool(self.holds(value))


Expected = Number | Bound | Holds  # a number: exactly that one


def equal_to(number: Number) -> Bound:
    """Equal: whole numbers and decimals in every digit, floats but for the last digits of binary arithmetic."""
    wanted = decimal_of(number)

    def holds(value: Number) -> bool:
        found = decimal_of(value)
        are_exact = (is_whole(wanted) and is_whole(found)) or not isinstance(value, float)
        return found == wanted or (not are_exact and isclose(value, number, rel_tol=1e-12, abs_tol=1e-12))

    return Bound(f"= {_shown(number)}", holds)


def at_least(number: Number) -> Bound:
    """``>= number``."""
    wanted = decimal_of(number)
    return Bound(f">= {_shown(number)}", lambda value: decimal_of(value) >= wanted)


def at_most(number: Number) -> Bound:
    """``<= number``."""
    wanted = decimal_of(number)
    return Bound(f"<= {_shown(number)}", lambda value: decimal_of(value) <= wanted)


def above(number: Number) -> Bound:
    """``> number``."""
    wanted = decimal_of(number)
    return Bound(f"> {_shown(number)}", lambda value: decimal_of(value) > wanted)


def below(number: Number) -> Bound:
    """``< number``."""
    wanted = decimal_of(number)
    return Bound(f"< {_shown(number)}", lambda value: decimal_of(value) < wanted)


def between(low: Number, high: Number) -> Bound:
    """From ``low`` to ``high``, both included; ValueError where there is nothing between."""
    if low > high:
        raise ValueError(f"nothing lies between {low} and {high}: write the lower bound first")
    least, most = decimal_of(low), decimal_of(high)
    return Bound(f"between {_shown(low)} and {_shown(high)}", lambda value: least <= decimal_of(value) <= most)


def bound_of(expected: Expected) -> Bound:
    """The bound that is meant; a function of the user's is called by its name."""
    if isinstance(expected, Bound):
        return expected
    if callable(expected):
        return Bound(f"meets {name_of(expected)}", expected)
    return equal_to(expected)


def name_of(function: Callable[..., object]) -> str:
    """The name of a function; that of a lambda is of no use to its reader."""
    name = getattr(function, "__name__", type(function).__name__)
    return "a function of the user's" if name == "<lambda>" else name


def _shown(number: Number) -> str:
    return number_text(number_of(number))
