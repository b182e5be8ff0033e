"""How often each key occurs: keys as 64-bit hashes, exact but for collisions, mergeable, eight bytes a key.

The probability that any two of n different keys share a hash is about n² / 2^65: 3 in a million for 10 million keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .statistics import Summary

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
    is_distinct = len(starts(ordered)) == len(ordered)  # then no key comes twice under a clause either
    results: list[Counts] = []
    for first, line in zip(range(0, clauses, 8), marks, strict=True):
        bits = line[order]
        for at in range(min(8, clauses - first)):
            rows = ordered.compress((bits >> np.uint8(at) & np.uint8(1)).view(np.bool_))
            results.append(Counts(single=rows) if is_distinct else Counts.of_ordered(rows))
    return results


def counts_of_tallies(keys: Hashes, times: npt.NDArray[np.int64]) -> list[Counts]:
    """For each clause the counts of keys that were tallied in several parts: ``times`` has a line for each clause."""
    if not len(keys):
        return [Counts() for _ in times]
    order = np.argsort(keys)
    ordered = keys[order]
    firsts = starts(ordered)
    sums = np.add.reduceat(times[:, order], firsts, axis=1)
    return [Counts.of_times(ordered[firsts], times_of_clause) for times_of_clause in sums]


def _by_first_bits(hashes: Hashes) -> npt.NDArray[np.int64]:
    """Their order by 16 bits, which numpy counts rather than compares.

    Hashes are as good as random, so that what is left of the sort is between neighbours: half the cost of all of it.
    """
    return np.argsort((hashes >> 48).astype(np.int16), kind="stable")


def arrays(frequencies: Frequencies) -> list[Any]:
    """Its six arrays, in a fixed order."""
    return [
        array
        for counts in (frequencies.whole, frequencies.with_nulls)
        for array in (counts.single, counts.repeated, counts.times)
    ]


def from_arrays(parts: Sequence[Any]) -> Frequencies:
    """The frequencies that ``arrays`` took apart."""
    single, repeated, times, single_nulls, repeated_nulls, times_nulls = parts
    with_nulls = Counts(single=single_nulls, repeated=repeated_nulls, times=times_nulls)
    return Frequencies(whole=Counts(single=single, repeated=repeated, times=times), with_nulls=with_nulls)


def starts(ordered: Hashes) -> npt.NDArray[np.int64]:
    """Where each distinct value of a sorted array begins."""
    if not len(ordered):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))


# The frequencies over a union of disjoint parts, or only what metrics need of them: a small part is looked up in a
# large one, so that a day added to years is work for the day's keys.

MUCH_SMALLER = 8  # so many times fewer keys are looked up one by one, rather than sorted among the others

Mask = npt.NDArray[np.bool_]


def merged(parts: Sequence[Frequencies]) -> Frequencies:
    """The frequencies over the union."""
    return Frequencies(
        whole=_merged([part.whole for part in parts]), with_nulls=_merged([part.with_nulls for part in parts])
    )


def summary_of_union(parts: Sequence[Frequencies]) -> Summary:
    """The summary of ``merged(parts)``; of a part much larger than the rest no key is copied."""
    ordered = sorted(parts, key=_keys, reverse=True)
    if not ordered or not is_small_beside(ordered[1:], ordered[0]):
        return merged(ordered).summary
    large, small = ordered[0], merged(ordered[1:])
    whole, with_nulls = _met(large.whole, small.whole), _met(large.with_nulls, small.with_nulls)
    before = large.summary
    return Summary(
        rows=before.rows + small.whole.rows,
        distinct=before.distinct + int(whole.is_new.sum()),
        single=before.single - int(whole.was_single.sum()) + int((whole.is_new & (whole.times == 1)).sum()),
        most=max(before.most, int(whole.times_after.max(initial=0))),
        weighted_logs=before.weighted_logs + _weighted_logs(whole.times_after) - _weighted_logs(whole.times_before),
        distinct_with_nulls=before.distinct_with_nulls + int(with_nulls.is_new.sum()),
        rows_with_nulls=before.rows_with_nulls + small.with_nulls.rows,
    )


def is_small_beside(rest: Sequence[Frequencies], large: Frequencies) -> bool:
    """Whether the union is known by looking the keys of the rest up in the large part."""
    return sum(map(_keys, rest)) * MUCH_SMALLER < _keys(large)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Met:
    """The sorted keys of a small part, how often each is in it, and where it is or would be in the large one."""

    keys: Hashes
    times: Hashes
    at_single: Hashes
    was_single: Mask
    at_repeated: Hashes
    was_repeated: Mask
    times_before: Hashes  # in the large part

    @property
    def is_new(self) -> Mask:
        return ~(self.was_single | self.was_repeated)

    @property
    def times_after(self) -> Hashes:
        return self.times_before + self.times


def _met(large: Counts, small: Counts) -> _Met:
    keys = np.concatenate([small.single, small.repeated])
    times = np.concatenate([np.ones(len(small.single), np.int64), small.times])
    order = np.argsort(keys, kind="stable")
    keys, times = keys[order], times[order]
    at_single, was_single = _find(large.single, keys)
    at_repeated, was_repeated = _find(large.repeated, keys)
    before = was_single.astype(np.int64)
    before[was_repeated] = large.times[at_repeated[was_repeated]]
    return _Met(
        keys=keys,
        times=times,
        at_single=at_single,
        was_single=was_single,
        at_repeated=at_repeated,
        was_repeated=was_repeated,
        times_before=before,
    )


def _merged(parts: Sequence[Counts]) -> Counts:
    """One part after another into the largest where they are small, else all sorted."""
    ordered = sorted(parts, key=lambda part: part.distinct, reverse=True)
    if not ordered:
        return Counts()
    if len(ordered) > 2 and sum(part.distinct for part in ordered[1:]) > ordered[0].distinct:
        return _merged_by_sorting(ordered)
    result = ordered[0]
    for part in ordered[1:]:
        if not part.distinct:
            continue
        if part.distinct * MUCH_SMALLER >= result.distinct:
            result = _merged_by_sorting([result, part])
            continue
        # the part is looked up in the result: work for each of its keys, and one copy of the large arrays
        met, single, times = _met(result, part), result.single, result.times.copy()
        times[met.at_repeated[met.was_repeated]] += met.times[met.was_repeated]
        if met.was_single.any():
            single = np.delete(single, met.at_single[met.was_single])
        new = met.keys[met.is_new & (met.times == 1)]
        repeats = met.was_single | (met.is_new & (met.times > 1))
        at = np.searchsorted(result.repeated, met.keys[repeats])
        result = Counts(
            single=np.insert(single, np.searchsorted(single, new), new) if len(new) else single,
            repeated=np.insert(result.repeated, at, met.keys[repeats]),
            times=np.insert(times, at, met.times_after[repeats]),
        )
    return result


def _merged_by_sorting(parts: Sequence[Counts]) -> Counts:
    keys = np.concatenate([array for part in parts for array in (part.single, part.repeated)])
    if not any(len(part.repeated) for part in parts):
        return Counts.of_ordered(np.sort(keys, kind="stable"))  # which merges runs that are sorted already
    times = np.concatenate([array for part in parts for array in (np.ones(len(part.single), np.int64), part.times)])
    order = np.argsort(keys, kind="stable")
    keys, times = keys[order], times[order]
    firsts = starts(keys)
    return Counts.of_times(keys[firsts], np.add.reduceat(times, firsts))


def _find(ordered: Hashes, keys: Hashes) -> tuple[Hashes, Mask]:
    at = np.searchsorted(ordered, keys)
    if not len(ordered):
        return at, np.zeros(len(keys), np.bool_)
    return at, ordered[np.minimum(at, len(ordered) - 1)] == keys


def _keys(part: Frequencies) -> int:
    return part.whole.distinct + part.with_nulls.distinct


def _weighted_logs(times: Hashes) -> float:
    """Σ t ln t, of those that are not 0."""
    repeats = times[times > 1]
    return float(repeats @ np.log(repeats))
