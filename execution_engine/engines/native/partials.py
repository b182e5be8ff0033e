"""What one task gathers: statistics and keys of its row groups, batch by batch, as values that merge with others'.

A statistic that meets what is Spark's to answer, such as a text that is no UTF-8, is told as such, and no other.
Groupings of the same columns share the hashes of their keys, and differ in which rows count: those of one clause each.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, floor, isfinite
from typing import Any

import numpy as np

from execution_engine.metrics.states.hll import merged, state_of

from .evaluation import RowBatch
from .hashing import coupons_of, key_hashes
from .language import ColumnNode, Literal, Node, UnableToTell, When
from .values import Doubles, Family, Flags, Numbers, Values

Value = Any  # of a statistic: as execution_engine.metrics.states.statistics has them
Clause = tuple[tuple[str, ...], Node | None]  # a row counts where none of these is null, and the condition is met
KeySets = Mapping[tuple[tuple[str, ...], bool], Mapping[Clause, Sequence[int]]]
Part = tuple[Numbers, Numbers, Numbers, Numbers]  # hashes of rows, their marks; hashes of few keys, their times
Keys = tuple[Part, Part]  # of rows with a key, and of those without
COUNT, SUM, LONG_SUM, MIN, MAX = "count", "sum", "long_sum", "min", "max"
MOMENTS, COMOMENTS, HLL, PERCENTILE = "moments", "comoments", "hll", "percentile"
LONGEST_SUM = 10**32  # of the magnitudes of a batch: a million of these are no longer than Spark's decimals
LARGEST_SUM = 1e300  # of the magnitudes of a batch: a hundred million of these are no infinity, in whatever order
_MASK = np.int64(2**32 - 1)
_GOLDEN = np.uint64(2654435769)  # 2**32 by the golden ratio
_SLOT_BITS = 16
SAMPLE = 1024  # rows
FEW = 512  # keys of a sample, or less, are tallied: each with how often it comes under each clause


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """One statistic: its function, of which expressions, and over the rows that meet which condition."""

    gather: str
    of: tuple[Node, ...]
    where: Node | None = None
    argument: float | None = None


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The keys to count: of these columns, where none of ``present`` is null; see ``metrics.definition.Grouping``."""

    columns: tuple[str, ...]
    present: tuple[str, ...] = ()
    partial: bool = False
    where: Node | None = None


@dataclass
class BatchRows:
    """The rows of a batch, and which of them meet a condition.

    Conditions are known by their identity: to hash a whole tree would cost more than most of what is counted under it.
    """

    batch: RowBatch
    _met: dict[int, Flags] = field(default_factory=dict)

    def met(self, node: Node) -> Flags:
        """On which rows it is met."""
        if id(node) not in self._met:
            self._met[id(node)] = self.batch.met(node).yes
        return self._met[id(node)]

    def counting(self, statistic: Gathered) -> Flags | None:
        """The rows that count and have each of the values; None for all."""
        flags = None if statistic.where is None else self.met(statistic.where)
        for node in statistic.of:
            if isinstance(node, When) and isinstance(node.then, Literal):
                flags = self.met(node.met) if flags is None else flags & self.met(node.met)
            elif not isinstance(node, Literal):
                flags = without_nulls(self.batch.values(node), flags)
        return flags

    def values_of_rows(self, statistic: Gathered) -> tuple[Flags | None, list[Values]]:
        """The same, with the values on them; statistics of the same, one behind another, share these."""
        key, batch = (statistic.of, statistic.where), self.batch
        if batch.last_values is None or batch.last_values[0] != key:
            flags = self.counting(statistic)
            batch.last_values = key, (flags, [selected_values(batch.values(node), flags) for node in statistic.of])
        return batch.last_values[1]

    def of_clause(self, clause: Clause) -> Flags | None:
        """The rows that count under the clause; None for all."""
        present, where = clause
        flags = None if where is None else self.met(where)
        for name in present:
            flags = without_nulls(self.batch.values(ColumnNode(name=name)), flags)
        return flags

    def hashed_keys(
        self, sets: KeySets, unable: dict[int, str], first: int
    ) -> Iterator[tuple[int, Numbers, Flags | None, list[Flags | None]]]:
        """The number of a set, the hashes of its keys, the rows without a key, and those that count under each clause.

        ``unable``: why Spark must tell some, by their places, of which the ``first`` is given: no row of these counts.
        """
        for number, ((columns, is_partial), clauses) in enumerate(sets.items()):
            try:
                values = [self.batch.values(ColumnNode(name=name)) for name in columns]
                hashes, null = key_hashes(values), keyless(values, is_partial)
            except UnableToTell as error:
                unable.update({first + at: str(error) for places in clauses.values() for at in places})
                continue
            flags: list[Flags | None] = []
            for clause, places in clauses.items():
                try:
                    flags.append(self.of_clause(clause))
                except UnableToTell as error:
                    unable.update({first + at: str(error) for at in places})
                    flags.append(np.zeros(self.batch.rows, dtype=np.bool_))
            yield number, hashes, null, flags


