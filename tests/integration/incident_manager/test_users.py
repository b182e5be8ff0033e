"""What users do to incidents, and what that means for tomorrow."""

from datetime import timedelta
from typing import Any

import pytest

from alerting.waivers import WaiverScope
from assay.models import DataTest
from incident_manager.models import Incident, Resolution
from incident_manager.services import UnableToResolve, accept, acknowledge, annotate, force_resolve, gate, rerun
from tests.factories import DAY, HOUR, day, revised
from tests.integration.story import (
    advance,
    due,
    fail,
    new_table,
    new_test,
    open_incidents,
    result,
    scheduled,
    settle,
    start,
    state,
)

pytestmark = pytest.mark.django_db

MONDAY, TUESDAY, WEDNESDAY = day("2026-03-09"), day("2026-03-10"), day("2026-03-11")
NONE = timedelta(0)


def failing(excess: float = 0.1) -> tuple[DataTest, Incident]:
    """A test that FAILs on Monday, and its incident."""
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    return test, fail(test, MONDAY, excess=excess)


def force(incident: Incident, scope: WaiverScope) -> None:
    force_resolve(incident, scope=scope, reason="counts twins", author="ada", now=due(MONDAY) + HOUR)
    settle()


def test_a_forced_incident_is_over_and_its_window_opens_nothing_more() -> None:
    test, incident = failing()
    force(incident, WaiverScope.WINDOW)
    assert incident.resolution == Resolution.FORCED
    result(test, MONDAY, "broken", due(MONDAY) + 2 * HOUR, excess=0.5)
    assert open_incidents() == []
    assert test.standings.get().next_check_at is None


def test_forcing_one_window_leaves_tomorrow_as_it_is() -> None:
    test, incident = failing()
    force(incident, WaiverScope.WINDOW)
    fail(test, TUESDAY, excess=0.1)
    assert len(open_incidents()) == 1


def test_forcing_the_test_waives_tomorrow_too_unless_it_is_worse() -> None:
    test, incident = failing(excess=0.1)
    force(incident, WaiverScope.TEST)
    scheduled(test, TUESDAY, "broken", excess=0.1)
    assert (state(test, TUESDAY), open_incidents()) == ("FAIL", [])
    fail(test, WEDNESDAY, excess=0.2)
    assert len(open_incidents()) == 1


def test_the_waiver_of_a_test_ends_and_what_is_still_broken_then_opens_an_incident() -> None:
    test, incident = failing()
    force(incident, WaiverScope.TEST)
    scheduled(test, TUESDAY, "broken", excess=0.1)
    end = due(MONDAY) + HOUR + 14 * DAY
    advance(end)
    assert test.runs.filter(reason="check", window_start=TUESDAY.start, evaluated_at=None).count() == 1
    result(test, TUESDAY, "broken", end + HOUR, excess=0.1)
    assert len(open_incidents()) == 1


def test_a_new_revision_ends_a_waiver() -> None:
    test, incident = failing()
    force(incident, WaiverScope.TEST)
    revised(test, assertion="row_count() >= 99", author="ada", now=due(MONDAY) + 2 * HOUR)
    settle()
    assert test.runs.filter(reason="revision", evaluated_at=None).count() == 1
    result(test, MONDAY, "broken", due(MONDAY) + 2 * HOUR, excess=0.1)
    assert len(open_incidents()) == 1


def test_what_an_older_revision_said_is_waived_as_well_until_the_new_one_finds_it_worse() -> None:
    test, incident = failing(excess=0.1)
    revised(test, assertion="row_count() >= 99", author="ada", now=due(MONDAY) + HOUR)
    settle()
    accept(incident, reason="source is lost", author="ada", now=due(MONDAY) + 2 * HOUR)
    settle()
    standing = test.standings.get()
    assert (standing.state, standing.waiver_id is not None, standing.next_check_at) == ("FAIL", True, None)
    assert open_incidents() == []
    result(test, MONDAY, "broken", due(MONDAY) + 3 * HOUR, excess=0.2)
    assert len(open_incidents()) == 1


