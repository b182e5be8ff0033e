"""Standings: what the runs of a window, and time alone, make of it."""

from datetime import timedelta
from itertools import permutations

import pytest

from alerting.models import Flip, Notice, Standing
from assay.models import Category, DataTest, Scope
from assay.time.windows import Window
from execution_engine.models import Run
from tests.factories import DAY, HOUR, day
from tests.integration.story import (
    SLA,
    advance,
    due,
    new_table,
    new_test,
    open_incidents,
    result,
    scheduled,
    settle,
    start,
    state,
    told,
)

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
MINUTE = timedelta(minutes=1)


def hours(n: int) -> list[Window]:
    return [Window(start=MONDAY.start + i * HOUR, end=MONDAY.start + (i + 1) * HOUR) for i in range(n)]


def hourly_test() -> DataTest:
    return new_test(dataset=new_table(granularity="hour"), sustain=4 * HOUR)


def test_one_bad_hour_of_an_hourly_table_is_no_incident() -> None:
    test = hourly_test()
    good, bad, next_good = hours(3)
    start(due(good))
    scheduled(test, good, "held")
    scheduled(test, bad, "broken")
    assert state(test, bad) == "WARN"
    scheduled(test, next_good, "held")
    result(test, bad, "held", due(next_good) + MINUTE)
    advance(due(next_good) + DAY)
    assert [state(test, hour) for hour in (good, bad, next_good)] == ["PASS"] * 3
    assert open_incidents() == []


def test_every_hour_bad_fails_by_the_streak_though_each_is_repaired() -> None:
    test = hourly_test()
    start(due(hours(1)[0]))
    for hour in hours(5):
        scheduled(test, hour, "broken")
        if hour != hours(5)[-1]:
            result(test, hour, "held", due(hour) + 30 * MINUTE)
    *repaired, last = hours(5)
    assert [state(test, hour) for hour in repaired] == ["PASS"] * 4
    assert state(test, last) == "FAIL"
    assert len(open_incidents()) == 1
    result(test, last, "held", due(last) + 30 * MINUTE)
    assert open_incidents() == []


def test_a_streak_ends_with_an_hour_that_starts_well() -> None:
    test = hourly_test()
    start(due(hours(1)[0]))
    for n, hour in enumerate(hours(6)):
        scheduled(test, hour, "held" if n == 3 else "broken")
        result(test, hour, "held", due(hour) + 30 * MINUTE)
    assert {state(test, hour) for hour in hours(6)} == {"PASS"}


def test_late_doubled_and_reordered_results_give_the_same_standing() -> None:
    told_results = [("broken", 0), ("broken", 2), ("held", 3), ("broken", 4), ("broken", 9)]
    found = set()
    for order in list(permutations(told_results))[::7]:
        test = new_test(sustain=4 * HOUR)
        start(due(MONDAY))
        for outcome, after in [*order, order[0]]:
            run = result(test, MONDAY, outcome, due(MONDAY), settled=False)
            Run.objects.filter(pk=run.pk).update(measured_at=due(MONDAY) + after * HOUR)
            settle()
        row = Standing.objects.get(data_test=test)
        found.add((row.state, row.broken_since))
    assert found == {("FAIL", due(MONDAY) + 4 * HOUR)}


def test_a_result_broken_before_it_is_due_starts_the_sustain_period_when_it_is_due() -> None:
    test = new_test(sustain=HOUR)
    start(MONDAY.end)
    result(test, MONDAY, "broken", MONDAY.end + HOUR, reason="trigger")
    row = Standing.objects.get(data_test=test)
    assert (row.state, row.last_outcome) == ("PENDING", "broken")
    scheduled(test, MONDAY, "broken")
    row.refresh_from_db()
    assert (row.state, row.broken_since) == ("WARN", due(MONDAY))


def test_an_incomplete_window_measured_before_it_is_due_has_no_standing() -> None:
    test = new_test(category=Category.FRESHNESS)
    start(MONDAY.end)
    result(test, MONDAY, "error", MONDAY.end + HOUR, error="not due", reason="trigger")
    assert not Standing.objects.exists()


def test_a_due_run_that_tells_nothing_is_unknown_and_on_call_hears_of_it() -> None:
    test = new_test(sustain=HOUR)
    start(due(MONDAY))
    assert test.revision is not None
    Run.objects.create(
        data_test=test,
        revision=test.revision,
        reason="schedule",
        slot="silent",
        window_start=MONDAY.start,
        window_end=MONDAY.end,
        requested_at=due(MONDAY),
        due_at=due(MONDAY),
    )
    advance(due(MONDAY) + 59 * MINUTE)
    assert state(test, MONDAY) == "PENDING"
    advance(due(MONDAY) + HOUR)
    assert state(test, MONDAY) == "UNKNOWN"
    assert told("unknown") == ["platform-on-call"]


