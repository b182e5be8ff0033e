"""What one task gathers: statistics and keys of its row groups, batch by batch, as values that merge with others'.

A statistic that meets what is Spark's to answer, such as a text that is no UTF-8, is told as such, and no other.
Groupings of the same columns share the hashes of their keys, and differ in which rows count: those of one clause each.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import ceil, floor, isfinite
from typing import Any

import numpy as np

from execution_engine.metrics.states.hll import merged, state_of

from .evaluation import Batch
from .hashing import coupons_of, key_hashes
from .nodes import Column, Literal, Node, UnableToTell, When
from .values import Doubles, Family, Flags, Numbers, Values

Value = Any  # of a statistic: as execution_engine.metrics.states.statistics has them
Clause = tuple[tuple[str, ...], Node | None]  # a row counts where none of these is null, and the condition is met
KeySets = Mapping[tuple[tuple[str, ...], bool], Mapping[Clause, Sequence[int]]]
Part = tuple[Numbers, Numbers, Numbers, Numbers]  # hashes of rows, their marks; hashes of few keys, their times
Keys = tuple[Part, Part]  # of rows with a key, and of those without
COUNT, SUM, MIN, MAX, MOMENTS, COMOMENTS, HLL = "count", "sum", "min", "max", "moments", "comoments", "hll"
PERCENTILE = "percentile"
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
class Partials:
    """What was gathered so far; ``told`` is by the places of what was asked, ``keys`` by those of the sets."""

    asked: Sequence[Gathered]
    counted: Sequence[Counted]
    told: dict[int, list[Value]] = field(default_factory=dict)
    keys: dict[int, list[Keys]] = field(default_factory=dict)
    unable: dict[int, str] = field(default_factory=dict)  # statistics, then groupings behind them: why
    sets: KeySets = field(init=False)

    def __post_init__(self) -> None:
        self.sets = key_sets(self.counted)

    def add(self, batch: Batch) -> None:
        """Takes the rows of one more batch."""
        rows = Rows(batch=batch)
        with np.errstate(all="ignore"):  # sums of what is infinite are NaN, and no warning
            for at, one in enumerate(self.asked):
                try:
                    self.told.setdefault(at, []).append(_gathered(one, rows))
                except UnableToTell as error:
                    self.unable[at] = str(error)
            for number, ((columns, partial), clauses) in enumerate(self.sets.items()):
                every = [self._behind(at) for places in clauses.values() for at in places]
                with self._told_by_spark(every):
                    given = [batch.values(Column(name=name)) for name in columns]
                    hashes, null = key_hashes(given), keyless(given, partial)
                    flags = [self._counting(clause, places, rows) for clause, places in clauses.items()]
                    self.keys.setdefault(number, []).append(_keys(hashes, null, flags))

    def _counting(self, clause: Clause, places: Sequence[int], rows: "Rows") -> Flags | None:
        """The rows that count; None for all, and none where Spark must tell which."""
        found: Flags | None = np.zeros(rows.batch.rows, dtype=np.bool_)
        with self._told_by_spark([self._behind(at) for at in places]):
            found = counting(clause, rows)
        return found

    def _behind(self, at: int) -> int:
        return len(self.asked) + at

    @contextmanager
    def _told_by_spark(self, places: Sequence[int]) -> Iterator[None]:
        """Notes what is unable to be told here."""
        try:
            yield
        except UnableToTell as error:
            self.unable.update(dict.fromkeys(places, str(error)))


@dataclass
class Rows:
    """The rows of a batch, and which of them meet a condition.

    Conditions are known by their identity: to hash a whole tree would cost more than most of what is counted under it.
    """

    batch: Batch
    _met: dict[int, Flags] = field(default_factory=dict)

    def met(self, node: Node) -> Flags:
        """On which rows it is met."""
        if id(node) not in self._met:
            self._met[id(node)] = self.batch.met(node).yes
        return self._met[id(node)]


def _gathered(one: Gathered, rows: Rows) -> Value:
    batch, where = rows.batch, None if one.where is None else rows.met(one.where)
    if one.gather == COUNT:
        return _count(one.of[0], rows, where)
    if one.gather == HLL:
        return state_of(coupons_of(batch.values(one.of[0]), where, batch.coupons))
    kept = [_kept(one, batch, where)] if len(one.of) == 1 else _pair(one, batch, where)
    if not all(len(each.whole) for each in kept):
        return None
    return _OF_VALUES[one.gather](*kept)


def _count(node: Node, rows: Rows, where: Flags | None) -> int:
    """The rows in which there is a value."""
    batch = rows.batch
    if isinstance(node, When) and isinstance(node.then, Literal):
        met = rows.met(node.met)
        return int(np.count_nonzero(met if where is None else met & where))
    null = None if isinstance(node, Literal) else batch.values(node).null
    if null is None:
        return batch.rows if where is None else int(np.count_nonzero(where))
    return batch.rows - int(np.count_nonzero(null)) if where is None else int(np.count_nonzero(where & ~null))


def there(given: Values, where: Flags | None) -> Flags | None:
    """The rows that count and have a value; None for all."""
    if given.null is None:
        return where
    return ~given.null if where is None else where & ~given.null


def _kept(one: Gathered, batch: Batch, where: Flags | None) -> Values:
    """The values that are there, on the rows that count; statistics of the same, one behind another, share them."""
    given, key = batch.values(one.of[0]), (one.of[0], one.where)
    if given.null is None and where is None:
        return given
    if batch.kept is None or batch.kept[0] != key:
        batch.kept = key, kept_of(given, there(given, where))
    return batch.kept[1]


def _pair(one: Gathered, batch: Batch, where: Flags | None) -> list[Values]:
    """Both, on the rows where both are there."""
    first, second = (batch.values(each) for each in one.of)
    kept = np.ones(batch.rows, dtype=np.bool_) if where is None else where
    for null in (first.null, second.null):
        kept = kept if null is None else kept & ~null
    return [kept_of(first, kept), kept_of(second, kept)]


def kept_of(given: Values, kept: Flags | None) -> Values:
    """The numbers on these rows; None for all."""
    return replace(given, array=None, null=None, numbers=given.whole if kept is None else given.whole.compress(kept))


def _sum(given: Values) -> Value:
    if given.family is Family.DOUBLE:
        _check_sum(given.whole, 1)
        return float(given.whole.sum()) + 0.0  # as Spark begins with 0.0
    if given.family is not Family.EXACT:
        raise UnableToTell(f"{given.family} has no sum")
    numbers = given.whole
    if numbers.dtype == object:
        if sum(map(abs, numbers.tolist())) > LONGEST_SUM:
            raise UnableToTell("a sum on the way may be too long for Spark")
        return given.exact(sum(numbers.tolist()))
    # in halves, of which no sum is too long for 64 bits
    return given.exact((int((numbers >> 32).sum()) << 32) + int((numbers & _MASK).sum()))


def _check_sum(numbers: Doubles, power: int) -> None:
    """UnableToTell where the order decides whether the sum of such powers is an infinity; NaN is NaN in any order."""
    largest = max(float(numbers.max()), -float(numbers.min()))
    if isfinite(largest) and largest > (LARGEST_SUM / len(numbers)) ** (1 / power):
        raise UnableToTell("a sum on the way may be too large for a double")


def _least(given: Values) -> Value:
    """0.0 and -0.0 are one number: 0.0, as ``spark.measures.statistics`` has it too."""
    if given.family is Family.DOUBLE:
        return float(np.fmin.reduce(given.whole)) + 0.0
    return given.exact(int(_exact(given).min()))


def _greatest(given: Values) -> Value:
    """Of doubles NaN where there is one."""
    if given.family is Family.DOUBLE:
        return float(given.whole.max()) + 0.0
    return given.exact(int(_exact(given).max()))


def _exact(given: Values) -> Numbers:
    if given.family is not Family.EXACT:
        raise UnableToTell(f"{given.family} has no extreme that is a number")
    return given.whole


def _moments(given: Values) -> tuple[float, ...]:
    mean, off = _centred(given.doubles())
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


def _percentiled(given: Values) -> Numbers:
    """The numbers themselves; of 0.0 and -0.0 Spark knows here which is less, unlike anywhere else."""
    numbers = given.doubles()
    if np.signbit(numbers[numbers == 0]).any():
        raise UnableToTell("a quantile among zeros of both signs is Spark's")
    return numbers


def percentile(some: Sequence[Numbers], share: float) -> float:
    """Of numbers in several arrays, between neighbours as Spark's Percentile weighs them."""
    ordered = np.sort(np.concatenate(some))
    position = (len(ordered) - 1) * share
    low, high = floor(position), ceil(position)
    lower, higher = float(ordered[low]), float(ordered[high])
    return lower if lower == higher else lower + (position - low) * (higher - lower)


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


