"""The accepted past of one column, pooled: what batches are compared with, without a look at old rows."""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from execution_engine.profiles.column import ColumnKind, ColumnProfile
from execution_engine.profiles.letters import CLASSES
from execution_engine.profiles.numbers import Numbers
from execution_engine.profiles.values import ValueCounts, merged_values

Floats = npt.NDArray[np.float64]

LAST_NUMBERS = 60  # batches whose quantiles are averaged
MOST_VALUES, MOST_SHAPES = 8192, 1024
SHARES: Floats = np.unique(np.concatenate([np.linspace(0, 1, 33), [0.01, 0.99]]))  # of the quantiles
ENDS = {"low": (0.005, 0.02), "high": (0.98, 0.995)}  # the ranks about the 1 % quantile at either end


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledNumbers:
    """Of the last batches a row of quantiles each, and of mean, deviation and ends; the extremes are of all."""

    quantiles: Floats = field(default_factory=lambda: np.empty((0, len(SHARES))))
    moments: Floats = field(default_factory=lambda: np.empty((0, 4)))
    lowest: float = np.inf
    highest: float = -np.inf

    def joined(self, numbers: Numbers) -> "PooledNumbers":
        """With the numbers of one more batch."""
        if not numbers.finite:
            return self
        ends = [numbers.points.mean_between(*ranks) for ranks in ENDS.values()]
        moments = [[numbers.mean, numbers.deviation, *ends]]
        return PooledNumbers(
            quantiles=np.vstack([self.quantiles, numbers.points.quantiles(SHARES)])[-LAST_NUMBERS:],
            moments=np.vstack([self.moments, moments])[-LAST_NUMBERS:],
            lowest=min(self.lowest, numbers.low),
            highest=max(self.highest, numbers.high),
        )

    @property
    def mean(self) -> float:
        """Of the batches, each with the same weight."""
        return float(self.moments[:, 0].mean())

    @property
    def deviation(self) -> float:
        """Of a number from that mean: within batches and between them; never 0, as it is a unit."""
        unit = float(np.abs(self.moments[:, :2]).max()) or 1.0
        means, deviations = (self.moments[:, :2] / unit).T
        return max(float(np.sqrt(np.mean(deviations**2) + means.var())), 1e-6) * unit


@dataclass(frozen=True, kw_only=True, eq=False)
class Pool:
    """Of all batches in which the column was of this kind."""

    kind: ColumnKind
    values: ValueCounts = field(default_factory=ValueCounts)
    shapes: ValueCounts = field(default_factory=ValueCounts)
    pairs: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(CLASSES * CLASSES, np.int64))
    numbers: PooledNumbers = field(default_factory=PooledNumbers)

    def joined(self, column: ColumnProfile) -> "Pool":
        """With the column of one more batch; one of another kind begins anew, one without any value adds nothing."""
        if column.kind is ColumnKind.NOTHING or not column.present:
            return self
        pool = self if column.kind is self.kind else Pool(kind=column.kind)
        pool = replace(pool, values=_pooled(pool.values, column.values, MOST_VALUES))
        if column.texts is not None:
            shapes = _pooled(pool.shapes, column.texts.shapes, MOST_SHAPES)
            pool = replace(pool, shapes=shapes, pairs=pool.pairs + column.texts.pairs)
        return pool if column.numbers is None else replace(pool, numbers=pool.numbers.joined(column.numbers))


def _pooled(pool: ValueCounts, batch: ValueCounts, cap: int) -> ValueCounts:
    return merged_values([pool, batch.capped(len(batch.keys), 0)], cap)
