"""Kernels by groups: which group each row is in, and what the rows of each group come to, for all groups at once.

What is told of all rows together, and how it is read, is next door.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from .evaluation import Batch, unpacked
from .hashing import key_hashes
from .nodes import Column, Literal, Node, UnableToTell, When
from .partials import (
    COMOMENTS,
    COUNT,
    LONGEST_SUM,
    MAX,
    MIN,
    MOMENTS,
    SUM,
    Clause,
    Counted,
    Gathered,
    KeySets,
    Rows,
    counting,
    kept_of,
    key_sets,
    keyless,
    there,
)
from .values import Doubles, Family, Flags, Numbers, Values, as_string, is_valid_text, places_of

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


def nothing_in(wanted: Binned) -> Numbers:
    """The counts of no rows."""
    return np.zeros(wanted.bins + 1, dtype=np.int64)


def counts_in(wanted: Binned, batch: Batch) -> Numbers:
    """How many numbers lie in each bin, and behind these how many rows have none.

    Raises UnableToTell where Spark alone knows a value.
    """
    given = batch.values(wanted.of)
    where = None if wanted.where is None else batch.met(wanted.where).yes
    numbers = kept_of(given.as_doubles(), there(given, where)).whole
    places = np.minimum(np.floor((numbers - wanted.low) / wanted.width), wanted.bins - 1).astype(np.int64)
    rows = batch.rows if where is None else int(np.count_nonzero(where))
    return np.append(np.bincount(places, minlength=wanted.bins), rows - len(numbers))


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
        dense, rows = _alike(columns)
        keys = zip(*(_texts(column, rows) for column in columns), strict=True)
        numbers = np.array([self.numbers.setdefault(key, len(self.numbers)) for key in keys], dtype=np.int64)
        if len(self.numbers) > self.most:
            raise TooManyGroups
        found: Numbers = numbers[dense]
        return found


def _alike(columns: Sequence[Values]) -> tuple[Numbers, Numbers]:
    """For each row the number of those that are alike in all columns, and for each such number one of the rows."""
    found, count = _codes(columns[0])
    for column in columns[1:]:
        codes, more = _codes(column)
        found, count = _dense(found, count)
        found, count = found * more + codes, count * more
    found, count = _dense(found, count)
    rows = np.empty(count, dtype=np.int64)
    rows[found] = np.arange(len(found))
    return found, rows


def _codes(column: Values) -> tuple[Numbers, int]:
    """For each row a number of its value, and how many there may be; a null is a value."""
    array = column.array
    packed = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    codes, count = places_of(packed), len(packed.dictionary)
    if column.null is not None:
        codes = np.where(column.null, count, codes)
    return codes, count + 1


def _dense(codes: Numbers, count: int) -> tuple[Numbers, int]:
    """The same numbers without those that no row has."""
    if count > _SPARSE * max(len(codes), 256):
        distinct, found = np.unique(codes, return_inverse=True)
        return found, len(distinct)
    used = np.zeros(count, dtype=np.int64)
    used[codes] = 1
    return (np.cumsum(used) - 1)[codes], int(used.sum())


def _texts(column: Values, rows: Numbers) -> list[str | None]:
    """Of the column on these rows; UnableToTell where they are Spark's to write."""
    at = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])
    null = None if column.null is None else column.null[rows]
    numbers = None if column.numbers is None else column.numbers[rows]
    written = as_string(replace(column, array=column.array.take(at), numbers=numbers, null=null))
    texts = unpacked(written.array)
    if not is_valid_text(texts):
        raise UnableToTell("a text that is no UTF-8 is told by Spark")
    found: list[str | None] = texts.to_pylist()
    return (
        found
        if null is None
        else [None if is_null else text for text, is_null in zip(found, null.tolist(), strict=True)]
    )


# Statistics of each group: arrays with one entry for each group, which are added to by rows and by other tasks.
#
# The first array of each is how many values there were: where it is 0, the others mean nothing.

Parts = tuple[Numbers, ...]
Value = Any  # of a statistic in one group
LONG_SUM = "long_sum"
_HALF = 32  # bits of a whole number: sums of halves, of as many rows as a batch has, are doubles without loss
_MASK = 2**_HALF - 1
_LONGEST = 10**40  # above any of Spark's decimals


