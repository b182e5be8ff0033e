"""Days that begin elsewhere or are longer, the first week of a table, and tests of the whole of it."""

from datetime import timedelta

import pytest

from assay import clock
from assay.time.windows import Granularity
from incident_manager.services import look_up
from tests.e2e.scenario import (
    Scenario,
    at,
    custom,
    data_test,
    dataset,
    flow,
    incidents,
    notices,
    spoilt,
    standing,
    state,
    window,
)
from tests.fakes import rows

pytestmark = pytest.mark.django_db

FRESHNESS = "raw.trips/freshness"


def days(first: str, count: int) -> list[str]:
    """So many days from the first on."""
    return [f"{at(f'{first} 00:00') + timedelta(days=number):%Y-%m-%d}" for number in range(count)]


def test_the_day_of_a_table_in_tokyo_is_due_by_its_own_midnight(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips", time_zone="Asia/Tokyo"))
    scenario.land("raw.trips", "2026-03-09", 100, on="2026-03-09 20:59")
    scenario.until("2026-03-09 21:00")
    row = standing(FRESHNESS, "2026-03-09")
    assert row is not None
    assert (row.state, row.window_start, row.due_at) == ("PASS", at("2026-03-08 15:00"), at("2026-03-09 21:00"))
    scenario.until("2026-03-10 21:00")
    assert state(FRESHNESS, "2026-03-10") == "WARN"


@pytest.mark.parametrize(
    ("key", "begin", "end", "hours", "partitions"),
    [
        ("2026-09-27", "2026-09-26 12:30", "2026-09-27 11:00", 23, 23),
        ("2026-04-05", "2026-04-04 11:30", "2026-04-05 12:00", 25, 24),  # the doubled hour has one key
    ],
)
def test_a_day_with_a_change_of_clocks_is_one_day_however_long(
    scenario: Scenario, key: str, begin: str, end: str, hours: int, partitions: int
) -> None:
    scenario.begin(begin)
    scenario.catalog(
        dataset("raw.events", granularity=Granularity.HOUR, time_zone="Pacific/Auckland"),
        dataset("raw.trips", time_zone="Pacific/Auckland"),
        lineage=[flow("raw.events", "raw.trips")],
    )
    day = window("raw.trips", key)
    assert (day.end, day.duration) == (at(end), timedelta(hours=hours))
    upstream = data_test("raw.events/freshness").dataset.partitioning
    assert upstream is not None
    for hour in upstream.keys(day):
        scenario.land("raw.events", hour, 10)
    scenario.land("raw.trips", key, 10 * partitions, on=end)
    scenario.until(day.end + timedelta(hours=7))
    assert state(FRESHNESS, key) == "PASS"
    assert state("raw.trips/completeness:raw.events", key) == "PASS"


def test_a_test_that_compares_with_the_past_learns_in_the_first_days_and_tells_nobody(scenario: Scenario) -> None:
    usual = "row_count() between 0.85 * mean(row_count(), last=7) and 1.15 * mean(row_count(), last=7)"
    scenario.catalog(dataset("raw.trips"), custom=[custom("raw.trips", "usual", usual)])
    week = days("2026-03-09", 6)
    for day in week:
        scenario.land("raw.trips", day, 50 if day == week[-1] else 100, on=f"{day} 23:59")
    scenario.until("2026-03-15 06:00")
    assert [state("raw.trips/usual", day) for day in week] == ["LEARNING"] * 4 + ["PASS", "WARN"]
    assert (incidents(), notices("unknown")) == ([], [])
    learning = scenario.ask("raw.trips", week[0])
    assert learning.decision == "allow"
    assert "learning: not enough history yet" in {reason.text for reason in learning.reasons}


def test_windows_that_ended_before_a_table_was_known_stay_untested_and_block_nobody(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips", tier=0))
    scenario.until("2026-03-09 20:00")
    answer = scenario.ask("raw.trips", "2026-03-05")
    assert answer.decision == "allow"
    assert {reason.text for reason in answer.reasons} == {
        "untested: the partition ended before the test existed, or is no longer kept"
    }
    assert (state(FRESHNESS, "2026-03-05"), incidents()) == ("UNTESTED", [])


def test_without_an_upstream_a_window_is_complete_by_any_rows_then_by_what_is_usual_or_by_an_event(
    scenario: Scenario,
) -> None:
    scenario.catalog(dataset("raw.trips", catch_up="all"))
    for day in days("2026-03-09", 28):
        scenario.land("raw.trips", day, 100)
    scenario.stall("2026-04-06 12:00")
    scenario.until("2026-04-06 23:00")
    assert {state(FRESHNESS, monday) for monday in ("2026-03-09", "2026-03-30")} == {"PASS"}
    scenario.land("raw.trips", "2026-04-06", 40)
    scenario.until("2026-04-07 06:00")
    assert state(FRESHNESS, "2026-04-06") == "WARN"
    scenario.complete("raw.trips", "2026-04-06")
    assert state(FRESHNESS, "2026-04-06") == "PASS"


def test_a_platform_that_was_down_for_days_judges_what_it_missed_and_tells_nobody(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips", catch_up="all"))
    for day in days("2026-03-09", 5):
        scenario.land("raw.trips", day, 100)
    scenario.stall("2026-03-14 12:00")
    scenario.until("2026-03-14 13:00")
    assert [state(FRESHNESS, day) for day in days("2026-03-09", 5)] == ["PASS"] * 5
    assert (incidents(), notices("unknown")) == ([], [])


def test_a_platform_that_was_down_for_days_judges_only_the_latest_where_that_will_do(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips", catch_up="latest"))
    for day in days("2026-03-09", 5):
        scenario.land("raw.trips", day, 100)
    scenario.stall("2026-03-14 12:00")
    scenario.until("2026-03-14 13:00")
    assert [state(FRESHNESS, day) for day in days("2026-03-09", 5)] == ["UNTESTED"] * 4 + ["PASS"]
    assert (incidents(), notices("unknown")) == ([], [])


def test_a_fault_of_the_whole_table_blocks_only_where_no_partition_test_of_its_category_holds(
    scenario: Scenario,
) -> None:
    scenario.begin("2026-03-14 12:00")
    for number, day in enumerate(days("2026-03-02", 14)):
        scenario.land("raw.trips", day, rows(100, start=100 * number))
    scenario.lake.tables["/sea/raw.trips"]["2026-03-05"] *= 2
    scenario.catalog(dataset("raw.trips", first="2026-03-02"))
    scenario.until("2026-03-16 06:00")
    whole = standing("raw.trips/duplicates:whole")
    assert whole is not None
    assert (whole.state, whole.window_start, whole.window_end) == (
        "WARN",
        at("2026-03-02 00:00"),
        at("2026-03-16 00:00"),
    )
    scenario.until("2026-03-16 10:00")
    assert [(incident.category, incident.detected_at) for incident in incidents()] == [
        ("duplicates", at("2026-03-16 10:00"))
    ]
    assert state("raw.trips/duplicates", "2026-03-15") == "PASS"
    assert [scenario.ask("raw.trips", day).decision for day in ("2026-03-05", "2026-03-15")] == ["block", "warn"]
    answer = look_up(dataset=whole.data_test.dataset, window=window("raw.trips", "2026-03-08"), now=clock.now())
    assert len(answer.spoilt) == 1  # no partition is named, so all may be bad


def test_the_whole_table_heals_once_its_bad_partition_is_written_again(scenario: Scenario) -> None:
    scenario.begin("2026-03-15 12:00")
    for number, day in enumerate(("2026-03-13", "2026-03-14", "2026-03-15")):
        scenario.land("raw.trips", day, rows(100, start=100 * number))
    scenario.land("raw.trips", "2026-03-13", rows(100) + rows(100))
    scenario.catalog(dataset("raw.trips", first="2026-03-13"))
    scenario.until("2026-03-16 11:02")
    assert [incident.resolution for incident in incidents()] == [""]
    scenario.land("raw.trips", "2026-03-13", rows(100))
    scenario.until("2026-03-16 11:30")
    assert ([incident.resolution for incident in incidents()], spoilt("raw.trips")) == (["auto"], [])


def test_the_whole_of_two_tables_is_compared_only_over_what_both_still_keep(scenario: Scenario) -> None:
    scenario.begin("2026-03-14 12:00")
    for day in days("2026-03-09", 7):
        scenario.land("raw.trips", day, 100)
    for day in days("2026-03-13", 3):
        scenario.land("raw.events", day, 100)
    scenario.catalog(
        dataset("raw.events", retention=timedelta(days=3)),
        dataset("raw.trips", first="2026-03-09"),
        lineage=[flow("raw.events", "raw.trips")],
    )
    scenario.until("2026-03-16 06:00")
    whole = standing("raw.trips/completeness:raw.events:whole")
    assert whole is not None
    assert (whole.state, whole.window.text) == ("PASS", "2026-03-13T00:00:00Z/2026-03-16T00:00:00Z")


@pytest.mark.parametrize(("allow_empty", "expected"), [(False, "WARN"), (True, "PASS")])
def test_an_empty_window_is_complete_only_where_the_dataset_says_so_whatever_an_event_says(
    scenario: Scenario, allow_empty: bool, expected: str
) -> None:
    scenario.catalog(dataset("raw.trips", allow_empty=allow_empty))
    scenario.complete("raw.trips", "2026-03-09", on="2026-03-10 01:00")
    scenario.until("2026-03-10 06:00")
    assert state(FRESHNESS, "2026-03-09") == expected