def without_nulls(values: Values, flags: Flags | None) -> Flags | None:
    """Of these rows those with a value; None for all."""
    if values.null is None:
        return flags
    return ~values.null if flags is None else flags & ~values.null


def selected_values(values: Values, flags: Flags | None) -> Values:
    """The numbers on these rows; None for all."""
    return replace(
        values, array=None, null=None, numbers=values.whole if flags is None else values.whole.compress(flags)
    )


@dataclass
class Partials:
    """What was gathered so far; ``values_by_place`` by the places of the statistics, ``keys`` by those of the sets."""

    statistics: Sequence[Gathered]
    counted: Sequence[Counted]
    values_by_place: dict[int, list[Value]] = field(default_factory=dict)
    keys: dict[int, list[Keys]] = field(default_factory=dict)
    unable: dict[int, str] = field(default_factory=dict)  # statistics, then groupings behind them: why
    sets: KeySets = field(init=False)

    def __post_init__(self) -> None:
        self.sets = key_sets(self.counted)

    def add(self, batch: RowBatch) -> None:
        """Takes the rows of one more batch."""
        rows = BatchRows(batch=batch)
        with np.errstate(all="ignore"):  # sums of what is infinite are NaN, and no warning
            for at, statistic in enumerate(self.statistics):
                value: Value = None
                try:
                    if statistic.gather == COUNT:
                        flags = rows.counting(statistic)
                        value = batch.rows if flags is None else int(np.count_nonzero(flags))
                    elif statistic.gather == HLL:
                        where = None if statistic.where is None else rows.met(statistic.where)
                        value = state_of(coupons_of(batch.values(statistic.of[0]), where, batch.coupons))
                    else:
                        _, operands = rows.values_of_rows(statistic)
                        if len(operands[0].whole):
                            value = _OF_VALUES[statistic.gather](*operands)
                    self.values_by_place.setdefault(at, []).append(value)
                except UnableToTell as error:
                    self.unable[at] = str(error)
            for number, hashes, null, clause_flags in rows.hashed_keys(self.sets, self.unable, len(self.statistics)):
                self.keys.setdefault(number, []).append(_keys(hashes, null, clause_flags))


def _sum(values: Values) -> Value:
    numbers = values.whole
    if values.family is Family.DOUBLE:
        _check_sum(numbers, 1)
        return float(numbers.sum()) + 0.0  # as Spark begins with 0.0
    if values.family is not Family.EXACT:
        raise UnableToTell(f"{values.family} has no sum")
    if numbers.dtype == object:
        check_long_sum(numbers)
        return values.exact(sum(numbers.tolist()))
    # in halves, of which no sum is too long for 64 bits
    return values.exact((int((numbers >> 32).sum()) << 32) + int((numbers & _MASK).sum()))


def check_long_sum(numbers: Numbers) -> None:
    """UnableToTell where Spark's decimals may not hold a sum on the way."""
    if sum(map(abs, numbers.tolist())) > LONGEST_SUM:
        raise UnableToTell("a sum on the way may be too long for Spark")


