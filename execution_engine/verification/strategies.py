"""When a new value of a metric is an anomaly among its earlier ones: the strategies of Deequ, as intervals.

Each gives the interval in which the next value is expected, from the earlier values, the oldest first. All bounds are
included. Sources: Schelter et al. 2018, section 3.4, and the strategies of the same names in Deequ.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import comb, inf, sqrt
from typing import Protocol

import numpy as np

Interval = tuple[float, float]


class Strategy(Protocol):
    """One way to tell what is expected."""

    @property
    def needed(self) -> int:
        """How many earlier values it needs at least."""
        ...

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The interval in which the next value is no anomaly; of ``needed`` values or more."""
        ...


@dataclass(frozen=True, kw_only=True)
class SimpleThreshold:
    """From ``lower`` to ``upper``, whatever was before."""

    lower: float = -inf
    upper: float = inf

    @property
    def needed(self) -> int:
        """None."""
        return 0

    def expected(self, earlier: Sequence[float]) -> Interval:
        """Always the same."""
        return self.lower, self.upper


@dataclass(frozen=True, kw_only=True)
class AbsoluteChange:
    """The difference of ``order``, Σ (-1)^k C(order, k) x(t-k), lies from -``max_decrease`` to ``max_increase``."""

    max_decrease: float = inf
    max_increase: float = inf
    order: int = 1

    @property
    def needed(self) -> int:
        """As many as the order."""
        return self.order

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The difference solved for the next value."""
        rest = sum((-1) ** back * comb(self.order, back) * earlier[-back] for back in range(1, self.order + 1))
        return -self.max_decrease - rest, self.max_increase - rest


@dataclass(frozen=True, kw_only=True)
class RelativeRateOfChange:
    """The quotient x(t) / x(t - ``order``) lies from ``min_rate`` to ``max_rate``; after 0 only 0 is expected."""

    min_rate: float = -inf
    max_rate: float = inf
    order: int = 1

    @property
    def needed(self) -> int:
        """As many as the order."""
        return self.order

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The quotient solved for the next value."""
        before = earlier[-self.order]
        if before == 0:
            return 0.0, 0.0
        ends = sorted((self.min_rate * before, self.max_rate * before))
        return ends[0], ends[1]


@dataclass(frozen=True, kw_only=True)
class BatchNormal:
    """Within ``std_devs`` of the mean of all earlier values; s² = Σ (x - mean)² / (n - 1), of a sample."""

    std_devs: float = 3.0
    min_values: int = 3

    @property
    def needed(self) -> int:
        """Two at least, for a deviation."""
        return max(2, self.min_values)

    def expected(self, earlier: Sequence[float]) -> Interval:
        """mean ± std_devs · s."""
        mean, reach = float(np.mean(earlier)), self.std_devs * float(np.std(earlier, ddof=1))
        return mean - reach, mean + reach


@dataclass(frozen=True, kw_only=True)
class OnlineNormal:
    """Within ``std_devs`` of the running mean and deviation of the values before, d² = Σ (x - mean)² / n.

    Earlier anomalies are left out of the running mean unless ``ignore_anomalies`` is false; the first ``ignore_start``
    of the series, and at least two values, only teach. The value in question is not in its own mean, as the paper says
    ("from the previous mean"); Deequ's code counts it in, so that among few values nothing can lie far from the mean.
    Welford's update (1962), which does not cancel.
    """

    std_devs: float = 3.0
    ignore_start: float = 0.1
    ignore_anomalies: bool = True
    min_values: int = 3

    @property
    def needed(self) -> int:
        """Two at least, for a deviation."""
        return max(2, self.min_values)

    def expected(self, earlier: Sequence[float]) -> Interval:
        """mean ± std_devs · deviation of what was no anomaly."""
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
