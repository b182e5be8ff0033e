"""Strategies with a season: the weekday keeps its place, holidays are no ordinary days, and few values are enough."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from execution_engine.anomalies.forecasts import HoltWinters, SeasonalTrend
from execution_engine.anomalies.series import Series
from execution_engine.anomalies.strategies import Predictive, Strategy

MONDAY = datetime(2025, 11, 3)
WEEK = (1000.0, 1010, 990, 1000, 1020, 400, 300)  # from Monday on
FRIDAY, SATURDAY = 4, 5
NOISE = np.random.default_rng(11).normal(1, 0.01, 400)


def days(count: int, *, without: tuple[int, ...] = (), closed: tuple[int, ...] = ()) -> Series:
    """So many days from a Monday on, without some of them; on ``closed`` ones it was as on a Sunday."""
    known = [at for at in range(count) if at not in without]
    values = [(WEEK[6] if at in closed else WEEK[at % 7]) * NOISE[at] for at in known]
    when = [MONDAY + timedelta(days=at) for at in known]
    return Series(values=tuple(values), when=tuple(when), at=MONDAY + timedelta(days=count))


@pytest.mark.parametrize("strategy", [HoltWinters(std_devs=4), SeasonalTrend()], ids=["holt_winters", "seasonal_trend"])
class TestOfASeason:
    @pytest.mark.parametrize("ahead", range(7))
    def test_each_day_is_expected_to_be_like_its_weekday(
        self, strategy: HoltWinters | SeasonalTrend, ahead: int
    ) -> None:
        low, high = strategy.expected_in(days(56 + ahead))
        others = [value for value in WEEK if abs(value - WEEK[ahead]) > 200]
        assert low < WEEK[ahead] < high
        assert not any(low < value < high for value in others)

    def test_a_weekday_keeps_its_place_where_days_are_missing(self, strategy: HoltWinters | SeasonalTrend) -> None:
        low, high = strategy.expected_in(days(56 + SATURDAY, without=(9, 23, 24, 25, 59, 60)))
        assert low < WEEK[SATURDAY] < high < 700

    def test_a_constant_is_expected_to_stay_what_it_is(self, strategy: HoltWinters | SeasonalTrend) -> None:
        assert strategy.expected([5.0] * 30) == pytest.approx((5, 5))

    def test_it_needs_a_few_seasons(self, strategy: HoltWinters | SeasonalTrend) -> None:
        low, high = strategy.expected([*WEEK, *WEEK, *WEEK][: strategy.needed])
        assert np.isfinite([low, high]).all()
        assert strategy.needed in {14, 21}

    @pytest.mark.parametrize("wrong", [1, 0, -7, 7.0, True])
    def test_a_season_is_a_whole_number_of_steps(self, strategy: HoltWinters | SeasonalTrend, wrong: int) -> None:
        with pytest.raises(ValueError, match="is no whole number of steps from 2 on"):
            type(strategy)(period=wrong)


def test_trend_and_season_are_not_bent_by_a_few_anomalies() -> None:
    spoilt = days(56)
    values = list(spoilt.values)
    values[30] = values[44] = 9000.0
    low, high = SeasonalTrend().expected_in(Series(values=tuple(values), when=spoilt.when, at=spoilt.at))
    assert 900 < low < WEEK[0] < high < 1100


THANKSGIVING = 24  # days behind that Monday
CHRISTMAS = 52


def test_a_holiday_teaches_nothing_of_its_weekday() -> None:
    series = days(52 - 7, closed=(THANKSGIVING,))
    low, high = SeasonalTrend(country="US").expected_in(series)
    assert 900 < low < WEEK[3] < high < 1100


def test_a_holiday_may_be_as_a_sunday_or_as_earlier_holidays_were() -> None:
    before = days(CHRISTMAS, closed=(THANKSGIVING,))
    low, high = SeasonalTrend(country="US").expected_in(before)
    assert low < WEEK[6] < WEEK[3] < high
    assert SeasonalTrend().expected_in(before)[0] > WEEK[6]


def test_a_country_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match=r"country='Utopia' is no country that is known: write its two letters"):
        SeasonalTrend(country="Utopia")


def test_months_are_steps_of_one_length() -> None:
    when = tuple(datetime(2020 + at // 12, at % 12 + 1, 1) for at in range(48))
    values = tuple(100.0 + 50 * (at % 12 == 11) for at in range(48))
    low, high = SeasonalTrend(period=12).expected_in(Series(values=values, when=when, at=datetime(2024, 1, 1)))
    assert (low, high) == pytest.approx((100, 100), abs=1e-6)


@pytest.mark.parametrize(
    ("when", "slots"),
    [
        ((0, 1, 2, 3), [0, 1, 2]),
        ((0, 2, 3, 7), [0, None, 2, 3]),
        ((0, 1, 1, 2), [0, 1, 2]),  # two of one instant: no grid
        ((0, 0.001, 900, 901), [0, 1, 2]),  # more empty slots than anything could fill
    ],
)
def test_values_stand_on_a_grid_of_the_shortest_step(when: tuple[float, ...], slots: list[int | None]) -> None:
    *before, at = (MONDAY + timedelta(days=each) for each in when)
    grid, ahead = Series(values=tuple(map(float, range(len(before)))), when=tuple(before), at=at).grid()
    places = [at for at, value in enumerate(grid) if not np.isnan(value)]
    assert places == [slot for slot in slots if slot is not None]
    assert ahead >= 1


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=8, max_size=60), alarms=st.floats(0.0001, 0.5))
def test_the_predictive_interval_is_that_of_a_regression_on_a_constant(values: list[float], alarms: float) -> None:
    low, high = Predictive(alarms=alarms).expected(values)
    error = np.std(values, ddof=1) * np.sqrt(1 + 1 / len(values))
    wanted = (
        stats.t.interval(1 - alarms, len(values) - 1, loc=np.mean(values), scale=error) if error else [values[0]] * 2
    )
    assert (low, high) == pytest.approx(tuple(wanted), rel=1e-9, abs=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("known", [8, 20, 60])
def test_it_calls_as_many_right_values_anomalies_as_it_was_asked_to(known: int) -> None:
    drawn = np.random.default_rng(3).normal(50, 4, (4000, known + 1))
    found = [
        not (low <= row[-1] <= high) for row in drawn for low, high in [Predictive(alarms=0.05).expected(row[:-1])]
    ]
    assert np.mean(found) == pytest.approx(0.05, abs=0.012)  # 3.5 standard errors


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: Predictive(alarms=0), "is no share of values"),
        (lambda: Predictive(alarms=True), "is no share of values"),
        (lambda: Predictive(min_values=1), "a deviation needs two values"),
        (lambda: SeasonalTrend(std_devs=0), "is no reach around the forecast"),
    ],
)
def test_what_could_never_find_an_anomaly_is_refused(made: type[Strategy], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        made()


CAR_SALES = [
    6550, 8728, 12026, 14395, 14587, 13791, 9498, 8251, 7049, 9545, 9364, 8456, 7237, 9374, 11837, 13784,
    15926, 13821, 11143, 7975, 7610, 10015, 12759, 8816, 10677, 10947, 15200, 17010, 20900, 16205, 12143,
    8997, 5568, 11474, 12256, 10583, 10862, 10965, 14405, 20379, 20128, 17816, 12268, 8642, 7962, 13932,
    15936, 12628,
]  # fmt: skip
MILK = [
    589, 561, 640, 656, 727, 697, 640, 599, 568, 577, 553, 582, 600, 566, 653, 673, 742, 716, 660, 617, 583,
    587, 565, 598, 628, 618, 688, 705, 770, 736, 678, 639, 604, 611, 594, 634, 658, 622, 709, 722, 782, 756,
    702, 653, 615, 621, 602, 635,
]  # fmt: skip
SINE = [math.sin(2 * math.pi / 7 * day) + day for day in range(48)]


@pytest.mark.parametrize(
    ("strategy", "values", "first", "found"),
    [
        (HoltWinters(), [1.0] * 21, 14, 0),
        (HoltWinters(), [*[1.0] * 20, 0.0], 14, 1),
        (HoltWinters(), range(48), 36, 0),
        (HoltWinters(), SINE, 36, 0),
        (HoltWinters(), [*[0.0, 1, 1, 1, 1, 1, 1] * 2, *[1.0] * 7], 14, 1),
        (HoltWinters(period=12), CAR_SALES, 36, 3),
        (HoltWinters(period=12), MILK, 36, 1),  # Deequ: 7, of a forecast of the whole year
    ],
    ids=["constant", "one error", "trend", "trend and season", "wrong past", "car sales", "milk"],
)
def test_holt_winters_finds_what_deequ_publishes_of_its_own(
    strategy: HoltWinters, values: Sequence[float], first: int, found: int
) -> None:
    expected = [strategy.expected([float(value) for value in values[:at]]) for at in range(first, len(values))]
    assert sum(not low <= value <= high for value, (low, high) in zip(values[first:], expected, strict=True)) == found
