"""Strategies that know a season: Holt and Winters' smoothing, and a trend with a season that holidays may leave.

Both take the values on a grid of equal steps (``Series.grid``); a slot without a value is filled with the mean of its
phase, and does not count. statsmodels and holidays are imported when one is first asked, as they take a second.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from .public_holidays import holidays_of
from .series import Series
from .strategies import Interval, Strategy, refused

if TYPE_CHECKING:
    from holidays import HolidayBase

MAD_TO_DEVIATION = 1.4826  # of normal values: the deviation over the median of their distances from their median


@runtime_checkable
class Seasonal(Protocol):
    """A strategy that asks for more than the values: which are missing, and when each was."""

    def expected_in(self, series: Series) -> Interval:
        """The interval in which the next value of the series is no anomaly."""
        ...


@dataclass(frozen=True, kw_only=True)
class HoltWinters:
    """The next value lies within ``std_devs`` deviations of the forecast of Holt and Winters' additive smoothing.

    Level, trend and season are smoothed exponentially; the three weights are those of the least squared error over the
    earlier values (statsmodels). The deviation is that of the one-step errors. Deequ: HoltWinters.

    Parameters:
        period: the steps of one season, a whole number from 2 on: 7 for days of a week, 12 for months of a year.
        std_devs: the reach around the forecast, above 0; 1.96 is Deequ's.

    Errors:
        ValueError: ``period`` is no whole number from 2 on, or ``std_devs`` is no number above 0.

    Example:
        >>> week = [100, 101, 99, 100, 102, 40, 30]
        >>> low, high = HoltWinters().expected(week * 4)
        >>> round(low), round(high)
        (100, 100)
    """

    period: int = 7
    std_devs: float = 1.96

    def __post_init__(self) -> None:
        _check_season(self)

    @property
    def needed(self) -> int:
        """Two seasons."""
        return 2 * self.period

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The interval around the forecast, the values standing one step apart.

        Example:
            >>> HoltWinters(period=2).expected([1.0, 1.0, 1.0, 1.0])
            (1.0, 1.0)
        """
        return self.expected_in(Series(values=tuple(earlier)))

    def expected_in(self, series: Series) -> Interval:
        """The interval around the forecast, where some steps have no value.

        Parameters:
            series: the earlier values, and when each was.

        Errors: none where there are ``needed`` values.

        Example:
            >>> from execution_engine.anomalies.series import Series
            >>> HoltWinters(period=2).expected_in(Series(values=(1.0, 1.0, 1.0, 1.0)))
            (1.0, 1.0)
        """
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
class SeasonalTrend:
    """The next value lies within ``std_devs`` deviations of the trend and the season of the earlier ones.

    Both come of a robust seasonal decomposition by LOESS (Cleveland et al. 1990; statsmodels' STL), which a few
    anomalies do not bend; the last trend goes on. The deviation is 1.4826 times the median distance of the last four
    seasons' values from what was forecast of each by those before it, and so an honest one.

    With ``country`` its public holidays teach nothing of their weekday. The value of a holiday may also lie where a
    Sunday's would, or as far from trend and season as any earlier holiday's did.

    Parameters:
        period: the steps of one season, a whole number from 2 on: 7 for days of a week, 24 for hours of a day.
        std_devs: the reach around the forecast, above 0.
        country: a country by the two letters of ISO 3166, such as ``US``; empty: no day is a holiday.

    Errors:
        ValueError: ``period`` is no whole number from 2 on, ``std_devs`` is no number above 0, or ``country`` is not
            known.

    Example:
        >>> week = [100, 101, 99, 100, 102, 40, 30]
        >>> low, high = SeasonalTrend().expected(week * 3)
        >>> round(low), round(high)
        (100, 100)
    """

    period: int = 7
    std_devs: float = 4.0
    country: str = ""

    def __post_init__(self) -> None:
        _check_season(self)
        if self.country:
            _holidays(self)

    @property
    def needed(self) -> int:
        """Three seasons: one to forecast, two before it."""
        return 3 * self.period

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The interval around trend and season, the values standing one step apart and no day a holiday.

        Example:
            >>> SeasonalTrend(period=2).expected([1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
            (1.0, 1.0)
        """
        return self.expected_in(Series(values=tuple(earlier)))

    def expected_in(self, series: Series) -> Interval:
        """The interval around trend and season, where some steps have no value and some are holidays.

        Parameters:
            series: the earlier values, and when each was.

        Errors: none where there are ``needed`` values.

        Example:
            >>> from execution_engine.anomalies.series import Series
            >>> SeasonalTrend(period=2).expected_in(Series(values=(1.0,) * 6))
            (1.0, 1.0)
        """
        values, ahead = series.grid()
        days, today = series.days()
        feasts = _holidays(self) if self.country else {}
        feast_slots = [slot for slot, day in enumerate(days) if day is not None and day.date() in feasts]
        ordinary = values.copy()
        ordinary[feast_slots] = np.nan
        full = _filled(ordinary, self.period)
        if len(full) < self.needed or np.ptp(full) == 0:
            return float(full.min()), float(full.max())
        trend, season = _decomposed(full, self.period)
        middle = float(trend[-1]) + _of_phase(season, len(full) - 1 + ahead, self.period)
        middles = [middle]
        if today is not None and today.date() in feasts:
            middles += [middle + float(values[slot] - trend[slot] - season[slot]) for slot in feast_slots]
            middles += [float(trend[-1] + season[slot]) for slot in _last_sunday(days)]
        reach = self.std_devs * self._deviation(ordinary, full)
        return min(middles) - reach, max(middles) + reach

    def _deviation(self, ordinary: np.ndarray, full: np.ndarray) -> float:
        """Of the last values from what those before each would have forecast."""
        errors = []
        for slot in range(max(2 * self.period, len(full) - 4 * self.period), len(full)):
            if not np.isnan(ordinary[slot]):
                trend, season = _decomposed(full[:slot], self.period)
                errors.append(abs(full[slot] - trend[-1] - _of_phase(season, slot, self.period)))
        return MAD_TO_DEVIATION * float(np.median(errors)) * len(errors) / (len(errors) - 0.8) if errors else 0.0


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
        known = alike[~np.isnan(alike)]
        full[slot] = known.mean() if len(known) else np.nanmean(values)
    return full


def _of_phase(seasonal: np.ndarray, slot: int, period: int) -> float:
    """The season of a slot behind the end: that of the last slot of its phase."""
    last = len(seasonal) - 1
    return float(seasonal[last - (last - slot) % period])


def _last_sunday(days: Sequence[datetime | None]) -> list[int]:
    sundays = [slot for slot, day in enumerate(days) if day is not None and day.weekday() == 6]
    return sundays[-1:]


def _holidays(strategy: SeasonalTrend) -> "HolidayBase":
    try:
        return holidays_of(strategy.country)
    except ValueError as error:
        raise refused(strategy, "country", str(error)) from None


def check_period(strategy: Strategy) -> None:
    """``period`` of a strategy is in its range."""
    period = getattr(strategy, "period", None)
    if isinstance(period, bool) or not isinstance(period, int) or period < 2:
        raise refused(strategy, "period", "no whole number of steps from 2 on, such as 7 for days of a week")


def _check_season(strategy: HoltWinters | SeasonalTrend) -> None:
    check_period(strategy)
    if not (isinstance(strategy.std_devs, int | float) and 0 < strategy.std_devs < float("inf")):
        raise refused(strategy, "std_devs", "no reach around the forecast: write a number above 0, such as 3")
