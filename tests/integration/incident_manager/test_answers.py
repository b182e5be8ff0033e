"""What consumers are told: look-ups, the gate, scores."""

from datetime import timedelta
from typing import Any

import pytest

from alerting.waivers import WaiverScope as Reach
from assay.models import Category, DataTest, Scope, Severity
from assay.time.windows import Window
from execution_engine.models import Run
from incident_manager.models import LookUp
from incident_manager.scores.metric_reporter import scores
from incident_manager.services import confirm_report, force_resolve, gate, look_up, report
from tests.factories import DAY, HOUR, day
from tests.integration.story import advance, due, fail, new_table, new_test, result, scheduled, settle, start

pytestmark = pytest.mark.django_db

MONDAY, TUESDAY = day("2026-03-09"), day("2026-03-10")
NONE = timedelta(0)


def ask(test: DataTest, window: Window = MONDAY, datacenter: str = "", at: timedelta = HOUR) -> str:
    """The gate's decision on a test's table."""
    return gate(datasets=[test.dataset], window=window, datacenter=datacenter, now=due(MONDAY) + at).decision


def test_a_look_up_fails_on_what_is_spoilt_and_stays_as_it_was_answered() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    incident = fail(test, MONDAY)
    answers = [look_up(dataset=test.dataset, window=window, now=due(MONDAY)) for window in (MONDAY, TUESDAY)]
    assert [(answer.failed, answer.incidents) for answer in answers] == [(True, (incident,)), (False, ())]
    result(test, MONDAY, "held", due(MONDAY) + HOUR)
    assert list(LookUp.objects.order_by("pk").values_list("failed", flat=True)) == [True, False]


def test_what_a_replica_lacks_is_spoilt_there_and_nowhere_else() -> None:
    start(due(MONDAY))
    table = new_table(datacenters=("sea", "phx", "dca"))
    test = new_test(dataset=table, category=Category.CONSISTENCY, spoils="phx", sustain=NONE)
    fail(test, MONDAY)
    failed = {
        place: look_up(dataset=table, window=MONDAY, datacenter=place, now=due(MONDAY), record=False).failed
        for place in ("", "phx", "dca")
    }
    assert failed == {"": False, "phx": True, "dca": False}
    assert (ask(test), ask(test, datacenter="phx")) == ("allow", "block")


def test_what_home_finds_spoils_every_replica() -> None:
    start(due(MONDAY))
    test = new_test(dataset=new_table(datacenters=("sea", "phx")), sustain=NONE)
    fail(test, MONDAY)
    assert look_up(dataset=test.dataset, window=MONDAY, datacenter="phx", now=due(MONDAY)).failed


def test_a_test_that_cannot_be_judged_says_what_is_wrong_with_it() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    run = scheduled(test, MONDAY, "error", error="assertion is invalid", settled=False)
    Run.objects.filter(pk=run.pk).update(sentence="assertion is invalid: There is no dataset 'raw.gone'")
    advance(due(MONDAY) + HOUR)
    answer = look_up(dataset=test.dataset, window=MONDAY, now=due(MONDAY) + HOUR, record=False)
    (reason,) = answer.quality.reasons
    assert reason.text == "could not be judged: assertion is invalid: There is no dataset 'raw.gone'"


@pytest.mark.parametrize(("severity", "decision"), [(Severity.HARD, "block"), (Severity.SOFT, "warn")])
def test_a_broken_result_stops_a_pipeline_before_it_fails(severity: Severity, decision: str) -> None:
    start(due(MONDAY))
    test = new_test(sustain=4 * HOUR, severity=severity)
    scheduled(test, MONDAY, "broken")
    assert ask(test) == decision


def test_a_table_may_ask_to_be_blocked_by_incidents_alone() -> None:
    start(due(MONDAY))
    test = new_test(sustain=HOUR, dataset=new_table(gate_on="incident"))
    scheduled(test, MONDAY, "broken")
    assert ask(test) == "warn"
    result(test, MONDAY, "broken", due(MONDAY) + HOUR)
    assert ask(test) == "block"


def test_a_window_that_has_ended_and_was_never_judged_is_tested_at_once() -> None:
    test = new_test(dataset=new_table(tier=2))
    start(MONDAY.end)
    answer = gate(datasets=[test.dataset], window=MONDAY, now=MONDAY.end + timedelta(minutes=1))
    again = gate(datasets=[test.dataset], window=MONDAY, now=MONDAY.end + timedelta(minutes=2))
    assert (answer.decision, again.decision) == ("allow", "allow")  # tiers below 1 fail open
    assert Run.objects.get(data_test=test).reason == "trigger"


