"""The statistics of rows in memory, digit by digit as Spark's aggregate functions give them.

Spark adds up the rows of a small table one after the other in one task, and so do the functions here: in another
order, or in pieces that are added up, the last digits of a double would differ.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, floor
from typing import Any

import numpy as np
import numpy.typing as npt

from execution_engine.engines.files.listing import Listing
from execution_engine.engines.gathering.keyed_rows import frequencies_of
from execution_engine.engines.gathering.selects import AskedStatistic, Keyed
from execution_engine.engines.limits import SMALL_BYTES
from execution_engine.exact import Number
from execution_engine.metrics.definition import Grouping
from execution_engine.metrics.states.frequencies import Frequencies, Hashes
from execution_engine.metrics.states.statistics import Gather, Statistic, Value, over_nothing

from .rows import MOST_ROWS, ArrowRows, read_rows
from .sql_in_memory import columns_in, tree_of, truth, values
from .values import MOST_DIGITS, ArrowKind, Flags, Numbers, UnableToTell, Values, in_order

Doubles = npt.NDArray[np.float64]


def answers(
    listing: Listing, stored: Mapping[str, str], count: int, asked: Sequence[AskedStatistic], keyed: Sequence[Keyed]
) -> tuple[dict[AskedStatistic, Value], dict[Keyed, Frequencies]]:
    """Every statistic, and how often each key occurs, of ``count`` rows with the columns ``stored``.

    UnableToTell where one of them, or so many rows, are Spark's to answer. Where Spark hashes keys, these are numbered.
    """
    if listing.size >= SMALL_BYTES or count > MOST_ROWS:
        raise UnableToTell("it is too large for one task of Spark's")
    clauses = {one.where for one in asked} | {one.where for one in keyed}
    texts = {text for one in asked for text in one.statistic.of} | clauses - {None}
    named = [name for one in keyed for name in (*one.grouping.columns, *one.grouping.present)]
    rows = read_rows(listing, stored, {*columns_in(map(tree_of, texts)), *named})
    met = {where: _met(rows, where) for where in clauses}
    with np.errstate(all="ignore"):  # sums of what is infinite are NaN, and no warning
        gathered = {one: _gathered(rows, one.statistic, met[one.where]) for one in asked}
    return gathered, {one: _counted(rows, one.grouping, met[one.where]) for one in keyed}


def _met(rows: ArrowRows, where: str | None) -> Flags:
    """The rows that count."""
    met = np.ones(1, dtype=np.bool_) if where is None else truth(tree_of(where), rows).yes
    return np.broadcast_to(met, rows.count)


def _gathered(rows: ArrowRows, statistic: Statistic, met: Flags) -> Value:
    of = [values(tree_of(text), rows) for text in statistic.of]
    kept = met & ~np.logical_or.reduce([np.broadcast_to(each.null, rows.count) for each in of])
    if statistic.gather is Gather.COUNT:
        return int(np.count_nonzero(kept))
    if statistic.gather not in _OF_VALUES:
        raise UnableToTell(f"{statistic.gather} is Spark's to gather")
    if not kept.any():
        return over_nothing(statistic)
    there = [_kept(each, kept) for each in of]
    if not rows.in_order and any(_depends_on_order(statistic.gather, each) for each in there):
        raise UnableToTell("nobody knows in which order Spark takes them")
    return _OF_VALUES[statistic.gather](statistic, *there)


def _kept(given: Values, kept: Flags) -> Values:
    numbers = np.broadcast_to(given.numbers, len(kept))[kept]
    return replace(given, numbers=numbers, null=np.zeros(len(numbers), dtype=np.bool_))


def _depends_on_order(gather: Gather, given: Values) -> bool:
    """Of 0.0 and -0.0, which are equal, Spark keeps the first as the extreme."""
    if gather in (Gather.MOMENTS, Gather.COMOMENTS):
        return True
    is_sum = gather is Gather.SUM or not given.numbers.all()
    return given.kind is ArrowKind.DOUBLE and gather is not Gather.PERCENTILE and is_sum


def _total(statistic: Statistic, given: Values) -> Number:
    if given.kind is ArrowKind.DOUBLE:
        return _sum(given.numbers)
    if given.kind is not ArrowKind.EXACT:
        raise UnableToTell(f"{given.kind} has no sum")
    if given.numbers.dtype != object:  # in halves, of which no sum is too long for 64 bits
        total = (int((given.numbers >> 32).sum()) << 32) + int((given.numbers & (2**32 - 1)).sum())
        return given.exact(total)
    if sum(map(abs, given.numbers.tolist())) >= 10**MOST_DIGITS:
        raise UnableToTell("a sum on the way may be too long for Spark")
    return given.exact(sum(given.numbers.tolist()))


def _sum(numbers: Doubles) -> float:
    return float(np.add.accumulate(numbers)[-1]) + 0.0  # as Spark begins with 0.0


def _extreme(place: Callable[[Numbers], Any], statistic: Statistic, given: Values) -> Number:
    if given.kind is ArrowKind.DOUBLE:
        return float(given.numbers[place(in_order(given.numbers))])
    if given.kind is not ArrowKind.EXACT:
        raise UnableToTell(f"{given.kind} has no extreme that is a number")
    return given.exact(int(given.numbers[place(given.numbers)]))


def _moments(statistic: Statistic, given: Values) -> tuple[float, ...]:
    numbers = given.doubles()
    count = len(numbers)
    return count, _sum(numbers) / count, _variance(numbers) * count


def _variance(numbers: Doubles) -> float:
    """Of the population, by the recurrence of Spark's CentralMomentAgg."""
    count, mean, squares = 0.0, 0.0, 0.0
    for number in numbers.tolist():
        count += 1.0
        delta = number - mean
        step = delta / count
        mean += step
        squares += delta * (delta - step)
    return squares / count


