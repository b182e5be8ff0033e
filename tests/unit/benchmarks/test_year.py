"""The arithmetic of the year, worked out by hand."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from assay.time.windows import Window
from benchmarks.year.plan import LEARNED_DAYS, WEEK, plan_of
from benchmarks.year.tally import Alarm, BadTime, by_kind, false_days, tally

MONDAY, TUESDAY, SUNDAY = date(2026, 3, 2), date(2026, 3, 3), date(2026, 3, 8)


def hours(day: date, first: int, last: int) -> Window:
    """From one hour after the midnight of the day to another."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return Window(start=midnight + timedelta(hours=first), end=midnight + timedelta(hours=last))


def alarm(day: date, first: int, last: int, category: str = "novelty", *, told: bool = True) -> Alarm:
    return Alarm(day=day, category=category, time=hours(day, first, last), told=told)


BAD = [
    BadTime(day=MONDAY, kind="scale", share=0.1, time=hours(MONDAY, 24, 48)),
    BadTime(day=SUNDAY, kind="typos", share=0.5, time=hours(SUNDAY, 24, 48)),
]


def test_time_that_two_tests_alarm_counts_once() -> None:
    found = tally(BAD, [alarm(MONDAY, 26, 48), alarm(MONDAY, 30, 40, "column")])
    assert (found.alarmed, found.right) == (timedelta(hours=22), timedelta(hours=22))
    assert found.recall == pytest.approx(22 / 48)
    assert (found.faults, found.found, found.seconds_to_alarm) == (2, 1, 2 * 3600)


def test_an_alarm_that_outlasts_the_repair_is_false_for_the_rest() -> None:
    found = tally(BAD, [alarm(MONDAY, 24, 56)])
    assert found.precision == pytest.approx(24 / 32)


def test_an_alarm_of_another_day_is_false_though_a_fault_is_there_at_that_time() -> None:
    alarms = [Alarm(day=TUESDAY, category="column", time=hours(MONDAY, 30, 34), told=True)]
    found = tally(BAD, alarms)
    assert (found.found, found.precision, found.recall) == (0, 0.0, 0.0)
    assert false_days(BAD, alarms) == {TUESDAY}


def test_a_day_that_is_called_bad_only_after_its_repair_is_alarmed_for_nothing() -> None:
    assert false_days(BAD, [alarm(MONDAY, 49, 53), alarm(SUNDAY, 47, 60)]) == {MONDAY}


def test_without_faults_or_alarms_nothing_is_known() -> None:
    assert (tally([], []).recall, tally([], []).precision, tally(BAD, []).seconds_to_alarm) == (None, None, None)


def test_each_kind_has_the_alarms_of_its_own_days() -> None:
    found = by_kind(BAD, [alarm(MONDAY, 24, 48), alarm(TUESDAY, 24, 28)], lambda one: one.kind)
    assert {kind: (one.recall, one.precision) for kind, one in found.items()} == {
        "scale": (1.0, 1.0),
        "typos": (0.0, None),
    }


def test_a_plan_has_one_fault_in_each_whole_week_after_the_days_that_are_learned_from() -> None:
    days = [date(2026, 1, 1) + timedelta(days=n) for n in range(LEARNED_DAYS + 20 * WEEK + 3)]
    table = pa.table({"fare": np.arange(50.0), "tip": np.arange(50.0) % 7, "city": ["Braga", "Lagos"] * 25})
    plan = plan_of(dict.fromkeys(days, table), seed=1)
    weeks = [(days.index(fault.day) - LEARNED_DAYS) // WEEK for fault in plan.faults]
    assert weeks == list(range(20))
    assert plan == plan_of(dict.fromkeys(days, table), seed=1)
    assert not {fault.day for fault in plan.faults} & set(plan.hiccups)
    assert all(delay <= timedelta(minutes=50) for _, delay in plan.hiccups.values())


def test_every_kind_that_changes_the_table_comes_before_any_comes_again() -> None:
    days = [date(2026, 1, 1) + timedelta(days=n) for n in range(LEARNED_DAYS + 6 * WEEK)]
    numbers = pa.table({"fare": np.arange(50.0)})  # no text, no second number
    kinds = [fault.kind for fault in plan_of(dict.fromkeys(days, numbers), seed=3).faults]
    assert len(set(kinds)) == len(kinds)
