"""A value against the interval in which it was expected, as one number and in words (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from math import inf
from typing import Any

import numpy as np

from .forecasts import Adaptive, HoltWinters, SeasonalTrend
from .series import Series
from .strategies import (
    AbsoluteChange,
    BatchNormal,
    GridStrategy,
    Interval,
    OnlineNormal,
    Predictive,
    RelativeRateOfChange,
    SimpleThreshold,
    Strategy,
)

STRATEGIES: Mapping[str, type[Strategy]] = {
    "adaptive": Adaptive,
    "predictive": Predictive,
    "simple_threshold": SimpleThreshold,
    "absolute_change": AbsoluteChange,
    "relative_rate_of_change": RelativeRateOfChange,
    "batch_normal": BatchNormal,
    "online_normal": OnlineNormal,
    "holt_winters": HoltWinters,
    "seasonal_trend": SeasonalTrend,
}
MOST = 1e6  # a score: so far away that farther says no more
NOISE = 1e-12  # of the larger bound: what two ways to add up the same numbers may differ by


def expected(strategy: Strategy, series: Series) -> Interval:
    """The interval of a strategy; one with a season is told which values are missing, and which days they are of."""
    with np.errstate(all="ignore"):  # of values near the largest float; whoever asks looks whether ends are finite
        return strategy.expected_in(series) if isinstance(strategy, GridStrategy) else strategy.expected(series.values)


class Side(StrEnum):
    """On which side of what was expected a value is an anomaly."""

    BOTH = "both"
    LOW = "low"
    HIGH = "high"


@dataclass(frozen=True, kw_only=True)
class Detector:
    """A strategy, and the side on which it looks for anomalies."""

    strategy: Strategy
    side: Side = Side.BOTH

    @property
    def name(self) -> str:
        """That of its strategy, as an option names it."""
        return next(name for name, made in STRATEGIES.items() if isinstance(self.strategy, made))

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> "Detector":
        """``strategy='holt_winters', side='low', period=7``; ValueError says which option is wrong, and what to write.

        The options beside ``strategy`` and ``side`` are the parameters of the strategy's class.
        """
        parameters = dict(options)
        name, side = parameters.pop("strategy", "adaptive"), parameters.pop("side", Side.BOTH.value)
        if name not in STRATEGIES:
            raise ValueError(f"there is no strategy {name!r}: take one of {', '.join(STRATEGIES)}")
        if side not in tuple(Side):
            raise ValueError(f"side= is one of {', '.join(Side)}, not {side!r}")
        option_names = sorted(field.name for field in fields(STRATEGIES[name]))  # type: ignore[arg-type]
        for option in parameters:
            if option not in option_names:
                raise ValueError(f"{name} has no option {option}=: take of {', '.join(option_names)}")
        return cls(strategy=STRATEGIES[name](**parameters), side=Side(side))

    def expects(self, series: Series) -> Interval:
        """The interval in which the next value is no anomaly, both ends included."""
        return expected(self.strategy, series)

    def score(self, value: float, interval: Interval) -> float:
        """How far the value lies from the middle of the interval, in halves of its width: above 1 it is an anomaly.

        Where the interval has no width or no end, it is 0 inside, and 1 and the distance in units of the end outside.
        On the side that is not looked at it is 0.
        """
        low, high = interval
        noise = NOISE * max((abs(end) for end in interval if abs(end) < inf), default=0.0)
        inside = low - noise <= value <= high + noise
        half = high / 2 - low / 2  # 0 also where Python rounds the halves of the least numbers to one
        has_width = half > noise / 2 and abs(low) < inf and abs(high) < inf
        middle = low / 2 + high / 2 if has_width else value
        is_low = value < (middle if has_width else low)
        if (self.side is Side.LOW and not is_low) or (self.side is Side.HIGH and is_low):
            return 0.0
        if has_width:
            return min(abs(value - middle) / half, 1.0 if inside else MOST)
        if inside:
            return 0.0
        end = low if is_low else high
        return min(1 + abs(value - end) / (abs(end) or 1.0), MOST)

    def interval_on_side(self, interval: Interval) -> Interval:
        """The interval without the end that is not looked at."""
        low, high = interval
        return -inf if self.side is Side.HIGH else low, inf if self.side is Side.LOW else high
