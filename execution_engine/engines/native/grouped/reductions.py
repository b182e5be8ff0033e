"""Statistics of each group: arrays with one entry for each group, which are added to by rows and by other tasks.

The first array of each is how many values there were: where it is 0, the others mean nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.native.partials import (
    COMOMENTS,
    COUNT,
    LONGEST_SUM,
    MAX,
    MIN,
    MOMENTS,
    SUM,
)
from execution_engine.engines.native.values import Doubles, Family, Numbers, Values

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
    """By Chan, Golub and LeVeque's pairwise update, as ``execution_engine.metrics.states.merging`` has it."""
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
