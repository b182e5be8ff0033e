"""Steps: local calendar days and longer, real hours and minutes."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from assay.steps import Step, StepUnit, UnableToStep, shift

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
    assert (-step).amount == -amount


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
    ],
)
def test_days_keep_the_local_time_and_hours_do_not(start: str, step: str, expected: str) -> None:
    shifted = shift(datetime.fromisoformat(start).replace(tzinfo=UTC), Step.parse(step), NEW_YORK)
    assert shifted == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize("step", ["9999y", "-9999y", "999999d", "-999999w", "999999mo"])
def test_a_step_out_of_the_calendar_is_refused(step: str) -> None:
    with pytest.raises(UnableToStep, match="years 1 to 9999"):
        shift(
            datetime(9000, 1, 1, tzinfo=UTC) if step[0] != "-" else datetime(20, 1, 1, tzinfo=UTC),
            Step.parse(step),
            NEW_YORK,
        )
