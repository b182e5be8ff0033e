"""What values and numbers occur, and how often: all of them up to a cap; beyond, the most frequent, or equal ranks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

# Values as keys of 48 bits, alike wherever and whenever they are computed.
#
# Any two of 4,096 values share a key with a probability of 3 in 100 million; among 300,000 values, of one in 6,000.

Keys = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BITS = 48
_SHIFT = np.uint64(64 - BITS)

WHOLE_BELOW = 2.0**53  # doubles below it tell neighbouring whole numbers apart
_NOT_WHOLE = np.uint64(0x9E3779B97F4A7C15)


def keys_of_texts(texts: Iterable[bytes], count: int) -> Keys:
    """The keys of ``count`` byte strings."""
    return np.fromiter(map(xxh3_64_intdigest, texts), np.uint64, count) >> _SHIFT


def keys_of_numbers(numbers: npt.NDArray[Any]) -> Keys:
    """The keys of int64 or float64 numbers: 1 and 1.0 share theirs, and so do both zeros, and all that are NaN."""
    if numbers.dtype != np.float64:
        return _mixed(numbers.astype(np.int64).view(np.uint64))
    plain = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    with np.errstate(invalid="ignore"):
        whole = (np.abs(plain) < WHOLE_BELOW) & (plain == np.floor(plain))
    words = plain.view(np.uint64) ^ _NOT_WHOLE
    words[whole] = plain[whole].astype(np.int64).view(np.uint64)
    return _mixed(words)


def joined_keys(keys: Keys, name: str) -> Keys:
    """What a column's keys add to those of its rows: alike in any order of columns, and nothing of a null."""
    of_name = np.uint64(xxh3_64_intdigest(name.encode()))
    return np.where(keys > 0, _mixed(keys ^ of_name), np.uint64(0))


def _mixed(words: Keys) -> Keys:
    """SplitMix64's finalizer, which spreads neighbours over all bits."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (words ^ (words >> np.uint64(31))) >> _SHIFT


def added_up(keys: Keys, counts: Ints) -> tuple[Keys, Ints, Ints]:
    """Distinct keys in order, the sum of each one's counts, and a place of each in what was given."""
    order = np.argsort(keys)
    ordered = keys[order]
    if len(ordered) < 2 or (ordered[1:] != ordered[:-1]).all():
        return ordered, counts[order], order
    firsts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[firsts], np.add.reduceat(counts[order], firsts), order[firsts]


Labels = npt.NDArray[np.object_]


@dataclass(frozen=True, kw_only=True, eq=False)
class ValueCounts:
    """The keys of values in order, how often each occurs, and the values themselves where they are known (else None).

    A count is never too high. ``hidden`` says by how much one may be too low, and how often a value that is not here
    may occur at most (Agarwal et al., Mergeable Summaries, 2012); ``cut`` is how many rows are in no count.
    """

    keys: Keys = field(default_factory=lambda: np.empty(0, np.uint64))
    counts: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    labels: Labels = field(default_factory=lambda: np.empty(0, np.object_))
    cut: int = 0
    hidden: int = 0

    @property
    def rows(self) -> int:
        """How many rows have a value, kept or not."""
        return int(self.counts.sum()) + self.cut

    @property
    def most(self) -> int:
        """How often the most frequent value occurs."""
        return int(self.counts.max(initial=0))

    def frequent(self, most: int) -> list[tuple[Any, int]]:
        """The most frequent values that are known, with their counts; by their keys where counts are equal."""
        order = np.lexsort((self.keys, -self.counts))
        places = (at for at in order.tolist() if self.labels[at] is not None)
        return [(self.labels[at], int(self.counts[at])) for at, _ in zip(places, range(most), strict=False)]

    def labels_of(self, chosen: npt.NDArray[np.bool_], most: int) -> tuple[Any, ...]:
        """The most frequent of the chosen values, as far as they are known."""
        order = np.lexsort((self.keys[chosen], -self.counts[chosen]))[:most]
        return tuple(label for label in self.labels[chosen][order].tolist() if label is not None)

    def capped(self, cap: int, labelled: int | None = None) -> "ValueCounts":
        """The ``cap`` most frequent values, of which the first ``labelled`` keep their labels."""
        keys, counts, labels, cut, hidden = self.keys, self.counts, self.labels, self.cut, self.hidden
        if len(keys) > cap:
            chosen = _most_frequent(counts, cap)
            dropped = np.delete(counts, chosen)
            cut, hidden = cut + int(dropped.sum()), hidden + int(dropped.max(initial=0))
            keys, counts, labels = keys[chosen], counts[chosen], labels[chosen]
        if labelled is not None and len(keys) > labelled:
            chosen, all_labels = _most_frequent(counts, labelled), labels
            labels = np.full(len(keys), None, np.object_)
            labels[chosen] = all_labels[chosen]
        return ValueCounts(keys=keys, counts=counts, labels=labels, cut=cut, hidden=hidden)


def counted(keys: Keys, counts: Ints, labels: Labels, cap: int) -> ValueCounts:
    """The counts of values that may share a key."""
    distinct, summed, at = added_up(keys, counts)
    return ValueCounts(keys=distinct, counts=summed, labels=labels[at]).capped(cap)