def _sum(places: Numbers, groups: int, given: Values) -> Parts:
    """Of whole numbers in two halves, the low one without a sign."""
    times, numbers = np.bincount(places, minlength=groups), given.whole
    if given.family is Family.DOUBLE:
        return times, np.bincount(places, numbers, groups)
    if given.family is not Family.EXACT:
        raise UnableToTell(f"{given.family} has no sum")
    if numbers.dtype != object:
        halves = (np.bincount(places, half, groups).astype(np.int64) for half in (numbers >> _HALF, numbers & _MASK))
        return times, *halves
    if sum(map(abs, numbers.tolist())) > LONGEST_SUM:
        raise UnableToTell("a sum on the way may be too long for Spark")
    sums = np.zeros(groups, dtype=object)
    np.add.at(sums, places, numbers)
    return times, sums


def _least(places: Numbers, groups: int, given: Values) -> Parts:
    """Of doubles NaN where there is nothing else."""
    if given.family is Family.DOUBLE:
        return _extreme(np.fmin, np.full(groups, np.nan), places, given)
    return _extreme(np.minimum, _bounds(given, groups, 1), places, given)


def _greatest(places: Numbers, groups: int, given: Values) -> Parts:
    """Of doubles NaN where there is one."""
    if given.family is Family.DOUBLE:
        return _extreme(np.maximum, np.full(groups, -np.inf), places, given)
    return _extreme(np.maximum, _bounds(given, groups, -1), places, given)


def _extreme(of_two: np.ufunc, found: Numbers, places: Numbers, given: Values) -> Parts:
    of_two.at(found, places, given.whole)
    return np.bincount(places, minlength=len(found)), found


def _bounds(given: Values, groups: int, sign: int) -> Numbers:
    """What all numbers are below (1) or above (-1)."""
    if given.family is not Family.EXACT:
        raise UnableToTell(f"{given.family} has no extreme that is a number")
    if given.whole.dtype == object:
        return np.full(groups, sign * _LONGEST, dtype=object)
    limits = np.iinfo(np.int64)
    return np.full(groups, limits.max if sign > 0 else limits.min, dtype=np.int64)


def _moments(places: Numbers, groups: int, given: Values) -> Parts:
    times = np.bincount(places, minlength=groups)
    mean, off = _centred(places, times, given.doubles())
    return times, mean, np.bincount(places, np.square(off), groups)


def _comoments(places: Numbers, groups: int, first: Values, second: Values) -> Parts:
    times = np.bincount(places, minlength=groups)
    (x, dx), (y, dy) = _centred(places, times, first.doubles()), _centred(places, times, second.doubles())
    return times, x, y, *(np.bincount(places, each, groups) for each in (dx * dx, dy * dy, dx * dy))


def _centred(places: Numbers, times: Numbers, numbers: Doubles) -> tuple[Doubles, Doubles]:
    """The mean of each group, and how far each number is from its own; what is always the same is off by nothing."""
    groups = len(times)
    one = np.zeros(groups)
    one[places] = numbers
    is_same = (np.bincount(places, numbers != one[places], groups) == 0) & np.isfinite(one)
    mean = np.where(is_same, one, np.bincount(places, numbers, groups) / np.maximum(times, 1))
    return mean, numbers - mean[places]


def counted(places: Numbers, groups: int) -> Parts:
    """How many rows are in each group."""
    return (np.bincount(places, minlength=groups),)


REDUCTIONS: Mapping[str, Callable[..., Parts]] = {
    COUNT: counted,
    SUM: _sum,
    LONG_SUM: _sum,
    MIN: _least,
    MAX: _greatest,
    MOMENTS: _moments,
    COMOMENTS: _comoments,
}


def spread(parts: Parts, places: Numbers, groups: int) -> Parts:
    """The same among so many groups, of which these were at ``places``."""
    found = tuple(np.zeros(groups, dtype=part.dtype) for part in parts)
    for whole, part in zip(found, parts, strict=True):
        whole[places] = part
    return found


def merged(gather: str, one: Parts, other: Parts) -> Parts:
    """Both together, of the same groups; where one has nothing, the other as it is."""
    both = _MERGES[gather](one, other)
    nothing, no_other = one[0] == 0, other[0] == 0
    if not nothing.any() and not no_other.any():
        return both
    return tuple(
        np.where(nothing, theirs, np.where(no_other, ours, together))
        for ours, theirs, together in zip(one, other, both, strict=True)
    )


def _added(one: Parts, other: Parts) -> Parts:
    """Where there are two halves, what the low one has too much goes to the high one."""
    found = tuple(ours + theirs for ours, theirs in zip(one, other, strict=True))
    if len(found) < 3:
        return found
    times, high, low = found
    return times, high + (low >> _HALF), low & _MASK


