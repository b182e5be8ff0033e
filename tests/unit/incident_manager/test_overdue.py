"""What of a test's partitions is due though nobody has asked for a run of it."""

from datetime import UTC, datetime, timedelta

from assay.time.windows import Window
from incident_manager.intervals import Intervals
from incident_manager.quality.rules import overdue

DAY = timedelta(days=1)
TUESDAY = Window(start=datetime(2024, 3, 5, tzinfo=UTC), end=datetime(2024, 3, 6, tzinfo=UTC))
DUE = TUESDAY.end + timedelta(hours=6)


def asked(*, at: datetime, due_at: datetime | None = DUE, due_to: datetime | None = None) -> Intervals:
    return overdue(next_due_at=due_at, next_window=TUESDAY, due_to=due_to, now=at)


def test_before_the_schedule_is_due_nothing_is() -> None:
    assert asked(at=DUE - timedelta(seconds=1)) == ()


def test_a_calendar_that_is_ahead_of_the_schedule_changes_nothing() -> None:
    assert asked(at=DUE - timedelta(seconds=1), due_to=TUESDAY.end) == ()


def test_from_its_due_instant_on_the_next_window_is() -> None:
    assert asked(at=DUE) == (TUESDAY,)


def test_a_calendar_that_is_behind_the_schedule_changes_nothing() -> None:
    assert asked(at=DUE, due_to=TUESDAY.start) == (TUESDAY,)


def test_of_a_schedule_that_has_stood_still_all_is_due_that_the_calendar_says() -> None:
    found = asked(at=DUE + 3 * DAY, due_to=TUESDAY.end + 3 * DAY)
    assert found == (Window(start=TUESDAY.start, end=TUESDAY.end + 3 * DAY),)


def test_a_test_without_a_next_window_has_none_that_is_overdue() -> None:
    assert asked(at=DUE, due_at=None) == ()
