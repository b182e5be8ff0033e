"""Which key, partition and freshness SLA evidence proposes, and where it proposes none."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from assay.time.durations import parse_duration
from assay.time.windows import Window
from incident_manager.proposed_values.rules import (
    KeyTrial,
    completion_lengths,
    propose_freshness,
    propose_key,
    propose_partition,
)

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
DAYS = [Window(start=MONDAY + n * DAY, end=MONDAY + (n + 1) * DAY) for n in range(20)]


def trial(*columns: str, held: int = 6, tried: int = 6) -> KeyTrial:
    return KeyTrial(columns=columns, fitted=24, held=held, tried=tried)


def sla(lengths: list[timedelta]) -> str | None:
    seconds = [length.total_seconds() for length in lengths]
    proposed = propose_freshness(seconds, allowed=4 * HOUR, source="By its tests")
    return None if proposed is None else str(proposed.value)


def test_of_several_keys_the_fewest_columns_come_first_and_of_these_what_is_called_a_key() -> None:
    proposed = propose_key([trial("city_id", "day"), trial("created_at"), trial("trip_id")], {})
    assert proposed is not None
    assert proposed.patch == {"primary_key": ["trip_id"]}
    assert "last 30 partitions" in proposed.evidence
    assert "2 more" in proposed.evidence


def test_what_a_later_window_broke_or_none_has_tried_is_no_key() -> None:
    assert propose_key([trial("trip_id", held=5), trial("id", held=0, tried=0)], {}) is None


def test_numbers_with_fractions_are_no_key_however_different_they_are() -> None:
    proposed = propose_key([trial("paid"), trial("ride")], {"paid": "decimal(9,2)", "ride": "string"})
    assert (proposed and proposed.value) == ["ride"]


@pytest.mark.parametrize(
    ("usual", "value"),
    [(0 * MINUTE, "30m"), (40 * MINUTE, "1h"), (150 * MINUTE, "3h"), (9 * HOUR, "12h"), (3 * DAY, "4d")],
)
def test_an_sla_is_a_round_length_that_leaves_room_for_the_slowest_partitions(usual: timedelta, value: str) -> None:
    assert sla([usual + n % 3 * MINUTE for n in range(30)]) == value


@pytest.mark.parametrize("size", [10, 60])
def test_of_the_partitions_to_come_about_a_hundredth_misses_the_sla(size: int) -> None:
    random = np.random.default_rng(3)
    late = 0
    for _ in range(100):
        lengths = np.abs(7200 + 1200 * random.standard_t(3, size + 30))  # two hours, with heavy tails
        proposed = propose_freshness(list(lengths[:size]), allowed=4 * HOUR, source="By its tests")
        assert proposed is not None
        late += int((lengths[size:] > parse_duration(proposed.value).total_seconds()).sum())
    assert 0 < late <= 0.012 * 3000


def test_partitions_that_are_all_alike_leave_room_too() -> None:
    assert sla([2 * HOUR] * 60) == "3h"


def test_one_outage_does_not_widen_an_sla_and_many_late_partitions_do() -> None:
    punctual = [HOUR + n % 5 * MINUTE for n in range(60)]
    assert sla([*punctual[:30], 20 * HOUR, *punctual[30:]]) == sla(punctual)
    assert sla([*punctual, *[20 * HOUR] * 6]) == "1d"


def test_seven_partitions_or_months_of_delay_propose_no_sla() -> None:
    assert sla([HOUR] * 7) is None
    assert sla([40 * DAY] * 20) is None


def test_a_partition_is_complete_when_the_next_commits_behind_its_end_are_over() -> None:
    commits = [day.start + offset for day in DAYS for offset in (2 * HOUR, 2 * HOUR + 5 * MINUTE)]
    assert completion_lengths(commits, DAYS) == [7500.0] * 19  # nothing was committed behind the end of the last


def test_commits_of_a_table_that_is_loaded_all_day_do_not_say_which_of_them_completed_a_day() -> None:
    commits = [day.start + hour * HOUR for day in DAYS for hour in range(24)]
    assert completion_lengths(commits, DAYS) == []


def test_a_table_that_is_not_loaded_at_weekends_takes_until_monday_for_friday() -> None:
    weekdays = [day.start + 3 * HOUR for day in DAYS if day.start.weekday() < 5]
    lengths = completion_lengths(weekdays, DAYS[:7])
    assert [length / 3600 for length in lengths] == [3, 3, 3, 3, 51, 27, 3]


def test_folders_of_mondays_propose_weeks_and_those_of_sundays_no_days_of_which_most_would_be_missing() -> None:
    mondays = {"column": "week", "granularity": "week", "first": "2026-01-05", "key_format": "%Y-%m-%d"}
    weekly = propose_partition(mondays, 6, "2026-02-16")
    assert weekly is not None
    assert (weekly.patch, "week=2026-01-05 to week=2026-02-16, a week each" in weekly.evidence) == (
        {"partition": mondays},
        True,
    )
    days = {"column": "day", "granularity": "day", "first": "2026-01-04"}
    assert propose_partition(days, 7, "2026-02-15") is None
    assert propose_partition(days, 31, "2026-02-15") is not None  # nothing is loaded at weekends
    assert propose_partition(days, 1, "2026-01-04") is None
    assert propose_partition(days, 31, "9999-12-31") is None
