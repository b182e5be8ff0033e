"""When a new value of a metric is an anomaly among its earlier ones: strategies, mostly Deequ's, as intervals.

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

from .series import Series

Interval = tuple[float, float]


class Strategy(Protocol):
    """One way to tell in which interval the next value of a metric is expected."""

    @property
    def needed(self) -> int:
        """How many earlier values it needs at least. With fewer the status is ``learning``."""
        ...

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The interval in which the next value after ``needed`` or more earlier ones is no anomaly, ends included."""
        ...


class GridStrategy:
    """A strategy that asks for more than the values: which are missing, and when each was."""

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The interval after values that stand one step apart."""
        return self.expected_in(Series(values=tuple(earlier)))

    def expected_in(self, series: Series) -> Interval:
        """The interval of the next value of a series, where some steps have no value."""
        raise NotImplementedError


class Learning:
    """A strategy that waits for ``min_values`` earlier values."""

    min_values: int

    @property
    def needed(self) -> int:
        return self.min_values


@dataclass(frozen=True, kw_only=True)
class SimpleThreshold:
    """The next value lies from ``lower`` to ``upper``, whatever was before."""

    lower: float = -inf
    upper: float = inf

    def __post_init__(self) -> None:
        _check_interval(self, "lower", "upper")

    @property
    def needed(self) -> int:
        return 0

    def expected(self, earlier: Sequence[float]) -> Interval:
        """From ``lower`` to ``upper``."""
        return self.lower, self.upper


@dataclass(frozen=True, kw_only=True)
class AbsoluteChange:
    """The next difference, Σ (-1)^k C(order, k) x(t-k), lies from -``max_decrease`` to ``max_increase``."""

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
        return self.order

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The interval around the values before."""
        rest = sum((-1) ** back * comb(self.order, back) * earlier[-back] for back in range(1, self.order + 1))
        return -self.max_decrease - rest, self.max_increase - rest


@dataclass(frozen=True, kw_only=True)
class RelativeRateOfChange:
    """The next value over the one ``order`` back lies from ``min_rate`` to ``max_rate``. After 0 only 0 is expected."""

    min_rate: float = -inf
    max_rate: float = inf
    order: int = 1

    def __post_init__(self) -> None:
        _check_interval(self, "min_rate", "max_rate")
        _check_count(self, "order", 1, "1 is the value before")

    @property
    def needed(self) -> int:
        return self.order

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The multiples of the earlier value, the lower first."""
        before = earlier[-self.order]
        if before == 0:
            return 0.0, 0.0
        low, high = sorted((self.min_rate * before, self.max_rate * before))
        return low, high


@dataclass(frozen=True, kw_only=True)
class BatchNormal(Learning):
    """The next value lies within ``std_devs`` · s of the mean of all earlier ones: s² = Σ (x - mean)² / (n - 1)."""

    std_devs: float = 3.0
    min_values: int = 3

    def __post_init__(self) -> None:
        _check_deviations(self)

    def expected(self, earlier: Sequence[float]) -> Interval:
        """From mean - std_devs · s to mean + std_devs · s."""
        mean, reach = float(np.mean(earlier)), self.std_devs * float(np.std(earlier, ddof=1))
        return mean - reach, mean + reach


@dataclass(frozen=True, kw_only=True)
class OnlineNormal(Learning):
    """The next value lies within ``std_devs`` deviations of the running mean of the earlier values.

    The deviation is that of a population: d² = Σ (x - mean)² / n. The value in question is not in its own mean, as the
    paper says ("from the previous mean"); Deequ's code counts it in, so that among few values nothing can lie far from
    the mean. Welford's update (1962), which does not cancel. The share ``ignore_start`` of the series, and the first
    ``min_values``, teach and are never taken for anomalies; with ``ignore_anomalies`` later ones do not teach.
    """

    std_devs: float = 3.0
    ignore_start: float = 0.1
    ignore_anomalies: bool = True
    min_values: int = 3

    def __post_init__(self) -> None:
        _check_deviations(self)
        if not (_is_number(self.ignore_start) and 0 <= self.ignore_start <= 1):
            raise refused(self, "ignore_start", "a share of the series: write a number from 0 to 1")

    def expected(self, earlier: Sequence[float]) -> Interval:
        """From mean - std_devs · d to mean + std_devs · d, of the values that were no anomalies."""
        teaching = max(self.needed, int(self.ignore_start * len(earlier)))
        count, mean, squares = 0, 0.0, 0.0
        for at, value in enumerate(earlier):
            reach = self.std_devs * sqrt(squares / count) if count else inf
            if self.ignore_anomalies and at >= teaching and abs(value - mean) > reach:
                continue
            count += 1
            change = value - mean
            mean += change / count
            squares += change * (value - mean)
        reach = self.std_devs * sqrt(squares / count)
        return mean - reach, mean + reach


@dataclass(frozen=True, kw_only=True)
class Predictive(Learning):
    """The next value lies where all but the share ``alarms`` of values like the earlier ones would.

    The prediction interval of normal values: mean ± t · s · √(1 + 1 / n), t of Student's distribution with n - 1
    degrees of freedom, s the deviation of a sample. So 8 values are enough, and the interval is honest: it is wide
    while few are known.
    """

    alarms: float = 0.002
    min_values: int = 8

    def __post_init__(self) -> None:
        check_learning(self)

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The prediction interval."""
        from scipy.stats import t  # a third of a second, which who asks for no anomaly need not wait

        count, mean, deviation = len(earlier), float(np.mean(earlier)), float(np.std(earlier, ddof=1))
        reach = float(t.ppf(1 - self.alarms / 2, count - 1)) * deviation * sqrt(1 + 1 / count)
        return mean - reach, mean + reach


def strategy_text(strategy: Strategy) -> str:
    """``OnlineNormal(std_devs=3)``: its name and what differs from its defaults."""
    values = [(field.name, getattr(strategy, field.name), field.default) for field in fields(strategy)]  # type: ignore[arg-type]
    options = ", ".join(f"{name}={value:g}" for name, value, default in values if value != default)
    return f"{type(strategy).__name__}({options})"


def refused(strategy: Any, name: str, why: str) -> ValueError:
    return ValueError(f"{type(strategy).__name__}: {name}={getattr(strategy, name)!r} is {why}")


def check_learning(strategy: Any) -> None:
    """``alarms`` and ``min_values`` of a strategy are in their range."""
    alarms = strategy.alarms
    if isinstance(alarms, bool) or not (isinstance(alarms, int | float) and 0 < alarms < 1):
        raise refused(strategy, "alarms", "no share of values: write a number above 0 and below 1, such as 0.002")
    _check_count(strategy, "min_values", 2, "a deviation needs two values")


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


def _check_deviations(strategy: BatchNormal | OnlineNormal) -> None:
    if not (_is_number(strategy.std_devs) and isfinite(strategy.std_devs) and strategy.std_devs > 0):
        raise refused(strategy, "std_devs", "no reach around the mean: write a number above 0, such as 3")
    _check_count(strategy, "min_values", 2, "a deviation needs two values")


def _check_count(strategy: Strategy, name: str, least: int, why: str) -> None:
    count = getattr(strategy, name)
    if isinstance(count, bool) or not isinstance(count, int) or count < least:
        raise refused(strategy, name, f"no whole number from {least} on; {why}")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not isnan(value)
