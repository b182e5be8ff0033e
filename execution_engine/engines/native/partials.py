"""What one task gathers: statistics and keys of its row groups, batch by batch, as values that merge with others'.

A statistic that meets what is Spark's to answer, such as a text that is no UTF-8, is told as such, and no other.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from execution_engine.metrics.states.hll import state_of

from .coupons import coupons_of
from .evaluation import Batch
from .hashes import key_hashes
from .nodes import Column, Literal, Node, UnableToTell, When
from .values import Family, Flags, Numbers, Values

Value = Any  # of a statistic: as execution_engine.metrics.states.statistics has them
Keys = tuple[Numbers, Numbers]  # hashes of the keys, one for each row: without a null, and with one
COUNT, SUM, MIN, MAX, MOMENTS, COMOMENTS, HLL = "count", "sum", "min", "max", "moments", "comoments", "hll"
_MASK = np.int64(2**32 - 1)


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """One statistic: its function, of which expressions, and over the rows that meet which condition."""

    gather: str
    of: tuple[Node, ...]
    where: Node | None = None


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The keys to count: of these columns, where none of ``present`` is null; see ``metrics.definition.Grouping``."""

    columns: tuple[str, ...]
    present: tuple[str, ...] = ()
    partial: bool = False
    where: Node | None = None


@dataclass
class Partials:
    """What was gathered so far; ``told`` and ``keys`` are by the places of what was asked."""

    asked: Sequence[Gathered]
    counted: Sequence[Counted]
    told: dict[int, list[Value]] = field(default_factory=dict)
    keys: dict[int, list[Keys]] = field(default_factory=dict)
    unable: dict[int, str] = field(default_factory=dict)  # statistics, then groupings behind them: why

    def add(self, batch: Batch) -> None:
        """Takes the rows of one more batch."""
        hashes: dict[tuple[str, ...], Numbers] = {}
        with np.errstate(all="ignore"):  # sums of what is infinite are NaN, and no warning
            for at, one in enumerate(self.asked):
                with self._told_by_spark(at):
                    self.told.setdefault(at, []).append(_gathered(one, batch))
            for at, each in enumerate(self.counted):
                with self._told_by_spark(len(self.asked) + at):
                    self.keys.setdefault(at, []).append(_keys(each, batch, hashes))

    @contextmanager
    def _told_by_spark(self, at: int) -> Iterator[None]:
        """Notes what is unable to be told here."""
        try:
            yield
        except UnableToTell as error:
            self.unable[at] = str(error)


def _gathered(one: Gathered, batch: Batch) -> Value:
    where = None if one.where is None else batch.met(one.where).yes
    if one.gather == COUNT:
        return _count(one.of[0], batch, where)
    if one.gather == HLL:
        return state_of(coupons_of(batch.values(one.of[0]), where, batch.coupons))
    kept = [_kept(one, batch, where)] if len(one.of) == 1 else _pair(one, batch, where)
    if not all(len(each.whole) for each in kept):
        return None
    return _OF_VALUES[one.gather](*kept)


def _count(node: Node, batch: Batch, where: Flags | None) -> int:
    """The rows in which there is a value."""
    if isinstance(node, When) and isinstance(node.then, Literal):
        met = batch.met(node.met).yes
        return int(np.count_nonzero(met if where is None else met & where))
    null = None if isinstance(node, Literal) else batch.values(node).null
    if null is None:
        return batch.rows if where is None else int(np.count_nonzero(where))
    return batch.rows - int(np.count_nonzero(null)) if where is None else int(np.count_nonzero(where & ~null))


def _kept(one: Gathered, batch: Batch, where: Flags | None) -> Values:
    """The values that are there, on the rows that count; statistics of the same, one behind another, share them."""
    given, key = batch.values(one.of[0]), (one.of[0], one.where)
    if given.null is None and where is None:
        return given
    if batch.kept is None or batch.kept[0] != key:
        kept = where if given.null is None else ~given.null if where is None else where & ~given.null
        batch.kept = key, _some(given, kept)
    return batch.kept[1]


