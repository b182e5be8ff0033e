"""How often each key occurs: keys as 64-bit hashes, exact but for collisions, mergeable, eight bytes a key.

The probability that any two of n different keys share a hash is about n² / 2^65: 3 in a million for 10 million keys.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from .summary import Summary

Hashes = npt.NDArray[np.int64]
Marks = npt.NDArray[np.uint8]  # for each row the clauses it counts for: of clause c the bit c % 8 in line c // 8


def _nothing() -> Hashes:
    return np.empty(0, np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Counts:
    """Sorted hashes of the keys seen once, and of those seen more often with how often."""

    single: Hashes = field(default_factory=_nothing)
    repeated: Hashes = field(default_factory=_nothing)
    times: npt.NDArray[np.int64] = field(default_factory=_nothing)

    @classmethod
    def of(cls, hashes: Hashes) -> "Counts":
        """The counts of unsorted hashes, one for each row."""
        return cls.of_ordered(np.sort(hashes[_by_first_bits(hashes)], kind="stable"))

    @classmethod
    def of_ordered(cls, ordered: Hashes) -> "Counts":
        """The counts of sorted hashes, one for each row."""
        firsts = starts(ordered)
        if len(firsts) == len(ordered):
            return cls(single=ordered)
        return cls.of_times(ordered[firsts], np.diff(firsts, append=len(ordered)))

    @classmethod
    def of_times(cls, ordered: Hashes, times: npt.NDArray[np.int64]) -> "Counts":
        """The counts of sorted hashes, each once, with how often each was seen; 0: not at all."""
        once, repeats = times == 1, times > 1  # compress is several times as quick as an index of truths
        return cls(single=ordered.compress(once), repeated=ordered.compress(repeats), times=times.compress(repeats))

    @property
    def distinct(self) -> int:
        """|V|."""
        return len(self.single) + len(self.repeated)

    @property
    def rows(self) -> int:
        """N."""
        return len(self.single) + int(self.times.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Frequencies:
    """The counts of whole keys, and of those with a null in any column."""

    whole: Counts = field(default_factory=Counts)
    with_nulls: Counts = field(default_factory=Counts)

    @property
    def summary(self) -> Summary:
        """What metrics need of it; the last digits of the sum of logarithms hang on no order of the hashes."""
        times = np.sort(self.whole.times)
        return Summary(
            rows=self.whole.rows,
            distinct=self.whole.distinct,
            single=len(self.whole.single),
            most=int(times[-1]) if len(times) else min(1, len(self.whole.single)),
            weighted_logs=float(times @ np.log(times)) if len(times) else 0.0,
            distinct_with_nulls=self.with_nulls.distinct,
            rows_with_nulls=self.with_nulls.rows,
        )


def counts_of_clauses(hashes: Hashes, marks: Marks, clauses: int) -> list[Counts]:
    """For each clause the counts of unsorted hashes, one for each row that it counts; sorted once for all of them.

    ``marks`` has a bit for each clause, or no line where there is one clause that counts every row.
    """
    if not len(marks):
        return [Counts.of(hashes)]
    order = _by_first_bits(hashes)
    order = order[np.argsort(hashes[order], kind="stable")]
    ordered = hashes[order]
    found = (ordered.compress(flags) for flags in _flags(marks, order, clauses))
    if len(starts(ordered)) == len(ordered):  # no key comes twice, so none does under a clause
        return [Counts(single=some) for some in found]
    return [Counts.of_ordered(some) for some in found]


def counts_of_tallies(keys: Hashes, times: npt.NDArray[np.int64]) -> list[Counts]:
    """For each clause the counts of keys that were tallied in several parts: ``times`` has a line for each clause."""
    if not len(keys):
        return [Counts() for _ in times]
    order = np.argsort(keys)
    ordered = keys[order]
    firsts = starts(ordered)
    distinct, summed = ordered[firsts], np.add.reduceat(times[:, order], firsts, axis=1)
    return [Counts.of_times(distinct, each) for each in summed]


def _flags(marks: Marks, order: npt.NDArray[np.int64], clauses: int) -> Iterator[npt.NDArray[np.bool_]]:
    """Of each clause which rows count, in this order."""
    for first, line in zip(range(0, clauses, 8), marks, strict=True):
        ordered = line[order]
        for at in range(min(8, clauses - first)):
            yield (ordered >> np.uint8(at) & np.uint8(1)).view(np.bool_)


def _by_first_bits(hashes: Hashes) -> npt.NDArray[np.int64]:
    """Their order by 16 bits, which numpy counts rather than compares.

    Hashes are as good as random, so that what is left of the sort is between neighbours: half the cost of all of it.
    """
    return np.argsort((hashes >> 48).astype(np.int16), kind="stable")


def arrays(frequencies: Frequencies) -> list[Any]:
    """Its six arrays, in a fixed order."""
    return [
        getattr(counts, each.name) for counts in (frequencies.whole, frequencies.with_nulls) for each in fields(Counts)
    ]


def from_arrays(parts: Sequence[Any]) -> Frequencies:
    """The frequencies that ``arrays`` took apart."""
    whole, with_nulls = (Counts(single=p[0], repeated=p[1], times=p[2]) for p in (parts[:3], parts[3:]))
    return Frequencies(whole=whole, with_nulls=with_nulls)


def starts(ordered: Hashes) -> npt.NDArray[np.int64]:
    """Where each distinct value of a sorted array begins."""
    if not len(ordered):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
