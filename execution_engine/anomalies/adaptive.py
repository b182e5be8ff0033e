"""The default strategy: of a few simple forecasts the one that its own past errors recommend (pure).

Each forecast has a level, which is the mean of the earlier values or moves with them, and maybe an effect of the
weekday; it works on the values or on their square roots. All are cheap to run through the past, one step at a time,
so what each would have been wrong by is known: these errors choose the forecast, and say how far it may be off.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log, sqrt

import numpy as np

from .seasons import MAD_TO_DEVIATION, check_period
from .series import Series
from .strategies import Interval, check_learning

WEIGHTS = (0.0, 0.05, 0.2)  # of the newest value in the level; 0: all values have the same
EFFECT_WEIGHT = 0.1  # at least, of the newest value in the effect of its weekday
MOST_TAUGHT = 3.0  # deviations: what an odd value moves level and effect by is cut here
MEAN_TO_DEVIATION = 1.2533  # of normal values: the deviation over the mean distance from the middle
ODD = 6.0  # deviations, by the median of the errors: what an odd value adds to the deviation is cut here
OF_LARGEST = 1.05  # times the largest earlier error on its side: so far may the next one go
OF_LAST = 2.0  # times the last error, on both sides: days beside an odd one are often odd, and so is a new level
MOST_WIDENED = 3.0  # times as wide may the interval be for the sake of these two


@dataclass(frozen=True, kw_only=True)
class Adaptive:
    """The next value lies around the forecast that was best so far, as near as its earlier errors were.

    The forecasts are a level (the mean of all, or an average in which the newest value counts for 5 or 20 %), with or
    without an effect of the weekday, of the values or of their square roots: counts spread more where they are high.
    The best one has the least mean error, each value being forecast from those before it. The interval reaches t · s
    from it, t of Student's distribution, s the deviation of these errors. It reaches farther, up to three times that,
    where earlier values did: on each side just beyond the largest error there, and twice as far as the last error.

    Parameters:
        alarms: the share of right values that it takes for anomalies where errors are normal, above 0 and below 1.
        min_values: how many earlier values it waits for, a whole number from 2 on.
        period: the steps of one season, a whole number from 2 on: 7 for days of a week, 24 for hours of a day. It is
            tried from two seasons on.

    Errors:
        ValueError: ``alarms`` is no share above 0 and below 1, ``min_values`` or ``period`` no whole number from 2 on.

    Example:
        >>> low, high = Adaptive().expected([100, 104, 98, 101, 99, 40, 30] * 8)
        >>> 65 < low < 100 < high < 130
        True
    """

    alarms: float = 0.002
    min_values: int = 8
    period: int = 7

    def __post_init__(self) -> None:
        check_learning(self)
        check_period(self)

    @property
    def needed(self) -> int:
        """``min_values``."""
        return self.min_values

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The interval around the best forecast, the values standing one step apart.

        Example:
            >>> Adaptive(min_values=2).expected([5.0, 5.0, 5.0])
            (5.0, 5.0)
        """
        return self.expected_in(Series(values=tuple(earlier)))

    def expected_in(self, series: Series) -> Interval:
        """The interval around the best forecast, where some steps have no value.

        Parameters:
            series: the earlier values, and when each was.

        Errors: none where there are ``needed`` values.

        Example:
            >>> from execution_engine.anomalies.series import Series
            >>> Adaptive(min_values=2).expected_in(Series(values=(5.0, 5.0, 5.0)))
            (5.0, 5.0)
        """
        grid, ahead = series.grid()
        slots = np.flatnonzero(~np.isnan(grid))
        phases = [*(slots % self.period).tolist(), (len(grid) - 1 + ahead) % self.period]
        best = min(_forecasts(grid[slots].tolist(), phases, self.period), key=lambda forecast: forecast.loss)
        return best.interval(self.alarms)


