"""A profile as lines of text."""

from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.report import MOST_LETTERS, described, text_of, usual_of


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
        ([None], ""),
        ([[1], [2]], ""),
        ([float("nan")], ""),
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
