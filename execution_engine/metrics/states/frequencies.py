"""How often each key occurs: keys as 64-bit hashes, exact but for collisions, mergeable, eight bytes a key.

The probability that any two of n different keys share a hash is about n² / 2^65: 3 in a million for 10 million keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from .summary import Summary

Hashes = npt.NDArray[np.int64]


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
        ordered = np.sort(hashes)
        firsts = starts(ordered)
        if len(firsts) == len(ordered):
            return cls(single=ordered)
        times = np.diff(firsts, append=len(ordered))
        repeats = times > 1
        return cls(
            single=ordered[firsts[~repeats]], repeated=ordered[firsts[repeats]], times=times[repeats].astype(np.int64)
        )

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
