"""The bins that two columns are compared over: of numbers by the reference's deciles, of other values one for each."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from execution_engine.profiles.hashing import Ints, Keys
from execution_engine.profiles.numbers import Numbers
from execution_engine.profiles.values import ValueCounts

DECILES = np.arange(1, 10) / 10
HEAVY = 0.05  # of the reference's rows: a decile that so many rows have is a bin of its own
FEWEST = 5  # rows that chance would give the smaller side of a value with a bin of its own (Cochran, 1954)
MOST = 1000  # values with a bin of their own


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Numbers above ``low`` and up to ``high`` (both included where they are equal), a value, or all other values."""

    low: float | None = None  # None: no bound
    high: float | None = None
    value: Any = None
    is_rest: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Binned:
    """How many rows of both sides are in each bin; no bin is empty on both."""

    found: Ints
    before: Ints
    bins: Sequence[Bin]


def bins_of_numbers(found: Numbers, before: Numbers) -> Binned:
    """Over the deciles of ``before``. Both sides must have a finite number."""
    edges = np.unique(before.points.quantiles(DECILES))
    below, upto = (before.points.share_up_to(edges, included=included) for included in (False, True))
    bounds: list[tuple[float, bool]] = []  # each with whether the rows that have it are on its left
    for edge, heavy in zip(edges.tolist(), (upto - below >= HEAVY).tolist(), strict=True):
        bounds += [(edge, False), (edge, True)] if heavy else [(edge, True)]
    numbers, left = (np.array(each) for each in zip(*bounds, strict=True))
    counts = [np.diff(_ends(side, numbers, left), prepend=0, append=side.finite) for side in (found, before)]
    sides = [None, *numbers.tolist(), None]
    bins = [Bin(low=low, high=high) for low, high in pairwise(sides)]
    return _occupied(counts[0], counts[1], bins)


def bins_of_values(found: ValueCounts, before: ValueCounts) -> Binned:
    """A bin for each value that is frequent enough, and one of all others.

    A value that only one side kept has a bin where the other side cannot have as many rows of it.
    """
    keys = np.union1d(found.keys, before.keys)
    ours, theirs = _counts(found, keys), _counts(before, keys)
    n, m = found.rows, before.rows
    known = (ours > 0) & (theirs > 0)
    known |= (theirs == 0) & (ours / n > before.hidden / m)
    known |= (ours == 0) & (theirs / m > found.hidden / n)
    frequent = known & ((ours + theirs) * (min(n, m) / (n + m)) >= FEWEST)
    at = np.flatnonzero(frequent)
    at = at[np.lexsort((keys[at], -(ours + theirs)[at]))][:MOST]
    bins = [*(Bin(value=_label(key, found, before)) for key in keys[at]), Bin(is_rest=True)]
    counts = [np.append(side[at], rows - side[at].sum()) for side, rows in ((ours, n), (theirs, m))]
    return _occupied(counts[0], counts[1], bins)


def _ends(side: Numbers, numbers: np.ndarray[Any, Any], left: np.ndarray[Any, Any]) -> Ints:
    """How many rows are left of each bound."""
    below, upto = (side.points.share_up_to(numbers, included=included) for included in (False, True))
    ends: Ints = np.rint(np.where(left, upto, below) * side.finite).astype(np.int64)
    return ends


def _occupied(found: Ints, before: Ints, bins: Sequence[Bin]) -> Binned:
    there = (found > 0) | (before > 0)
    return Binned(
        found=found[there],
        before=before[there],
        bins=[each for each, has_rows in zip(bins, there.tolist(), strict=True) if has_rows],
    )


def _counts(values: ValueCounts, keys: Keys) -> Ints:
    counts = np.zeros(len(keys), np.int64)
    counts[np.searchsorted(keys, values.keys)] = values.counts
    return counts


def _label(key: np.uint64, *sides: ValueCounts) -> Any:
    """The value, where a side still knows it."""
    for side in sides:
        label = side.labels[side.keys == key]
        if len(label) and label[0] is not None:
            return label[0]
    return None