def _check_sum(numbers: Doubles, power: int) -> None:
    """UnableToTell where the order decides whether the sum of such powers is an infinity; NaN is NaN in any order."""
    largest = max(float(numbers.max()), -float(numbers.min()))
    if isfinite(largest) and largest > (LARGEST_SUM / len(numbers)) ** (1 / power):
        raise UnableToTell("a sum on the way may be too large for a double")


def _extreme(of_doubles: Callable[..., Any], of_exact: Callable[..., Any], values: Values) -> Value:
    """Of doubles 0.0 and -0.0 are one number: 0.0, as ``spark.measures.gather`` has it too; NaN is the greatest."""
    if values.family is Family.DOUBLE:
        return float(of_doubles(values.whole)) + 0.0
    return values.exact(int(of_exact(exact_numbers(values))))


def exact_numbers(values: Values) -> Numbers:
    """Those that have a least and a greatest; UnableToTell."""
    if values.family is not Family.EXACT:
        raise UnableToTell(f"{values.family} has no extreme that is a number")
    return values.whole


def _moments(values: Values) -> tuple[float, ...]:
    mean, off = _centred(values.doubles())
    return len(off), mean, float(np.square(off, out=off).sum())  # a product of BLAS would busy all cores


def _centred(numbers: Doubles) -> tuple[float, Doubles]:
    """The mean, and how far each number is from it: two passes, which do not cancel as sums of squares do.

    What is always the same is off by nothing, though the mean of three times 0.1 is no 0.1. No mean is -0.0.
    """
    _check_sum(numbers, 2)
    first = float(numbers[0]) + 0.0
    if isfinite(first) and numbers[-1] == first and (numbers == first).all():
        return first, np.zeros(len(numbers))
    mean = float(numbers.mean()) + 0.0
    return mean, numbers - mean


def _comoments(first: Values, second: Values) -> tuple[float, ...]:
    """UnableToTell where the order in which Spark adds pairs up shows in what they come to."""
    (x_mean, dx), (y_mean, dy) = _centred(first.doubles()), _centred(second.doubles())
    if not isfinite(x_mean + y_mean) and (np.isinf(first.doubles()).any() or np.isinf(second.doubles()).any()):
        raise UnableToTell("products of what is infinite are Spark's")
    xy = float((dx * dy).sum()) + 0.0
    x, y = float(np.square(dx).sum()), float(np.square(dy).sum())
    if (x == 0 and dx.any()) or (y == 0 and dy.any()):
        raise UnableToTell("products of what is next to nothing are Spark's")
    return len(dx), x_mean, y_mean, x, y, xy


def _numbers_to_rank(values: Values) -> Numbers:
    """The numbers themselves; of 0.0 and -0.0 Spark knows here which is less, unlike anywhere else."""
    numbers = values.doubles()
    if np.signbit(numbers[numbers == 0]).any():
        raise UnableToTell("a quantile among zeros of both signs is Spark's")
    return numbers


_OF_VALUES: Mapping[str, Callable[..., Value]] = {
    SUM: _sum,
    LONG_SUM: _sum,
    MIN: partial(_extreme, np.fmin.reduce, np.min),
    MAX: partial(_extreme, np.max, np.max),
    MOMENTS: _moments,
    COMOMENTS: _comoments,
    PERCENTILE: _numbers_to_rank,
}
GATHERS = frozenset({COUNT, HLL, *_OF_VALUES})


def of_batches(statistic: Gathered, values: Sequence[Value]) -> Sequence[Value]:
    """What a task sends of the values of its batches: all of them, or one where these would be many bytes."""
    if statistic.gather == HLL:
        return [merged(values).to_bytes()]
    if statistic.gather == PERCENTILE:
        present = [value for value in values if value is not None]
        if not present:
            return []
        ordered = np.sort(np.concatenate(present))  # between neighbours as Spark's Percentile weighs them
        position = (len(ordered) - 1) * (statistic.argument or 0.0)
        low, high = floor(position), ceil(position)
        lower, higher = float(ordered[low]), float(ordered[high])
        return [lower if lower == higher else lower + (position - low) * (higher - lower)]
    return values


# Keys.


