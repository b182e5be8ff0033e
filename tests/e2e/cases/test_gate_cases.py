"""May a pipeline read this now? What the gate answers, and why."""

from datetime import timedelta
from typing import Any

import pytest

from assay import clock
from execution_engine.models import RunReason
from execution_engine.outcome import Failure, Reason
from execution_engine.services import request_run
from tests.e2e.cases.people import accept, force, open_incident, said
from tests.e2e.scenario import Scenario, custom, data_test, dataset, incidents, state, window
from tests.fakes import rows

pytestmark = pytest.mark.django_db

TRIPS, MONDAY = "raw.trips", "2026-03-09"
ENOUGH = custom(TRIPS, "enough", "row_count() >= 100")
AWAY = rows(900) + rows(100)  # as many rows as at home, and 100 keys fewer


def too_few(scenario: Scenario, until: str, **metadata: Any) -> None:
    """A test that breaks when Monday is due, at 06:00 on Tuesday, and fails at 10:00."""
    scenario.catalog(dataset(TRIPS, **metadata), custom=[ENOUGH])
    scenario.land(TRIPS, MONDAY, 50)
    scenario.until(until)


def test_the_gate_allows_what_was_forced_and_says_why(scenario: Scenario) -> None:
    too_few(scenario, "2026-03-10 10:00")
    force(open_incident(TRIPS))
    scenario.until("2026-03-10 11:00")
    assert said(scenario.ask(TRIPS, MONDAY)) == ("allow", {"waived: counts twins"})


def test_the_gate_warns_of_what_was_accepted(scenario: Scenario) -> None:
    too_few(scenario, "2026-03-10 10:00")
    accept(open_incident(TRIPS))
    scenario.until("2026-03-10 11:00")
    assert said(scenario.ask(TRIPS, MONDAY)) == ("warn", {"accepted as it is: the source is gone"})


def test_what_one_datacenter_lost_blocks_there_alone_until_it_is_forced(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, "sea", "phx"))
    scenario.land(TRIPS, MONDAY, 1000)
    scenario.land(TRIPS, MONDAY, AWAY, place="phx")
    scenario.until("2026-03-10 10:00")
    assert said(scenario.ask(TRIPS, MONDAY, place="sea")) == ("allow", set())
    incident = open_incident(TRIPS, "consistency")
    spoilt = {"consistency is broken (FAIL)", f"consistency incident {incident.pk} is open"}
    assert said(scenario.ask(TRIPS, MONDAY, place="phx")) == ("block", spoilt)
    force(incident)
    assert said(scenario.ask(TRIPS, MONDAY, place="phx")) == ("allow", {"waived: counts twins"})


def test_what_was_accepted_in_one_datacenter_warns_there_alone(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, "sea", "phx"))
    scenario.land(TRIPS, MONDAY, 1000)
    scenario.land(TRIPS, MONDAY, AWAY, place="phx")
    scenario.until("2026-03-10 10:00")
    accept(open_incident(TRIPS, "consistency"))
    scenario.until("2026-03-10 10:30")
    assert said(scenario.ask(TRIPS, MONDAY, place="sea")) == ("allow", set())
    assert said(scenario.ask(TRIPS, MONDAY, place="phx"))[0] == "warn"


def test_a_window_that_is_not_there_yet_blocks_until_it_is(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS))
    scenario.until("2026-03-10 01:00")
    assert said(scenario.ask(TRIPS, MONDAY)) == ("allow", {"not judged yet"})  # tier 2 is open until it is looked at
    assert "not there yet" in said(scenario.ask(TRIPS, MONDAY))[1]
    assert scenario.ask(TRIPS, MONDAY).decision == "block"
    assert incidents() == []
    scenario.land(TRIPS, MONDAY, 100, on="2026-03-10 02:00")
    scenario.complete(TRIPS, MONDAY)
    assert said(scenario.ask(TRIPS, MONDAY)) == ("allow", set())


def test_a_copy_that_is_not_there_yet_blocks_in_its_datacenter_alone(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, "sea", "phx"))
    scenario.land(TRIPS, MONDAY, 100, on="2026-03-10 02:00")
    scenario.complete(TRIPS, MONDAY)
    scenario.ask(TRIPS, MONDAY, place="phx")
    assert scenario.ask(TRIPS, MONDAY, place="sea").decision == "allow"
    assert "not there yet" in said(scenario.ask(TRIPS, MONDAY, place="phx"))[1]
    scenario.land(TRIPS, MONDAY, 100, place="phx")
    scenario.complete(TRIPS, MONDAY, place="phx")
    assert said(scenario.ask(TRIPS, MONDAY, place="phx")) == ("allow", set())


