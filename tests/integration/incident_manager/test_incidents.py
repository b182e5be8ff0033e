"""What a FAIL opens, what joins it, and what ends it."""

from datetime import timedelta

import pytest

from alerting.services import judge_runs
from assay.models import Category
from execution_engine.models import Exclusion
from incident_manager.models import Incident, Resolution
from test_generator.services import retire
from tests.factories import DAY, HOUR, RunFactory, day, revised
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

MONDAY, TUESDAY = day("2026-03-09"), day("2026-03-10")
NONE = timedelta(0)


def test_a_window_that_stays_broken_for_the_sustain_period_opens_one_incident() -> None:
    start(due(MONDAY))
    test = new_test(category=Category.COMPLETENESS)
    scheduled(test, MONDAY, "broken")
    assert (state(test, MONDAY), open_incidents()) == ("WARN", [])
    result(test, MONDAY, "broken", due(MONDAY) + 4 * HOUR)
    assert state(test, MONDAY) == "FAIL"
    (incident,) = open_incidents()
    assert incident.detected_at == due(MONDAY) + 4 * HOUR
    assert [spoilt.window for spoilt in incident.spoilt_windows.all()] == [MONDAY]


def test_a_good_tuesday_does_not_heal_a_bad_monday() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    fail(test, MONDAY)
    scheduled(test, TUESDAY, "held")
    assert (state(test, MONDAY), state(test, TUESDAY)) == ("FAIL", "PASS")
    assert len(open_incidents()) == 1
    result(test, MONDAY, "held", due(TUESDAY) + HOUR)
    assert Incident.objects.get().resolution == Resolution.AUTO


def test_a_second_bad_window_joins_the_incident_which_ends_with_the_last_to_heal() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    incident = fail(test, MONDAY)
    assert fail(test, TUESDAY) == incident
    result(test, TUESDAY, "held", due(TUESDAY) + HOUR)
    assert open_incidents() == [incident]
    result(test, MONDAY, "held", due(TUESDAY) + 2 * HOUR)
    incident.refresh_from_db()
    assert (incident.resolved_at, incident.open_key) == (due(TUESDAY) + 2 * HOUR, None)
    assert [entry.event for entry in incident.timeline.all()] == [
        "opened",
        "spoilt",
        "spoilt",
        "healed",
        "healed",
        "resolved",
    ]


def test_a_spoilt_window_stays_out_of_histories_until_it_is_healed() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    fail(test, MONDAY)
    assert [each.window for each in Exclusion.objects.all()] == [MONDAY]
    result(test, MONDAY, "held", due(MONDAY) + HOUR)
    assert not Exclusion.objects.exists()


def test_a_failure_within_a_period_of_an_auto_resolve_is_the_same_incident() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    incident = fail(test, MONDAY)
    result(test, MONDAY, "held", due(MONDAY) + HOUR)
    assert fail(test, TUESDAY) == incident
    episodes = [(episode.opened_at, episode.closed_at) for episode in incident.episodes.order_by("pk")]
    assert episodes == [(due(MONDAY), due(MONDAY) + HOUR), (due(TUESDAY), None)]


def test_a_failure_much_later_is_another_incident() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    first = fail(test, MONDAY)
    result(test, MONDAY, "held", due(MONDAY) + HOUR)
    assert fail(test, day("2026-03-13")) != first


def test_of_two_ended_incidents_the_later_one_is_opened_again() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    first = fail(test, MONDAY)
    result(test, MONDAY, "held", due(MONDAY) + HOUR)
    thursday, friday = day("2026-03-12"), day("2026-03-13")
    second = fail(test, thursday)
    result(test, thursday, "held", due(thursday) + HOUR)
    assert second != first
    assert fail(test, friday) == second
    assert first.episodes.count() == 1


