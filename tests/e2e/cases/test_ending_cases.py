"""How incidents end, and what opens them again."""

from dataclasses import replace

import pytest

from alerting.state import WaiverScope
from assay import clock
from assay.catalog.profile import SlaProfile
from incident_manager.models import Incident
from test_generator.services import retire
from tests.e2e.cases.people import HOUR, accept, force, open_incident, said, told
from tests.e2e.scenario import Scenario, custom, data_test, dataset, flow, incidents, notices, spoilt, state
from tests.fakes import rows

pytestmark = pytest.mark.django_db

TRIPS, ENOUGH = "raw.trips", "raw.trips/enough"
MONDAY, TUESDAY = "2026-03-09", "2026-03-10"


def too_few(scenario: Scenario, *, until: str = "2026-03-10 10:00") -> Incident:
    """The incident of a test that breaks when Monday is due, at 06:00 on Tuesday, and fails at 10:00."""
    scenario.catalog(dataset(TRIPS), custom=[custom(TRIPS, "enough", "row_count() >= 100")])
    scenario.land(TRIPS, MONDAY, 50)
    scenario.until(until)
    return open_incident(TRIPS, "custom")


def resolutions(name: str = TRIPS) -> list[str]:
    """How the incidents of a dataset ended, oldest first; empty for an open one."""
    return [incident.resolution for incident in incidents(name)]


@pytest.mark.parametrize(("scope", "ended"), [(WaiverScope.WINDOW, ["forced", ""]), (WaiverScope.TEST, ["forced"])])
def test_a_forced_incident_whose_test_still_fails_tomorrow_opens_again_unless_the_test_is_wrong(
    scenario: Scenario, scope: WaiverScope, ended: list[str]
) -> None:
    force(too_few(scenario), scope=scope)
    scenario.land(TRIPS, TUESDAY, 50, on="2026-03-10 12:00")
    scenario.until("2026-03-11 10:00")
    assert resolutions() == ended


def test_a_test_forced_for_its_reason_fails_again_where_its_value_is_worse(scenario: Scenario) -> None:
    force(too_few(scenario), scope=WaiverScope.TEST)
    scenario.land(TRIPS, TUESDAY, 49, on="2026-03-10 12:00")
    scenario.until("2026-03-11 10:00")
    assert resolutions() == ["forced", ""]


def test_a_target_that_is_loosened_while_an_incident_is_open_redefines_it(scenario: Scenario) -> None:
    table = dataset(TRIPS)
    scenario.catalog(table)
    scenario.land(TRIPS, MONDAY, rows(98) + rows(2))
    scenario.until("2026-03-10 11:00")
    assert told("opened") == ["trips"]
    scenario.catalog(replace(table, slas=SlaProfile(duplicates=0.05)))
    assert (state("raw.trips/duplicates", MONDAY), resolutions(), spoilt(TRIPS)) == ("PASS", ["redefined"], [])
    assert (told("recovered"), told("withdrawn")) == ([], ["trips"])  # nobody has seen a repair


def test_a_loosened_target_redefines_freshness_too_where_the_data_is_what_it_was(scenario: Scenario) -> None:
    table, lineage = dataset("raw.clean"), [flow(TRIPS, "raw.clean")]
    scenario.catalog(dataset(TRIPS), table, lineage=lineage)
    scenario.land(TRIPS, MONDAY, 100)
    scenario.land("raw.clean", MONDAY, 90)
    scenario.until("2026-03-10 10:00")
    assert {incident.category for incident in incidents("raw.clean")} == {"freshness", "completeness"}
    scenario.catalog(dataset(TRIPS), replace(table, slas=SlaProfile(completeness=0.85)), lineage=lineage)
    assert resolutions("raw.clean") == ["redefined", "redefined"]


def test_a_deadline_moved_into_the_future_redefines_what_was_late_until_it_has_passed_too(scenario: Scenario) -> None:
    table = dataset(TRIPS)
    scenario.catalog(table)
    scenario.until("2026-03-10 11:00")
    scenario.catalog(replace(table, slas=SlaProfile(freshness=15 * HOUR)))
    assert (state("raw.trips/freshness", MONDAY), resolutions(), spoilt(TRIPS)) == ("PENDING", ["redefined"], [])
    scenario.ask(TRIPS, MONDAY)
    assert "not there yet" in said(scenario.ask(TRIPS, MONDAY))[1]
    scenario.until("2026-03-10 15:00")
    assert state("raw.trips/freshness", MONDAY) == "WARN"
    scenario.until("2026-03-10 19:00")
    assert resolutions() == ["redefined", ""]


