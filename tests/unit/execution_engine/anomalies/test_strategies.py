"""Strategies against numpy and pandas, computed another way."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from execution_engine.anomalies.strategies import Strategy, strategy_text
from execution_engine.verification import (
    AbsoluteChange,
    BatchNormal,
    OnlineNormal,
    RelativeRateOfChange,
    SimpleThreshold,
)

SERIES = pd.Series(np.random.default_rng(7).normal(1000, 20, 60))
SERIES[[20, 41]] = [1200.0, 700.0]
Flags = Callable[["pd.Series[float]"], "pd.Series[bool]"]


def beyond(series: "pd.Series[float]", ddof: int) -> "pd.Series[bool]":
    """Further than three deviations of all values before from their mean."""
    before = series.expanding(min_periods=3)
    mean, deviation = before.mean().shift(), before.std(ddof=ddof).shift()
    return (series - mean).abs() > 3 * deviation


def anomalies(strategy: Strategy, values: Sequence[float]) -> list[int]:
    """Where in a series the anomalies stand, each judged by the values before it."""
    found = []
    for at in range(strategy.needed, len(values)):
        low, high = strategy.expected(values[:at])
        found += [] if low <= values[at] <= high else [at]
    return found


CASES: list[tuple[Strategy, Flags]] = [
    (SimpleThreshold(lower=950, upper=1050), lambda s: ~s.between(950, 1050)),
    (AbsoluteChange(max_decrease=50, max_increase=60), lambda s: (s.diff() < -50) | (s.diff() > 60)),
    (
        AbsoluteChange(max_decrease=80, max_increase=80, order=2),
        lambda s: pd.Series([False, False, *(abs(np.diff(s, n=2)) > 80)]),
    ),
    (RelativeRateOfChange(min_rate=0.95, max_rate=1.05), lambda s: ~(s / s.shift()).fillna(1).between(0.95, 1.05)),
    (
        RelativeRateOfChange(min_rate=0.9, max_rate=1.1, order=7),
        lambda s: ~(s / s.shift(7)).fillna(1).between(0.9, 1.1),
    ),
    (BatchNormal(std_devs=3), lambda s: beyond(s, ddof=1)),
    (OnlineNormal(std_devs=3, ignore_anomalies=False), lambda s: beyond(s, ddof=0)),
]


@pytest.mark.parametrize(("strategy", "flags"), CASES, ids=lambda case: getattr(case, "__class__", case).__name__)
def test_anomalies_are_those_that_pandas_finds(strategy: Strategy, flags: Flags) -> None:
    expected = np.flatnonzero(flags(SERIES)).tolist()
    assert expected != []
    assert anomalies(strategy, SERIES.tolist()) == expected


def test_an_anomaly_does_not_teach_that_the_next_one_is_none() -> None:
    values = [100.0, 102, 98, 101, 99, 100, 500, 480]
    assert anomalies(OnlineNormal(), values) == [6, 7]
    assert anomalies(OnlineNormal(ignore_anomalies=False), values) == [6]


def test_the_mean_is_that_of_the_values_before_without_the_anomalies() -> None:
    values = [100.0, 102, 98, 101, 99, 500, 100]
    known = [value for value in values if value < 200]
    low, high = OnlineNormal(std_devs=2).expected(values)
    assert [low, high] == pytest.approx([np.mean(known) - 2 * np.std(known), np.mean(known) + 2 * np.std(known)])


def test_after_a_series_of_one_value_any_other_is_an_anomaly() -> None:
    assert anomalies(OnlineNormal(), [5.0, 5, 5, 5, 6]) == [4]


def test_after_0_only_0_is_expected_of_a_rate() -> None:
    assert anomalies(RelativeRateOfChange(max_rate=2), [0.0, 0, 5]) == [2]


def test_a_rate_of_negative_values_has_its_bounds_in_order() -> None:
    assert RelativeRateOfChange(min_rate=0.5, max_rate=2).expected([-10.0]) == (-20.0, -5.0)


def test_a_strategy_is_written_with_what_differs_from_its_defaults() -> None:
    assert strategy_text(OnlineNormal(std_devs=4)) == "OnlineNormal(std_devs=4)"
    assert strategy_text(SimpleThreshold(upper=10)) == "SimpleThreshold(upper=10)"


@pytest.mark.parametrize(
    ("strategy", "given", "said"),
    [
        (SimpleThreshold, {}, "give lower=, upper= or both"),
        (SimpleThreshold, {"lower": 2, "upper": 1}, "write the lower one first"),
        (SimpleThreshold, {"lower": math.nan}, "lower=nan is no number"),
        (SimpleThreshold, {"upper": -math.inf}, "give lower=, upper= or both"),
        (SimpleThreshold, {"lower": "2"}, "lower='2' is no number"),
        (AbsoluteChange, {}, "give max_decrease=, max_increase= or both"),
        (AbsoluteChange, {"max_decrease": -50}, "max_decrease=-50 is a length: write 0 or more"),
        (AbsoluteChange, {"max_increase": -1}, "max_increase=-1 is a length: write 0 or more"),
        (AbsoluteChange, {"max_increase": 1, "order": 0}, "order=0 is no whole number from 1 on"),
        (RelativeRateOfChange, {}, "give min_rate=, max_rate= or both"),
        (RelativeRateOfChange, {"min_rate": 2, "max_rate": 0.5}, "write the lower one first"),
        (RelativeRateOfChange, {"max_rate": 2, "order": 1.5}, "order=1.5 is no whole number from 1 on"),
        (BatchNormal, {"std_devs": -3}, "std_devs=-3 is no reach around the mean: write a number above 0"),
        (BatchNormal, {"std_devs": 0}, "write a number above 0"),
        (BatchNormal, {"std_devs": math.inf}, "write a number above 0"),
        (BatchNormal, {"min_values": 1}, "min_values=1 is no whole number from 2 on; a deviation needs two values"),
        (OnlineNormal, {"std_devs": math.nan}, "write a number above 0"),
        (OnlineNormal, {"ignore_start": 1.5}, "write a number from 0 to 1"),
        (OnlineNormal, {"min_values": 0}, "min_values=0 is no whole number from 2 on"),
    ],
)
def test_a_strategy_that_makes_no_sense_is_refused_when_it_is_written(
    strategy: type[Strategy], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as refused:
        strategy(**given)
    assert strategy.__name__ in str(refused.value)


@pytest.mark.parametrize(
    "strategy",
    [
        SimpleThreshold(lower=1, upper=1),
        SimpleThreshold(upper=0),
        AbsoluteChange(max_decrease=0, max_increase=0),
        RelativeRateOfChange(max_rate=2),
        OnlineNormal(ignore_start=1),
        BatchNormal(std_devs=np.float64(0.5), min_values=2),
    ],
    ids=strategy_text,
)
def test_a_strategy_at_the_edge_of_sense_is_taken(strategy: Strategy) -> None:
    low, high = strategy.expected([1.0, 2, 3])
    assert low <= high
