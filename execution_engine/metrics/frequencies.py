"""How often each key occurs: keys as 64-bit hashes, exact but for collisions, mergeable, eight bytes a key.

The probability that any two of n different keys share a hash is about n² / 2^65: 3 in a million for 10 million keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What metrics need to know of keys that have no null: N rows, |V| keys, c(v) rows of key v."""

    rows: int = 0  # N
    distinct: int = 0  # |V|
    single: int = 0  # |{v : c(v) = 1}|
    most: int = 0  # max c(v)
    weighted_logs: float = 0.0  # Σ c(v) ln c(v)
    distinct_with_nulls: int = 0  # keys in which a column is null, a null being a value like any other

    @property
    def entropy(self) -> float | None:
        """-Σ c(v)/N ln(c(v)/N), in nats; None without rows."""
        return log(self.rows) - self.weighted_logs / self.rows if self.rows else None


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
        starts = _starts(ordered)
        if len(starts) == len(ordered):
            return cls(single=ordered)
        times = np.diff(starts, append=len(ordered))
        repeats = times > 1
        return cls(
            single=ordered[starts[~repeats]], repeated=ordered[starts[repeats]], times=times[repeats].astype(np.int64)
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
        """What metrics need of it."""
        times = self.whole.times
        return Summary(
            rows=self.whole.rows,
            distinct=self.whole.distinct,
            single=len(self.whole.single),
            most=int(times.max()) if len(times) else min(1, len(self.whole.single)),
            weighted_logs=float(times @ np.log(times)) if len(times) else 0.0,
            distinct_with_nulls=self.with_nulls.distinct,
        )


def merged(parts: Sequence[Frequencies]) -> Frequencies:
    """The frequencies over the union of disjoint parts."""
    return Frequencies(
        whole=_merged([part.whole for part in parts]), with_nulls=_merged([part.with_nulls for part in parts])
    )


def _merged(parts: Sequence[Counts]) -> Counts:
    """One part after another into the largest, each by probing, as most keys of a small part are new or known."""
    ordered = sorted(parts, key=lambda part: part.distinct, reverse=True)
    if not ordered:
        return Counts()
    sizes = [part.distinct for part in ordered[1:]]
    if len(ordered) > 2 and sum(sizes) > ordered[0].distinct:
        return _merged_by_sorting(ordered)
    result = ordered[0]
    for part in ordered[1:]:
        if part.distinct:
            result = _added(result, part) if part.distinct * 8 < result.distinct else _merged_by_sorting([result, part])
    return result


def _merged_by_sorting(parts: Sequence[Counts]) -> Counts:
    keys = np.concatenate([array for part in parts for array in (part.single, part.repeated)])
    if not any(len(part.repeated) for part in parts):
        return Counts.of(keys)
    times = np.concatenate([array for part in parts for array in (np.ones(len(part.single), np.int64), part.times)])
    order = np.argsort(keys, kind="stable")
    keys, times = keys[order], times[order]
    starts = _starts(keys)
    keys, times = keys[starts], np.add.reduceat(times, starts) if len(starts) else times
    repeats = times > 1
    return Counts(single=keys[~repeats], repeated=keys[repeats], times=times[repeats])


def _added(large: Counts, small: Counts) -> Counts:
    """``small`` probed into ``large``: work for each of its keys, and one copy of the large arrays."""
    keys = np.concatenate([small.single, small.repeated])
    times = np.concatenate([np.ones(len(small.single), np.int64), small.times])
    order = np.argsort(keys, kind="stable")
    keys, times = keys[order], times[order]
    at_single, was_single = _find(large.single, keys)
    at_repeated, was_repeated = _find(large.repeated, keys)
    again = large.times.copy()
    again[at_repeated[was_repeated]] += times[was_repeated]
    new = ~(was_single | was_repeated)
    single = np.delete(large.single, at_single[was_single]) if was_single.any() else large.single
    fresh = new & (times == 1)
    repeats = was_single | (new & (times > 1))
    repeated_times = times + was_single
    at = np.searchsorted(large.repeated, keys[repeats])
    return Counts(
        single=_inserted(single, keys[fresh]),
        repeated=np.insert(large.repeated, at, keys[repeats]),
        times=np.insert(again, at, repeated_times[repeats]),
    )


def _inserted(ordered: Hashes, keys: Hashes) -> Hashes:
    """Both in one sorted array."""
    return np.insert(ordered, np.searchsorted(ordered, keys), keys) if len(keys) else ordered


def _find(ordered: Hashes, keys: Hashes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Where each of the keys is or would be, and whether it is there."""
    at = np.searchsorted(ordered, keys)
    if not len(ordered):
        return at, np.zeros(len(keys), np.bool_)
    return at, ordered[np.minimum(at, len(ordered) - 1)] == keys


def _starts(ordered: Hashes) -> npt.NDArray[np.int64]:
    """Where each distinct value of a sorted array begins."""
    if not len(ordered):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))


def arrays(frequencies: Frequencies) -> list[Any]:
    """Its six arrays, in a fixed order."""
    return [
        getattr(counts, each.name) for counts in (frequencies.whole, frequencies.with_nulls) for each in fields(Counts)
    ]


def from_arrays(parts: Sequence[Any]) -> Frequencies:
    """The frequencies that ``arrays`` took apart."""
    whole, with_nulls = (Counts(single=p[0], repeated=p[1], times=p[2]) for p in (parts[:3], parts[3:]))
    return Frequencies(whole=whole, with_nulls=with_nulls)
