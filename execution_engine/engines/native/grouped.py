"""Kernels by groups: which group each row is in, and what the rows of each group come to, for all groups at once.

What is told of all rows together, and how it is read, is next door.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from .evaluation import RowBatch
from .language import ColumnNode, Node, UnableToTell
from .partials import (
    COMOMENTS,
    COUNT,
    LONG_SUM,
    MAX,
    MIN,
    MOMENTS,
    SUM,
    BatchRows,
    Counted,
    Gathered,
    check_long_sum,
    exact_numbers,
    key_sets,
    selected_values,
    without_nulls,
)
from .values import Doubles, Family, Flags, Numbers, Values, as_string, is_valid_text, places_of, unpacked

# How many numbers lie in each of some bins of one width.


@dataclass(frozen=True, kw_only=True)
class Binned:
    """Numbers to count in so many bins from ``low`` on, over the rows that meet the condition.

    All of them are finite, and ``low`` or more; what lies beyond the last bin is counted in it.
    """

    of: Node
    where: Node | None
    low: float
    width: float
    bins: int


def counts_in(binned: Binned, batch: RowBatch) -> Numbers:
    """How many numbers lie in each bin, and behind these how many rows have none; UnableToTell."""
    values = batch.values(binned.of)
    where = None if binned.where is None else batch.met(binned.where).yes
    numbers = selected_values(values.as_doubles(), without_nulls(values, where)).whole
    places = np.minimum(np.floor((numbers - binned.low) / binned.width), binned.bins - 1).astype(np.int64)
    rows = batch.rows if where is None else int(np.count_nonzero(where))
    return np.append(np.bincount(places, minlength=binned.bins), rows - len(numbers))


# Which group each row is in: groups are told apart by texts of columns, as Spark's CAST to STRING writes them.

GroupKey = tuple[str | None, ...]  # one text for each column; None where it is null
_SPARSE = 4  # of as many codes as there are rows, times this, a table is made


class TooManyGroups(Exception):
    """There are more groups than are wanted."""


@dataclass
class Groups:
    """The groups that rows were in so far, numbered as they came; ``most`` of them at most."""

    most: int
    numbers: dict[GroupKey, int] = field(default_factory=dict)

    def places(self, columns: Sequence[Values]) -> Numbers:
        """The number of each row's group.

        TooManyGroups where there are more than ``most``; UnableToTell where Spark alone knows the text of a value.
        """
        codes, count = _codes(columns[0])
        for column in columns[1:]:
            more_codes, more = _codes(column)
            codes, count = _dense(codes, count)
            codes, count = codes * more + more_codes, count * more
        codes, count = _dense(codes, count)
        rows = np.empty(count, dtype=np.int64)  # one of each that are alike
        rows[codes] = np.arange(len(codes))
        at = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])
        texts: list[list[str | None]] = []  # of each column, on these rows
        for column in columns:
            null = None if column.null is None else column.null[rows]
            row_numbers = None if column.numbers is None else column.numbers[rows]
            array = unpacked(
                as_string(replace(column, array=column.array.take(at), numbers=row_numbers, null=null)).array
            )
            if not is_valid_text(array):
                raise UnableToTell("a text that is no UTF-8 is told by Spark")
            nulls = [False] * len(rows) if null is None else null.tolist()
            texts.append([None if is_null else text for text, is_null in zip(array.to_pylist(), nulls, strict=True)])
        keys = zip(*texts, strict=True)
        numbers = np.array([self.numbers.setdefault(key, len(self.numbers)) for key in keys], dtype=np.int64)
        if len(self.numbers) > self.most:
            raise TooManyGroups
        places: Numbers = numbers[codes]
        return places


def _codes(column: Values) -> tuple[Numbers, int]:
    """For each row a number of its value, and how many there may be; a null is a value."""
    array = column.array
    packed = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    codes, count = places_of(packed), len(packed.dictionary)
    return codes if column.null is None else np.where(column.null, count, codes), count + 1


def _dense(codes: Numbers, count: int) -> tuple[Numbers, int]:
    """The same numbers without those that no row has."""
    if count > _SPARSE * max(len(codes), 256):
        distinct, places = np.unique(codes, return_inverse=True)
        return places, len(distinct)
    used = np.zeros(count, dtype=np.int64)
    used[codes] = 1
    return (np.cumsum(used) - 1)[codes], int(used.sum())


# Statistics of each group: arrays with one entry for each group, which are added to by rows and by other tasks.
#
# The first array of each is how many values there were: where it is 0, the others mean nothing.

Parts = tuple[Numbers, ...]
Value = Any  # of a statistic in one group
_HALF = 32  # bits of a whole number: sums of halves, of as many rows as a batch has, are doubles without loss
_MASK = 2**_HALF - 1
_LONGEST = 10**40  # above any of Spark's decimals


def _sum(places: Numbers, groups: int, values: Values) -> Parts:
    """Of whole numbers in two halves, the low one without a sign."""
    times, numbers = np.bincount(places, minlength=groups), values.whole
    if values.family is Family.DOUBLE:
        return times, np.bincount(places, numbers, groups)
    if values.family is not Family.EXACT:
        raise UnableToTell(f"{values.family} has no sum")
    if numbers.dtype != object:
        halves = (np.bincount(places, half, groups).astype(np.int64) for half in (numbers >> _HALF, numbers & _MASK))
        return times, *halves
    check_long_sum(numbers)
    sums = np.zeros(groups, dtype=object)
    np.add.at(sums, places, numbers)
    return times, sums


def _extreme(sign: int, places: Numbers, groups: int, values: Values) -> Parts:
    """The least (1) or the greatest (-1) of each group. NaN is the greatest double."""
    of_two: np.ufunc = np.minimum if sign > 0 else np.maximum
    if values.family is Family.DOUBLE:
        of_two = np.fmin if sign > 0 else np.maximum
        bounds: Numbers = np.full(groups, np.nan if sign > 0 else -np.inf)
    elif exact_numbers(values).dtype == object:
        bounds = np.full(groups, sign * _LONGEST, dtype=object)
    else:
        limits = np.iinfo(np.int64)
        bounds = np.full(groups, limits.max if sign > 0 else limits.min, dtype=np.int64)
    of_two.at(bounds, places, values.whole)
    return np.bincount(places, minlength=groups), bounds


def _products(places: Numbers, groups: int, *columns: Values) -> Parts:
    """Of one column its mean and squares; of two their means, the squares of each, and the products of both."""
    times = np.bincount(places, minlength=groups)
    means: list[Doubles] = []
    off: list[Doubles] = []  # how far each number is from its mean: what is always the same by nothing
    for column in columns:
        numbers, samples = column.doubles(), np.zeros(groups)
        samples[places] = numbers
        is_same = (np.bincount(places, numbers != samples[places], groups) == 0) & np.isfinite(samples)
        mean = np.where(is_same, samples, np.bincount(places, numbers, groups) / np.maximum(times, 1))
        means.append(mean)
        off.append(numbers - mean[places])
    pairs = ((off[i], off[j]) for i, j in _PAIRS[len(off)])
    return times, *means, *(np.bincount(places, deviation * other, groups) for deviation, other in pairs)


_PAIRS = {1: ((0, 0),), 2: ((0, 0), (1, 1), (0, 1))}  # of columns, whose products are added up


REDUCTIONS: Mapping[str, Callable[..., Parts]] = {
    COUNT: lambda places, groups: (np.bincount(places, minlength=groups),),
    SUM: _sum,
    LONG_SUM: _sum,
    MIN: partial(_extreme, 1),
    MAX: partial(_extreme, -1),
    MOMENTS: _products,
    COMOMENTS: _products,
}


def spread(parts: Parts, places: Numbers, groups: int) -> Parts:
    """The same among so many groups, of which these were at ``places``."""
    wide = tuple(np.zeros(groups, dtype=part.dtype) for part in parts)
    for whole, part in zip(wide, parts, strict=True):
        whole[places] = part
    return wide


def merged(gather: str, parts: Parts, other: Parts) -> Parts:
    """Both together, of the same groups; where one has nothing, the other as it is."""
    if gather in (MOMENTS, COMOMENTS):
        # by Chan, Golub and LeVeque's pairwise update, as ``execution_engine.metrics.states.states`` has it
        # where either mean is infinite, it stays so: their difference would be no number
        count, other_count = parts[0], other[0]
        columns = 1 if len(parts) == 3 else 2
        total = count + other_count
        share, weight = other_count / np.maximum(total, 1), count / np.maximum(total, 1) * other_count
        means, other_means = parts[1 : columns + 1], other[1 : columns + 1]
        deltas = [theirs - ours for ours, theirs in zip(means, other_means, strict=True)]
        merged_means = (
            np.where(np.isfinite(delta), ours + delta * share, ours + theirs)
            for ours, theirs, delta in zip(means, other_means, deltas, strict=True)
        )
        products = zip(parts[columns + 1 :], other[columns + 1 :], _PAIRS[columns], strict=True)
        summed = (ours + theirs + deltas[i] * deltas[j] * weight for ours, theirs, (i, j) in products)
        both = total, *merged_means, *summed
    elif gather in (MIN, MAX):
        of_two = np.maximum if gather == MAX else np.fmin if parts[1].dtype == np.float64 else np.minimum
        both = parts[0] + other[0], of_two(parts[1], other[1])
    else:
        both = tuple(ours + theirs for ours, theirs in zip(parts, other, strict=True))
        if len(both) == 3:  # what the low half has too much goes to the high one
            times, high, low = both
            both = times, high + (low >> _HALF), low & _MASK
    nothing, no_other = parts[0] == 0, other[0] == 0
    if not nothing.any() and not no_other.any():
        return both
    return tuple(
        np.where(nothing, theirs, np.where(no_other, ours, together))
        for ours, theirs, together in zip(parts, other, both, strict=True)
    )


def values(gather: str, parts: Parts, scale: int | None) -> Sequence[Value]:
    """The statistic of each group, as one of all rows is; ``scale``: of a decimal, None of anything else."""
    lists: list[list[Value]] = [part.tolist() for part in parts]
    if gather == COUNT:
        return lists[0]
    if gather in (MOMENTS, COMOMENTS):
        return [row if row[0] else None for row in zip(*lists, strict=True)]
    numbers = lists[1] if len(lists) == 2 else [(high << _HALF) + low for high, low in zip(*lists[1:], strict=True)]
    if scale is not None:
        numbers = [Decimal(f"{number}E{-scale}") for number in numbers]
    return [number if times else None for times, number in zip(lists[0], numbers, strict=True)]


# How often each key comes in each group: what many rows are brought down to before they are sent.

Tally = tuple[Numbers, Numbers, Numbers]  # hashes of keys, the marks of their rows, how often each of both comes
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 by the golden ratio


def tally(hashes: Numbers, marks: Numbers, flags: Flags | None) -> Tally:
    """Of the rows that count; None for all. ``marks``: twice the group's number, and one more where there is no key."""
    if flags is not None:
        hashes, marks = hashes.compress(flags), marks.compress(flags)
    return _once(hashes, marks, np.ones(len(hashes), dtype=np.int64))


