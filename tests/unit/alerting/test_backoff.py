"""When a window in trouble is checked again."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.verdicts.sustain import next_check

T0 = datetime(2024, 3, 5, 6, tzinfo=UTC)
KEY = ("core.trips", "freshness", "2024-03-04T00:00:00Z/2024-03-05T00:00:00Z")
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("attempt", "age", "interval"),
    [
        (0, 1 * DAY, 5 * MINUTE),
        (1, 1 * DAY, 10 * MINUTE),
        (6, 1 * DAY, 320 * MINUTE),
        (7, 1 * DAY, 6 * HOUR),
        (99, 13 * DAY, 6 * HOUR),
        (10**6, 13 * DAY, 6 * HOUR),
        (10**6, 14 * DAY, 24 * HOUR),
        (0, 15 * DAY, 24 * HOUR),
    ],
)
def test_the_interval_doubles_from_five_minutes_to_six_hours_and_is_a_day_after_a_fortnight(
    attempt: int, age: timedelta, interval: timedelta
) -> None:
    waited = next_check(attempt, after=T0 + age, t0=T0, sustain=timedelta(0), key=KEY) - (T0 + age)
    assert abs(waited - interval) <= interval * 0.1


def test_one_check_is_exactly_at_the_end_of_the_sustain_period() -> None:
    at, instants = T0, []
    for attempt in range(12):
        at = next_check(attempt, after=at, t0=T0, sustain=4 * HOUR, key=KEY)
        instants.append(at)
    assert instants.count(T0 + 4 * HOUR) == 1


def test_a_daily_test_need_not_wait_a_day_to_fail() -> None:
    soon = next_check(9, after=T0 + 3 * HOUR, t0=T0, sustain=4 * HOUR, key=KEY)
    assert soon == T0 + 4 * HOUR


def test_a_whole_table_check_waits_four_times_its_last_cost() -> None:
    assert next_check(0, after=T0, t0=T0, sustain=HOUR, key=KEY, cost=HOUR) == T0 + 4 * HOUR
    cheap = next_check(0, after=T0, t0=T0, sustain=HOUR, key=KEY, cost=MINUTE)
    assert cheap == next_check(0, after=T0, t0=T0, sustain=HOUR, key=KEY)


def test_a_replay_repeats_itself() -> None:
    instants = [next_check(n, after=T0, t0=T0 - DAY, sustain=HOUR, key=KEY) for n in (3, 3)]
    assert instants[0] == instants[1]
    assert instants[0] == datetime(2024, 3, 5, 6, 42, 25, 928328, tzinfo=UTC)


def test_windows_that_broke_together_are_not_checked_together() -> None:
    keys = [("core.trips", "freshness", str(number)) for number in range(1000)]
    waits = [(next_check(7, after=T0, t0=T0 - DAY, sustain=HOUR, key=key) - T0) / (6 * HOUR) for key in keys]
    assert 0.9 <= min(waits) < 0.91
    assert 1.09 < max(waits) < 1.1
    assert abs(sum(waits) / 1000 - 1) < 0.01


@given(
    attempt=st.integers(0, 10**6),
    age=st.timedeltas(timedelta(0), 30 * DAY),
    sustain=st.timedeltas(timedelta(0), 2 * DAY),
    cost=st.timedeltas(timedelta(0), DAY),
)
def test_the_next_check_is_later_and_never_too_soon_for_its_cost(
    attempt: int, age: timedelta, sustain: timedelta, cost: timedelta
) -> None:
    after = T0 + age
    at = next_check(attempt, after=after, t0=T0, sustain=sustain, key=KEY, cost=cost)
    assert at > after
    assert at >= after + 4 * cost
    assert at <= after + max(26.4 * HOUR, 4 * cost)