def _pair(one: Gathered, batch: Batch, where: Flags | None) -> list[Values]:
    """Both, on the rows where both are there."""
    first, second = (batch.values(each) for each in one.of)
    kept = np.ones(batch.rows, dtype=np.bool_) if where is None else where
    for null in (first.null, second.null):
        kept = kept if null is None else kept & ~null
    return [_some(first, kept), _some(second, kept)]


def _some(given: Values, kept: Flags | None) -> Values:
    return Values(
        family=given.family,
        array=None,
        numbers=given.whole[kept],
        digits=given.digits,
        scale=given.scale,
        is_decimal=given.is_decimal,
    )


def _sum(given: Values) -> Value:
    if given.family is Family.DOUBLE:
        return float(given.whole.sum()) + 0.0  # as Spark begins with 0.0
    if given.family is not Family.EXACT:
        raise UnableToTell(f"{given.family} has no sum")
    numbers = given.whole  # in halves, of which no sum is too long for 64 bits
    return given.exact((int((numbers >> 32).sum()) << 32) + int((numbers & _MASK).sum()))


def _least(given: Values) -> Value:
    if given.family is Family.DOUBLE:
        return float(np.fmin.reduce(given.whole))
    return given.exact(int(_exact(given).min()))


def _greatest(given: Values) -> Value:
    """Of doubles NaN where there is one."""
    if given.family is Family.DOUBLE:
        return float(given.whole.max())
    return given.exact(int(_exact(given).max()))


def _exact(given: Values) -> Numbers:
    if given.family is not Family.EXACT:
        raise UnableToTell(f"{given.family} has no extreme that is a number")
    return given.whole


def _moments(given: Values) -> tuple[float, ...]:
    """In two passes, which do not cancel as sums of squares do."""
    numbers = given.doubles()
    mean = float(numbers.mean())
    off = numbers - mean
    return len(numbers), mean, float(np.square(off, out=off).sum())  # a product of BLAS would busy all cores


def _comoments(first: Values, second: Values) -> tuple[float, ...]:
    x, y = first.doubles(), second.doubles()
    x_mean, y_mean = float(x.mean()), float(y.mean())
    dx, dy = x - x_mean, y - y_mean
    xy = float((dx * dy).sum())
    return len(x), x_mean, y_mean, float(np.square(dx, out=dx).sum()), float(np.square(dy, out=dy).sum()), xy


_OF_VALUES: Mapping[str, Callable[..., Value]] = {
    SUM: _sum,
    "long_sum": _sum,
    MIN: _least,
    MAX: _greatest,
    MOMENTS: _moments,
    COMOMENTS: _comoments,
}
GATHERS = frozenset({COUNT, HLL, *_OF_VALUES})


def _keys(one: Counted, batch: Batch, hashes: dict[tuple[str, ...], Numbers]) -> Keys:
    """The hashes of one grouping's keys, of those rows that have one and count."""
    columns = {name: batch.values(Column(name=name)) for name in (*one.columns, *one.present)}
    if one.columns not in hashes:
        hashes[one.columns] = key_hashes([columns[name] for name in one.columns])
    found, null = hashes[one.columns], _keyless(one, columns)
    kept = None if one.where is None else batch.met(one.where).yes
    for name in one.present:
        if (absent := columns[name].null) is not None:
            kept = ~absent if kept is None else kept & ~absent
    if kept is not None:
        found, null = found[kept], None if null is None else null[kept]
    if null is None:
        return found, found[:0]
    return found[~null], found[null]


def _keyless(one: Counted, columns: Mapping[str, Values]) -> Flags | None:
    """Which rows have no key: those with a null in any column, of a partial key those with one in each."""
    nulls = [columns[name].null for name in one.columns]
    if one.partial:
        full = any(null is None for null in nulls)
        return None if full else np.logical_and.reduce([null for null in nulls if null is not None])
    some = [null for null in nulls if null is not None]
    return np.logical_or.reduce(some) if some else None
