"""What consumers are told: look-ups, the gate, scores."""

from datetime import timedelta
from typing import Any

import pytest

from alerting.state import WaiverScope as Reach
from assay.models import Category, DataTest, Scope
from assay.time.windows import Window
from execution_engine.models import Run
from incident_manager.scores.metric_reporter import scores
from incident_manager.services import confirm_report, force_resolve, gate, look_up, report
from tests.factories import DAY, HOUR, day
from tests.integration.story import advance, due, fail, new_table, new_test, result, scheduled, settle, start

pytestmark = pytest.mark.django_db

MONDAY, TUESDAY = day("2026-03-09"), day("2026-03-10")
NONE = timedelta(0)


def ask(test: DataTest, window: Window = MONDAY) -> str:
    """The gate's decision on a test's table."""
    return gate(datasets=[test.dataset], window=window, now=due(MONDAY) + HOUR).decision


def test_what_home_finds_spoils_every_replica() -> None:
    start(due(MONDAY))
    test = new_test(dataset=new_table(datacenters=("sea", "phx")), sustain=NONE)
    fail(test, MONDAY)
    assert look_up(dataset=test.dataset, window=MONDAY, datacenter="phx", now=due(MONDAY)).failed


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


def test_a_test_that_cannot_be_judged_says_what_is_wrong_with_it() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    run = scheduled(test, MONDAY, "error", error="assertion is invalid", settled=False)
    Run.objects.filter(pk=run.pk).update(sentence="assertion is invalid: There is no dataset 'raw.gone'")
    advance(due(MONDAY) + HOUR)
    answer = look_up(dataset=test.dataset, window=MONDAY, now=due(MONDAY) + HOUR, record=False)
    (reason,) = answer.quality.reasons
    assert reason.text == "could not be judged: assertion is invalid: There is no dataset 'raw.gone'"


@pytest.mark.parametrize("days", [401, 31])
def test_windows_that_went_with_their_results_or_their_data_are_allowed_and_not_run_again(days: int) -> None:
    kept = 30 * DAY if days < 400 else None
    test = new_test(dataset=new_table(tier=0, retention=kept))
    answer = gate(datasets=[test.dataset], window=MONDAY, now=MONDAY.end + days * DAY)
    assert (answer.decision, Run.objects.count()) == ("allow", 0)
    assert "untested" in answer.reasons[0].text


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