def test_a_held_run_ends_the_waiver_of_its_window() -> None:
    test, incident = failing()
    force(incident, WaiverScope.WINDOW)
    result(test, MONDAY, "held", due(MONDAY) + 2 * HOUR)
    result(test, MONDAY, "broken", due(MONDAY) + 3 * HOUR, excess=0.1)
    assert len(open_incidents()) == 1
    assert test.waivers.get().ended_at == due(MONDAY) + 2 * HOUR


def test_an_accepted_window_warns_at_the_gate_until_it_gets_worse() -> None:
    test, incident = failing(excess=0.1)
    accept(incident, reason="source is lost", author="ada", now=due(MONDAY) + HOUR)
    settle()
    ask: dict[str, Any] = {"datasets": [test.dataset], "window": MONDAY, "now": due(MONDAY) + HOUR}
    assert (incident.resolution, gate(**ask).decision) == (Resolution.ACCEPTED, "warn")
    result(test, MONDAY, "broken", due(MONDAY) + 2 * HOUR, excess=0.2)
    assert (len(open_incidents()), gate(**ask).decision) == (1, "block")


def test_whoever_forces_says_why() -> None:
    _, incident = failing()
    with pytest.raises(UnableToResolve, match="reason"):
        force_resolve(incident, scope=WaiverScope.WINDOW, reason=" ", author="ada", now=due(MONDAY))


def test_an_incident_ends_once() -> None:
    _, incident = failing()
    force(incident, WaiverScope.WINDOW)
    with pytest.raises(UnableToResolve, match="ended"):
        accept(incident, reason="again", author="ada", now=due(MONDAY) + HOUR)


def test_an_annotation_keeps_what_it_does_not_mention() -> None:
    _, incident = failing()
    annotate(incident, author="ada", root_cause="late upload", now=due(MONDAY))
    annotate(incident, author="ada", eta=due(MONDAY) + DAY, text="on it", now=due(MONDAY))
    assert (incident.root_cause, incident.eta) == ("late upload", due(MONDAY) + DAY)
    assert incident.alert is not None
    incident.alert.refresh_from_db()
    assert incident.alert.eta == due(MONDAY) + DAY


def test_the_first_to_acknowledge_stays_named() -> None:
    _, incident = failing()
    acknowledge(incident, author="ada", now=due(MONDAY))
    assert acknowledge(incident, author="bob", now=due(MONDAY) + HOUR).acknowledged_by == "ada"


def test_a_waived_window_that_nobody_checks_stays_a_warning() -> None:
    start(due(MONDAY))
    test = new_test(sustain=4 * HOUR)
    for later in (0, 4):
        result(test, MONDAY, "broken", due(MONDAY) + later * HOUR, excess=0.1)
    (incident,) = open_incidents()
    force_resolve(incident, scope=WaiverScope.TEST, reason="counts twins", author="ada", now=due(MONDAY) + 5 * HOUR)
    result(test, TUESDAY, "broken", due(TUESDAY), excess=0.1)
    advance(due(TUESDAY) + 2 * DAY)
    assert (state(test, TUESDAY), open_incidents()) == ("WARN", [])


def test_a_rerun_measures_every_spoilt_window_anew() -> None:
    test, incident = failing()
    fail(test, TUESDAY)
    runs = rerun(incident, author="ada", now=due(TUESDAY))
    assert sorted(run.window.text for run in runs) == [MONDAY.text, TUESDAY.text]
    assert {run.accept_from for run in runs} == {due(TUESDAY)}


def test_critical_tiers_are_waived_for_three_days_only() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE, dataset=new_table(tier=1))
    incident = fail(test, MONDAY)
    force_resolve(incident, scope=WaiverScope.TEST, reason="twins", author="ada", now=due(MONDAY))
    waiver = test.waivers.get()
    assert waiver.ends_at == due(MONDAY) + 3 * DAY
