"""The past of a table, tested because somebody asks: each partition by itself, and nobody is paged for it."""

from datetime import timedelta

import pytest

from assay import clock
from assay.models import Dataset
from assay.time.windows import Window
from execution_engine.models import Run, RunReason
from execution_engine.planning.schedules import is_made_up_for
from execution_engine.services import RequestedRuns, UnableToRequest, last_partitions, request_all
from incident_manager.digests import figures_of
from incident_manager.scores.facts import ScoreFilter
from incident_manager.scores.response_times import step_times
from tests.e2e.cases.people import said, told
from tests.e2e.scenario import Scenario, at, custom, data_test, dataset, incidents, notices, state, window

pytestmark = pytest.mark.django_db

TRIPS, ENOUGH = "raw.trips", "raw.trips/enough"
OF_THE_PAST = "of the past: found by a back-fill that somebody asked for"


def a_table_with_a_past(scenario: Scenario) -> Dataset:
    """Days from the 1st on; the test of the 4th breaks, and its incident opens when its sustain period has passed."""
    enough = custom(TRIPS, "enough", "row_count() >= 100")
    scenario.catalog(dataset(TRIPS, primary_key=(), first="2026-03-01"), custom=[enough])
    for day in range(1, 9):
        scenario.land(TRIPS, f"2026-03-{day:02d}", 20 if day == 4 else 100)
    return Dataset.objects.get()


def fill_back(table: Dataset, number: int = 28) -> RequestedRuns:
    asked = last_partitions(table, number, clock.now())
    return request_all(table, asked, occasion="ada", now=clock.now())


def test_a_range_runs_each_partition_by_itself_the_newest_first_and_after_all_that_is_current(
    scenario: Scenario,
) -> None:
    found = fill_back(a_table_with_a_past(scenario)).runs
    days = [window(TRIPS, f"2026-03-{day:02d}") for day in range(8, 0, -1)]  # from the first partition on
    of_test = [run for run in Run.objects.order_by("pk") if run.data_test == data_test(ENOUGH)]
    assert [run.window for run in of_test] == days
    assert {run.reason for run in found} == {RunReason.BACKFILL.value}
    assert all(is_made_up_for(run.turn) for run in found)
    scenario.until(clock.now())
    assert [state(ENOUGH, f"2026-03-{day:02d}") for day in (3, 4, 5)] == ["PASS", "WARN", "PASS"]


def test_what_a_back_fill_finds_is_an_incident_of_the_past_that_pages_nobody(scenario: Scenario) -> None:
    fill_back(a_table_with_a_past(scenario))
    scenario.until(clock.now() + timedelta(hours=12))
    (incident,) = incidents(TRIPS, "custom")
    assert [spoilt.window for spoilt in incident.spoilt_windows.all()] == [window(TRIPS, "2026-03-04")]
    assert notices("opened") == [("trips", OF_THE_PAST)]
    assert said(scenario.ask(TRIPS, "2026-03-04"))[0] == "block"
    assert said(scenario.ask(TRIPS, "2026-03-05"))[0] == "allow"


def test_a_bad_day_ten_days_ago_is_an_incident_of_the_past_beside_a_good_today(scenario: Scenario) -> None:
    table = a_table_with_a_past(scenario)
    for day in range(9, 15):
        scenario.land(TRIPS, f"2026-03-{day:02d}", 100)
    scenario.until("2026-03-14 12:00")
    fill_back(table)
    scenario.until("2026-03-15 12:00")
    (incident,) = incidents(TRIPS, "custom")
    assert (incident.is_past, told("opened"), told("resolved")) == (True, [], [])
    answers = [said(scenario.ask(TRIPS, day)) for day in ("2026-03-04", "2026-03-14")]
    assert [decision for decision, _ in answers] == ["block", "allow"]
    week = figures_of(table.team, now=clock.now())
    assert (week.incidents, week.past, week.noisy, week.precision, week.recall) == ([], 1, [], None, None)
    span = Window(start=at("2026-03-01 00:00"), end=clock.now())
    assert [times.size for times in step_times(ScoreFilter(), span, clock.now()).values()] == [0, 0, 0]
    scenario.land(TRIPS, "2026-03-04", 100)
    scenario.until("2026-03-15 20:00")
    incident.refresh_from_db()
    assert (incident.resolution, told("opened"), told("resolved")) == ("auto", [], [])


def test_a_window_that_fails_today_is_told_though_an_incident_of_the_past_is_open(scenario: Scenario) -> None:
    fill_back(a_table_with_a_past(scenario))
    scenario.land(TRIPS, "2026-03-09", 20, on="2026-03-10 03:00")
    scenario.until("2026-03-10 12:00")
    assert len(incidents(TRIPS, "custom")) == 1
    assert notices("opened") == [("trips", OF_THE_PAST), ("trips", "")]
    (incident,) = incidents(TRIPS, "custom")
    assert (incident.is_past, incident.detected_at >= at("2026-03-10 03:00")) == (False, True)
    assert list(incident.episodes.values_list("opened_at", flat=True)) == [incident.detected_at]


@pytest.mark.parametrize(
    ("start", "end", "says"),
    [
        ("2026-03-01 06:00", "2026-03-03 00:00", "name whole ones, such as 2026-03-01T00:00:00Z/2026-03-03T00:00:00Z"),
        ("2026-04-01 00:00", "2026-04-03 00:00", "has ended"),
        ("2000-01-01 00:00", "2000-01-09 00:00", "has ended and is kept"),
    ],
)
def test_a_range_that_cannot_be_run_says_why(scenario: Scenario, start: str, end: str, says: str) -> None:
    table = a_table_with_a_past(scenario)
    with pytest.raises(UnableToRequest, match=says):
        request_all(table, Window(start=at(start), end=at(end)), occasion="ada", now=clock.now())


def test_the_last_partitions_of_a_table_are_those_that_have_ended(scenario: Scenario) -> None:
    table = a_table_with_a_past(scenario)
    assert last_partitions(table, 2, at("2026-03-09 12:00")) == Window(
        start=at("2026-03-07 00:00"), end=at("2026-03-09 00:00")
    )
