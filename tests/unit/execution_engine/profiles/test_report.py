"""A profile as people read it, beside pandas and numpy."""

import json
import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.profiles.gather import column_profile, gathered_profile
from execution_engine.profiles.lints import lints_of
from execution_engine.profiles.report import BINS, MOST_LETTERS, SHARES, described, page_of, text_of, usual_of

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
        *[([*range(4999), 7], False), ([*range(4999), None], False), ([1], False), ([], False), ([[1], [2]], False)],
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


def usual(values: list[Any]) -> str:
    """Of a column of these values."""
    (column,) = described(gathered_profile([pa.table({"x": values})]))["columns"]
    return usual_of(column)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (list(range(101)), "5 to 95"),
        ([1234.5 * number for number in range(101)], "6,172 to 117,278"),
        ([7, 7, None], "7"),
        (["a", "abc", None], "1 to 3 characters"),
        (["ab", "cd"], "2 characters"),
        ([datetime(2026, 3, 9, 1, 2, 3)] * 3, "2026-03-09 01:02"),
        ([datetime(2026, 3, 9, hour) for hour in range(21)], "2026-03-09 01:00 to 19:00"),
        ([datetime(2026, 3, day) for day in range(1, 22)], "2026-03-02 00:00 to 2026-03-20 00:00"),
        ([date(2026, 3, day) for day in range(1, 22)], "2026-03-02 to 2026-03-20"),
        *[([None], ""), ([[1], [2]], ""), ([float("nan")], "")],
    ],
)
def test_what_is_usual_is_where_nine_of_ten_numbers_lie_or_how_long_texts_are(values: list[Any], said: str) -> None:
    assert usual(values) == said


def test_a_long_value_is_cut_and_breaks_no_line() -> None:
    told = described(gathered_profile([pa.table({"x" * 200: ["a\nb\x1b[31m"] * 3})]))
    first, _, line = text_of("t", told).splitlines()
    assert first == "t: 3 rows"
    assert line.startswith("x" * (MOST_LETTERS - 1) + "…  string  100 %  ")
    assert "\x1b" not in line


def test_a_table_without_columns_has_a_head_alone() -> None:
    assert text_of("t", {"rows": 0, "columns": []}).splitlines()[0] == "t: 0 rows"


ODD = pa.table(
    {
        "id": [at for at in range(1, 8) for _ in range(8 - at)],
        "x<y": [1.0] * 14 + [-1.0] * 10 + [float("nan")] * 3 + [float("inf")],
        "name": ["Oslo"] * 14 + ["Rome"] * 11 + ["N/A"] * 2 + [None],
    }
)


def test_a_profile_is_told_column_by_column() -> None:
    told = described(gathered_profile([ODD]))
    assert (told["rows"], told["profiled_rows"]) == (28, 28)
    _, odd, name = told["columns"]
    assert odd == {
        **{"name": "x<y", "type": "double", "kind": "number", "nulls": 0, "complete": 1.0},
        **{"distinct": 4, "distinct_is_exact": True, "unique_share": 1 / 28, "may_be_key": False},
        "values": [
            {"value": value, "count": count, "share": count / 28}
            for value, count in ((1, 14), (-1, 10), ("nan", 3), ("inf", 1))
        ],
        "lints": [{"name": "stand-ins", "said": "-1.0 may stand for a missing value", "share": 10 / 28}],
        "numbers": {
            **{"zeros": 0, "negatives": 10, "whole": 24, "nan": 3, "infinite": 1, "min": -1, "max": 1},
            **{"mean": pytest.approx(1 / 6), "deviation": pytest.approx(35**0.5 / 6)},
            "quantiles": {"0.01": -1, "0.05": -1, "0.25": -1, "0.5": 1, "0.75": 1, "0.95": 1, "0.99": 1},
            "histogram": [
                {"low": at, "high": at, "share": pytest.approx(share)}
                for at, share in ((-1, 5 / 12), (0, 0), (1, 7 / 12))
            ],
        },
    }
    assert name["texts"] == {
        **{"shortest": 3, "longest": 4, "mean_length": pytest.approx(106 / 27), "peculiarity": 0.0},
        "shapes": [
            {"shape": shape, "count": count, "share": count / 27} for shape, count in (("Aaaa", 25), ("A/A", 2))
        ],
    }


def test_a_profile_is_told_in_a_line_for_each_column_and_each_oddity() -> None:
    assert text_of("shop/<t>", described(gathered_profile([ODD]))).splitlines() == [
        "shop/<t>: 28 rows",
        "column  type    complete  different  usual            range",
        "id      int64   100 %     7          1, 2, 3          1 … 3 … 7",
        "x<y     double  100 %     4          1, -1, nan       -1 … 1 … 1",
        "name    string  96.43 %   3          Oslo, Rome, N/A  3 to 4 characters, Aaaa",
        "  x<y: stand-ins (35.71 %): -1.0 may stand for a missing value",
        "  name: stand-ins (7.41 %): 'N/A' may stand for a missing value",
    ]


