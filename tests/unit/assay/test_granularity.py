"""Periods of local time, held to pandas."""

from datetime import datetime

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.time.windows import Granularity, UnableToPartition, check_key_format, parse_key, zone

PERIODS = {Granularity.HOUR: "h", Granularity.DAY: "D", Granularity.WEEK: "W-SUN", Granularity.MONTH: "M"}


def test_partitions_have_one_of_four_lengths_and_a_usual_format() -> None:
    assert {each.value: each.default_key_format for each in Granularity} == {
        "hour": "%Y-%m-%d-%H",
        "day": "%Y-%m-%d",
        "week": "%G-W%V",
        "month": "%Y-%m",
    }


@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)), st.integers(-30, 30))
def test_a_period_begins_where_pandas_says(wall: datetime, periods: int) -> None:
    for granularity, name in PERIODS.items():
        period = pd.Period(wall, freq=name)
        assert granularity.floor(wall) == period.start_time.to_pydatetime()
        start = granularity.floor(wall)
        assert granularity.after(start, periods) == (period + periods).start_time.to_pydatetime()
        assert granularity.after(start) == (period + 1).start_time.to_pydatetime()


@pytest.mark.parametrize("granularity", Granularity)
def test_a_period_begins_with_its_first_microsecond(granularity: Granularity) -> None:
    wall = datetime(2013, 5, 29, 13, 47, 58, 123_456)
    starts = {"hour": "2013-05-29 13:00", "day": "2013-05-29", "week": "2013-05-27", "month": "2013-05-01"}
    assert granularity.floor(wall) == datetime.fromisoformat(starts[granularity.value])


@pytest.mark.parametrize(
    ("granularity", "key", "key_format", "start"),
    [
        (Granularity.WEEK, "2015-W53", "%G-W%V", datetime(2015, 12, 28)),
        (Granularity.WEEK, "2015-W53-3", "%G-W%V-%u", datetime(2015, 12, 30)),
        (Granularity.DAY, "29.02.2016", "%d.%m.%Y", datetime(2016, 2, 29)),
    ],
)
def test_a_key_is_read_and_a_week_alone_begins_on_its_monday(
    granularity: Granularity, key: str, key_format: str, start: datetime
) -> None:
    check_key_format(granularity, key_format)
    assert parse_key(key, key_format) == start


@pytest.mark.parametrize(
    ("granularity", "key_format", "said"),
    [
        (
            Granularity.HOUR,
            "%Y-%m-%d %I",
            "The key format '%Y-%m-%d %I' does not tell one hour from another: 2012-02-29 22:00:00 becomes "
            "'2012-02-29 10', which reads as 2012-02-29 10:00:00. Try '%Y-%m-%d-%H'.",
        ),
        (
            Granularity.MONTH,
            "%B",
            "The key format '%B' does not tell one month from another: 2012-02-01 00:00:00 becomes "
            "'February', which reads as 1900-02-01 00:00:00. Try '%Y-%m'.",
        ),
        (Granularity.DAY, "%Y-%m-%d-%Q", None),
    ],
)
def test_a_format_that_loses_something_is_told_with_what_is_lost(
    granularity: Granularity, key_format: str, said: str | None
) -> None:
    with pytest.raises(UnableToPartition) as refused:
        check_key_format(granularity, key_format)
    if said is None:
        assert str(refused.value).startswith("The key format '%Y-%m-%d-%Q' cannot be read back: ")
    else:
        assert str(refused.value) == said


@pytest.mark.parametrize("name", ["Mars/Olympus", "../etc/passwd", "", "Europe"])
def test_a_zone_that_there_is_not_is_told_with_one_that_there_is(name: str) -> None:
    with pytest.raises(UnableToPartition) as refused:
        zone(name)
    assert str(refused.value) == f"There is no time zone {name!r}: write an IANA name such as Europe/Berlin."