_OF_VALUES: Mapping[str, Callable[..., Value]] = {
    SUM: _sum,
    "long_sum": _sum,
    MIN: _least,
    MAX: _greatest,
    MOMENTS: _moments,
    COMOMENTS: _comoments,
    PERCENTILE: _percentiled,
}
GATHERS = frozenset({COUNT, HLL, *_OF_VALUES})


def of_batches(one: Gathered, values: Sequence[Value]) -> Sequence[Value]:
    """What a task sends of the values of its batches: all of them, or one where these would be many bytes."""
    if one.gather == HLL:
        return [merged(values).to_bytes()]
    if one.gather == PERCENTILE:
        some = [value for value in values if value is not None]
        return [percentile(some, one.argument or 0.0)] if some else []
    return values


def key_sets(counted: Sequence[Counted]) -> KeySets:
    """By columns, and whether keys are partial, the clauses under which these are counted, each with its places."""
    found: dict[tuple[tuple[str, ...], bool], dict[Clause, list[int]]] = {}
    for at, each in enumerate(counted):
        clauses = found.setdefault((each.columns, each.partial), {})
        clauses.setdefault((each.present, each.where), []).append(at)
    return found


def counting(clause: Clause, rows: Rows) -> Flags | None:
    """The rows that count under the clause; None for all."""
    present, where = clause
    kept = None if where is None else rows.met(where)
    for name in present:
        if (absent := rows.batch.values(Column(name=name)).null) is not None:
            kept = ~absent if kept is None else kept & ~absent
    return kept


