"""How many different values there are: the smallest keys of all, each with its count, as a fair sample of the values.

A key among the smallest of the union is among the smallest of each part that has it: so parts merge without error,
in any order. Beyer et al., On Synopses for Distinct-Value Estimation Under Multiset Operations, 2007.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from .hashing import BITS, Ints, Keys, added_up

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
        known = int(np.searchsorted(keys, min(cut), side="right"))
        keys, counts = keys[:known], counts[:known]
    return DistinctSample(keys=keys, counts=counts, is_cut=bool(cut)).capped(size)