def test_a_loosened_target_does_not_redefine_what_is_still_broken_by_it(scenario: Scenario) -> None:
    table = dataset(TRIPS)
    scenario.catalog(table)
    scenario.land(TRIPS, MONDAY, rows(80) + rows(20))
    scenario.until("2026-03-10 10:00")
    scenario.catalog(replace(table, slas=SlaProfile(duplicates=0.05)))
    assert (resolutions(), scenario.ask(TRIPS, MONDAY).decision) == ([""], "block")
    scenario.land(TRIPS, MONDAY, 100, on="2026-03-10 12:00")
    scenario.until("2026-03-10 12:10")
    assert resolutions() == ["auto"]


def test_a_test_retired_while_its_incident_is_open_withdraws_it(scenario: Scenario) -> None:
    too_few(scenario, until="2026-03-10 11:00")
    retire(data_test(ENOUGH), now=clock.now())
    scenario.until("2026-03-10 11:01")
    assert (resolutions(), spoilt(TRIPS), told("withdrawn")) == (["withdrawn"], [], ["trips"])
    runs = data_test(ENOUGH).runs.count()
    scenario.until("2026-03-11 08:00")
    assert data_test(ENOUGH).runs.count() == runs


def test_a_generated_test_whose_metadata_is_gone_withdraws_its_incident(scenario: Scenario) -> None:
    table = dataset(TRIPS)
    scenario.catalog(table)
    scenario.land(TRIPS, MONDAY, rows(50) + rows(50))
    scenario.until("2026-03-10 10:00")
    scenario.catalog(replace(table, primary_key=()))
    assert resolutions() == ["withdrawn"]


def test_what_was_accepted_opens_nothing_while_it_is_no_worse(scenario: Scenario) -> None:
    accept(too_few(scenario))
    scenario.land(TRIPS, MONDAY, 60, on="2026-03-10 12:00")
    scenario.until("2026-03-10 18:00")
    assert (state(ENOUGH, MONDAY), resolutions()) == ("FAIL", ["accepted"])


def test_what_was_accepted_and_is_worse_opens_again(scenario: Scenario) -> None:
    accept(too_few(scenario))
    scenario.land(TRIPS, MONDAY, 40, on="2026-03-10 12:00")
    scenario.until("2026-03-10 18:00")
    assert resolutions() == ["accepted", ""]


def test_a_held_run_clears_what_was_accepted(scenario: Scenario) -> None:
    accept(too_few(scenario))
    scenario.land(TRIPS, MONDAY, 100, on="2026-03-10 12:00")
    scenario.until("2026-03-10 13:00")
    assert state(ENOUGH, MONDAY) == "PASS"
    assert scenario.ask(TRIPS, MONDAY).decision == "allow"
    scenario.land(TRIPS, MONDAY, 60, on="2026-03-10 14:00")
    scenario.until("2026-03-10 20:00")
    assert resolutions() == ["accepted", ""]


def test_a_failure_within_a_period_of_its_recovery_opens_the_same_incident_again(scenario: Scenario) -> None:
    too_few(scenario, until="2026-03-10 11:00")
    scenario.land(TRIPS, MONDAY, 100, on="2026-03-10 12:00")
    scenario.until("2026-03-10 13:00")
    assert resolutions() == ["auto"]
    scenario.land(TRIPS, MONDAY, 50, on="2026-03-10 14:00")
    scenario.until("2026-03-10 20:00")
    incident = open_incident(TRIPS)
    assert (resolutions(), incident.episodes.count()) == ([""], 2)
    assert notices("opened") == [("trips", ""), ("trips", "")]


def test_a_failure_long_after_a_recovery_is_another_incident(scenario: Scenario) -> None:
    too_few(scenario)
    for key in (MONDAY, TUESDAY):
        scenario.land(TRIPS, key, 100, on="2026-03-10 12:00")
    scenario.land(TRIPS, "2026-03-11", 50)
    scenario.until("2026-03-12 13:00")
    assert resolutions() == ["auto", ""]
