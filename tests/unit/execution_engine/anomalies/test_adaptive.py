"""The default strategy: it learns weekday and level from its own errors, and few values are enough."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from execution_engine.anomalies.expectation import Detector
from execution_engine.anomalies.forecasts import Adaptive
from execution_engine.anomalies.series import Series
from execution_engine.anomalies.strategies import Predictive

MONDAY = datetime(2025, 11, 3)
WEEK = (1000.0, 1010, 990, 1000, 1020, 400, 300)  # from Monday on
NOISE = np.random.default_rng(11).normal(1, 0.02, 400)
DEFAULT = Detector.of_options({})


def days(count: int, *, without: tuple[int, ...] = ()) -> Series:
    """So many days from a Monday on, without some of them."""
    at = [day for day in range(count) if day not in without]
    when = tuple(MONDAY + timedelta(days=day) for day in at)
    values = tuple(float(WEEK[day % 7] * NOISE[day]) for day in at)
    return Series(values=values, when=when, at=MONDAY + timedelta(days=count))


def is_odd(value: float, series: Series) -> bool:
    return DEFAULT.score(value, DEFAULT.expects(series)) > 1


@pytest.mark.parametrize("without", [(), (20, 33, 34)], ids=["each day", "some days missing"])
def test_by_default_a_weekday_is_expected_to_be_like_its_weekday(without: tuple[int, ...]) -> None:
    saturday = days(47, without=without)
    assert not is_odd(400, saturday)
    assert is_odd(1000, saturday)  # as on a Friday
    assert is_odd(600, days(43, without=without))  # on a Tuesday


def test_a_level_that_moves_is_followed() -> None:
    values = [1000 * 1.02**day * NOISE[day] for day in range(60)]
    low, high = Adaptive().expected(values)
    assert low < 1000 * 1.02**60 < high
    assert low > 0.7 * 1000 * 1.02**60


def test_a_level_that_jumped_is_the_new_one_after_a_while() -> None:
    values = [(100.0 if day < 30 else 200) * NOISE[day] for day in range(75)]
    low, high = Adaptive().expected(values[-60:])
    assert 80 < low < 200 < high


def test_an_odd_day_of_the_past_may_come_again_and_bends_nothing() -> None:
    values = [100 * NOISE[day] for day in range(60)]
    values[30] = 85.0
    low, high = Adaptive().expected(values)
    assert low < 86
    assert high < 110  # as if there had been none


def test_the_day_after_an_odd_one_may_be_odd_on_either_side() -> None:
    values = [100 * NOISE[day] for day in range(60)]
    low, high = Adaptive().expected([*values, 85.0])
    assert low < 85
    assert high > 112


def test_a_new_level_is_odd_on_its_first_day_alone() -> None:
    values = [(100.0 if day < 60 else 75) * NOISE[day] for day in range(80)]
    intervals = [Adaptive().expected(values[day - 60 : day]) for day in range(60, 80)]
    odd = [not low <= value <= high for value, (low, high) in zip(values[60:], intervals, strict=True)]
    assert odd == [True] + 19 * [False]


def test_counts_are_expected_to_spread_with_their_root() -> None:
    drawn = np.random.default_rng(3)
    values = [float(drawn.poisson(9 if day % 7 > 4 else 900)) for day in range(70)]
    widths = [np.ptp(Adaptive().expected_in(Series(values=tuple(values[: 70 - cut])))) for cut in (0, 1)]
    assert widths[0] > 3 * widths[1]  # of a Monday, and of a Sunday


def test_right_values_are_rarely_odd_however_few_are_known() -> None:
    drawn = np.random.default_rng(5).normal(100, 10, (400, 9))
    odd = [not low <= row[-1] <= high for row in drawn for low, high in [Adaptive().expected(row[:-1].tolist())]]
    assert np.mean(odd) <= 0.02


def test_equal_values_expect_the_same_and_a_change_is_learnt() -> None:
    assert Adaptive().expected([5.0] * 20) == (5, 5)
    low, high = Adaptive().expected([5.0] * 20 + [9.0] * 40)
    assert low < 9 < high


def test_it_looks_closer_than_the_interval_around_the_mean() -> None:
    series = days(60)
    assert np.ptp(Adaptive().expected_in(series)) < 0.5 * np.ptp(Predictive().expected(series.values))


def test_values_near_the_largest_float_raise_nothing() -> None:
    Adaptive().expected([1.7e308, -1.7e308] * 10)


def test_a_season_shorter_than_two_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="Adaptive: period=1 is no whole number of steps from 2 on"):
        Adaptive(period=1)