def test_a_critical_window_that_is_not_there_yet_blocks_from_the_first_question_on(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, tier=0))
    scenario.until("2026-03-10 00:30")
    assert said(scenario.ask(TRIPS, MONDAY)) == ("block", {"not judged yet"})
    assert "not there yet" in said(scenario.ask(TRIPS, MONDAY))[1]


def test_the_gate_blocks_while_the_test_still_warns(scenario: Scenario) -> None:
    too_few(scenario, "2026-03-10 06:00")
    assert (state("raw.trips/enough", MONDAY), incidents()) == ("WARN", [])
    assert said(scenario.ask(TRIPS, MONDAY)) == ("block", {"custom is broken (WARN): no incident yet"})


def test_a_soft_test_only_warns(scenario: Scenario) -> None:
    too_few(scenario, "2026-03-10 10:00", severity="soft")
    assert state("raw.trips/enough", MONDAY) == "FAIL"
    assert scenario.ask(TRIPS, MONDAY).decision == "warn"


def test_a_dataset_that_gates_on_incidents_only_warns_before_one_is_open(scenario: Scenario) -> None:
    too_few(scenario, "2026-03-10 06:00", gate_on="incident")
    assert said(scenario.ask(TRIPS, MONDAY)) == ("warn", {"custom is broken (WARN): no incident yet"})
    scenario.until("2026-03-10 10:00")
    assert scenario.ask(TRIPS, MONDAY).decision == "block"


@pytest.mark.logs_a_failure
@pytest.mark.parametrize(
    ("tier", "policy", "decision"),
    [(0, None, "block"), (1, None, "block"), (2, None, "allow"), (2, "closed", "block"), (0, "open", "allow")],
)
def test_what_could_not_be_judged_blocks_critical_tiers_alone(
    scenario: Scenario, tier: int, policy: str | None, decision: str
) -> None:
    scenario.catalog(dataset(TRIPS, tier=tier, primary_key=(), unknown_policy=policy, sustain=timedelta(0)))
    scenario.land(TRIPS, MONDAY, 100)
    scenario.lake.crashes.add("/sea/raw.trips")
    scenario.until("2026-03-10 06:15")
    assert state("raw.trips/freshness", MONDAY) == "UNKNOWN"
    assert said(scenario.ask(TRIPS, MONDAY)) == (decision, {"could not be judged: engine unreachable"})


def test_a_window_from_before_the_test_is_allowed_as_untested(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, tier=0))
    answer = scenario.ask(TRIPS, "2026-03-07")
    assert answer.decision == "allow"
    assert all(reason.text.startswith("untested: ") for reason in answer.reasons)
    assert answer.reasons


def test_a_test_that_is_still_learning_is_allowed_with_that_reason(scenario: Scenario) -> None:
    usual = custom(TRIPS, "usual", "row_count() >= 0.85 * mean(row_count(), last=7)")
    scenario.catalog(dataset(TRIPS, tier=0), custom=[usual])
    scenario.land(TRIPS, MONDAY, 100)
    scenario.until("2026-03-10 02:00")
    assert state("raw.trips/usual", MONDAY) == "LEARNING"
    assert said(scenario.ask(TRIPS, MONDAY)) == ("allow", {"learning: not enough history yet"})


@pytest.mark.parametrize(("policy", "decision"), [("closed", "block"), ("open", "allow")])
def test_what_could_not_be_read_is_not_judged_though_it_is_not_unknown_yet(
    scenario: Scenario, policy: str, decision: str
) -> None:
    scenario.catalog(dataset(TRIPS, primary_key=(), unknown_policy=policy))
    scenario.land(TRIPS, MONDAY, 100)
    scenario.lake.failures["/sea/raw.trips"] = Failure(reason=Reason.UNREADABLE, detail="The file is cut short.")
    scenario.until("2026-03-10 06:01")
    assert state("raw.trips/freshness", MONDAY) == "PENDING"
    assert said(scenario.ask(TRIPS, MONDAY)) == (decision, {"not judged yet: table cannot be read"})


def test_what_could_not_be_read_is_not_called_untested_where_it_ended_before_its_test_existed(
    scenario: Scenario,
) -> None:
    scenario.begin("2026-03-09 01:00")
    scenario.catalog(dataset(TRIPS, primary_key=(), unknown_policy="closed"))
    scenario.lake.failures["/sea/raw.trips"] = Failure(reason=Reason.UNREADABLE, detail="The file is cut short.")
    scenario.land(TRIPS, "2026-03-08", 100, on="2026-03-09 03:00")
    request_run(
        data_test=data_test("raw.trips/freshness"),
        window=window(TRIPS, "2026-03-08"),
        reason=RunReason.MANUAL,
        occasion="by hand",
        now=clock.now(),
    )
    scenario.until("2026-03-09 03:01")
    assert state("raw.trips/freshness", "2026-03-08") == "PENDING"
    assert scenario.ask(TRIPS, "2026-03-08").decision == "block"
