"""Sufficient statistics: what a scan gathers of a table, and how those of two parts make that of their union.

Each is one aggregate function of Spark, so that any number of metrics over any number of parts, groups and
where-clauses are one pass over the rows, and merging needs no data (seed 000, section 3.2).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isnan
from typing import Any

import numpy as np

from execution_engine.exact import Number, total

from . import sketches


class Gather(StrEnum):
    """The aggregate function that gathers a statistic."""

    COUNT = "count"  # rows where the expression is not NULL
    SUM = "sum"
    LONG_SUM = "long_sum"  # of 64-bit whole numbers, with every digit
    MIN = "min"
    MAX = "max"
    MOMENTS = "moments"  # (count, mean, sum of squared deviations)
    COMOMENTS = "comoments"  # (count, means of x and y, their squared deviations, and the products of both)
    HLL = "hll"  # a HyperLogLog sketch of Apache DataSketches
    KLL = "kll"  # a KLL sketch of Apache DataSketches
    KEYS = "keys"  # the hashes of all keys, one for each row: of tables so small that this is cheaper than counting
    PERCENTILE = "percentile"  # exact, and the only one that cannot be merged


@dataclass(frozen=True, kw_only=True)
class Statistic:
    """What to gather of one or two expressions over a row; which rows count is not its affair."""

    gather: Gather
    of: tuple[str, ...]
    argument: float | None = None
    column: str | None = None  # the column that ``of`` is, as it is stored: a file's footer may know the answer

    @property
    def merges(self) -> bool:
        """Whether the statistic of a union follows from those of its parts."""
        return self.gather is not Gather.PERCENTILE

    @property
    def is_sketch(self) -> bool:
        """Whether it is gathered into bytes, which switches Spark's code generation off for its whole select."""
        return self.gather in (Gather.HLL, Gather.KLL, Gather.KEYS)


ROWS = Statistic(gather=Gather.COUNT, of=("1",))

Value = Any  # int, float, Decimal, a tuple of floats, bytes of a sketch, or None where there was nothing to gather


def merge(statistic: Statistic, values: Sequence[Value]) -> Value:
    """The statistic of the union of disjoint parts."""
    known = [value for value in values if value is not None]
    if statistic.gather is Gather.COUNT:
        return sum(known)
    if not known:
        return None
    return known[0] if len(known) == 1 else _MERGES[statistic.gather](known)


def over_nothing(statistic: Statistic) -> Value:
    """The statistic of no rows."""
    return 0 if statistic.gather is Gather.COUNT else None


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
        mean += delta * other / total
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
        x, y, count = x + dx * other / total, y + dy * other / total, total
    return count, x, y, xx, yy, xy


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
