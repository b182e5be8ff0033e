"""When a new value of a metric is an anomaly among its earlier ones: the strategies of Deequ, as intervals.

Each gives the interval in which the next value is expected, from the earlier values, the oldest first. All bounds are
included. Sources: Schelter et al. 2018, section 3.4, and the strategies of the same names in Deequ. One that could
never find an anomaly, or would call every value one, is refused by a ValueError when it is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import comb, inf, isfinite, isnan, sqrt
from numbers import Real
from typing import Any, Protocol

import numpy as np

Interval = tuple[float, float]


class Strategy(Protocol):
    """One way to tell in which interval the next value of a metric is expected."""

    @property
    def needed(self) -> int:
        """How many earlier values it needs at least. With fewer the status is ``learning``."""
        ...

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The interval in which the next value is no anomaly, from its lower to its upper end, both included.

        Parameters:
            earlier: the earlier values, the oldest first; ``needed`` or more.

        Errors: none where there are ``needed`` values.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class SimpleThreshold:
    """The next value lies from ``lower`` to ``upper``, whatever was before.

    Parameters:
        lower: the least value that is no anomaly.
        upper: the greatest value that is no anomaly.

    Errors:
        ValueError: neither is given, one is no number, or ``lower`` is above ``upper``.

    Example:
        >>> SimpleThreshold(lower=950).expected([1000, 1010])
        (950, inf)
    """

    lower: float = -inf
    upper: float = inf

    def __post_init__(self) -> None:
        _check_interval(self, "lower", "upper")

    @property
    def needed(self) -> int:
        """0."""
        return 0

    def expected(self, earlier: Sequence[float]) -> Interval:
        """From ``lower`` to ``upper``.

        Example:
            >>> SimpleThreshold(lower=1, upper=2).expected([])
            (1, 2)
        """
        return self.lower, self.upper


@dataclass(frozen=True, kw_only=True)
class AbsoluteChange:
    """The difference between the next value and the one before lies from -``max_decrease`` to ``max_increase``.

    Parameters:
        max_decrease: the greatest fall that is no anomaly, 0 or more, in the unit of the metric.
        max_increase: the greatest rise that is no anomaly, 0 or more, in the unit of the metric.
        order: how often differences are taken, a whole number from 1 on: 2 bounds the difference of two differences,
            Σ (-1)^k C(order, k) x(t-k) in general.

    Errors:
        ValueError: neither bound is given, one is below 0 or no number, or ``order`` is no whole number from 1 on.

    Example:
        >>> AbsoluteChange(max_decrease=50, max_increase=60).expected([980, 1000])
        (950, 1060)
    """

    max_decrease: float = inf
    max_increase: float = inf
    order: int = 1

    def __post_init__(self) -> None:
        _check_bounds(self, "max_decrease", "max_increase")
        for name in ("max_decrease", "max_increase"):
            if getattr(self, name) < 0:
                raise refused(self, name, "a length: write 0 or more, such as 5 for a change of 5 at most")
        _check_count(self, "order", 1, "SimpleThreshold bounds the value itself")

    @property
    def needed(self) -> int:
        """``order``."""
        return self.order

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The interval around the values before.

        Example:
            >>> AbsoluteChange(max_decrease=5, max_increase=5, order=2).expected([10, 20])
            (25, 35)
        """
        rest = sum((-1) ** back * comb(self.order, back) * earlier[-back] for back in range(1, self.order + 1))
        return -self.max_decrease - rest, self.max_increase - rest


