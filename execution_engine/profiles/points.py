"""The distribution of numbers: each different one with its weight, or equally spaced ranks once there are too many."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .hashing import Floats, Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Points:
    """Different numbers in order, and how many rows each stands for.

    Exact up to twice ``size`` numbers. Beyond, the numbers at ``size`` equally spaced ranks: each cut moves a rank by
    at most 1 / (2 · size) of the rows; the lowest and the highest number stay.
    """

    numbers: Floats = field(default_factory=lambda: np.empty(0))
    weights: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def quantiles(self, shares: Floats) -> Floats:
        """For each share the smallest number that at least so many rows do not exceed; NaN of no rows."""
        if not len(self.numbers):
            return np.full(len(shares), np.nan)
        ends = np.cumsum(self.weights)
        at = np.searchsorted(ends, shares * float(ends[-1]) * (1 - 1e-12), side="left")
        return self.numbers[np.minimum(at, len(ends) - 1)]

    def mean_between(self, low: float, high: float) -> float:
        """The mean of the numbers whose ranks are between two shares of the rows: a quantile that moves evenly.

        Where numbers are few, a quantile itself stays, and then jumps. NaN of no rows.
        """
        if not len(self.numbers):
            return float("nan")
        ends = np.concatenate([[0], np.cumsum(self.weights)])
        inside = np.diff(np.clip(ends / ends[-1], low, high))
        return float(inside @ self.numbers / inside.sum())

    def share_up_to(self, numbers: Floats, *, included: bool = True) -> Floats:
        """The share of rows that do not exceed each number, or are below it; NaN of no rows."""
        if not len(self.numbers):
            return np.full(len(numbers), np.nan)
        ends = np.concatenate([[0], np.cumsum(self.weights)])
        shares: Floats = ends[np.searchsorted(self.numbers, numbers, side="right" if included else "left")] / ends[-1]
        return shares

    def capped(self, size: int) -> "Points":
        """The same distribution in at most ``size`` points, where there are more than twice as many."""
        return self if len(self.numbers) <= 2 * size else self.reduced(size)

    def reduced(self, size: int) -> "Points":
        """The numbers at ``size`` ranks, where there are more: of the ends one row each, then equally spaced.

        So an end that lies far out says that of itself alone.
        """
        if len(self.numbers) <= size:
            return self
        ends = np.cumsum(self.weights)
        total = int(ends[-1])
        bounds = np.concatenate([[0], np.floor(np.linspace(1, total - 1, size - 1)), [total]]).astype(np.int64)
        at = np.searchsorted(ends, (bounds[:-1] + bounds[1:]) // 2, side="right")
        at[0], at[-1] = 0, len(ends) - 1
        return gathered_points(self.numbers[np.minimum(at, len(ends) - 1)], np.diff(bounds))


def gathered_points(numbers: Floats, weights: Ints) -> Points:
    """The points of numbers that may be repeated, or have no weight."""
    order = np.argsort(numbers)
    numbers, weights = numbers[order], weights[order]
    if len(numbers) > 1 and (numbers[1:] == numbers[:-1]).any():
        firsts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
        numbers, weights = numbers[firsts], np.add.reduceat(weights, firsts)
    there = weights > 0
    return Points(numbers=numbers[there], weights=weights[there])


def merged_points(parts: Sequence[Points], size: int) -> Points:
    """The points of the union of disjoint parts."""
    together = gathered_points(
        np.concatenate([part.numbers for part in parts]), np.concatenate([part.weights for part in parts])
    )
    return together.capped(size)
