"""What a clock that leapt ahead and was set back has left in cursors, runs and measurements, row by row."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from assay.models import DataTest
from assay.queue.drain import SLACK
from assay.time.windows import Window
from execution_engine import services
from execution_engine.models import Measurement, Run
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, RunFactory, day

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)
MONDAY, TUESDAY, THURSDAY = day("2026-03-09"), day("2026-03-10"), day("2026-03-12")
SIX = NOW.replace(hour=6)  # on Tuesday: the freshness SLA of a day is six hours


def standing_at(window: Window, due_at: datetime, **more: Any) -> DataTest:
    """A test whose cursor stands on a window, with its run of Monday, due on Tuesday at six."""
    data_test = DataTestFactory.create(
        dataset__freshness_sla=6 * HOUR,
        next_due_at=due_at,
        next_window_start=window.start,
        next_window_end=window.end,
        **more,
    )
    RunFactory.create(data_test=data_test, window=MONDAY, due_at=SIX, requested_at=SIX)
    return data_test


def stands(data_test: DataTest) -> tuple[datetime | None, datetime | None, datetime | None]:
    data_test.refresh_from_db()
    return data_test.next_due_at, data_test.next_window_start, data_test.next_window_end


@pytest.mark.parametrize(
    ("line", "due_at", "brought_to", "window"),
    [
        ("partition", THURSDAY.end + 6 * HOUR, SIX + DAY, TUESDAY),
        ("weekly", SIX + 13 * DAY, SIX + 6 * DAY, day("2026-03-15")),  # the last that is due by then
        ("0 6 * * *", SIX + 3 * DAY, SIX + DAY, TUESDAY),
        ("0 12 10 * *", NOW + 61 * DAY, NOW, MONDAY),  # a firing that fell into the leap is made up for
    ],
)
def test_a_cursor_that_stands_too_far_ahead_goes_behind_the_last_slot_that_was_run(
    line: str, due_at: datetime, brought_to: datetime, window: Window
) -> None:
    data_test = standing_at(THURSDAY, due_at, schedule=line)
    services.bring_cursors_back(NOW)
    assert stands(data_test) == (brought_to, window.start, window.end)


@pytest.mark.parametrize(
    ("line", "window", "due_at"),
    [
        ("partition", TUESDAY, SIX + DAY),
        ("weekly", MONDAY, SIX + 6 * DAY),
        ("0 6 * * *", MONDAY, SIX + DAY),
        ("0 6 1 * *", MONDAY, SIX + 22 * DAY),  # far ahead, but that is when it fires next
    ],
)
def test_a_cursor_that_stands_where_that_of_a_new_test_would_stays(line: str, window: Window, due_at: datetime) -> None:
    data_test = standing_at(window, due_at, schedule=line)
    services.bring_cursors_back(NOW)
    assert stands(data_test) == (due_at, window.start, window.end)


@pytest.mark.logs_a_failure
def test_a_cursor_that_cannot_be_brought_back_holds_up_no_other() -> None:
    lost = standing_at(THURSDAY, SIX + 3 * DAY, schedule="0 0 30 2 *")  # it never fires
    data_test = standing_at(THURSDAY, THURSDAY.end + 6 * HOUR)
    services.bring_cursors_back(NOW)
    assert stands(lost)[0] == SIX + 3 * DAY
    assert stands(data_test)[0] == SIX + DAY


def test_a_retired_test_keeps_what_it_had() -> None:
    data_test = standing_at(THURSDAY, THURSDAY.end + 6 * HOUR, retired_at=NOW)
    services.bring_cursors_back(NOW)
    assert stands(data_test) == (THURSDAY.end + 6 * HOUR, THURSDAY.start, THURSDAY.end)


def test_a_test_that_never_ran_in_time_begins_with_its_first_window() -> None:
    data_test = standing_at(THURSDAY, THURSDAY.end + 6 * HOUR, created_at=SIX)
    Run.objects.update(requested_at=NOW + SLACK + SECOND)
    services.bring_cursors_back(NOW)
    assert stands(data_test) == (SIX + DAY, TUESDAY.start, TUESDAY.end)


def test_each_cursor_is_put_behind_its_own_scheduled_runs_that_were_due() -> None:
    data_test = standing_at(THURSDAY, THURSDAY.end + 6 * HOUR)
    other = standing_at(TUESDAY, SIX + DAY)
    sunday = day("2026-03-08")
    Run.objects.filter(data_test=data_test).update(
        window_start=sunday.start, window_end=sunday.end, due_at=SIX - DAY, requested_at=SIX - DAY
    )
    RunFactory.create(data_test=data_test, window=day("2026-03-07"), due_at=SIX - 2 * DAY, requested_at=SIX)
    RunFactory.create(data_test=other, window=TUESDAY, due_at=NOW, requested_at=NOW)
    RunFactory.create(data_test=data_test, window=TUESDAY, due_at=NOW, requested_at=NOW, reason="manual")
    RunFactory.create(data_test=data_test, window=TUESDAY, due_at=NOW + SECOND, requested_at=NOW)
    RunFactory.create(data_test=data_test, window=TUESDAY, due_at=NOW, requested_at=NOW + SLACK + SECOND)
    services.bring_cursors_back(NOW)
    assert stands(data_test) == (SIX, MONDAY.start, MONDAY.end)  # due already: it is made up for
    assert stands(other) == (SIX + DAY, TUESDAY.start, TUESDAY.end)


def test_a_run_at_this_very_instant_is_the_last_one() -> None:
    data_test = standing_at(THURSDAY, THURSDAY.end + 6 * HOUR)
    RunFactory.create(data_test=data_test, window=TUESDAY, due_at=NOW, requested_at=NOW + SLACK)
    services.bring_cursors_back(NOW)
    wednesday = day("2026-03-11")
    assert stands(data_test) == (SIX + 2 * DAY, wednesday.start, wednesday.end)


def test_only_what_was_planned_before_its_time_is_free_to_be_run_again() -> None:
    data_test = standing_at(THURSDAY, THURSDAY.end + 6 * HOUR)
    other = standing_at(TUESDAY, SIX + DAY)
    ahead = {"window": TUESDAY, "requested_at": NOW + SLACK + SECOND}
    freed = RunFactory.create(data_test=data_test, slot="1", **ahead)
    RunFactory.create(data_test=data_test, slot="in time", window=TUESDAY, requested_at=NOW + SLACK)
    RunFactory.create(data_test=data_test, slot="manual", reason="manual", **ahead)
    RunFactory.create(data_test=data_test, slot="not planned", planned_at=None, **ahead)
    RunFactory.create(data_test=other, slot="of another", **ahead)
    services.bring_cursors_back(NOW)
    told = {run.slot for run in Run.objects.exclude(window_start=MONDAY.start)}
    assert told == {f"leap:{freed.pk}", "in time", "manual", "not planned", "of another"}


def test_what_was_asked_for_after_now_and_waits_is_due_now() -> None:
    late = NOW + SLACK + SECOND
    waiting = {"planned_at": None, "evaluated_at": None, "measured_at": None, "due_at": NOW + 300 * DAY}
    waiting["accept_from"] = NOW - DAY
    for slot, more in {
        "of the leap": {"requested_at": late, "reason": "check"},
        "in time": {"requested_at": NOW + SLACK, "reason": "check"},
        "planned": {"requested_at": late, "reason": "check", "planned_at": NOW},
        "scheduled": {"requested_at": late, "reason": "schedule"},
    }.items():
        RunFactory.create(slot=slot, **{**waiting, **more})
    services.bring_runs_back(NOW)
    stays = (NOW + 300 * DAY, NOW - DAY)
    assert {run.slot: (run.requested_at, run.due_at, run.accept_from) for run in Run.objects.all()} == {
        "of the leap": (NOW, NOW, NOW),
        "in time": (NOW + SLACK, *stays),
        "planned": (late, *stays),
        "scheduled": (late, *stays),
    }


def test_what_was_found_after_now_was_found_now() -> None:
    ahead, within = NOW + SLACK + SECOND, NOW + SLACK
    for slot, reason, at in (("check", "check", ahead), ("schedule", "schedule", ahead), ("in time", "check", within)):
        RunFactory.create(slot=slot, reason=reason, requested_at=at)  # all its instants
    early = {"due_at": NOW - DAY, "measured_at": NOW - HOUR}
    RunFactory.create(slot="begun before", reason="check", requested_at=NOW - DAY, evaluated_at=ahead, **early)
    services.bring_runs_back(NOW)
    rows = Run.objects.values_list("slot", "due_at", "requested_at", "measured_at", "evaluated_at")
    assert {slot: times for slot, *times in rows} == {
        "check": [NOW] * 4,
        "schedule": [ahead, NOW, NOW, NOW],
        "in time": [within] * 4,
        "begun before": [NOW - DAY, NOW - DAY, NOW - HOUR, NOW],
    }


def test_what_was_measured_after_now_was_measured_now() -> None:
    dataset = DatasetFactory.create()
    for name, at in (("ahead", NOW + SLACK + SECOND), ("within", NOW + SLACK), ("before", NOW - DAY), ("wanted", None)):
        Measurement.objects.create(
            dataset=dataset,
            datacenter="sea",
            window_start=MONDAY.start,
            window_end=MONDAY.end,
            spec={},
            spec_hash=name,
            spec_text=name,
            requested_at=NOW,
            measured_at=at,
        )
    services.bring_runs_back(NOW)
    found = dict(Measurement.objects.values_list("spec_text", "measured_at"))
    assert found == {"ahead": NOW, "within": NOW + SLACK, "before": NOW - DAY, "wanted": None}
