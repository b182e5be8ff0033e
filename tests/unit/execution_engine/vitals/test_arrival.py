"""When the next commit is late, and when nobody can say so yet."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from execution_engine.vitals.arrival import Arrival, Unknown, expect_arrival
from execution_engine.vitals.commits import LocalCalendar

MONDAY = datetime(2026, 6, 1, 6, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
IN_UTC = LocalCalendar(zone=UTC)


def days(count: int, *, jitter: timedelta = timedelta(minutes=10)) -> Iterator[datetime]:
    """Six o'clock, and up to a jitter later."""
    for day in range(count):
        yield MONDAY + day * DAY + (day * 7 % 10) / 10 * jitter


def arrival(instants: list[datetime], calendar: LocalCalendar = IN_UTC) -> Arrival:
    expectation = expect_arrival(instants, calendar)
    assert isinstance(expectation, Arrival), expectation
    return expectation


def test_a_daily_load_is_late_within_two_hours_of_its_time() -> None:
    expectation = arrival(list(days(60)))
    assert abs(expectation.expected_at - (MONDAY + 60 * DAY)) < HOUR / 4
    assert expectation.late_at < MONDAY + 60 * DAY + 2 * HOUR


def test_a_load_of_working_days_is_not_late_on_sunday_but_is_on_monday() -> None:
    working_days = [instant for instant in days(61) if instant.weekday() < 5]  # the last is a Friday's
    while working_days[-1].weekday() != 4:
        working_days.pop()
    next_monday = working_days[-1].replace(minute=0) + 3 * DAY
    assert next_monday < arrival(working_days).late_at < next_monday + 5 * HOUR


def test_a_load_that_comes_at_any_time_is_late_only_far_behind_its_longest_gaps() -> None:
    instants, at = [], MONDAY
    for step in range(80):
        at += timedelta(hours=10 + 38 * (step * 37 % 80) / 80)
        instants.append(at)
    assert at + 40 * HOUR < arrival(instants).late_at < at + 72 * HOUR


def test_a_burst_of_commits_is_one_beat() -> None:
    bursts = [instant + commit * timedelta(minutes=1) for instant in days(60) for commit in range(5)]
    assert arrival(bursts).late_at > MONDAY + 60 * DAY


def test_an_outage_of_the_past_widens_no_bound() -> None:
    instants = [instant for day, instant in enumerate(days(90)) if day not in (40, 41, 42)]
    assert arrival(instants).late_at < MONDAY + 90 * DAY + 2 * HOUR


def test_a_table_that_changed_its_ways_is_news_twice_at_most() -> None:
    hourly = [MONDAY + hour * HOUR for hour in range(24 * 28)]
    daily = [hourly[-1] + day * DAY for day in range(1, 4)]
    assert arrival(hourly).late_at < daily[0]
    assert arrival([*hourly, *daily[:2]]).late_at > daily[2]


def test_a_public_holiday_is_no_silence_where_its_country_is_set() -> None:
    before_christmas = [datetime(2026, 12, 24, 6, tzinfo=UTC) - back * DAY for back in reversed(range(60))]
    late_at = arrival(before_christmas).late_at
    assert arrival(before_christmas, LocalCalendar(zone=UTC, country="US")).late_at == late_at + DAY


def test_the_hours_of_a_week_stay_the_same_when_summer_ends() -> None:
    zone = ZoneInfo("Europe/Berlin")
    local = [datetime(2026, 9, 1, 6, tzinfo=zone) + day * DAY for day in range(55)]  # the clocks went back on the 25th
    expectation = arrival([instant.astimezone(UTC) for instant in local], LocalCalendar(zone=zone))
    assert expectation.expected_at.astimezone(zone).hour == 6


@pytest.mark.parametrize(
    ("instants", "why"),
    [
        (list(days(5)), "5 commits are known: from 10 on"),
        ([MONDAY + quarter * HOUR / 4 for quarter in range(96)], "of 1 days: from 14 on"),
    ],
)
def test_few_commits_say_what_is_missing(instants: list[datetime], why: str) -> None:
    expectation = expect_arrival(instants, IN_UTC)
    assert isinstance(expectation, Unknown)
    assert why in expectation.why
