"""The numbers of a column: moments, extremes, shares of special ones, and their distribution."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .values import Floats, Ints

# The distribution of numbers: each different one with its weight, or equally spaced ranks once there are too many.


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Numbers:
    """Of rows that are not null; all but ``nans`` and ``infinities`` speak of the ``finite`` ones alone."""

    finite: int = 0
    mean: float = 0.0
    deviation: float = 0.0  # of the population: the root of the mean squared distance from the mean
    low: float = np.inf
    high: float = -np.inf
    zeros: int = 0
    negatives: int = 0
    wholes: int = 0
    nans: int = 0
    infinities: int = 0
    points: Points = field(default_factory=Points)

    @property
    def rows(self) -> int:
        """How many rows have a number of any kind."""
        return self.finite + self.nans + self.infinities

    def capped(self, size: int) -> "Numbers":
        """The same with at most ``size`` points."""
        return Numbers(**{**self.__dict__, "points": self.points.reduced(size)})


def gathered_numbers(numbers: Floats, counts: Ints, size: int) -> Numbers:
    """Of different numbers and how many rows have each."""
    good = np.isfinite(numbers)
    nans = int(counts[np.isnan(numbers)].sum())
    infinities = int(counts[~good].sum()) - nans
    numbers, counts = numbers[good], counts[good]
    if not len(numbers):
        return Numbers(nans=nans, infinities=infinities)
    mean, deviation = _moments(numbers, np.zeros(len(numbers)), counts)
    return Numbers(
        finite=int(counts.sum()),
        mean=mean,
        deviation=deviation,
        low=float(numbers.min()),
        high=float(numbers.max()),
        zeros=int(counts[numbers == 0].sum()),
        negatives=int(counts[numbers < 0].sum()),
        wholes=int(counts[numbers == np.floor(numbers)].sum()),
        nans=nans,
        infinities=infinities,
        points=gathered_points(numbers + 0.0, counts).capped(size),
    )


def merged_numbers(parts: Sequence[Numbers], size: int) -> Numbers:
    """Of the union of disjoint parts."""
    nans, infinities = sum(part.nans for part in parts), sum(part.infinities for part in parts)
    parts = [part for part in parts if part.finite]
    if not parts:
        return Numbers(nans=nans, infinities=infinities)
    means, deviations = (np.array([getattr(part, name) for part in parts]) for name in ("mean", "deviation"))
    mean, deviation = _moments(means, deviations, np.array([part.finite for part in parts]))
    return Numbers(
        finite=sum(part.finite for part in parts),
        mean=mean,
        deviation=deviation,
        low=min(part.low for part in parts),
        high=max(part.high for part in parts),
        zeros=sum(part.zeros for part in parts),
        negatives=sum(part.negatives for part in parts),
        wholes=sum(part.wholes for part in parts),
        nans=nans,
        infinities=infinities,
        points=merged_points([part.points for part in parts], size),
    )


def _moments(means: Floats, deviations: Floats, counts: Ints) -> tuple[float, float]:
    """Mean and deviation of groups together, in units so large that no square overflows."""
    unit = float(max(np.abs(means).max(), deviations.max())) or 1.0
    means, deviations, shares = means / unit, deviations / unit, counts / counts.sum()
    mean = float(np.clip(shares @ means, means.min(), means.max()))
    variance = float(shares @ (deviations**2 + (means - mean) ** 2))
    return mean * unit, variance**0.5 * unit