@pytest.mark.parametrize(
    ("error", "hears"),
    [("timeout", "platform-on-call"), ("unknown column", "ada")],
)
def test_whoever_can_mend_it_hears_of_a_window_that_cannot_be_judged(error: str, hears: str) -> None:
    test = new_test(sustain=HOUR)
    start(due(MONDAY))
    scheduled(test, MONDAY, "error", error=error)
    advance(due(MONDAY) + 2 * HOUR)
    assert state(test, MONDAY) == "UNKNOWN"
    assert told("unknown") == [hears]


def test_no_data_under_a_broken_freshness_is_told_to_nobody() -> None:
    dataset = new_table()
    freshness = new_test(dataset=dataset, category=Category.FRESHNESS, sustain=24 * HOUR)
    completeness = new_test(dataset=dataset, category=Category.COMPLETENESS, sustain=HOUR)
    start(due(MONDAY))
    scheduled(freshness, MONDAY, "broken")
    scheduled(completeness, MONDAY, "error", error="no data")
    advance(due(MONDAY) + 2 * HOUR)
    assert state(completeness, MONDAY) == "UNKNOWN"
    assert told("unknown") == []


def test_too_little_history_is_learning_and_told_to_nobody() -> None:
    test = new_test(sustain=HOUR)
    start(due(MONDAY))
    scheduled(test, MONDAY, "error", error="warming up")
    advance(due(MONDAY) + DAY)
    assert state(test, MONDAY) == "LEARNING"
    assert not Notice.objects.exists()


def test_a_warning_that_only_errs_past_its_sustain_period_is_unknown_and_a_failure_stays() -> None:
    test, failed = new_test(sustain=2 * HOUR), new_test(sustain=0 * HOUR)
    start(due(MONDAY))
    scheduled(test, MONDAY, "broken")
    scheduled(failed, MONDAY, "broken")
    for each in (test, failed):
        result(each, MONDAY, "error", due(MONDAY) + HOUR, error="timeout")
    advance(due(MONDAY) + 5 * HOUR)
    assert (state(test, MONDAY), state(failed, MONDAY)) == ("UNKNOWN", "FAIL")


def test_freshness_is_settled_once_complete_where_completeness_is_tested() -> None:
    alone = new_test(category=Category.FRESHNESS, sustain=0 * HOUR)
    beside = new_test(category=Category.FRESHNESS, sustain=0 * HOUR)
    new_test(dataset=beside.dataset, category=Category.COMPLETENESS)
    start(due(MONDAY))
    for test in (alone, beside):
        scheduled(test, MONDAY, "held")
        result(test, MONDAY, "broken", due(MONDAY) + HOUR)
    assert (state(alone, MONDAY), state(beside, MONDAY)) == ("FAIL", "PASS")


def test_a_test_of_the_whole_table_has_one_standing_whose_window_moves() -> None:
    test = new_test(scope=Scope.TABLE, sustain=0 * HOUR, schedule="weekly")
    first = Window(start=MONDAY.start - 30 * DAY, end=MONDAY.end)
    second = Window(start=first.start, end=MONDAY.end + 7 * DAY)
    start(due(first))
    scheduled(test, first, "broken")
    scheduled(test, second, "broken")
    row = Standing.objects.get(data_test=test)
    assert (row.window_key, row.window, row.state) == ("table", second, "FAIL")
    (incident,) = open_incidents()
    assert [spoilt.window for spoilt in incident.spoilt_windows.all()] == [second]
    result(test, second, "held", due(second) + HOUR)
    assert open_incidents() == []


def test_a_backtest_enters_no_standing() -> None:
    test = new_test()
    start(due(MONDAY))
    result(test, MONDAY, "broken", due(MONDAY), reason="backtest")
    assert not Standing.objects.exists()


def test_each_change_of_state_is_one_flip() -> None:
    test = new_test(sustain=HOUR)
    start(due(MONDAY))
    scheduled(test, MONDAY, "broken")
    for after in (10 * MINUTE, HOUR, 2 * HOUR):
        result(test, MONDAY, "broken", due(MONDAY) + after)
    flips = [(flip.old, flip.new) for flip in Flip.objects.order_by("pk")]
    assert flips == [("PENDING", "WARN"), ("WARN", "FAIL")]


def test_the_sla_says_when_a_window_is_due_that_was_only_triggered() -> None:
    test = new_test()
    start(MONDAY.end)
    result(test, MONDAY, "held", MONDAY.end + HOUR, reason="trigger")
    assert Standing.objects.get().due_at == MONDAY.end + SLA
