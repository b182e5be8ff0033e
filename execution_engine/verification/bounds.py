"""What a metric's value is held against: a number, one of the bounds below, or the user's own function."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isclose

from execution_engine.language.to_text import number_text

Holds = Callable[[float], object]


@dataclass(frozen=True)
class Bound:
    """A condition on a number, with its text behind the metric: ``>= 0.99``."""

    text: str
    holds: Holds

    def __call__(self, value: float) -> bool:
        """Whether the value meets it."""
        return bool(self.holds(value))


Expected = float | Bound | Holds  # a number: exactly that one


def equal_to(number: float) -> Bound:
    """Equal, but for the last digits of binary arithmetic."""
    return Bound(f"= {_shown(number)}", lambda value: isclose(value, number, rel_tol=1e-12, abs_tol=1e-12))


def at_least(number: float) -> Bound:
    """``>= number``."""
    return Bound(f">= {_shown(number)}", lambda value: value >= number)


def at_most(number: float) -> Bound:
    """``<= number``."""
    return Bound(f"<= {_shown(number)}", lambda value: value <= number)


def above(number: float) -> Bound:
    """``> number``."""
    return Bound(f"> {_shown(number)}", lambda value: value > number)


def below(number: float) -> Bound:
    """``< number``."""
    return Bound(f"< {_shown(number)}", lambda value: value < number)


def between(low: float, high: float) -> Bound:
    """From ``low`` to ``high``, both included; ValueError where there is nothing between."""
    if low > high:
        raise ValueError(f"nothing lies between {low} and {high}: write the lower bound first")
    return Bound(f"between {_shown(low)} and {_shown(high)}", lambda value: low <= value <= high)


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


def _shown(number: float) -> str:
    return number_text(float(number))
