"""The database's clock leaps a year forth and is set back: what was to come next comes when it should."""

from datetime import datetime, timedelta

import pytest

from alerting.models import Alert, Notice, Standing
from assay import clock
from assay.models import DataTest
from assay.queue.drain import drain
from execution_engine.models import Watch
from tests.e2e.cases.people import told
from tests.e2e.scenario import Scenario, at, data_test, dataset, incidents, runs, state
from tests.fakes import Row

pytestmark = pytest.mark.django_db

TRIPS, MONDAY, TUESDAY = "raw.trips", "2026-03-09", "2026-03-10"
FRESHNESS, DUPLICATES = f"{TRIPS}/freshness", f"{TRIPS}/duplicates"
TWICE: list[Row] = [{"id": 1, "fare": 1.0}] * 100
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def leap(*, days: int = 366, hours: int = 1) -> None:
    """The clock leaps so many days forth; everything works for some hours there; then it is set back to an hour on."""
    now = clock.now()
    for hour in range(hours + 1):
        clock.simulate(now + timedelta(days=days, hours=hour))
        drain()
    clock.simulate(now + HOUR)
    drain()


@pytest.mark.parametrize("days", [1, 3, 20, 366])
def test_a_daily_test_judges_the_day_that_follows_the_leap(scenario: Scenario, days: int) -> None:
    scenario.catalog(dataset(TRIPS, first=MONDAY))
    scenario.land(TRIPS, MONDAY, 100, on="2026-03-10 01:00")
    scenario.until("2026-03-10 12:00")
    assert state(FRESHNESS, MONDAY) == "PASS"
    leap(days=days)
    scenario.land(TRIPS, TUESDAY, 100, on="2026-03-11 01:00")
    scenario.until("2026-03-11 07:00")
    assert at("2026-03-11 06:00") in [run.measured_at for run in runs(DUPLICATES, TUESDAY, "schedule")]
    assert (state(FRESHNESS, TUESDAY), state(DUPLICATES, TUESDAY)) == ("PASS", "PASS")


def test_a_day_that_was_not_due_yet_when_the_clock_leapt_is_judged_when_it_is_due(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, first=MONDAY))
    scenario.land(TRIPS, MONDAY, 100, on="2026-03-10 01:00")
    scenario.until("2026-03-10 03:00")
    leap()
    scenario.until("2026-03-10 07:00")
    assert (state(FRESHNESS, MONDAY), state(DUPLICATES, MONDAY)) == ("PASS", "PASS")


def test_a_weekly_test_runs_on_its_next_monday(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, first=MONDAY))
    scenario.until("2026-03-10 12:00")
    leap()
    scenario.until("2026-03-10 15:00")
    assert data_test(f"{TRIPS}/duplicates:whole").next_due_at == at("2026-03-16 06:00")


def test_a_window_that_was_broken_when_the_clock_leapt_holds_once_it_is_mended(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, first=MONDAY))
    scenario.land(TRIPS, MONDAY, TWICE, on="2026-03-10 01:00")
    scenario.until("2026-03-10 12:00")
    assert (state(DUPLICATES, MONDAY), told("opened")) == ("FAIL", ["trips"])
    leap()
    scenario.land(TRIPS, MONDAY, 100)
    scenario.until("2026-03-11 14:00")
    assert state(DUPLICATES, MONDAY) == "PASS"
    assert [each.resolution for each in incidents(TRIPS, "duplicates")] == ["auto"]


def test_what_was_found_broken_of_days_that_have_not_come_ends_by_itself(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, first=MONDAY))
    scenario.land(TRIPS, MONDAY, 100, on="2026-03-10 01:00")
    scenario.until("2026-03-10 12:00")
    leap(hours=12)
    assert {(each.category, each.resolution) for each in incidents(TRIPS)} == {("freshness", "")}
    scenario.land(TRIPS, TUESDAY, 100, on="2026-03-11 01:00")
    scenario.until("2026-03-11 14:00")
    assert {(each.category, each.resolution) for each in incidents(TRIPS)} == {("freshness", "withdrawn")}


def test_nothing_waits_longer_than_it_ever_may(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, first=MONDAY))
    scenario.land(TRIPS, MONDAY, TWICE, on="2026-03-10 01:00")
    scenario.until("2026-03-10 12:00")
    leap()
    scenario.until("2026-03-10 15:00")
    now = clock.now()
    assert later(DataTest, "next_due_at", now + 8 * DAY) == []
    assert later(Watch, "next_look_at", now + DAY) == []
    assert later(Standing, "next_check_at", now + DAY) == []
    assert later(Alert, "next_notice_at", now + DAY) == []
    assert later(Notice, "due_at", now + DAY, settled_at=None) == []


def later(table: type, column: str, instant: datetime, **filters: object) -> list[object]:
    """The rows that are due only after an instant."""
    return list(table.objects.filter(**{f"{column}__gt": instant}, **filters))  # type: ignore[attr-defined]
