"""When two measurements are the same but for the last digits of floats, which were added up in another order.

Of what is infinite the order also tells whether a sum is an infinity or no number: both are the same failure.
"""

from math import isclose, isfinite, sqrt
from typing import Any

from execution_engine.engines.protocol import Measured
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import from_bytes

NEAR = 1e-9  # of the magnitude of what was added up


def alike(spec: MetricSpec, one: Measured, other: Measured) -> bool:
    """The same but for the last digits of floats; states byte for byte, but for such digits.

    How large the numbers were that a mean or a deviation is made of is told by the states, where there are any.
    """
    if one == other:
        return True
    first, second = _statistics(spec, one), _statistics(spec, other)
    if one.failure != other.failure or one.detail != other.detail:
        return False
    if not _near(one.value, other.value, max(map(_size, first.values()), default=0.0)):
        return False
    if one.state == other.state or one.state is None or other.state is None:
        return one.state == other.state
    return bool(first) and first.keys() == second.keys() and all(_near(first[name], second[name]) for name in first)


def _statistics(spec: MetricSpec, measured: Measured) -> dict[str, Any]:
    return dict(from_bytes(spec, measured.state).statistics or {}) if measured.state else {}


def _near(one: Any, other: Any, size: float = 0.0) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == 3:
        return _are_near_moments(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_near, one, other))
    if isinstance(one, float) and isinstance(other, float):
        same = one == other or not (isfinite(one) or isfinite(other))
        return same or isclose(one, other, rel_tol=NEAR, abs_tol=max(1e-6, NEAR * size))
    return type(one) is type(other) and bool(one == other)


def _are_near_moments(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Of numbers that cancel each other, a mean is as near as they are large."""
    (count, mean, squares), (count_2, mean_2, squares_2) = one, other
    if not all(map(isfinite, (mean, mean_2, squares, squares_2))):
        return count == count_2 and _near(mean, mean_2) and _near(squares, squares_2)
    size = _size(one)
    near = isclose(squares, squares_2, rel_tol=NEAR, abs_tol=NEAR * count * size * size)
    return count == count_2 and near and isclose(mean, mean_2, rel_tol=NEAR, abs_tol=NEAR * size)


def _size(statistic: Any) -> float:
    """About how large the numbers are of which these are the moments; 0 of anything else."""
    if not isinstance(statistic, tuple) or len(statistic) != 3 or not all(map(isfinite, statistic)):
        return 0.0
    count, mean, squares = statistic
    return float(abs(mean) + sqrt(squares / count))