def of_tallies(tallies: Sequence[Tally]) -> Tally:
    """All of them as one, each key of a group once."""
    if len(tallies) == 1:
        return tallies[0]
    hashes, marks, times = (np.concatenate(arrays) for arrays in zip(*tallies, strict=True))
    return _once(hashes, marks, times)


def _once(hashes: Numbers, marks: Numbers, times: Numbers) -> Tally:
    """Each key of a group once.

    Sorted by both in one number: as hashes are as good as random, two keys meet there as rarely as two hashes do.
    """
    with np.errstate(over="ignore"):
        mixed = hashes.view(np.uint64) + marks.view(np.uint64) * _GOLDEN
    if not len(mixed):
        return hashes, marks, times
    order = np.argsort(mixed)
    mixed = mixed[order]
    firsts = np.flatnonzero(np.concatenate([[True], mixed[1:] != mixed[:-1]]))
    counts = np.add.reduceat(times[order], firsts)
    order = order[firsts]
    return hashes[order], marks[order], counts


# What one task gathers of each group, batch by batch: statistics, and how often each key comes in it.


@dataclass(frozen=True, kw_only=True)
class Grouped:
    """What to gather of each group of rows that are alike in the columns ``by``.

    More than ``most`` groups are too many; of more than ``sent`` in one task Spark must tell.
    """

    by: tuple[str, ...]
    statistics: tuple[Gathered, ...]
    counted: tuple[Counted, ...]
    most: int
    sent: int


