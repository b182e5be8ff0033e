"""Strategies that forecast: the default one, Holt and Winters' smoothing, and a trend with a season and holidays.

They take the values on a grid of equal steps (``Series.grid``). scipy, statsmodels and holidays are imported when one
is first asked, as they take a second.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log, sqrt
from typing import Any

import numpy as np

from .series import Series, holidays_of
from .strategies import GridStrategy, Interval, Learning, check_learning, refused

# The default. Each of a few simple forecasts has a level, which is the mean of the earlier values or moves with them,
# and maybe an effect of the weekday; it works on the values or on their square roots. All are cheap to run through the
# past, one step at a time, so what each would have been wrong by is known: these errors choose the forecast, and say
# how far it may be off.

MAD_TO_DEVIATION = 1.4826  # of normal values: the deviation over the median of their distances from their median
WEIGHTS = (0.0, 0.05, 0.2)  # of the newest value in the level; 0: all values have the same
EFFECT_WEIGHT = 0.1  # at least, of the newest value in the effect of its weekday
MOST_TAUGHT = 3.0  # deviations: what an odd value moves level and effect by is cut here
MEAN_TO_DEVIATION = 1.2533  # of normal values: the deviation over the mean distance from the middle
ODD = 6.0  # deviations, by the median of the errors: what an odd value adds to the deviation is cut here
OF_LARGEST = 1.05  # times the largest earlier error on its side: so far may the next one go
OF_LAST = 2.0  # times the last error, on both sides: days beside an odd one are often odd, and so is a new level
MOST_WIDENED = 3.0  # times as wide may the interval be for the sake of these two


@dataclass(frozen=True, kw_only=True)
class Adaptive(Learning, GridStrategy):
    """The next value lies around the forecast that was best so far, as near as its earlier errors were.

    The forecasts are a level (the mean of all, or an average in which the newest value counts for 5 or 20 %), with or
    without an effect of the weekday, of the values or of their square roots: counts spread more where they are high.
    The best one has the least mean error, each value being forecast from those before it. The interval reaches t · s
    from it, t of Student's distribution, s the deviation of these errors. It reaches farther, up to three times that,
    where earlier values did: on each side just beyond the largest error there, and twice as far as the last error.
    The season of ``period`` steps is tried from two on.
    """

    alarms: float = 0.002
    min_values: int = 8
    period: int = 7

    def __post_init__(self) -> None:
        check_learning(self)
        check_period(self)

    def expected_in(self, series: Series) -> Interval:
        """The interval around the best forecast, where some steps have no value."""
        grid, ahead = series.grid()
        slots = np.flatnonzero(~np.isnan(grid))
        phases = [*(slots % self.period).tolist(), (len(grid) - 1 + ahead) % self.period]
        values, count = grid[slots].tolist(), len(slots)
        forecasts = []  # for which there are values enough; the simplest first, which wins where others are no better
        for of_roots in (False, True) if min(values) > 0 else (False,):
            scaled = [sqrt(value) for value in values] if of_roots else values
            stretch = 2 * exp(sum(map(log, scaled)) / count) if of_roots else 1.0
            for has_season in (False, True) if count >= 2 * self.period else (False,):
                for weight in WEIGHTS:
                    middle, errors = _run_through(scaled, phases, weight, self.period if has_season else 0)
                    forecast = _Forecast(
                        middle=middle,
                        errors=np.array(errors),
                        weight=weight,
                        of_roots=of_roots,
                        stretch=stretch,
                        first_counted=max(count // 4, min(self.period, count // 2)) - 1,
                        first_fit=self.period if has_season and count >= 3 * self.period else 0,
                    )
                    forecasts.append(forecast)
        return min(forecasts, key=lambda forecast: forecast.loss).interval(self.alarms)


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
        lesson = max(-most, min(most, error)) if len(errors) > 8 and most else error
        distance += (abs(lesson) - distance) * max(1 / len(errors), 0.05)
        if period:
            counts[phase] += 1
            share = max(1 / (counts[phase] + 1), EFFECT_WEIGHT)
            effects[phase] += share * lesson
            lesson *= 1 - share
        level += max(1 / (len(errors) + 1), weight) * lesson
    return level + (effects[phases[-1]] if period else 0.0), errors


# Strategies with a season: a slot without a value is filled with the mean of its phase, and does not count.


@dataclass(frozen=True, kw_only=True)
class HoltWinters(GridStrategy):
    """The next value lies within ``std_devs`` deviations of the forecast of Holt and Winters' additive smoothing.

    Level, trend and season, of ``period`` steps, are smoothed exponentially; the three weights are those of the least
    squared error over the earlier values (statsmodels). The deviation is that of the one-step errors; 1.96 of them is
    Deequ's reach. Two seasons are needed.
    """

    period: int = 7
    std_devs: float = 1.96

    def __post_init__(self) -> None:
        check_period(self)
        _check_reach(self)

    @property
    def needed(self) -> int:
        return 2 * self.period

    def expected_in(self, series: Series) -> Interval:
        """The interval around the forecast, where some steps have no value."""
        from statsmodels.tsa.holtwinters import ExponentialSmoothing

        values, ahead = series.grid()
        full = _filled(values, self.period)
        if np.ptp(full) == 0 or len(full) < 2 * self.period:
            return float(full.min()), float(full.max())
        if (full[self.period :] == full[: -self.period]).all():  # no weight is better than another
            same = _of_phase(full, len(full) - 1 + ahead, self.period)
            return same, same
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # weights at the edge of their range are weights too
            fitted = ExponentialSmoothing(
                full, trend="add", seasonal="add", seasonal_periods=self.period, initialization_method="estimated"
            ).fit()
        errors = (full - fitted.fittedvalues)[~np.isnan(values)]
        middle, reach = float(fitted.forecast(ahead)[-1]), self.std_devs * float(np.std(errors))
        return middle - reach, middle + reach


@dataclass(frozen=True, kw_only=True)
class SeasonalTrend(GridStrategy):
    """The next value lies within ``std_devs`` deviations of the trend and the season of the earlier ones.

    Both come of a robust seasonal decomposition by LOESS (Cleveland et al. 1990; statsmodels' STL), which a few
    anomalies do not bend; the last trend goes on. The deviation is 1.4826 times the median distance of the last four
    seasons' values from what was forecast of each by those before it, and so an honest one. Three seasons, of
    ``period`` steps, are needed: one to forecast, two before it.

    With ``country``, by the two letters of ISO 3166, its public holidays teach nothing of their weekday. The value of a
    holiday may also lie where a Sunday's would, or as far from trend and season as any earlier holiday's did.
    """

    period: int = 7
    std_devs: float = 4.0
    country: str = ""

    def __post_init__(self) -> None:
        check_period(self)
        _check_reach(self)
        try:
            self._feasts()
        except ValueError as error:
            raise refused(self, "country", str(error)) from None

    @property
    def needed(self) -> int:
        return 3 * self.period

    def _feasts(self) -> Any:
        return holidays_of(self.country) if self.country else {}

    def expected_in(self, series: Series) -> Interval:
        """The interval around trend and season, where some steps have no value and some are holidays."""
        values, ahead = series.grid()
        days, feasts = series.days(), self._feasts()
        feast_slots = [slot for slot, day in enumerate(days) if day is not None and day.date() in feasts]
        ordinary = values.copy()
        ordinary[feast_slots] = np.nan
        full = _filled(ordinary, self.period)
        if len(full) < self.needed or np.ptp(full) == 0:
            return float(full.min()), float(full.max())
        trend, season = _decomposed(full, self.period)
        middle = float(trend[-1]) + _of_phase(season, len(full) - 1 + ahead, self.period)
        middles = [middle]
        if series.at is not None and series.at.date() in feasts:
            middles += [middle + float(values[slot] - trend[slot] - season[slot]) for slot in feast_slots]
            sundays = [slot for slot, day in enumerate(days) if day is not None and day.weekday() == 6]
            middles += [float(trend[-1] + season[slot]) for slot in sundays[-1:]]
        errors = []  # of the last values from what those before each would have forecast
        for slot in range(max(2 * self.period, len(full) - 4 * self.period), len(full)):
            if not np.isnan(ordinary[slot]):
                trend, season = _decomposed(full[:slot], self.period)
                errors.append(abs(full[slot] - trend[-1] - _of_phase(season, slot, self.period)))
        count = len(errors)
        deviation = MAD_TO_DEVIATION * float(np.median(errors)) * count / (count - 0.8) if errors else 0.0
        return min(middles) - self.std_devs * deviation, max(middles) + self.std_devs * deviation


def _decomposed(values: np.ndarray, period: int) -> tuple[np.ndarray, np.ndarray]:
    """Trend and season, both slow to follow: over 35 seasons, and over six."""
    from statsmodels.tsa.seasonal import STL

    fitted = STL(values, period=period, seasonal=35, trend=6 * period + 1, robust=True).fit()
    return fitted.trend, fitted.seasonal


def _filled(values: np.ndarray, period: int) -> np.ndarray:
    """Without gaps: the mean of the phase where it has values, else that of all."""
    full = values.copy()
    for slot in np.flatnonzero(np.isnan(values)):
        alike = values[slot % period :: period]
        numbers = alike[~np.isnan(alike)]
        full[slot] = numbers.mean() if len(numbers) else np.nanmean(values)
    return full


def _of_phase(seasonal: np.ndarray, slot: int, period: int) -> float:
    """The season of a slot behind the end: that of the last slot of its phase."""
    last = len(seasonal) - 1
    return float(seasonal[last - (last - slot) % period])


def check_period(strategy: Any) -> None:
    """``period`` of a strategy is in its range."""
    period = strategy.period
    if isinstance(period, bool) or not isinstance(period, int) or period < 2:
        raise refused(strategy, "period", "no whole number of steps from 2 on, such as 7 for days of a week")


def _check_reach(strategy: HoltWinters | SeasonalTrend) -> None:
    if not (isinstance(strategy.std_devs, int | float) and 0 < strategy.std_devs < float("inf")):
        raise refused(strategy, "std_devs", "no reach around the forecast: write a number above 0, such as 3")