def _comoments(statistic: Statistic, first: Values, second: Values) -> tuple[float, ...]:
    x, y = first.doubles(), second.doubles()
    count = len(x)
    squares = (_variance(x) * count, _variance(y) * count, _covariance(x, y) * count)
    return count, _sum(x) / count, _sum(y) / count, *squares


def _covariance(x: Doubles, y: Doubles) -> float:
    """Of the population, by the recurrence of Spark's Covariance."""
    count, x_mean, y_mean, products = 0.0, 0.0, 0.0, 0.0
    for left, right in zip(x.tolist(), y.tolist(), strict=True):
        count += 1.0
        delta = left - x_mean
        x_mean += delta / count
        y_mean += (right - y_mean) / count
        products += delta * (right - y_mean)
    return products / count


def _percentile(statistic: Statistic, given: Values) -> float:
    """Between neighbours as Spark's Percentile weighs them; it tells 0.0 and -0.0 apart where others do not."""
    numbers = given.doubles()
    if np.signbit(numbers[numbers == 0]).any():
        raise UnableToTell("a quantile among zeros of both signs is Spark's")
    ordered = np.sort(numbers)
    assert statistic.argument is not None
    position = (len(ordered) - 1) * statistic.argument
    low, high = floor(position), ceil(position)
    lower, higher = float(ordered[low]), float(ordered[high])
    return lower if lower == higher else lower + (position - low) * (higher - lower)


_OF_VALUES: Mapping[Gather, Callable[..., Value]] = {
    Gather.SUM: _total,
    Gather.LONG_SUM: _total,
    Gather.MIN: partial(_extreme, np.argmin),
    Gather.MAX: partial(_extreme, np.argmax),
    Gather.MOMENTS: _moments,
    Gather.COMOMENTS: _comoments,
    Gather.PERCENTILE: _percentile,
}


def _counted(rows: ArrowRows, grouping: Grouping, met: Flags) -> Frequencies:
    nulls = {name: rows.column(name).null for name in (*grouping.columns, *grouping.present)}
    return frequencies_of(_numbered([rows.column(name) for name in grouping.columns]), grouping, nulls, met)


def _numbered(columns: Sequence[Values]) -> Hashes:
    """One number for each row, alike where the key is, a null being a value like any other."""
    if len(columns) == 1 and columns[0].numbers.dtype != object:
        return np.where(columns[0].null, 0, columns[0].ordered()).astype(np.int64)
    keys = np.zeros(len(columns[0].null), dtype=np.int64)
    for column in columns:
        numbers = np.where(column.null, 0, np.unique(column.ordered(), return_inverse=True)[1] + 1)
        keys = np.unique(keys * (len(keys) + 1) + numbers, return_inverse=True)[1]
    return keys
