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
    """A condition on a number; ``at_least`` and its kin make it.

    Parameters:
        text: how results write it behind the metric: ``>= 0.99``.
        holds: a function of the value, which returns whether it is good.

    Errors: none.

    Example:
        >>> at_least(0.99).text
        '>= 0.99'
        >>> Bound("is even", lambda rows: rows % 2 == 0)(4)
        True
    """

    text: str
    holds: Holds

    def __call__(self, value: Number) -> bool:
        """Whether the value meets the bound.

        Parameters:
            value: an int, a float or a Decimal.

        Errors: none, but what a function of yours raises.

        Example:
            >>> at_least(3)(2)
            False
        """
        return bool(self.holds(value))


Expected = Number | Bound | Holds  # a number: exactly that one


def equal_to(number: Number) -> Bound:
    """The value is the number: whole numbers and decimals in every digit, floats within 1e-12 of it.

    Parameters:
        number: an int, a float or a Decimal. Write it as it is where a method takes ``expected``.

    Errors:
        TypeError or ValueError: ``number`` cannot be read as a number.

    Example:
        >>> equal_to(0.3)(0.1 + 0.2)
        True
        >>> equal_to(9007199254740993)(9007199254740992)
        False
    """
    wanted = decimal_of(number)

    def holds(value: Number) -> bool:
        found = decimal_of(value)
        are_exact = (is_whole(wanted) and is_whole(found)) or not isinstance(value, float)
        return found == wanted or (not are_exact and isclose(value, number, rel_tol=1e-12, abs_tol=1e-12))

    return Bound(f"= {_shown(number)}", holds)


def at_least(number: Number) -> Bound:
    """The value is equal to or above the number.

    Parameters:
        number: an int, a float or a Decimal.

    Errors:
        TypeError or ValueError: ``number`` cannot be read as a number.

    Example:
        >>> at_least(0.5)(0.5)
        True
    """
    wanted = decimal_of(number)
    return Bound(f">= {_shown(number)}", lambda value: decimal_of(value) >= wanted)


def at_most(number: Number) -> Bound:
    """The value is equal to or below the number.

    Parameters:
        number: an int, a float or a Decimal.

    Errors:
        TypeError or ValueError: ``number`` cannot be read as a number.

    Example:
        >>> at_most(0.5)(0.5)
        True
    """
    wanted = decimal_of(number)
    return Bound(f"<= {_shown(number)}", lambda value: decimal_of(value) <= wanted)


def above(number: Number) -> Bound:
    """The value is above the number.

    Parameters:
        number: an int, a float or a Decimal.

    Errors:
        TypeError or ValueError: ``number`` cannot be read as a number.

    Example:
        >>> above(0.5)(0.5)
        False
    """
    wanted = decimal_of(number)
    return Bound(f"> {_shown(number)}", lambda value: decimal_of(value) > wanted)


def below(number: Number) -> Bound:
    """The value is below the number.

    Parameters:
        number: an int, a float or a Decimal.

    Errors:
        TypeError or ValueError: ``number`` cannot be read as a number.

    Example:
        >>> below(0.5)(0.5)
        False
    """
    wanted = decimal_of(number)
    return Bound(f"< {_shown(number)}", lambda value: decimal_of(value) < wanted)


def between(low: Number, high: Number) -> Bound:
    """The value lies from ``low`` to ``high``, both included.

    Parameters:
        low: an int, a float or a Decimal.
        high: an int, a float or a Decimal, not below ``low``.

    Errors:
        ValueError: ``low`` is above ``high``.
        TypeError or ValueError: one of them cannot be read as a number.

    Example:
        >>> between(1, 2)(2)
        True
        >>> between(2, 1)
        Traceback (most recent call last):
        ValueError: nothing lies between 2 and 1: write the lower bound first
    """
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
