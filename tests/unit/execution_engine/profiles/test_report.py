"""A profile as people read it, beside pandas and numpy."""

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.report import BINS, SHARES, described

FLOATS = st.floats(-1e12, 1e12)


def column(values: Any, type_: pa.DataType | None = None) -> dict[str, Any]:
    """The description of one column."""
    found = described(gathered_profile([pa.table({"x": pa.array(values, type_)})]))
    (one,) = found["columns"]
    return dict(one)


@given(values=st.lists(FLOATS | st.none(), min_size=1, max_size=300))
def test_numbers_are_what_pandas_says(values: list[float | None]) -> None:
    told, series = column(values, pa.float64()), pd.Series(values, dtype=float)
    assert (told["nulls"], told["distinct"]) == (series.isna().sum(), series.nunique())
    if series.notna().any():
        numbers = told["numbers"]
        assert (numbers["min"], numbers["max"]) == (series.min(), series.max())
        assert numbers["mean"] == pytest.approx(series.mean(), rel=1e-9, abs=1e-3)
        assert numbers["deviation"] == pytest.approx(series.std(ddof=0), rel=1e-6, abs=1e-3)
        wanted = np.quantile(series.dropna(), SHARES, method="inverted_cdf")
        assert list(numbers["quantiles"].values()) == wanted.tolist()


@given(values=st.lists(FLOATS | st.integers(-50, 50), min_size=1, max_size=300))
def test_the_bins_of_a_histogram_hold_every_row_once(values: list[float]) -> None:
    bins = column([float(value) for value in values])["numbers"]["histogram"]
    assert len(bins) <= BINS
    assert sum(each["share"] for each in bins) == pytest.approx(1)
    assert (bins[0]["low"], bins[-1]["high"] >= max(values)) == (min(values), True)


@given(values=st.lists(st.integers(-500, 500), min_size=2, max_size=300))
def test_each_bin_of_whole_numbers_holds_as_many_of_them(values: list[int]) -> None:
    bins = column(values)["numbers"]["histogram"]
    assert len({each["high"] - each["low"] for each in bins}) == 1
    counts = [sum(each["low"] <= value <= each["high"] for value in values) / len(values) for each in bins]
    assert [each["share"] for each in bins] == pytest.approx(counts)


def test_the_most_frequent_values_come_first() -> None:
    told = column(["a"] * 3 + ["b"] * 5 + ["c"] + [None])
    assert [(each["value"], each["count"]) for each in told["values"]] == [("b", 5), ("a", 3), ("c", 1)]
    assert told["values"][0]["share"] == pytest.approx(5 / 9)
    assert (told["complete"], told["unique_share"]) == (0.9, pytest.approx(1 / 9))


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([date(2026, 3, 1), date(2026, 3, 9)], "2026-03-01", "2026-03-09"),
        ([datetime(2026, 3, 1, 12), datetime(2026, 3, 9, 1, 2, 3)], "2026-03-01T12:00:00", "2026-03-09T01:02:03"),
        ([time(1, 2, 3), time(23, 59)], "01:02:03", "23:59:00"),
        ([timedelta(seconds=90), timedelta(days=1)], "90 s", "86400 s"),
        ([Decimal("1.50"), Decimal("2.25")], 1.5, 2.25),
        ([date(1, 1, 1), date(9999, 12, 31)], "0001-01-01", "9999-12-31"),
    ],
)
def test_values_are_shown_as_people_write_them(values: list[Any], low: object, high: object) -> None:
    numbers = column(values)["numbers"]
    assert (numbers["min"], numbers["max"]) == (low, high)


@pytest.mark.parametrize(
    ("values", "may"),
    [
        (list(range(5000)), True),
        ([f"id-{at}" for at in range(20_000)], True),
        ([*range(4999), 7], False),
        ([*range(4999), None], False),
        ([1], False),
        ([], False),
        ([[1], [2]], False),
    ],
)
def test_a_key_has_a_value_of_its_own_in_every_row(values: list[Any], may: bool) -> None:
    assert column(values)["may_be_key"] is may


def test_values_of_a_column_that_holds_secrets_are_hidden() -> None:
    told = column(["x"] * 30 + ["AKIAABCDEFGH12345678"])
    assert {each["value"] for each in told["values"]} == {"(hidden)"}


def test_hidden_columns_tell_how_many_rows_they_have_and_no_more() -> None:
    profile = gathered_profile([pa.table({"id": [1, 2], "pay": [5.0, None]})]).without_values(["pay"])
    pay = described(profile)["columns"][1]
    assert (pay["nulls"], pay["complete"], pay["values"], "numbers" in pay) == (1, 0.5, [], False)


@pytest.mark.parametrize(
    "values",
    [
        [None, None],
        [],
        [float("nan"), float("inf"), -float("inf")],
        ["x" * 1_000_000],
        [b"\xff\x00", b""],
        [{"a": 1}],
        [True, False, None],
        [1.7e308, -1.7e308],
    ],
)
def test_whatever_it_is_of_it_is_json(values: list[Any]) -> None:
    told = column(values)
    assert json.loads(json.dumps(told, allow_nan=False))["distinct"] >= 0
    assert len(json.dumps(told)) < 10_000