def _merged_least(one: Parts, other: Parts) -> Parts:
    of_two = np.minimum if one[1].dtype != np.float64 else np.fmin
    return one[0] + other[0], of_two(one[1], other[1])


def _merged_greatest(one: Parts, other: Parts) -> Parts:
    return one[0] + other[0], np.maximum(one[1], other[1])


def _merged_moments(one: Parts, other: Parts) -> Parts:
    """By Chan, Golub and LeVeque's pairwise update, as ``execution_engine.metrics.states.states`` has it."""
    (count, mean, squares), (other_count, other_mean, other_squares) = one, other
    total, delta, weight = _weighed(count, other_count, mean, other_mean)
    return (
        total,
        _merged_mean(mean, delta, other_mean, other_count / np.maximum(total, 1)),
        squares + other_squares + delta * delta * weight,
    )


def _merged_comoments(one: Parts, other: Parts) -> Parts:
    (count, x, y, *squares), (other_count, other_x, other_y, *other_squares) = one, other
    total, dx, weight = _weighed(count, other_count, x, other_x)
    dy, share = other_y - y, other_count / np.maximum(total, 1)
    products = zip(squares, other_squares, (dx * dx, dy * dy, dx * dy), strict=True)
    means = _merged_mean(x, dx, other_x, share), _merged_mean(y, dy, other_y, share)
    return total, *means, *(ours + theirs + each * weight for ours, theirs, each in products)


def _weighed(count: Numbers, other: Numbers, mean: Doubles, other_mean: Doubles) -> tuple[Numbers, Doubles, Doubles]:
    total = count + other
    return total, other_mean - mean, count / np.maximum(total, 1) * other


def _merged_mean(mean: Doubles, delta: Doubles, other: Doubles, share: Doubles) -> Doubles:
    """Where either is infinite, it stays so: their difference would be no number."""
    found: Doubles = np.where(np.isfinite(delta), mean + delta * share, mean + other)
    return found


_MERGES: Mapping[str, Callable[[Parts, Parts], Parts]] = {
    COUNT: _added,
    SUM: _added,
    LONG_SUM: _added,
    MIN: _merged_least,
    MAX: _merged_greatest,
    MOMENTS: _merged_moments,
    COMOMENTS: _merged_comoments,
}


def values(gather: str, parts: Parts, scale: int | None) -> Sequence[Value]:
    """The statistic of each group, as one of all rows is; ``scale``: of a decimal, None of anything else."""
    lists: list[list[Value]] = [part.tolist() for part in parts]
    if gather == COUNT:
        return lists[0]
    if gather in (MOMENTS, COMOMENTS):
        return [each if each[0] else None for each in zip(*lists, strict=True)]
    numbers = lists[1] if len(lists) == 2 else [(high << _HALF) + low for high, low in zip(*lists[1:], strict=True)]
    if scale is not None:
        numbers = [Decimal(f"{number}E{-scale}") for number in numbers]
    return [number if times else None for times, number in zip(lists[0], numbers, strict=True)]


# How often each key comes in each group: what many rows are brought down to before they are sent.

Tally = tuple[Numbers, Numbers, Numbers]  # hashes of keys, the marks of their rows, how often each of both comes
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 by the golden ratio


def marks_of(places: Numbers, null: Flags | None) -> Numbers:
    """Twice the number of each row's group, and one more where it has no key."""
    return 2 * places if null is None else 2 * places + null


def tally(hashes: Numbers, marks: Numbers, kept: Flags | None) -> Tally:
    """Of the rows that count; None for all."""
    if kept is not None:
        hashes, marks = hashes.compress(kept), marks.compress(kept)
    return _once(hashes, marks, np.ones(len(hashes), dtype=np.int64))


def of_tallies(tallies: Sequence[Tally]) -> Tally:
    """All of them as one, each key of a group once."""
    if len(tallies) == 1:
        return tallies[0]
    hashes, marks, times = (np.concatenate(some) for some in zip(*tallies, strict=True))
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
    asked: tuple[Gathered, ...]
    counted: tuple[Counted, ...]
    most: int
    sent: int


