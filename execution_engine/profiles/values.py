"""Which values occur, and how often: all of them up to a cap, the most frequent ones beyond it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .hashing import Ints, Keys, added_up

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
        known = (at for at in order.tolist() if self.labels[at] is not None)
        return [(self.labels[at], int(self.counts[at])) for at, _ in zip(known, range(most), strict=False)]

    def capped(self, cap: int, labelled: int | None = None) -> "ValueCounts":
        """The ``cap`` most frequent values, of which the first ``labelled`` keep their labels."""
        kept = self
        if len(self.keys) > cap:
            chosen = _most_frequent(self.counts, cap)
            dropped = np.delete(self.counts, chosen)
            kept = ValueCounts(
                keys=self.keys[chosen],
                counts=self.counts[chosen],
                labels=self.labels[chosen],
                cut=self.cut + int(dropped.sum()),
                hidden=self.hidden + int(dropped.max(initial=0)),
            )
        if labelled is None or len(kept.keys) <= labelled:
            return kept
        labels = np.full(len(kept.keys), None, np.object_)
        chosen = _most_frequent(kept.counts, labelled)
        labels[chosen] = kept.labels[chosen]
        return ValueCounts(keys=kept.keys, counts=kept.counts, labels=labels, cut=kept.cut, hidden=kept.hidden)


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