def test_the_page_of_a_profile_has_its_facts_bars_values_and_oddities() -> None:
    told = described(gathered_profile([ODD]))
    told["columns"][0] |= {"may_be_key": True, "distinct_is_exact": False}
    head, body = page_of("shop/<t>", told).split("</style>")
    assert "<title>shop/&lt;t&gt;</title>" in head
    assert re.findall('<rect x="(.*?)" width=".9" y="(.*?)" height="(.*?)">', body)[7:] == [
        ("0.05", "0.2857", "0.7143"),
        ("1.05", "1.0000", "0.0000"),
        ("2.05", "0.0000", "1.0000"),
    ]
    assert re.findall('viewBox="0 0 (.*?) 1".*?numbers of (.*?) lie', body) == [("7", "id"), ("3", "x&lt;y")]
    assert re.sub("(<.*?>|\\s)+", " ", body).strip() == (
        "shop/&lt;t&gt; 28 rows, 3 columns "
        "id int64 missing 0 different about 7 (may be a key) lowest 1 mean 3 highest 7 "
        "1 to 1: 25.00 % 2 to 2: 21.43 % 3 to 3: 17.86 % 4 to 4: 14.29 % 5 to 5: 10.71 % 6 to 6: 7.14 % 7 to 7: 3.57 % "
        "1 7 2 6 3 5 4 4 5 3 6 2 "
        "x&lt;y double missing 0 different 4 lowest -1 mean 0.166667 highest 1 NaN 3 infinite 1 "
        "-1 to -1: 41.67 % 0 to 0: 0.00 % 1 to 1: 58.33 % 1 14 -1 10 nan 3 inf 1 "
        "stand-ins: -1.0 may stand for a missing value "
        "name string missing 1 different 3 characters 3 to 4 Aaaa 25 A/A 2 Oslo 14 Rome 11 N/A 2 "
        "stand-ins: &#x27;N/A&#x27; may stand for a missing value"
    )


DAYS = [f"2026-03-{1 + at % 28:02d}" for at in range(100)]


def names(values: Sequence[object]) -> dict[str, float]:
    """The lints of a column, each with the share of rows that it is of."""
    return {lint["name"]: round(lint["share"], 3) for lint in lints_of(column_profile(pa.array(values)))}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["a"] * 50, {"constant": 1.0}),
        ([7] * 50, {"constant": 1.0}),
        (DAYS, {"dates as texts": 1.0}),
        ([f"{day}T12:00:00Z" for day in DAYS], {"dates as texts": 1.0}),
        ([*DAYS[:60], *(f"{1 + at % 12}/3/2026" for at in range(40))], {"dates as texts": 1.0, "mixed formats": 1.0}),
        ([str(at * 37 + 1) for at in range(100)], {"numbers as texts": 1.0}),
        ([f"{at / 7 + 1:.2f}" for at in range(100)], {"numbers as texts": 1.0}),
        ([f"{at:05d}" for at in range(100)], {}),  # zip codes: zeros in front mean something
        (["open"] * 60 + ["Open"] * 30 + ["closed "] * 5 + ["closed"] * 5, {"near duplicates": 0.35}),
        (["Oslo"] * 50 + ["Rome"] * 45 + ["N/A"] * 5, {"stand-ins": 0.05}),
        ([*range(90), *[99999] * 10], {"stand-ins": 0.1}),
        ([*range(90), *[99] * 10], {}),  # not far from the others
        ([*range(1, 91), *[-1] * 10], {}),  # nor is this one
        ([1000 + at for at in range(90)] + [-999] * 10, {"stand-ins": 0.1}),
        (["x"] * 49 + ["AKIAABCDEFGH12345678"], {"leaked secrets": 0.02}),
        (["x"] * 49 + ["postgres://ann:hunter2@db/prod"], {"leaked secrets": 0.02}),
        (["https://example.com/a"] * 25 + ["https://example.com/b"] * 25, {}),
        (["ab"] * 10 + ["N/A"], {}),  # so few that everything looks odd
        ([None] * 100, {}),
        ([1.5, 2.5, float("nan"), float("inf")] * 20, {}),
        ([["a"]] * 50, {}),
    ],
)
def test_what_looks_odd_is_named_with_its_share(values: list[object], found: dict[str, float]) -> None:
    assert names(values) == found


def test_what_a_secret_is_like_is_told_and_the_secret_is_not() -> None:
    secret = "ghp_" + "a1B2" * 8
    (lint,) = lints_of(column_profile(pa.array(["x"] * 49 + [secret])))
    assert "a token of GitHub" in lint["said"]
    assert secret not in lint["said"]


def test_the_oddest_comes_first() -> None:
    values = ["2026-03-01"] * 60 + ["N/A"] * 2
    assert list(names(values)) == ["dates as texts", "stand-ins"]
