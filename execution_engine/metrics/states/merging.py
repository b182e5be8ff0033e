"""How the statistics of two parts of a table make those of their union, without data (seed 000, section 3.2)."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, isnan
from typing import Any

import numpy as np

from execution_engine.exact import Number, total

from . import sketches
from .statistics import Gather, Statistic, Value


def merge(statistic: Statistic, values: Sequence[Value]) -> Value:
    """The statistic of the union of disjoint parts."""
    known = [value for value in values if value is not None]
    if statistic.gather is Gather.COUNT:
        return sum(known)
    if not known:
        return None
    return known[0] if len(known) == 1 else _MERGES[statistic.gather](known)


def _least(values: Sequence[Number]) -> Number:
    """NaN is greater than any number, as in Spark's order."""
    return min(values, key=lambda value: (isnan(value), value))


def _greatest(values: Sequence[Number]) -> Number:
    return max(values, key=lambda value: (isnan(value), value))


def _merged_moments(values: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """By Chan, Golub and LeVeque's pairwise update, which does not cancel as sums of squares do."""
    count, mean, squares = values[0]
    for other, other_mean, other_squares in values[1:]:
        total = count + other
        delta = other_mean - mean
        mean = _merged_mean(mean, other_mean, other / total)
        squares += other_squares + delta * delta * count * other / total
        count = total
    return count, mean, squares


def _merged_comoments(values: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    count, x, y, xx, yy, xy = values[0]
    for other, other_x, other_y, other_xx, other_yy, other_xy in values[1:]:
        total = count + other
        dx, dy, weight = other_x - x, other_y - y, count * other / total
        xx, yy, xy = (
            xx + other_xx + dx * dx * weight,
            yy + other_yy + dy * dy * weight,
            xy + other_xy + dx * dy * weight,
        )
        x, y = _merged_mean(x, other_x, other / total), _merged_mean(y, other_y, other / total)
        count = total
    return count, x, y, xx, yy, xy


def _merged_mean(mean: float, other: float, share: float) -> float:
    """Where either is infinite, it stays so: their difference would be no number."""
    return mean + (other - mean) * share if isfinite(other - mean) else mean + other


_MERGES: Mapping[Gather, Callable[[Sequence[Any]], Value]] = {
    Gather.SUM: total,
    Gather.LONG_SUM: total,
    Gather.MIN: _least,
    Gather.MAX: _greatest,
    Gather.MOMENTS: _merged_moments,
    Gather.COMOMENTS: _merged_comoments,
    Gather.HLL: sketches.merged_hll,
    Gather.KLL: sketches.merged_kll,
    Gather.KEYS: np.concatenate,
}
