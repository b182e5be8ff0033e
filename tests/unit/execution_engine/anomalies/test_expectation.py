"""A value against what was expected: one number, 1 at the ends, and strategies by name."""

import re
from math import inf

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from execution_engine.anomalies.expectation import MOST, STRATEGIES, Detector, Side
from execution_engine.anomalies.series import Series
from execution_engine.anomalies.strategies import OnlineNormal

ANY = Detector(strategy=OnlineNormal())
LOW, HIGH = (Detector(strategy=OnlineNormal(), side=side) for side in (Side.LOW, Side.HIGH))


@pytest.mark.parametrize(
    ("value", "interval", "score"),
    [
        *[(10, (8, 12), 0), (12, (8, 12), 1), (8, (8, 12), 1), (14, (8, 12), 2), (5, (5, 5), 0), (6, (5, 5), 1.2)],
        *[(1, (0, 0), 2), (7, (5, inf), 0), (4, (5, inf), 1.2), (1e300, (5, 5), MOST)],
    ],
)
def test_it_is_the_distance_in_halves_of_the_interval(
    value: float, interval: tuple[float, float], score: float
) -> None:
    assert ANY.score(value, interval) == pytest.approx(score)


@given(value=st.floats(-1e9, 1e9), ends=st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)).map(sorted))
@example(value=0.0, ends=[0.0, 5e-324])
@example(value=1.0, ends=[0.0, 5e-324])
def test_it_is_above_one_outside_the_interval_and_only_there(value: float, ends: list[float]) -> None:
    low, high = ends
    noise = 1e-11 * max(abs(low), abs(high), 1e-3)
    score = ANY.score(value, (low, high))
    if low <= value <= high:
        assert score <= 1
    elif value < low - noise or value > high + noise:
        assert score >= 1


@given(value=st.floats(-1e6, 1e6), ends=st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)).map(sorted))
def test_one_side_at_a_time_is_what_both_are(value: float, ends: list[float]) -> None:
    low, high = ends
    assert {LOW.score(value, (low, high)), HIGH.score(value, (low, high))} == {0, ANY.score(value, (low, high))}


def test_numbers_that_were_added_up_in_another_order_are_no_anomaly() -> None:
    assert ANY.score(0.1 + 0.2, (0.3, 0.3)) == 0


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_has_a_name_that_leads_to_it(name: str) -> None:
    needed = {"simple_threshold": {"upper": 5}, "absolute_change": {"max_decrease": 5}}
    options = {"relative_rate_of_change": {"max_rate": 5}, **needed}.get(name, {})
    detector = Detector.of_options({"strategy": name, **options})
    assert detector.name == name
    low, high = detector.expects(Series(values=tuple(float(at % 7) for at in range(30))))
    assert low <= high


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"strategy": "crystal_ball"}, "there is no strategy 'crystal_ball': take one of adaptive, predictive,"),
        ({"side": "left"}, "side= is one of both, low, high, not 'left'"),
        ({"lower": 7}, "adaptive has no option lower=: take of alarms, min_values, period"),
        ({"strategy": "simple_threshold"}, "without bounds expects any value: give lower=, upper= or both"),
        ({"alarms": "many"}, "Adaptive: alarms='many' is no share of values"),
    ],
)
def test_an_option_that_is_wrong_says_what_to_write(options: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        Detector.of_options(options)