def keyless(columns: Sequence[Values], partial: bool) -> Flags | None:
    """Which rows have no key: those with a null in any column, of a partial key those with one in each."""
    some = [column.null for column in columns if column.null is not None]
    if partial:
        return np.logical_and.reduce(some) if len(some) == len(columns) else None
    return np.logical_or.reduce(some) if some else None


def _keys(hashes: Numbers, null: Flags | None, flags: Sequence[Flags | None]) -> Keys:
    """The keys of those rows that count for any clause."""
    marks = _marks(flags, len(hashes))
    kept = flags[0] if len(flags) == 1 else marks.any(axis=0)
    if kept is not None and not kept.all():
        hashes, marks, null = hashes.compress(kept), marks.compress(kept, axis=1), null if null is None else null[kept]
    if null is None:
        return _part(hashes, marks, len(flags)), _part(hashes[:0], marks[:, :0], len(flags))
    whole, without = (_part(hashes.compress(rows), marks.compress(rows, axis=1), len(flags)) for rows in (~null, null))
    return whole, without


def _marks(flags: Sequence[Flags | None], rows: int) -> Numbers:
    """The clauses that each row counts for, as ``metrics.states.frequencies`` has them; no line for one clause."""
    found = np.zeros((-(-len(flags) // 8) if len(flags) > 1 else 0, rows), dtype=np.uint8)
    for at, met in enumerate(flags if len(flags) > 1 else ()):
        bit = np.uint8(1 << at % 8)
        found[at // 8] |= bit if met is None else met.view(np.uint8) * bit
    return found


def _part(hashes: Numbers, marks: Numbers, clauses: int) -> Part:
    """The rows one by one, but for those of keys that a sample says are few: these are tallied."""
    few = np.unique(_sample(hashes)) if len(hashes) > SAMPLE else hashes[:0]
    one_by_one = hashes, marks, few[:0], np.zeros((clauses, 0), dtype=np.int64)
    if not 0 < len(few) <= min(FEW, len(hashes) // clauses):
        return one_by_one
    table = np.zeros(1 << _SLOT_BITS, dtype=np.int64)
    table[_slots(few)] = np.arange(len(few))
    place = table[_slots(hashes)]
    known = few[place] == hashes  # others are not in the sample, or their slot is another's
    if known.all():
        return hashes[:0], marks[:, :0], few, _times(place, marks, len(few))[:clauses]
    if 2 * np.count_nonzero(known) < len(known):
        return one_by_one
    times = _times(place.compress(known), marks.compress(known, axis=1), len(few))[:clauses]
    hashes, marks, others, more = _part(hashes.compress(~known), marks.compress(~known, axis=1), clauses)
    return hashes, marks, np.concatenate([few, others]), np.concatenate([times, more], axis=1)


def _sample(hashes: Numbers) -> Numbers:
    """Of rows at no regular distance, as keys may come in turn."""
    at = np.arange(SAMPLE, dtype=np.uint64) * _GOLDEN & np.uint64(2**32 - 1)
    some: Numbers = hashes[at * np.uint64(len(hashes)) >> np.uint64(32)]
    return some


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
    return np.concatenate([(each @ bits).T for each in counted])
