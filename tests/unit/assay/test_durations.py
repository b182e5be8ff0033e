"""Lengths of time as people write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.time.durations import UnableToReadDuration, format_duration, parse_duration


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
    ("text", "said"),
    [
        ("4 h", "'4 h' is no length of time: write a number and s, m, h, d or w, such as 4h."),
        ("\u0664h", "'\u0664h' is no length of time: write a number and s, m, h, d or w, such as 4h."),
        ("1234567890s", "'1234567890s' is no length of time: write a number and s, m, h, d or w, such as 4h."),
        ("1.1234567s", "'1.1234567s' is no length of time: write a number and s, m, h, d or w, such as 4h."),
        ("36525.1d", "'36525.1d' is too long: write at most 36525d, a hundred years."),
        ("5218w", "'5218w' is too long: write at most 36525d, a hundred years."),
    ],
)
def test_what_is_refused_is_told_with_how_to_write_it(text: str, said: str) -> None:
    with pytest.raises(UnableToReadDuration) as refused:
        parse_duration(text)
    assert str(refused.value) == said


def test_a_hundred_years_are_the_longest() -> None:
    assert parse_duration("36525d") == timedelta(days=36_525)
    assert parse_duration("876600h") == timedelta(days=36_525)


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(hours=36), "36h"),
        (timedelta(hours=24), "1d"),
        (timedelta(minutes=90), "90m"),
        (timedelta(seconds=61), "61s"),
        (timedelta(milliseconds=1500), "1.5s"),
        (timedelta(seconds=5, microseconds=20), "5.00002s"),
        (timedelta(days=21), "21d"),
        (timedelta(hours=1), "1h"),
        (timedelta(minutes=1), "1m"),
        (timedelta(0), "0s"),
    ],
)
def test_a_length_is_written_in_its_largest_whole_unit(length: timedelta, text: str) -> None:
    assert format_duration(length) == text


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=3650)).map(lambda each: each // 1000 * 1000))
def test_what_is_written_is_read_back(length: timedelta) -> None:
    assert abs(parse_duration(format_duration(length)) - length) <= timedelta(microseconds=1)