@dataclass(frozen=True, kw_only=True)
class _Forecast:
    """The forecast of the next value, and by how much each earlier one but the first was missed."""

    middle: float
    errors: np.ndarray
    weight: float
    of_roots: bool
    stretch: float  # how many of the values' units one unit of the errors is
    first_counted: int  # of the errors, for the choice: the very first have too little behind them
    first_fit: int  # of the errors, for the deviation: before it a weekday had no effect yet

    @property
    def loss(self) -> float:
        """The mean error."""
        return self.stretch * float(np.mean(np.abs(self.errors[self.first_counted :])))

    @cached_property
    def variances(self) -> np.ndarray:
        """Of each error and of the next one, in those of one value: the level that it was forecast by errs too."""
        counts = np.arange(1, len(self.errors) + 2)
        return 1 + np.maximum(1 / counts, self.weight / (2 - self.weight))

    def interval(self, alarms: float) -> Interval:
        """Around the middle, in units of the values."""
        from scipy.stats import t  # a third of a second, which who asks for no anomaly need not wait

        errors = (self.errors / np.sqrt(self.variances[:-1]))[self.first_fit :]
        sizes = np.abs(errors)
        most = ODD * MAD_TO_DEVIATION * float(np.median(sizes))
        squares = np.minimum(sizes, most) ** 2 if most else sizes**2
        usual = float(t.ppf(1 - alarms / 2, max(1, len(errors) - 1))) * sqrt(np.mean(squares))
        largest = OF_LARGEST * np.array([-errors.min(), errors.max()])
        widened = np.minimum(np.maximum(largest, OF_LAST * sizes[-1]), MOST_WIDENED * usual)
        below, above = (np.maximum(usual, widened) * sqrt(self.variances[-1])).tolist()
        low, high = self.middle - below, self.middle + above
        return (max(low, 0.0) * max(low, 0.0), high * high) if self.of_roots else (low, high)


def _forecasts(values: Sequence[float], phases: Sequence[int], period: int) -> Iterator[_Forecast]:
    """Those that there are values enough for, the simplest first, which wins where others are no better."""
    count = len(values)
    for of_roots in (False, True) if min(values) > 0 else (False,):
        scaled = [sqrt(value) for value in values] if of_roots else values
        stretch = 2 * exp(sum(map(log, scaled)) / count) if of_roots else 1.0
        for has_season in (False, True) if count >= 2 * period else (False,):
            for weight in WEIGHTS:
                middle, errors = _run_through(scaled, phases, weight, period if has_season else 0)
                yield _Forecast(
                    middle=middle,
                    errors=np.array(errors),
                    weight=weight,
                    of_roots=of_roots,
                    stretch=stretch,
                    first_counted=max(count // 4, min(period, count // 2)) - 1,
                    first_fit=period if has_season and count >= 3 * period else 0,
                )


def _run_through(
    values: Sequence[float], phases: Sequence[int], weight: float, period: int
) -> tuple[float, list[float]]:
    """The forecast behind the last value, and the errors of those behind each earlier one; without a season, period 0.

    An effect begins at half of what its first value shows. Values that are far off teach as much as those that are
    three deviations off.
    """
    level, distance = values[0], 0.0
    effects, counts = [0.0] * period, [0] * period
    errors: list[float] = []
    if period:
        counts[phases[0]] = 1
    for value, phase in zip(values[1:], phases[1:], strict=False):
        error = value - level - (effects[phase] if period else 0.0)
        errors.append(error)
        most = MOST_TAUGHT * MEAN_TO_DEVIATION * distance
        taught = max(-most, min(most, error)) if len(errors) > 8 and most else error
        distance += (abs(taught) - distance) * max(1 / len(errors), 0.05)
        if period:
            counts[phase] += 1
            share = max(1 / (counts[phase] + 1), EFFECT_WEIGHT)
            effects[phase] += share * taught
            taught *= 1 - share
        level += max(1 / (len(errors) + 1), weight) * taught
    return level + (effects[phases[-1]] if period else 0.0), errors
