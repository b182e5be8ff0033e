"""Steps: local calendar days and longer, real hours and minutes."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from assay.time.durations import Step, StepUnit, UnableToStep, add_months, shift

NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("7d", 7, StepUnit.DAY),
        ("-7d", -7, StepUnit.DAY),
        ("+1w", 1, StepUnit.WEEK),
        ("1mo", 1, StepUnit.MONTH),
        ("1y", 1, StepUnit.YEAR),
        ("4h", 4, StepUnit.HOUR),
        ("30m", 30, StepUnit.MINUTE),
    ],
)
def test_a_step_is_read_as_people_write_it(text: str, amount: int, unit: StepUnit) -> None:
    step = Step.parse(text)
    assert (step.amount, step.unit) == (amount, unit)
    assert Step.parse(str(step)) == step
    assert (-step) == Step(amount=-amount, unit=unit)


def test_a_step_is_told_as_it_is_written() -> None:
    assert [str(Step.parse(text)) for text in ("7d", "-1mo", "+4h")] == ["7d", "-1mo", "4h"]
    with pytest.raises(UnableToStep) as refused:
        Step.parse("7 days")
    assert str(refused.value) == (
        "'7 days' is no step: write a whole number and m, h, d, w, mo or y, such as 7d or -1mo."
    )


def test_days_and_longer_follow_the_calendar() -> None:
    assert {unit.value: unit.is_calendar for unit in StepUnit} == {
        **{"m": False, "h": False},
        **{"d": True, "w": True, "mo": True, "y": True},
    }


@pytest.mark.parametrize("text", ["", "7", "d", "7 d", "1.5d", "7D", "1month", "--7d", "7d7d", "\u0667d", "9999999d"])
def test_what_is_no_step_is_refused(text: str) -> None:
    with pytest.raises(UnableToStep, match="is no step"):
        Step.parse(text)


@pytest.mark.parametrize(
    ("start", "step", "expected"),
    [
        ("2013-03-09T05:00", "1d", "2013-03-10T05:00"),
        ("2013-03-10T05:00", "1d", "2013-03-11T04:00"),  # a day of 23 hours
        ("2013-03-10T05:00", "24h", "2013-03-11T05:00"),
        ("2013-03-09T07:30", "1d", "2013-03-10T07:30"),  # 02:30 is skipped and becomes 03:30
        ("2013-01-31T05:00", "1mo", "2013-02-28T05:00"),
        ("2012-02-29T05:00", "-1y", "2011-02-28T05:00"),
        ("2013-02-01T05:00", "-90m", "2013-02-01T03:30"),
        ("2013-02-01T05:00", "3h", "2013-02-01T08:00"),
        ("2013-03-08T05:00", "2w", "2013-03-22T04:00"),
        ("2013-03-08T05:00", "2y", "2015-03-08T05:00"),
        ("2013-11-30T05:00", "3mo", "2014-02-28T05:00"),
        ("2012-11-04T06:30", "-1d", "2012-11-03T05:30"),
    ],
)
def test_days_keep_the_local_time_and_hours_do_not(start: str, step: str, expected: str) -> None:
    shifted = shift(datetime.fromisoformat(start).replace(tzinfo=UTC), Step.parse(step), NEW_YORK)
    assert shifted == datetime.fromisoformat(expected).replace(tzinfo=UTC)
    assert shifted.tzinfo is UTC


@pytest.mark.parametrize("step", ["9999y", "-9999y", "999999d", "-999999w", "999999mo"])
def test_a_step_out_of_the_calendar_is_refused(step: str) -> None:
    with pytest.raises(UnableToStep, match="years 1 to 9999"):
        shift(
            datetime(9000, 1, 1, tzinfo=UTC) if step[0] != "-" else datetime(20, 1, 1, tzinfo=UTC),
            Step.parse(step),
            NEW_YORK,
        )


def test_a_step_that_is_too_long_is_told_with_where_it_began() -> None:
    with pytest.raises(UnableToStep) as refused:
        shift(datetime(9000, 1, 1, tzinfo=UTC), Step.parse("999999d"), NEW_YORK)
    assert str(refused.value) == (
        "999999d from 9000-01-01 00:00:00+00:00 leaves the years 1 to 9999: take a smaller step."
    )


@pytest.mark.parametrize(
    ("start", "months", "expected"),
    [
        ((2013, 1, 31), 1, (2013, 2, 28)),
        ((2013, 1, 31), 13, (2014, 2, 28)),
        ((2011, 12, 31), 2, (2012, 2, 29)),
        ((2013, 1, 15), -1, (2012, 12, 15)),
        ((2013, 11, 30), 1, (2013, 12, 30)),
        ((2013, 5, 31), 0, (2013, 5, 31)),
        ((2, 1, 5), -12, (1, 1, 5)),
        ((9998, 12, 5), 12, (9999, 12, 5)),
    ],
)
def test_a_month_later_is_the_same_day_or_the_last_one(
    start: tuple[int, int, int], months: int, expected: tuple[int, int, int]
) -> None:
    time = timedelta(hours=7, minutes=30)
    assert add_months(datetime(*start) + time, months) == datetime(*expected) + time


@pytest.mark.parametrize(
    ("start", "months", "said"),
    [
        ((1, 1, 5), -1, "-1 months from 0001-01-05 00:00:00 leave the years 1 to 9999: take a smaller step."),
        ((9999, 12, 5), 1, "1 months from 9999-12-05 00:00:00 leave the years 1 to 9999: take a smaller step."),
    ],
)
def test_months_out_of_the_calendar_are_refused(start: tuple[int, int, int], months: int, said: str) -> None:
    with pytest.raises(UnableToStep) as refused:
        add_months(datetime(*start), months)
    assert str(refused.value) == said