def key_sets(counted: Sequence[Counted]) -> KeySets:
    """By columns, and whether keys are partial, the clauses under which these are counted, each with its places."""
    sets: dict[tuple[tuple[str, ...], bool], dict[Clause, list[int]]] = {}
    for at, grouping in enumerate(counted):
        sets.setdefault((grouping.columns, grouping.partial), {}).setdefault(
            (grouping.present, grouping.where), []
        ).append(at)
    return sets


def keyless(columns: Sequence[Values], partial: bool) -> Flags | None:
    """Which rows have no key: those with a null in any column, of a partial key those with one in each."""
    nulls = [column.null for column in columns if column.null is not None]
    if partial:
        return np.logical_and.reduce(nulls) if len(nulls) == len(columns) else None
    return np.logical_or.reduce(nulls) if nulls else None


def _keys(hashes: Numbers, null: Flags | None, flags: Sequence[Flags | None]) -> Keys:
    """The keys of those rows that count for any clause."""
    # the clauses that each row counts for, as ``metrics.states.frequencies`` has them; no line for one clause
    marks = np.zeros((-(-len(flags) // 8) if len(flags) > 1 else 0, len(hashes)), dtype=np.uint8)
    for at, met in enumerate(flags if len(flags) > 1 else ()):
        bit = np.uint8(1 << at % 8)
        marks[at // 8] |= bit if met is None else met.view(np.uint8) * bit
    row_flags = flags[0] if len(flags) == 1 else marks.any(axis=0)
    if row_flags is not None and not row_flags.all():
        hashes, marks, null = (
            hashes.compress(row_flags),
            marks.compress(row_flags, axis=1),
            null if null is None else null[row_flags],
        )
    if null is None:
        return _part(hashes, marks, len(flags)), _part(hashes[:0], marks[:, :0], len(flags))
    whole, without = (_part(hashes.compress(rows), marks.compress(rows, axis=1), len(flags)) for rows in (~null, null))
    return whole, without


def _part(hashes: Numbers, marks: Numbers, clauses: int) -> Part:
    """The rows one by one, but for those of keys that a sample says are few: these are tallied."""
    few = hashes[:0]
    if len(hashes) > SAMPLE:  # of rows at no regular distance, as keys may come in turn
        at = np.arange(SAMPLE, dtype=np.uint64) * _GOLDEN & np.uint64(2**32 - 1)
        few = np.unique(hashes[at * np.uint64(len(hashes)) >> np.uint64(32)])
    untallied_part = hashes, marks, few[:0], np.zeros((clauses, 0), dtype=np.int64)
    if not 0 < len(few) <= min(FEW, len(hashes) // clauses):
        return untallied_part
    table = np.zeros(1 << _SLOT_BITS, dtype=np.int64)
    table[_slots(few)] = np.arange(len(few))
    place = table[_slots(hashes)]
    sample_flags = few[place] == hashes  # others are not in the sample, or their slot is another's
    if sample_flags.all():
        return hashes[:0], marks[:, :0], few, _times(place, marks, len(few))[:clauses]
    if 2 * np.count_nonzero(sample_flags) < len(sample_flags):
        return untallied_part
    times = _times(place.compress(sample_flags), marks.compress(sample_flags, axis=1), len(few))[:clauses]
    hashes, marks, others, more = _part(hashes.compress(~sample_flags), marks.compress(~sample_flags, axis=1), clauses)
    return hashes, marks, np.concatenate([few, others]), np.concatenate([times, more], axis=1)


def _slots(hashes: Numbers) -> Numbers:
    """Where each is looked for: its first bits."""
    slots: Numbers = hashes.view(np.uint64) >> np.uint64(64 - _SLOT_BITS)
    return slots


def _times(place: Numbers, marks: Numbers, keys: int) -> Numbers:
    """How often each key comes under each clause, a line for each: counted by all bits of eight clauses at once."""
    if not len(marks):
        return np.bincount(place, minlength=keys)[np.newaxis]
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little").astype(np.int64)
    counted = (np.bincount(place * 256 + line, minlength=keys * 256).reshape(keys, 256) for line in marks)
    return np.concatenate([(counts @ bits).T for counts in counted])
