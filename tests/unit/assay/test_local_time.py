"""Where a local time lies in UTC, by zones with changes of clocks that are known by heart."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from assay.time.windows import boundary, transition

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("zone", "wall", "instant"),
    [
        ("America/New_York", "1987-02-01 00:00", "1987-02-01 05:00"),
        ("America/New_York", "1987-02-01 00:00:00.000001", "1987-02-01 05:00:00.000001"),
        ("America/New_York", "1987-04-05 02:00", "1987-04-05 07:00"),  # skipped: the clock goes from 02:00 to 03:00
        ("America/New_York", "1987-04-05 02:30", "1987-04-05 07:00"),
        ("America/New_York", "1987-04-05 03:00", "1987-04-05 07:00"),
        ("America/New_York", "1987-10-25 01:00", "1987-10-25 05:00"),  # doubled: it begins once
        ("America/New_York", "1987-10-25 02:00", "1987-10-25 07:00"),
        ("America/New_York", "1987-10-25 01:30", "1987-10-25 06:30"),  # it shows less until half of the second
        ("America/St_Johns", "2010-11-07 00:00", "2010-11-07 03:30"),  # back at 00:01 to 23:01: midnight comes twice
        ("Europe/Amsterdam", "1937-07-01 00:00", "1937-06-30 22:40:28"),  # by 28 seconds, in between
        ("Asia/Kathmandu", "1985-12-31 12:00", "1985-12-31 06:30"),
    ],
)
def test_a_boundary_is_when_the_clocks_have_passed_it_for_good(zone: str, wall: str, instant: str) -> None:
    found = boundary(datetime.fromisoformat(wall), ZoneInfo(zone))
    assert found == datetime.fromisoformat(instant).replace(tzinfo=UTC)
    assert found.tzinfo is UTC


@pytest.mark.parametrize("before", [1, 2, 3, 59, 3600])
@pytest.mark.parametrize("after", [0, 1, 2, 60, 4000])
def test_a_change_of_clocks_is_found_to_the_second(before: int, after: int) -> None:
    change = datetime(1987, 4, 5, 7, tzinfo=UTC)
    found = transition(change - before * SECOND, change + after * SECOND, ZoneInfo("America/New_York"))
    assert found == change


def test_a_change_of_clocks_is_on_a_whole_second_wherever_it_is_looked_for() -> None:
    change, part = datetime(1987, 4, 5, 7, tzinfo=UTC), timedelta(microseconds=250_000)
    assert transition(change - 9 * SECOND + part, change + 9 * SECOND + part, ZoneInfo("America/New_York")) == change


def test_without_a_change_the_whole_stretch_is_passed() -> None:
    start = datetime(1987, 5, 5, 7, tzinfo=UTC)
    assert transition(start, start + 7 * SECOND, ZoneInfo("America/New_York")) == start + 7 * SECOND
