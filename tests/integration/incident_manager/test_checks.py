"""Runs until the data is right: checks, and changed data."""

from datetime import datetime, timedelta

import pytest

from assay.catalog.services import record_completion
from assay.models import Category, ChangeKind, DataChange, DataTest, Replica, Scope
from assay.time.windows import Window
from execution_engine.models import Ask, Measurement, Run, RunReason
from execution_engine.services import request_run
from tests.factories import DAY, HOUR, day
from tests.integration.story import advance, due, new_test, result, scheduled, settle, start

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
MINUTE = timedelta(minutes=1)


def checks(test: DataTest) -> list[datetime]:
    """When checks of a test were requested."""
    return list(test.runs.filter(reason="check", planned_at=None).order_by("pk").values_list("requested_at", flat=True))


def test_a_broken_window_is_checked_by_back_off_and_once_at_the_end_of_its_sustain_period() -> None:
    test = new_test(sustain=HOUR)
    start(due(MONDAY))
    scheduled(test, MONDAY, "broken")
    advance(due(MONDAY) + 2 * HOUR)
    minutes = [(at - due(MONDAY)) / MINUTE for at in checks(test)]
    assert minutes[:3] == pytest.approx([5, 15, 35], rel=0.11)
    assert 60 in minutes


def test_checks_end_when_the_window_holds() -> None:
    test = new_test()
    start(due(MONDAY))
    scheduled(test, MONDAY, "broken")
    result(test, MONDAY, "held", due(MONDAY) + HOUR)
    known = len(checks(test))
    advance(due(MONDAY) + 2 * DAY)
    assert len(checks(test)) == known


@pytest.mark.parametrize(("error", "again"), [("timeout", True), ("unknown column", False)])
def test_only_what_may_pass_is_tried_again_after_an_error(error: str, again: bool) -> None:
    test = new_test()
    start(due(MONDAY))
    scheduled(test, MONDAY, "error", error=error)
    advance(due(MONDAY) + HOUR)
    assert bool(checks(test)) is again


def test_an_engine_that_answers_again_has_what_it_missed_checked_at_once() -> None:
    missed, other = new_test(), new_test()
    start(due(MONDAY))
    scheduled(missed, MONDAY, "error", error="engine unreachable")
    advance(due(MONDAY) + 2 * HOUR)
    known = len(checks(missed))
    back = due(MONDAY) + 2 * HOUR + MINUTE
    result(other, MONDAY, "held", back, reason="schedule")
    advance(back + 10 * timedelta(seconds=1))
    assert len(checks(missed)) == known + 1


def read(run: Run, window: Window) -> None:
    """Let a run have read a window of its dataset."""
    measurement = Measurement.objects.create(
        dataset=run.data_test.dataset,
        datacenter="sea",
        spec={},
        spec_hash="x",
        spec_text="row_count()",
        requested_at=run.requested_at,
        measured_at=run.measured_at,
        window_start=window.start,
        window_end=window.end,
    )
    Ask.objects.create(run=run, measurement=measurement, operand="row_count()")


def rewritten(test: DataTest, at: datetime) -> None:
    """Monday's data changes."""
    advance(at)
    DataChange.objects.create(
        dataset=test.dataset,
        datacenter="sea",
        kind=ChangeKind.REWRITTEN,
        window_start=MONDAY.start,
        window_end=MONDAY.end,
        at=at,
    )
    settle()


def triggers(test: DataTest) -> list[datetime]:
    """When triggered runs of a test are due."""
    return list(test.runs.filter(reason="trigger", planned_at=None).order_by("pk").values_list("due_at", flat=True))


def test_changed_data_runs_what_has_judged_it_again_and_nothing_else() -> None:
    reader, other = new_test(), new_test()
    start(due(MONDAY))
    read(scheduled(reader, MONDAY, "held"), MONDAY)
    scheduled(other, MONDAY, "held")
    rewritten(reader, due(MONDAY) + HOUR)
    assert (triggers(reader), triggers(other)) == ([due(MONDAY) + HOUR], [])


def test_a_window_is_triggered_at_most_once_in_a_quarter_of_an_hour() -> None:
    test = new_test()
    start(due(MONDAY))
    read(scheduled(test, MONDAY, "held"), MONDAY)
    first = due(MONDAY) + HOUR
    rewritten(test, first)
    test.runs.filter(reason="trigger").update(planned_at=first)
    rewritten(test, first + 5 * MINUTE)
    rewritten(test, first + 6 * MINUTE)
    assert triggers(test) == [first + 15 * MINUTE]


def test_a_test_of_the_whole_table_follows_changes_only_while_it_is_broken() -> None:
    test = new_test(scope=Scope.TABLE, schedule="weekly", sustain=timedelta(0))
    whole = Window(start=MONDAY.start - 30 * DAY, end=MONDAY.end)
    start(due(MONDAY))
    read(scheduled(test, whole, "held"), whole)
    rewritten(test, due(MONDAY) + HOUR)
    assert triggers(test) == []
    result(test, whole, "broken", due(MONDAY) + 2 * HOUR)
    rewritten(test, due(MONDAY) + 3 * HOUR)
    assert triggers(test) == [due(MONDAY) + 3 * HOUR]


def test_what_a_gate_has_measured_is_no_change_that_the_next_must_wait_for() -> None:
    test = new_test()
    start(due(MONDAY))
    read(scheduled(test, MONDAY, "held"), MONDAY)
    asked = due(MONDAY) + HOUR
    advance(asked)
    run = request_run(data_test=test, window=MONDAY, reason=RunReason.TRIGGER, occasion="gate:now", now=asked)
    assert run is not None
    Run.objects.filter(pk=run.pk).update(planned_at=asked)
    rewritten(test, asked + 5 * MINUTE)
    assert triggers(test) == [asked + 5 * MINUTE]


def test_a_completion_at_home_runs_no_test_of_its_copies_and_one_of_a_copy_none_of_home() -> None:
    at_home = new_test()
    table = at_home.dataset
    Replica.objects.create(dataset=table, datacenter="phx", position=1, storage="parquet", location="/phx")
    copied = new_test(dataset=table, category=Category.CONSISTENCY, spoils="phx")  # runs at home, judges the copy
    back = new_test(dataset=table, category=Category.CONSISTENCY, datacenter="phx", spoils="sea")
    start(MONDAY.end + HOUR)
    record_completion(dataset=table, datacenter="sea", window=MONDAY, pipeline="load", now=MONDAY.end + HOUR)
    settle()
    assert [len(triggers(test)) for test in (at_home, copied, back)] == [1, 0, 0]
    Run.objects.filter(data_test=at_home).delete()
    record_completion(dataset=table, datacenter="phx", window=MONDAY, pipeline="copy", now=MONDAY.end + HOUR)
    settle()
    assert [len(triggers(test)) for test in (at_home, copied, back)] == [0, 1, 1]


def test_a_completed_partition_is_tested_before_it_is_due() -> None:
    test = new_test(category=Category.COMPLETENESS)
    elsewhere = new_test(dataset=test.dataset, datacenter="phx")
    start(MONDAY.end + HOUR)
    record_completion(dataset=test.dataset, datacenter="sea", window=MONDAY, pipeline="load", now=MONDAY.end + HOUR)
    settle()
    assert (triggers(test), triggers(elsewhere)) == ([MONDAY.end + HOUR], [])