@dataclass(kw_only=True)
class GroupsOfTask:
    """What one task found of the groups, in the order of their ``keys``.

    ``parts`` and ``scales`` (of decimals) are by the places of the statistics, ``tallies`` by those of the groupings.
    ``unable``: why Spark must answer one, statistics first and groupings behind them; ``failed``: why all of them.
    """

    keys: Sequence[GroupKey] = ()
    parts: dict[int, Parts] = field(default_factory=dict)
    scales: dict[int, int] = field(default_factory=dict)
    tallies: dict[int, Tally] = field(default_factory=dict)
    unable: dict[int, str] = field(default_factory=dict)
    failed: str = ""
    too_many: bool = False


class Gathering:
    """What was gathered of the groups so far."""

    def __init__(self, grouped: Grouped) -> None:
        self.grouped, self.sets = grouped, key_sets(grouped.counted)
        self.groups, self.so_far = Groups(most=grouped.most), GroupsOfTask()
        self.tallies: dict[int, list[Tally]] = defaultdict(list)

    def add(self, batch: RowBatch) -> None:
        """Takes the rows of one more batch."""
        if self.so_far.failed or self.so_far.too_many:
            return
        try:
            places = self.groups.places([batch.values(ColumnNode(name=name)) for name in self.grouped.by])
            if len(self.groups.numbers) > self.grouped.sent:
                raise UnableToTell("so many groups of so many tasks are Spark's to merge")
        except UnableToTell as error:
            self.so_far = GroupsOfTask(failed=str(error))
            return
        except TooManyGroups:
            self.so_far = GroupsOfTask(too_many=True)
            return
        rows = BatchRows(batch=batch)
        with np.errstate(all="ignore"):  # sums of what is infinite are NaN, and no warning
            for at, statistic in enumerate(self.grouped.statistics):
                try:
                    count, operands = len(self.groups.numbers), list[Values]()
                    if statistic.gather == COUNT:
                        flags = rows.counting(statistic)
                    else:
                        flags, operands = rows.values_of_rows(statistic)
                    own = places if flags is None else places.compress(flags)
                    parts = REDUCTIONS[statistic.gather](own, count, *operands)
                    if operands and operands[0].is_decimal:
                        self.so_far.scales[at] = operands[0].scale
                    if (before := self.so_far.parts.get(at)) is not None:
                        parts = merged(statistic.gather, spread(before, np.arange(len(before[0])), count), parts)
                    self.so_far.parts[at] = parts
                except UnableToTell as error:
                    self.so_far.unable[at] = str(error)
            clauses = list(self.sets.values())
            for number, hashes, null, clause_flags in rows.hashed_keys(
                self.sets, self.so_far.unable, len(self.grouped.statistics)
            ):
                marks = 2 * places if null is None else 2 * places + null
                for numbers, row_flags in zip(clauses[number].values(), clause_flags, strict=True):
                    tallied = tally(hashes, marks, row_flags)
                    for at in numbers:
                        self.tallies[at].append(tallied)

    def result(self) -> GroupsOfTask:
        """What all batches told."""
        if self.so_far.failed or self.so_far.too_many:
            return self.so_far
        tallies = {at: of_tallies(tallies) for at, tallies in self.tallies.items()}
        return replace(self.so_far, keys=list(self.groups.numbers), tallies=tallies)
