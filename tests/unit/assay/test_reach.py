"""How far a change reaches among the partitions of a dataset, and in which pieces it is worked off."""

from datetime import UTC, datetime, timedelta

import pytest

from assay.catalog.place_limits import is_too_wide, next_piece, reach
from assay.time.windows import Granularity, Partitioning, Window

HOURS = Partitioning(granularity=Granularity.HOUR)
NEW_YORK_DAYS = Partitioning(granularity=Granularity.DAY, time_zone="America/New_York")
MONTHS = Partitioning(granularity=Granularity.MONTH)
NOW = datetime(2026, 3, 10, 12, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def window(text: str) -> Window:
    """A window of dates or times in UTC, ``start/end``."""
    start, _, end = text.partition("/")
    return Window(start=utc(start), end=utc(end))


def reached(text: str, by: Partitioning | None, first: str = "", kept_days: int | None = None) -> Window | None:
    retention = None if kept_days is None else timedelta(days=kept_days)
    begins_at = by.window(first).start if by and first else None
    return reach(window(text), by, now=NOW, begins_at=begins_at, retention=retention)


@pytest.mark.parametrize(
    ("granularity", "hours"),
    [
        (Granularity.HOUR, 10_869),  # 10,000 of the shortest, and a 25th hour for each 23rd
        (Granularity.DAY, 250_000),
        (Granularity.WEEK, 1_815_217),
        (Granularity.MONTH, 7_293_478),
    ],
)
def test_a_window_is_too_wide_once_it_may_hold_more_than_ten_thousand_partitions(
    granularity: Granularity, hours: int
) -> None:
    start, by = datetime(1, 1, 1, tzinfo=UTC), Partitioning(granularity=granularity)
    assert not is_too_wide(Window(start=start, end=start + hours * HOUR), by)
    assert is_too_wide(Window(start=start, end=start + (hours + 1) * HOUR), by)


def test_the_widest_window_of_days_is_of_250_000_hours_to_the_microsecond() -> None:
    start = datetime(1990, 1, 1, tzinfo=UTC)
    end = start + 250_000 * HOUR + timedelta(microseconds=1)
    assert is_too_wide(Window(start=start, end=end), NEW_YORK_DAYS)


def test_without_partitions_no_window_is_too_wide_and_all_of_it_is_reached() -> None:
    assert not is_too_wide(window("0001-01-01/9999-01-01"), None)
    assert reached("0001-01-01/9999-01-01", None, kept_days=1) == window("0001-01-01/9999-01-01")
    assert next_piece(window("0001-01-01/9999-01-01"), None) == window("0001-01-01/9999-01-01")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("1800-05-05/2300-05-05", "1900-01-01/2200-01-01"),
        ("1900-01-02/2199-12-31", "1900-01-02/2199-12-31"),
        ("1700-01-01/1900-01-01", None),
        ("2200-01-01/2300-01-01", None),
    ],
)
def test_a_change_reaches_the_years_that_we_answer_for(asked: str, found: str | None) -> None:
    assert reached(asked, MONTHS) == (window(found) if found else None)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("2026-01-01/2026-02-01", "2026-01-10T05:00/2026-02-01"),
        ("2026-01-20/2026-02-01", "2026-01-20/2026-02-01"),
        ("2026-01-01/2026-01-10T05:00", None),  # it ends where the first partition begins
        ("2026-01-01/2026-01-09", None),
    ],
)
def test_there_is_nothing_before_the_first_partition(asked: str, found: str | None) -> None:
    assert reached(asked, NEW_YORK_DAYS, first="2026-01-10") == (window(found) if found else None)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("2026-01-01/2026-04-01", "2026-03-03T05:00/2026-04-01"),  # seven days ago is within that day of New York
        ("2026-03-08/2026-04-01", "2026-03-08/2026-04-01"),
        ("2026-01-01/2026-03-03T05:00", None),
    ],
)
def test_what_is_not_kept_is_not_reached(asked: str, found: str | None) -> None:
    assert reached(asked, NEW_YORK_DAYS, kept_days=7) == (window(found) if found else None)


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("1990-01-01/2100-01-01", datetime(2026, 3, 10, 13) - 10_000 * HOUR, datetime(2026, 3, 10, 13)),
        ("2000-01-01/2010-01-01", datetime(2010, 1, 1) - 10_000 * HOUR, datetime(2010, 1, 1)),
        ("2026-03-01/2100-01-01", datetime(2026, 3, 1), datetime(2026, 3, 10, 13)),
    ],
)
def test_of_a_window_that_is_too_wide_the_newest_that_have_begun_are_reached(
    asked: str, start: datetime, end: datetime
) -> None:
    assert reached(asked, HOURS) == Window(start=start.replace(tzinfo=UTC), end=end.replace(tzinfo=UTC))


def test_the_newest_of_too_many_days_begin_with_a_day() -> None:
    newest = reached("1950-01-01/2026-03-10T04:00", NEW_YORK_DAYS)
    assert newest is not None
    assert NEW_YORK_DAYS.at(newest.start).start == newest.start
    assert newest.end - newest.start >= 10_000 * timedelta(hours=23)
    assert newest.end == datetime(2026, 3, 10, 4, tzinfo=UTC)


@pytest.mark.parametrize("asked", ["2026-03-10T13:00/2100-01-01", "2030-01-01/2100-01-01"])
def test_a_window_that_is_too_wide_and_wholly_to_come_is_not_reached(asked: str) -> None:
    assert reached(asked, HOURS) is None


@pytest.mark.parametrize(
    ("left", "piece"),
    [
        ("2026-03-01T00:00/2026-03-10T00:00", "2026-03-01T00:00/2026-03-04T08:00"),
        ("2026-03-01T00:00/2026-03-04T09:00", "2026-03-01T00:00/2026-03-04T08:00"),
        ("2026-03-01T00:00/2026-03-04T08:00", "2026-03-01T00:00/2026-03-04T08:00"),
        ("2026-03-01T00:00/2026-03-04T07:00", "2026-03-01T00:00/2026-03-04T07:00"),
        ("2026-03-01T00:30/2026-03-10T00:00", "2026-03-01T00:30/2026-03-04T09:00"),
    ],
)
def test_a_piece_is_of_eighty_partitions_or_all_that_is_left(left: str, piece: str) -> None:
    assert next_piece(window(left), HOURS) == window(piece)
