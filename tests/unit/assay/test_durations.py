"""Lengths of time as people write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.durations import UnableToReadDuration, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("4h", timedelta(hours=4)),
        ("1d", timedelta(days=1)),
        ("30m", timedelta(minutes=30)),
        ("90s", timedelta(seconds=90)),
        ("1.5h", timedelta(minutes=90)),
        ("2w", timedelta(days=14)),
        ("0m", timedelta(0)),
    ],
)
def test_a_length_is_read_as_people_write_it(text: str, length: timedelta) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize("text", ["", "4", "h", "4 h", "-4h", "4H", "1mo", "1e3s", "4h30m", "999999999w"])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(UnableToReadDuration, match="write"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(hours=36), "36h"),
        (timedelta(hours=24), "1d"),
        (timedelta(minutes=90), "90m"),
        (timedelta(seconds=61), "61s"),
        (timedelta(milliseconds=1500), "1.5s"),
        (timedelta(0), "0s"),
    ],
)
def test_a_length_is_written_in_its_largest_whole_unit(length: timedelta, text: str) -> None:
    assert format_duration(length) == text


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=3650)).map(lambda each: each // 1000 * 1000))
def test_what_is_written_is_read_back(length: timedelta) -> None:
    assert abs(parse_duration(format_duration(length)) - length) <= timedelta(microseconds=1)
