"""The numbers of a column: moments, extremes, shares of special ones, and their distribution."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .hashing import Floats, Ints
from .points import Points, gathered_points, merged_points


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
