"""Rows that lie in no partition: the owner hears of them weekly, until they are moved or meant to be there."""

from datetime import timedelta
from typing import Any

import pytest

from assay import clock
from assay.catalog.profile import SlaProfile
from assay.models import Dataset
from incident_manager.quality.rules import QualityStatus, RangeRequest, judge
from incident_manager.quality.selectors import window_facts
from tests.e2e.cases.people import body, force, open_incident, said
from tests.e2e.scenario import Scenario, data_test, dataset, incidents, notices, standing, state, window
from tests.fakes import rows

pytestmark = pytest.mark.django_db

RIDES, MONDAY = "raw.rides", "2026-03-09"
TEST = f"{RIDES}/unpartitioned:whole"
NULL = "__HIVE_DEFAULT_PARTITION__"
WEEKLY = "2026-03-16 06:00"  # tier 2: Monday 00:00 and the six hours of its freshness SLA
TOLD = f"6 rows lie in no partition: 4 under {NULL}, 2 under datestr=garbage"


def a_week(scenario: Scenario, until: str, *, lost: bool = True, **metadata: Any) -> None:
    """A table of 100 rows a day, and six rows that no day has."""
    scenario.catalog(dataset(RIDES, **metadata))
    for day in range(9, 16):
        scenario.land(RIDES, f"2026-03-{day:02}", rows(100, 100 * day), on=f"2026-03-{day + 1:02} 01:00")
    if lost:
        scenario.land(RIDES, NULL, rows(4, 10_000))
        scenario.land(RIDES, "garbage", rows(2, 20_000))
    scenario.until(until)


def heal(scenario: Scenario) -> None:
    """The owner moves the six rows to the day that they are of."""
    scenario.land(RIDES, "2026-03-15", rows(106, 1500))
    for key in (NULL, "garbage"):
        scenario.expire(RIDES, key)


def known(day: str) -> QualityStatus:
    row = Dataset.objects.get(full_name=RIDES)
    asked = window(RIDES, day)
    facts = window_facts(row, asked, now=clock.now())
    return judge(facts, RangeRequest(window=asked, datacenter="sea")).status


def test_the_owner_hears_once_with_the_number_and_the_keys(scenario: Scenario) -> None:
    a_week(scenario, "2026-03-16 12:00")
    row = standing(TEST)
    assert row is not None
    assert row.last_run is not None
    assert (row.state, row.last_run.sentence) == ("FAIL", f"unpartitioned_rows() = 6, wanted = 0; {TOLD}")
    assert notices("opened") == [("rides", "")]
    assert TOLD in body("opened", "rides")


def test_it_heals_by_itself_when_the_rows_are_moved(scenario: Scenario) -> None:
    a_week(scenario, "2026-03-16 12:00")
    heal(scenario)
    scenario.until("2026-03-17 12:00")
    (incident,) = incidents(RIDES, "completeness")
    assert (state(TEST), incident.resolution) == ("PASS", "auto")
    assert known(MONDAY) is QualityStatus.GOOD


def test_the_gate_warns_and_does_not_block(scenario: Scenario) -> None:
    a_week(scenario, "2026-03-16 12:00", tier=1)
    incident = open_incident(RIDES, "completeness")
    decision, reasons = said(scenario.ask(RIDES, MONDAY))
    assert (decision, reasons) == (
        "warn",
        {"completeness is broken (FAIL)", f"completeness incident {incident.pk} is open"},
    )
    assert known(MONDAY) is QualityStatus.BAD


def test_a_user_may_waive_it(scenario: Scenario) -> None:
    a_week(scenario, "2026-03-16 12:00")
    force(open_incident(RIDES, "completeness"))
    scenario.until("2026-03-17 12:00")
    assert incidents(RIDES, "completeness")[0].resolution == "forced"
    assert said(scenario.ask(RIDES, MONDAY)) == ("allow", {"waived: counts twins"})


def test_a_table_that_says_it_is_usual_is_not_nagged(scenario: Scenario) -> None:
    a_week(scenario, "2026-03-16 12:00", slas=SlaProfile(unpartitioned=0.01))
    revision = data_test(TEST).revision
    assert revision is not None
    assert revision.assertion == "unpartitioned_rows() / row_count() <= 0.01"
    assert (state(TEST), incidents(RIDES)) == ("PASS", [])  # 6 of 706


def test_a_table_without_such_rows_is_asked_nothing_more(scenario: Scenario) -> None:
    a_week(scenario, "2026-03-16 12:00", lost=False)
    assert (state(TEST), incidents(RIDES)) == ("PASS", [])
    assert notices("opened") == []
    counted = [scan for scan in scenario.lake.scans if "unpartitioned_rows()" in scan[2] or NULL in (scan[1] or ())]
    assert counted == []


def test_that_no_row_lies_outside_makes_no_untested_day_good(scenario: Scenario) -> None:
    a_week(scenario, "2026-03-16 12:00", lost=False, primary_key=())
    assert state(TEST) == "PASS"
    assert known(MONDAY) is QualityStatus.GOOD
    assert known("2020-01-01") is QualityStatus.UNTESTED


def test_freshness_answers_for_a_day_that_is_lost_later_where_nothing_compares_its_rows(scenario: Scenario) -> None:
    """The test of rows in no partition is of completeness, and sees no row of a day that is gone."""
    a_week(scenario, "2026-03-16 05:00", lost=False)
    scenario.complete(RIDES, "2026-03-15")
    scenario.expire(RIDES, "2026-03-15")
    scenario.until("2026-03-16 12:00")
    assert state(f"{RIDES}/freshness", "2026-03-15") == "FAIL"


def test_it_runs_weekly(scenario: Scenario) -> None:
    a_week(scenario, "2026-03-16 05:59")
    assert state(TEST) == "UNTESTED"
    scenario.until(WEEKLY)
    assert state(TEST) == "WARN"
    test = data_test(TEST)
    assert test.next_due_at is not None
    assert test.next_due_at - clock.now() == timedelta(days=7)