def merged_values(parts: Sequence[ValueCounts], cap: int) -> ValueCounts:
    """The counts of the union of disjoint parts."""
    if len(parts) == 1:
        return parts[0].capped(cap)
    keys, counts, at = added_up(
        np.concatenate([part.keys for part in parts]), np.concatenate([part.counts for part in parts])
    )
    labels = np.concatenate([part.labels for part in parts])[at]
    cut, hidden = sum(part.cut for part in parts), sum(part.hidden for part in parts)
    return ValueCounts(keys=keys, counts=counts, labels=labels, cut=cut, hidden=hidden).capped(cap)


def _most_frequent(counts: Ints, cap: int) -> Ints:
    """Where the most frequent ones are, in order; of equally frequent ones those with the smallest keys."""
    if cap <= 0:
        return np.empty(0, np.int64)
    least = np.partition(counts, len(counts) - cap)[len(counts) - cap]
    above, equal = np.flatnonzero(counts > least), np.flatnonzero(counts == least)
    return np.sort(np.concatenate([above, equal[: cap - len(above)]]))  # keys are in order


# How many different values there are: the smallest keys of all, each with its count, as a fair sample of the values.
#
# A key among the smallest of the union is among the smallest of each part that has it: so parts merge without error,
# in any order. Beyer et al., On Synopses for Distinct-Value Estimation Under Multiset Operations, 2007.

_ALL_KEYS = 2.0**BITS
_MASK = np.uint64(2**BITS - 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class DistinctSample:
    """The smallest keys in order, and how many rows have each; ``is_cut``: there are larger ones."""

    keys: Keys = field(default_factory=lambda: np.empty(0, np.uint64))
    counts: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    is_cut: bool = False

    def capped(self, size: int) -> "DistinctSample":
        """The ``size`` smallest keys."""
        if len(self.keys) <= size:
            return self
        return DistinctSample(keys=self.keys[:size], counts=self.counts[:size], is_cut=True)

    def distinct(self, rows: int) -> float:
        """How many different values ``rows`` rows have: exact where the sample is not cut.

        Else by the density of the keys, with a relative error of 1 / sqrt(size), or by how many rows a sampled value
        has where those are so even that this tells it better: of a column without repeats it is exact.
        """
        if not self.is_cut:
            return float(len(self.keys))
        inside = self.counts[:-1]  # the last key is the threshold, and no part of the sample
        if inside.std() <= inside.mean() * sqrt(len(inside) / max(len(inside) - 1, 1)):
            return float(rows / inside.mean())
        return min(float(rows), len(inside) / ((float(self.keys[-1]) + 1) / _ALL_KEYS))

    def shared_with(self, other: "DistinctSample") -> tuple[int, int]:
        """How many values of this sample the other one has too, and out of how many: those that both would hold."""
        ends = [sample.keys[-1] for sample in (self, other) if sample.is_cut]
        keys = self.keys[: int(np.searchsorted(self.keys, min(ends), side="right"))] if ends else self.keys
        return int(np.isin(keys, other.keys, assume_unique=True).sum()), len(keys)

    def is_as(self, other: "DistinctSample") -> bool:
        """Whether both hold the same values, each as often; the larger sample is only read as far as the smaller."""
        size = min(len(self.keys), len(other.keys))
        ours, others = self.capped(size), other.capped(size)
        is_alike = np.array_equal(ours.keys, others.keys) and np.array_equal(ours.counts, others.counts)
        return is_alike and ours.is_cut is others.is_cut

    @property
    def single_share(self) -> float:
        """The share of the different values that occur once; 0 where there are none."""
        inside = self.counts[:-1] if self.is_cut else self.counts
        return float((inside == 1).mean()) if len(inside) else 0.0


def sampled(keys: Keys, size: int) -> DistinctSample:
    """The sample of the keys of all rows."""
    keys = keys & _MASK
    distinct, counts, _ = added_up(keys, np.ones(len(keys), np.int64))
    return DistinctSample(keys=distinct, counts=counts).capped(size)


def merged_samples(parts: Sequence[DistinctSample], size: int) -> DistinctSample:
    """The sample of the union of disjoint parts."""
    keys, counts, _ = added_up(
        np.concatenate([part.keys for part in parts]), np.concatenate([part.counts for part in parts])
    )
    cut = [part.keys[-1] for part in parts if part.is_cut]
    if cut:  # beyond the smallest threshold nobody knows all keys
        limit = int(np.searchsorted(keys, min(cut), side="right"))
        keys, counts = keys[:limit], counts[:limit]
    return DistinctSample(keys=keys, counts=counts, is_cut=bool(cut)).capped(size)


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
    numbers, weights = (np.concatenate([getattr(part, name) for part in parts]) for name in ("numbers", "weights"))
    return gathered_points(numbers, weights).capped(size)


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
    sums = {name: sum(getattr(part, name) for part in parts) for name in ("finite", "zeros", "negatives", "wholes")}
    return Numbers(
        **sums,
        mean=mean,
        deviation=deviation,
        low=min(part.low for part in parts),
        high=max(part.high for part in parts),
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