def test_an_incomplete_window_is_not_there_yet() -> None:
    test = new_test(category=Category.FRESHNESS)
    start(MONDAY.end)
    result(test, MONDAY, "error", MONDAY.end + HOUR, error="not due", reason="trigger")
    answer = gate(datasets=[test.dataset], window=MONDAY, now=MONDAY.end + HOUR)
    assert (answer.decision, answer.reasons[0].text) == ("block", "not there yet")


def test_an_unjudged_window_of_a_critical_table_blocks() -> None:
    test = new_test(dataset=new_table(tier=0))
    assert gate(datasets=[test.dataset], window=MONDAY, now=MONDAY.end + HOUR).decision == "block"


def test_windows_before_the_test_existed_are_allowed() -> None:
    test = new_test(dataset=new_table(tier=0), created_at=TUESDAY.end)
    answer = gate(datasets=[test.dataset], window=MONDAY, now=TUESDAY.end)
    assert (answer.decision, Run.objects.count()) == ("allow", 0)
    assert "untested" in answer.reasons[0].text


@pytest.mark.parametrize("days", [401, 31])
def test_windows_that_went_with_their_results_or_their_data_are_allowed_and_not_run_again(days: int) -> None:
    kept = 30 * DAY if days < 400 else None
    test = new_test(dataset=new_table(tier=0, retention=kept))
    answer = gate(datasets=[test.dataset], window=MONDAY, now=MONDAY.end + days * DAY)
    assert (answer.decision, Run.objects.count()) == ("allow", 0)
    assert "untested" in answer.reasons[0].text


def test_a_test_of_the_whole_table_only_warns_beside_a_partition_test_that_holds() -> None:
    start(due(MONDAY))
    table = new_table()
    kind: dict[str, Any] = {"dataset": table, "category": Category.DUPLICATES, "sustain": NONE}
    whole = new_test(scope=Scope.TABLE, schedule="weekly", **kind)
    partition = new_test(**kind)
    fail(whole, Window(start=MONDAY.start - 9 * DAY, end=MONDAY.end))
    scheduled(partition, MONDAY, "held")
    assert ask(whole) == "warn"
    assert ask(whole, window=day("2026-03-01")) == "block"  # the partition test has not judged that day
    scheduled(partition, day("2026-03-07"), "broken")
    assert ask(whole, window=day("2026-03-07")) == "block"


def test_scores_of_a_repaired_a_forced_and_a_missed_incident() -> None:
    start(due(MONDAY))
    real, false = new_test(sustain=NONE), new_test(sustain=NONE)
    fail(real, MONDAY)
    wrong = fail(false, MONDAY)
    force_resolve(wrong, scope=Reach.TEST, reason="twins", author="ada", now=due(MONDAY) + HOUR)
    result(real, MONDAY, "held", due(MONDAY) + 3 * HOUR)
    missed = report(dataset=false.dataset, window=TUESDAY, reporter="eve", description="x", now=due(TUESDAY))
    confirm_report(missed, author="ada", now=due(TUESDAY))
    end = due(TUESDAY) + 3 * HOUR
    found = scores(start=due(MONDAY), end=end, now=end)
    assert found.total.precision == pytest.approx(3 / 4)
    assert found.total.recall == pytest.approx(3 / 6)
    assert found.total.open
    assert [row.dataset for row in found.rows] == sorted([real.dataset.full_name, false.dataset.full_name])


def test_scores_are_of_who_owned_the_table_when_the_incident_began() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    fail(test, MONDAY)
    test.dataset.owner = "bob"
    test.dataset.save()
    end = due(MONDAY) + HOUR
    theirs = [scores(start=due(MONDAY), end=end, now=end, owner=owner).total.bad for owner in ("ada", "bob")]
    assert theirs == [HOUR, NONE]


def test_look_ups_count_as_answered_and_also_without_what_was_later_forced() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    incident = fail(test, MONDAY)
    for window in (MONDAY, TUESDAY):
        look_up(dataset=test.dataset, window=window, now=due(MONDAY))
    force_resolve(incident, scope=Reach.WINDOW, reason="twins", author="ada", now=due(MONDAY) + HOUR)
    settle()
    advance(due(MONDAY) + 2 * HOUR)
    found = scores(start=due(MONDAY), end=due(MONDAY) + 2 * HOUR, now=due(MONDAY) + 2 * HOUR).queries
    assert (found.quality, found.quality_without_forced) == (0.5, 1.0)