@dataclass(frozen=True, kw_only=True)
class GroupsOfTask:
    """What one task found of the groups, in the order of their ``keys``.

    ``parts`` and ``scales`` (of decimals) are by the places of the statistics, ``tallies`` by those of the groupings.
    ``unable``: why Spark must answer one, statistics first and groupings behind them; ``failed``: why all of them.
    """

    keys: Sequence[GroupKey] = ()
    parts: Mapping[int, Parts] = field(default_factory=dict)
    scales: Mapping[int, int] = field(default_factory=dict)
    tallies: Mapping[int, Tally] = field(default_factory=dict)
    unable: Mapping[int, str] = field(default_factory=dict)
    failed: str = ""
    too_many: bool = False


@dataclass
class Gathering:
    """What was gathered of the groups so far."""

    grouped: Grouped
    parts: dict[int, Parts] = field(default_factory=dict)
    scales: dict[int, int] = field(default_factory=dict)
    tallies: dict[int, list[Tally]] = field(default_factory=lambda: defaultdict(list))
    unable: dict[int, str] = field(default_factory=dict)
    failed: str = ""
    too_many: bool = False
    groups: Groups = field(init=False)
    sets: KeySets = field(init=False)

    def __post_init__(self) -> None:
        self.groups = Groups(most=self.grouped.most)
        self.sets = key_sets(self.grouped.counted)

    def add(self, batch: Batch) -> None:
        """Takes the rows of one more batch."""
        if self.failed or self.too_many:
            return
        try:
            places = self.groups.places([batch.values(Column(name=name)) for name in self.grouped.by])
            if len(self.groups.numbers) > self.grouped.sent:
                raise UnableToTell("so many groups of so many tasks are Spark's to merge")
        except UnableToTell as error:
            self.failed = str(error)
            return
        except TooManyGroups:
            self.too_many = True
            return
        rows = Rows(batch=batch)
        with np.errstate(all="ignore"):  # sums of what is infinite are NaN, and no warning
            for at, one in enumerate(self.grouped.asked):
                try:
                    self._add_statistic(at, one, rows, places)
                except UnableToTell as error:
                    self.unable[at] = str(error)
            for (columns, partial), clauses in self.sets.items():
                self._add_keys(columns, partial, clauses, rows, places)

    def result(self) -> GroupsOfTask:
        """What all batches told."""
        if self.failed or self.too_many:
            return GroupsOfTask(failed=self.failed, too_many=self.too_many)
        return GroupsOfTask(
            keys=list(self.groups.numbers),
            parts=self.parts,
            scales=self.scales,
            tallies={at: of_tallies(tallies) for at, tallies in self.tallies.items()},
            unable=self.unable,
        )

    def _add_statistic(self, at: int, one: Gathered, rows: Rows, places: Numbers) -> None:
        count = len(self.groups.numbers)
        where = None if one.where is None else rows.met(one.where)
        if one.gather == COUNT:
            parts = counted(_of_rows(places, _with_value(one.of[0], rows, where)), count)
        else:
            given = [rows.batch.values(each) for each in one.of]
            for each in given:
                where = there(each, where)
            parts = REDUCTIONS[one.gather](_of_rows(places, where), count, *(kept_of(each, where) for each in given))
            if given[0].is_decimal:
                self.scales[at] = given[0].scale
        before = self.parts.get(at)
        if before is not None:
            parts = merged(one.gather, spread(before, np.arange(len(before[0])), count), parts)
        self.parts[at] = parts

    def _add_keys(
        self,
        columns: Sequence[str],
        partial: bool,
        clauses: Mapping[Clause, Sequence[int]],
        rows: Rows,
        places: Numbers,
    ) -> None:
        every = [at for numbers in clauses.values() for at in numbers]
        try:
            given: list[Values] = [rows.batch.values(Column(name=name)) for name in columns]
            hashes, marks = key_hashes(given), marks_of(places, keyless(given, partial))
        except UnableToTell as error:
            self._leave(every, error)
            return
        for clause, numbers in clauses.items():
            try:
                found = tally(hashes, marks, counting(clause, rows))
            except UnableToTell as error:
                self._leave(numbers, error)
                continue
            for at in numbers:
                self.tallies[at].append(found)

    def _leave(self, places: Sequence[int], error: UnableToTell) -> None:
        self.unable.update({len(self.grouped.asked) + at: str(error) for at in places})


def _with_value(node: Node, rows: Rows, where: Flags | None) -> Flags | None:
    """The rows that count and in which there is a value; None for all."""
    if isinstance(node, When) and isinstance(node.then, Literal):
        met = rows.met(node.met)
        return met if where is None else met & where
    return where if isinstance(node, Literal) else there(rows.batch.values(node), where)


def _of_rows(places: Numbers, kept: Flags | None) -> Numbers:
    return places if kept is None else places.compress(kept)