def test_a_window_that_fails_again_under_a_new_revision_is_healed_by_what_that_one_said() -> None:
    start(due(MONDAY))
    test = new_test()
    for at in (due(MONDAY), due(MONDAY) + 4 * HOUR):
        result(test, MONDAY, "broken", at, reason="schedule")
    result(test, MONDAY, "held", due(MONDAY) + 5 * HOUR)
    revised(test, assertion="row_count() >= 110", author="ada", now=due(MONDAY) + 6 * HOUR)
    result(test, MONDAY, "broken", due(MONDAY) + 6 * HOUR, reason="revision")
    result(test, MONDAY, "broken", due(MONDAY) + 10 * HOUR)
    assert [incident.spoilt_windows.count() for incident in open_incidents()] == [2]
    result(test, MONDAY, "held", due(MONDAY) + 9 * HOUR)  # late: it was measured before the last one
    assert state(test, MONDAY) == "WARN"
    assert list(Incident.objects.get().spoilt_windows.order_by("pk").values_list("how", flat=True)) == [
        "auto",
        "withdrawn",
    ]


def test_a_window_that_only_a_looser_sla_makes_hold_is_redefined() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE, assertion="row_count() >= 100")
    fail(test, MONDAY)
    revised(test, assertion="row_count() >= 90", author="ada", now=due(MONDAY) + HOUR)
    settle()
    again = test.runs.get(reason="revision")
    assert again.accept_from is None
    result(test, MONDAY, "held", due(MONDAY) + HOUR, reason="revision")
    assert Incident.objects.get().resolution == Resolution.REDEFINED


def test_a_new_revision_under_which_the_window_is_still_broken_ends_nothing() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    fail(test, MONDAY)
    revised(test, assertion="row_count() >= 99", author="ada", now=due(MONDAY) + HOUR)
    result(test, MONDAY, "broken", due(MONDAY) + HOUR, reason="revision")
    assert len(open_incidents()) == 1
    result(test, MONDAY, "held", due(MONDAY) + 2 * HOUR)
    assert Incident.objects.get().resolution == Resolution.AUTO


def test_a_window_found_complete_when_a_looser_freshness_looks_is_healed_by_its_data() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE, category=Category.FRESHNESS, assertion="freshness() < 6h")
    fail(test, MONDAY)
    revised(test, assertion="freshness() < 9h", author="ada", now=due(MONDAY) + HOUR)
    settle()
    assert test.runs.get(reason="revision").accept_from is not None
    result(test, MONDAY, "held", due(MONDAY) + HOUR, reason="revision", value=0.0)
    assert Incident.objects.get().resolution == Resolution.AUTO


def test_a_test_that_is_retired_while_its_incident_is_open_withdraws_it() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    fail(test, MONDAY)
    retire(test, now=due(MONDAY) + HOUR)
    advance(due(MONDAY) + HOUR)
    assert Incident.objects.get().resolution == Resolution.WITHDRAWN
    assert test.standings.get().next_check_at is None


def test_a_retired_test_is_checked_no_more_even_where_it_gave_no_verdict() -> None:
    start(due(MONDAY))
    test = new_test()
    scheduled(test, MONDAY, "error", error="timeout")
    assert test.standings.get().next_check_at is not None
    retire(test, now=due(MONDAY))
    settle()
    standing = test.standings.get()
    assert (standing.state, standing.next_check_at, standing.next_age_at) == ("PENDING", None, None)


def test_a_new_revision_runs_only_what_it_has_not_judged_yet() -> None:
    start(due(TUESDAY))
    test = new_test()
    for window in (MONDAY, TUESDAY):
        result(test, window, "broken", due(TUESDAY), reason="schedule")
    revised(test, assertion="row_count() >= 99", author="ada", now=due(TUESDAY))
    test.refresh_from_db()
    seen = RunFactory.create(data_test=test, window=MONDAY, measured_at=due(TUESDAY), outcome="broken", judged_at=None)
    judge_runs([seen], due(TUESDAY))
    assert test.standings.get(window_start=MONDAY.start).revision == test.revision
    settle()
    assert [run.window for run in test.runs.filter(reason="revision")] == [TUESDAY]


def test_a_window_beyond_retention_is_withdrawn() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE, dataset=new_table(retention=5 * DAY))
    fail(test, MONDAY)
    advance(due(MONDAY) + 7 * DAY)
    assert Incident.objects.get().resolution == Resolution.WITHDRAWN
    assert test.standings.get().next_check_at is None