@dataclass(frozen=True, kw_only=True)
class RelativeRateOfChange:
    """The next value divided by an earlier one lies from ``min_rate`` to ``max_rate``. After 0 only 0 is expected.

    Parameters:
        min_rate: the least quotient that is no anomaly: 0.9 lets the value fall by a tenth.
        max_rate: the greatest quotient that is no anomaly.
        order: how many values back the divisor stands, a whole number from 1 on: 7 compares with the week before, where
            there is one value a day.

    Errors:
        ValueError: neither bound is given, one is no number, ``min_rate`` is above ``max_rate``, or ``order`` is no
            whole number from 1 on.

    Example:
        >>> RelativeRateOfChange(min_rate=0.5, max_rate=2, order=2).expected([100, 300])
        (50.0, 200)
    """

    min_rate: float = -inf
    max_rate: float = inf
    order: int = 1

    def __post_init__(self) -> None:
        _check_interval(self, "min_rate", "max_rate")
        _check_count(self, "order", 1, "1 is the value before")

    @property
    def needed(self) -> int:
        """``order``."""
        return self.order

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The multiples of the earlier value, the lower first.

        Example:
            >>> RelativeRateOfChange(max_rate=2).expected([0])
            (0.0, 0.0)
        """
        before = earlier[-self.order]
        if before == 0:
            return 0.0, 0.0
        ends = sorted((self.min_rate * before, self.max_rate * before))
        return ends[0], ends[1]


@dataclass(frozen=True, kw_only=True)
class BatchNormal:
    """The next value lies within ``std_devs`` standard deviations of the mean of all earlier values.

    The deviation is that of a sample: s² = Σ (x - mean)² / (n - 1).

    Parameters:
        std_devs: the reach around the mean, above 0.
        min_values: how many earlier values it waits for, a whole number from 2 on.

    Errors:
        ValueError: ``std_devs`` is no number above 0, or ``min_values`` is no whole number from 2 on.

    Example:
        >>> BatchNormal(std_devs=2).expected([9.0, 10.0, 11.0])
        (8.0, 12.0)
    """

    std_devs: float = 3.0
    min_values: int = 3

    def __post_init__(self) -> None:
        _check_deviations(self)

    @property
    def needed(self) -> int:
        """``min_values``, and two at least, for a deviation."""
        return max(2, self.min_values)

    def expected(self, earlier: Sequence[float]) -> Interval:
        """From mean - std_devs · s to mean + std_devs · s.

        Example:
            >>> BatchNormal(std_devs=1).expected([9.0, 10.0, 11.0])
            (9.0, 11.0)
        """
        mean, reach = float(np.mean(earlier)), self.std_devs * float(np.std(earlier, ddof=1))
        return mean - reach, mean + reach


@dataclass(frozen=True, kw_only=True)
class OnlineNormal:
    """The next value lies within ``std_devs`` deviations of the running mean of the earlier values.

    The deviation is that of a population: d² = Σ (x - mean)² / n. The value in question is not in its own mean, as the
    paper says ("from the previous mean"); Deequ's code counts it in, so that among few values nothing can lie far from
    the mean. Welford's update (1962), which does not cancel.

    Parameters:
        std_devs: the reach around the mean, above 0.
        ignore_start: the share of the series, from 0 to 1, whose values teach and are never taken for anomalies; the
            first ``min_values`` always do.
        ignore_anomalies: whether earlier anomalies are left out of the running mean.
        min_values: how many earlier values it waits for, a whole number from 2 on.

    Errors:
        ValueError: ``std_devs`` is no number above 0, ``ignore_start`` no number from 0 to 1, or ``min_values`` no
            whole number from 2 on.

    Example:
        >>> low, high = OnlineNormal(std_devs=3).expected([100, 102, 98, 100, 500])
        >>> low < 100 < high < 500
        True
    """

    std_devs: float = 3.0
    ignore_start: float = 0.1
    ignore_anomalies: bool = True
    min_values: int = 3

    def __post_init__(self) -> None:
        _check_deviations(self)
        if not (_is_number(self.ignore_start) and 0 <= self.ignore_start <= 1):
            raise refused(self, "ignore_start", "a share of the series: write a number from 0 to 1")

    @property
    def needed(self) -> int:
        """``min_values``, and two at least, for a deviation."""
        return max(2, self.min_values)

    def expected(self, earlier: Sequence[float]) -> Interval:
        """From mean - std_devs · d to mean + std_devs · d, of the values that were no anomalies.

        Example:
            >>> OnlineNormal(std_devs=2).expected([9.0, 11.0, 9.0, 11.0])
            (8.0, 12.0)
        """
        taught = max(self.needed, int(self.ignore_start * len(earlier)))
        count, mean, squares = 0, 0.0, 0.0
        for at, value in enumerate(earlier):
            reach = self.std_devs * sqrt(squares / count) if count else inf
            if self.ignore_anomalies and at >= taught and abs(value - mean) > reach:
                continue
            count += 1
            change = value - mean
            mean += change / count
            squares += change * (value - mean)
        reach = self.std_devs * sqrt(squares / count)
        return mean - reach, mean + reach


def anomalies(strategy: Strategy, values: Sequence[float]) -> list[int]:
    """Where in a series, the oldest first, the anomalies stand, each judged by the values before it."""
    found = []
    for at in range(strategy.needed, len(values)):
        low, high = strategy.expected(values[:at])
        if not low <= values[at] <= high:
            found.append(at)
    return found


def strategy_text(strategy: Strategy) -> str:
    """``OnlineNormal(std_devs=3)``: its name and what differs from its defaults."""
    said = [(each.name, getattr(strategy, each.name), each.default) for each in fields(strategy)]  # type: ignore[arg-type]
    given = ", ".join(f"{name}={value:g}" for name, value, default in said if value != default)
    return f"{type(strategy).__name__}({given})"


def _check_interval(strategy: Strategy, low: str, high: str) -> None:
    """At least one bound is given, and something lies between both."""
    _check_bounds(strategy, low, high)
    least, most = getattr(strategy, low), getattr(strategy, high)
    if least > most or least == inf or most == -inf:
        raise refused(strategy, low, f"above {high}={most:g}, so that nothing lies between: write the lower one first")


def _check_bounds(strategy: Strategy, low: str, high: str) -> None:
    for name in (low, high):
        if not _is_number(getattr(strategy, name)):
            raise refused(strategy, name, "no number: write one, or leave it out")
    if all(abs(getattr(strategy, name)) == inf for name in (low, high)):
        name = type(strategy).__name__
        raise ValueError(f"{name} without bounds expects any value: give {low}=, {high}= or both")


def _check_deviations(strategy: "BatchNormal | OnlineNormal") -> None:
    if not (_is_number(strategy.std_devs) and isfinite(strategy.std_devs) and strategy.std_devs > 0):
        raise refused(strategy, "std_devs", "no reach around the mean: write a number above 0, such as 3")
    _check_count(strategy, "min_values", 2, "a deviation needs two values")


def check_learning(strategy: Strategy) -> None:
    """``alarms`` and ``min_values`` of a strategy are in their range."""
    alarms = getattr(strategy, "alarms", None)
    if isinstance(alarms, bool) or not (isinstance(alarms, int | float) and 0 < alarms < 1):
        raise refused(strategy, "alarms", "no share of values: write a number above 0 and below 1, such as 0.002")
    _check_count(strategy, "min_values", 2, "a deviation needs two values")


def _check_count(strategy: Strategy, name: str, least: int, why: str) -> None:
    said = getattr(strategy, name)
    if isinstance(said, bool) or not isinstance(said, int) or said < least:
        raise refused(strategy, name, f"no whole number from {least} on; {why}")


def _is_number(said: Any) -> bool:
    return isinstance(said, Real) and not isinstance(said, bool) and not isnan(said)


def refused(strategy: Strategy, name: str, why: str) -> ValueError:
    return ValueError(f"{type(strategy).__name__}: {name}={getattr(strategy, name)!r} is {why}")
