"""Standings: what runs and time alone make of a window, every column that a verdict writes, and the flip beside it."""

import re
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from alerting import tasks
from alerting.models import Alert, Flip, Notice, Standing
from alerting.standings.judge_runs import (
    adopt_run,
    age_standing,
    judge_runs,
    judge_windows,
    locked_standings,
    restreak,
    troubled_tests,
)
from alerting.standings.refold import put_off, refold, withdraw
from alerting.state import WaiverKind
from alerting.verdicts.evidence import evidence_of
from assay import clock
from assay.models import Category, Dataset, DataTest, Scope
from assay.time.windows import Window
from execution_engine.models import Run, Watch
from execution_engine.outcome import Reason
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    NoticeFactory,
    RunFactory,
    StandingFactory,
    day,
)
from tests.integration import rows
from tests.integration.rows import columns
from tests.integration.story import (
    advance,
    due,
    new_table,
    new_test,
    result,
    scheduled,
    start,
    state,
    told,
)

pytestmark = pytest.mark.django_db

SUNDAY, MONDAY, TUESDAY = day("2026-03-08"), day("2026-03-09"), day("2026-03-10")
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
DUE = MONDAY.end + 6 * HOUR  # tier 2
SUSTAIN = 4 * HOUR
TROUBLE = {
    "state": "FAIL",
    "broken_since": DUE,
    "streak_at": DUE,
    "last_outcome": "broken",
    "error_reason": "timeout",
    "attempt": 3,
    "next_check_at": NOW + DAY,
    "next_age_at": NOW + DAY,
}
BARE = ("broken_since", "streak_at", "last_outcome", "error_reason", "waiver", "attempt", "next_check_at")
HOURS = [Window(start=MONDAY.start + n * HOUR, end=MONDAY.start + (n + 1) * HOUR) for n in range(24)]
OUTCOMES = ("held", "held", "held", "broken", "error")
ERRORS = (Reason.TIMEOUT, Reason.QUERY_FAILED)


def test_a_due_run_that_tells_nothing_is_unknown_and_on_call_hears_of_it() -> None:
    test = new_test(sustain=HOUR)
    start(due(MONDAY))
    nothing = dict.fromkeys(("planned_at", "ready_at", "evaluated_at", "judged_at", "measured_at"))
    RunFactory.create(data_test=test, window=MONDAY, requested_at=due(MONDAY), outcome="", **nothing)
    advance(due(MONDAY) + 59 * MINUTE)
    assert state(test, MONDAY) == "PENDING"
    advance(due(MONDAY) + HOUR)
    assert state(test, MONDAY) == "UNKNOWN"
    assert told("unknown") == ["platform-on-call"]


def test_freshness_is_settled_once_complete_where_completeness_is_tested() -> None:
    alone = new_test(category=Category.FRESHNESS, sustain=0 * HOUR)
    beside = new_test(category=Category.FRESHNESS, sustain=0 * HOUR)
    new_test(dataset=beside.dataset, category=Category.COMPLETENESS)
    start(due(MONDAY))
    for test in (alone, beside):
        scheduled(test, MONDAY, "held")
        result(test, MONDAY, "broken", due(MONDAY) + HOUR)
    assert (state(alone, MONDAY), state(beside, MONDAY)) == ("FAIL", "PASS")


@pytest.fixture
def fares() -> DataTest:
    """A test of each partition, with a sustain period of four hours."""
    row: DataTest = DataTestFactory.create()
    return row


waiver = partial(rows.waiver, starts_at=NOW - DAY)


def ran(test: DataTest, outcome: str, at: datetime, **more: Any) -> Run:
    """A check that was measured then."""
    error = "timeout" if outcome == "error" else ""
    given = {"reason": "check", "window": MONDAY, "error_reason": error, "sentence": f"{outcome}!", **more}
    row: Run = RunFactory.create(data_test=test, outcome=outcome, requested_at=at, **given)
    return row


def judged(test: DataTest, now: datetime, window: Window = MONDAY) -> Standing:
    return judge_windows([(test, window)], now)[test, window]


def test_a_broken_result_is_written_with_all_that_it_says(fares: DataTest) -> None:
    ran(fares, "held", DUE, value=7.0, excess=-1.0)
    broken = ran(fares, "broken", DUE + HOUR, value=90.0, excess=10.0)
    newest = ran(fares, "error", DUE + 2 * HOUR, value=None)
    row = judged(fares, DUE + 2 * HOUR)
    assert columns(row, "state", "since", "due_at", "broken_since") == ("WARN", DUE + HOUR, DUE, DUE + HOUR)
    assert columns(row, "value", "excess", "sentence", "last_outcome") == (90.0, 10.0, "broken!", "broken")
    assert columns(row, "last_run", "error_reason", "revision") == (newest.pk, "timeout", fares.revision_id)
    assert columns(row, "waiver", "streak_at", "attempt") == (None, None, 0)
    assert row.next_check_at is not None
    assert row.next_check_at > DUE + 2 * HOUR
    assert broken.pk != newest.pk


def test_a_window_of_which_nothing_is_known_gets_no_standing(fares: DataTest) -> None:
    ran(fares, "held", DUE, window=SUNDAY)
    ran(DataTestFactory.create(dataset=fares.dataset), "held", DUE)
    assert judge_windows([(fares, MONDAY)], NOW) == {}
    assert not Standing.objects.exists()


def test_the_state_lasts_since_its_verdict_says_or_else_since_it_changed(fares: DataTest) -> None:
    ran(fares, "error", DUE)
    row = StandingFactory.create(data_test=fares, state="PENDING", since=DUE - HOUR)
    refold(row, fares, evidence_of(fares, MONDAY), DUE + HOUR)
    assert columns(row, "state", "since") == ("PENDING", DUE - HOUR)
    other = StandingFactory.create(data_test=fares, window=TUESDAY, state="WARN", since=DUE)
    refold(other, fares, evidence_of(fares, TUESDAY), DUE + HOUR)
    assert columns(other, "state", "since") == ("PENDING", DUE + HOUR)


def flips(**of: Any) -> list[tuple[Any, ...]]:
    rows = Flip.objects.filter(**of).order_by("pk")
    return list(rows.values_list("old", "new", "waived", "at", "handled_at"))


def test_a_flip_names_the_run_the_revision_and_the_window_that_it_comes_from(fares: DataTest) -> None:
    run = ran(fares, "broken", DUE)
    row = judged(fares, DUE + HOUR)
    (flip,) = Flip.objects.all()
    assert (flip.standing, flip.data_test, flip.revision, flip.run) == (row, fares, fares.revision, run)
    assert flip.window == MONDAY


def test_only_a_first_verdict_that_opens_nothing_needs_no_handling(fares: DataTest) -> None:
    ran(fares, "broken", DUE)
    row = judged(fares, DUE)
    assert flips() == [("PENDING", "WARN", False, DUE, DUE)]
    judged(fares, DUE + SECOND)
    assert len(flips()) == 1
    ran(fares, "held", DUE + HOUR)
    judged(fares, DUE + HOUR)
    assert flips()[1:] == [("WARN", "PASS", False, DUE + HOUR, None)]
    failing = DataTestFactory.create(sustain=timedelta())
    ran(failing, "broken", DUE)
    failed = judged(failing, DUE)
    assert flips(standing=failed) == [("PENDING", "FAIL", False, DUE, None)]
    waived = DataTestFactory.create()
    waiver(waived)
    ran(waived, "broken", DUE)
    assert flips(standing=judged(waived, DUE)) == [("PENDING", "WARN", True, DUE, None)]
    assert columns(row, "state") == ("PASS",)


def test_what_is_waived_stays_broken_though_nobody_checks_it(fares: DataTest) -> None:
    own = waiver(fares)
    ran(fares, "broken", DUE)
    row = judged(fares, DUE + 3 * DAY)
    assert columns(row, "state", "since", "waiver", "next_check_at") == ("WARN", DUE, own.pk, None)


def test_time_alone_changes_a_standing_when_its_verdict_its_waiver_or_its_data_ends(fares: DataTest) -> None:
    ran(fares, "broken", DUE)
    now = DUE + HOUR
    row = judged(fares, now)
    silent_at = DUE + 2 * SUSTAIN
    assert columns(row, "next_age_at") == (silent_at,)
    own = waiver(fares, ends_at=DUE + 2 * HOUR)
    assert columns(judged(fares, now), "next_age_at") == (DUE + 2 * HOUR,)
    assert columns(judged(fares, DUE + 2 * HOUR), "next_age_at") == (silent_at,)
    own.delete()
    Dataset.objects.filter(pk=fares.dataset_id).update(retention=DAY)
    fares.dataset.refresh_from_db()
    assert columns(judged(fares, now), "next_age_at") == (silent_at,)
    assert columns(judged(fares, silent_at), "next_age_at", "state") == (MONDAY.end + DAY, "UNKNOWN")
    ran(fares, "held", silent_at + SECOND)
    assert columns(judged(fares, silent_at + SECOND), "next_age_at", "state") == (None, "PASS")


def test_the_standing_of_a_whole_table_moves_with_its_newest_run_and_flips_while_it_fails() -> None:
    table = DataTestFactory.create(scope=Scope.TABLE, sustain=timedelta(), schedule="weekly")
    ran(table, "broken", DUE)
    row = judged(table, DUE)
    longer = Window(start=MONDAY.start, end=TUESDAY.end)
    ran(table, "broken", DUE + DAY, window=longer)
    judged(table, DUE + DAY, longer)
    assert columns(row, "window_key", "window_start", "window_end") == ("table", longer.start, longer.end)
    assert flips() == [("PENDING", "FAIL", False, DUE, None), ("FAIL", "FAIL", False, DUE + DAY, None)]
    judged(table, DUE + DAY + SECOND, longer)
    ran(table, "held", DUE + 2 * DAY, window=longer)
    judged(table, DUE + 2 * DAY, longer)
    ran(table, "held", DUE + 3 * DAY, window=MONDAY)
    judged(table, DUE + 3 * DAY)
    assert [flip[:2] for flip in flips()[2:]] == [("FAIL", "PASS")]
    assert columns(row, "window_start", "window_end") == (MONDAY.start, MONDAY.end)


def test_a_standing_is_created_once_and_found_by_its_test_and_window(fares: DataTest) -> None:
    (made,) = locked_standings({(fares, MONDAY): DUE}, NOW).values()
    assert columns(made, "state", "since", "due_at", "window_key") == ("PENDING", NOW, DUE, MONDAY.text)
    places = [(fares, MONDAY), (fares, SUNDAY), (DataTestFactory.create(), MONDAY)]
    again, *others = locked_standings(dict.fromkeys(places), NOW).values()
    assert again == made
    assert [row.due_at for row in others] == [NOW, NOW]
    assert len({made.pk, *(row.pk for row in others)}) == 3


@pytest.mark.parametrize(
    ("state", "waived", "becomes"),
    [
        ("FAIL", False, "UNTESTED"),
        ("WARN", False, "UNTESTED"),
        ("UNKNOWN", False, "UNTESTED"),
        ("PASS", True, "UNTESTED"),
        ("PASS", False, "PASS"),
        ("LEARNING", False, "LEARNING"),
    ],
)
def test_what_is_withdrawn_is_left_untested_where_it_was_in_trouble_or_waived(
    fares: DataTest, state: str, waived: bool, becomes: str
) -> None:
    given = {**TROUBLE, "state": state, "waiver": waiver(fares) if waived else None}
    row = StandingFactory.create(data_test=fares, **given)
    withdraw(row, fares, NOW)
    assert columns(row, "state") == (becomes,) == (row.state,)
    if becomes == "UNTESTED":
        assert columns(row, *BARE, "since", "next_age_at") == (None, None, "", "", None, 0, None, NOW, None)
        assert flips() == [(state, "UNTESTED", False, NOW, None)]
    else:
        assert not Flip.objects.exists()


def test_what_is_taken_back_is_watched_no_more_and_who_heard_of_it_hears_that_it_is_over(fares: DataTest) -> None:
    Watch.objects.create(
        dataset=fares.dataset, datacenter="sea", window_start=MONDAY.start, window_end=MONDAY.end, closely=True
    )
    row = StandingFactory.create(data_test=fares, state="UNKNOWN")
    NoticeFactory.create(key=f"standing:{row.pk}:20260310T100000:unknown:log:ada", event="unknown")
    withdraw(row, fares, NOW)
    assert not Watch.objects.get().closely
    assert Watch.objects.get().next_look_at == NOW + HOUR
    assert Notice.objects.get(event="known again").created_at == NOW


def test_a_warning_that_is_taken_back_decides_again_of_what_waited_for_it(fares: DataTest) -> None:
    waits = Alert.objects.create(
        dataset=fares.dataset, category="custom", owner="ada", opened_at=NOW, inhibited_at=NOW, next_notice_at=None
    )
    withdraw(StandingFactory.create(data_test=fares, state="WARN"), fares, NOW)
    waits.refresh_from_db()
    assert waits.next_notice_at == NOW


def test_what_is_put_off_is_pending_until_it_is_due_by_the_newest_revision(fares: DataTest) -> None:
    other = DataTestFactory.create()
    row = StandingFactory.create(data_test=fares, revision=other.revision, **TROUBLE)
    put_off(row, fares, NOW + HOUR, NOW)
    assert columns(row, *BARE) == (None, None, "", "", None, 0, None)
    assert columns(row, "state", "since", "due_at") == ("PENDING", NOW, NOW + HOUR)
    assert columns(row, "next_age_at", "revision") == (NOW + HOUR, fares.revision_id)
    assert flips() == [("FAIL", "PENDING", False, NOW, None)]


def test_data_that_is_kept_no_more_is_judged_no_more() -> None:
    test = DataTestFactory.create(dataset=DatasetFactory.create(retention=10 * DAY))
    ran(test, "broken", DUE)
    row = StandingFactory.create(data_test=test, state="FAIL")
    refold(row, test, evidence_of(test, MONDAY), MONDAY.end + 10 * DAY - SECOND)
    assert columns(row, "state") != ("UNTESTED",)
    refold(row, test, evidence_of(test, MONDAY), MONDAY.end + 12 * DAY)
    assert columns(row, "state") == ("UNTESTED",)


@pytest.mark.parametrize("state", ["PASS", "WARN", "FAIL"])
def test_the_word_of_an_older_revision_stays_until_the_newest_has_held_or_broken(fares: DataTest, state: str) -> None:
    older: Any = DataTestFactory.create().revision
    row = StandingFactory.create(data_test=fares, revision=older, state=state, streak_at=DUE, next_check_at=NOW)
    ran(fares, "error", DUE)
    refold(row, fares, evidence_of(fares, MONDAY), NOW)
    assert columns(row, "state", "revision", "streak_at", "next_check_at") == (state, older.pk, DUE, NOW)
    assert not Flip.objects.exists()
    ran(fares, "held", DUE + HOUR)
    refold(row, fares, evidence_of(fares, MONDAY), NOW)
    assert columns(row, "state", "revision", "streak_at") == ("PASS", fares.revision_id, None)


def test_an_unknown_of_an_older_revision_is_judged_by_the_newest_at_once(fares: DataTest) -> None:
    row = StandingFactory.create(data_test=fares, revision=DataTestFactory.create().revision, state="UNKNOWN")
    ran(fares, "error", DUE, error_reason="warming up")
    refold(row, fares, evidence_of(fares, MONDAY), DUE + HOUR)
    assert columns(row, "state", "revision") == ("LEARNING", fares.revision_id)


def refold_stale_standing(test: DataTest, **more: Any) -> Standing:
    """What an older revision said, after the newest has only erred."""
    given = {"state": "FAIL", "last_outcome": "broken", "attempt": 3, "next_check_at": NOW, "excess": 5.0, **more}
    row: Standing = StandingFactory.create(data_test=test, revision=DataTestFactory.create().revision, **given)
    refold(row, test, evidence_of(test, MONDAY), NOW)
    return row


def test_what_a_user_says_covers_the_word_of_an_older_revision_too(fares: DataTest) -> None:
    Watch.objects.create(
        dataset=fares.dataset, datacenter="sea", window_start=MONDAY.start, window_end=MONDAY.end, closely=True
    )
    own = waiver(fares, ends_at=NOW + 2 * DAY)
    row = refold_stale_standing(fares, next_age_at=NOW + 3 * DAY)
    assert columns(row, "state", "waiver", "attempt", "next_check_at") == ("FAIL", own.pk, 0, None)
    assert columns(row, "next_age_at") == (NOW + 2 * DAY,)
    assert flips() == [("FAIL", "FAIL", True, NOW, None)]
    assert (Watch.objects.get().closely, Watch.objects.get().next_look_at) == (False, NOW + HOUR)


def test_an_end_that_comes_before_that_of_the_waiver_stays(fares: DataTest) -> None:
    waiver(fares, ends_at=NOW + 2 * DAY)
    assert columns(refold_stale_standing(fares, next_age_at=NOW + DAY), "next_age_at") == (NOW + DAY,)


def test_without_any_end_time_alone_changes_nothing_of_it(fares: DataTest) -> None:
    waiver(fares, kind=WaiverKind.ACCEPTED, excess=5.0)
    assert columns(refold_stale_standing(fares), "next_age_at", "next_check_at") == (None, None)


@pytest.mark.parametrize(
    ("standing", "excess"), [({"last_outcome": "held", "state": "PASS"}, 5.0), ({"excess": 5.1}, 5.0)]
)
def test_what_held_or_is_worse_than_what_was_accepted_is_not_covered(
    fares: DataTest, standing: dict[str, Any], excess: float
) -> None:
    waiver(fares, kind=WaiverKind.ACCEPTED, excess=excess)
    assert columns(refold_stale_standing(fares, **standing), "waiver", "next_check_at") == (None, NOW)


def test_a_waiver_that_covers_an_older_word_already_stays_its_waiver(fares: DataTest) -> None:
    first = waiver(DataTestFactory.create())
    waiver(fares)
    assert columns(refold_stale_standing(fares, waiver=first), "waiver") == (first.pk,)
    assert not Flip.objects.exists()


def test_runs_enter_standings_but_backtests_those_of_retired_tests_and_of_older_revisions(fares: DataTest) -> None:
    retired = DataTestFactory.create(retired_at=NOW)
    older = DataTestFactory.create().revision
    waiting = {"judged_at": None}
    runs = [
        ran(fares, "held", DUE, **waiting),
        ran(retired, "broken", DUE, **waiting),
        ran(fares, "broken", DUE, reason="backtest", window=SUNDAY, **waiting),
        ran(fares, "broken", DUE, reason="schedule", window=TUESDAY, revision=older, **waiting),
        ran(fares, "broken", DUE, reason="check", window=SUNDAY, revision=older, **waiting),
        ran(fares, "broken", DUE, reason="backtest", revision=older, **waiting),
    ]
    judge_runs(runs, NOW)
    assert list(Standing.objects.values_list("data_test", "window_key", "state")) == [(fares.pk, MONDAY.text, "PASS")]
    assert set(Run.objects.filter(pk__in=[run.pk for run in runs]).values_list("judged_at")) == {(NOW,)}
    asked = Run.objects.exclude(pk__in=[run.pk for run in runs]).order_by("-window_start")
    assert [(run.data_test, run.revision, run.window) for run in asked] == [
        (fares, fares.revision, TUESDAY),
        (fares, fares.revision, SUNDAY),
    ]
    assert {(run.reason, run.requested_at, run.due_at) for run in asked} == {("revision", NOW, NOW)}
    assert asked[0].slot == f"{fares.pk}:{TUESDAY.text}:revision:r1"


def test_an_engine_that_answers_brings_forward_what_it_did_not_reach(fares: DataTest) -> None:
    waits = StandingFactory.create(state="UNKNOWN", error_reason="engine unreachable", next_check_at=NOW + HOUR)
    judge_runs([ran(fares, "held", DUE, judged_at=None)], NOW)
    assert columns(waits, "next_check_at") == (NOW + 2 * SECOND,)


def test_a_due_run_that_says_nothing_gives_its_window_a_standing(fares: DataTest) -> None:
    run = RunFactory.create(data_test=fares, due_at=DUE, evaluated_at=None, judged_at=None, late_at=NOW)
    adopt_run(run, DUE + HOUR)
    row = Standing.objects.get()
    assert (row.data_test, row.window, row.state) == (fares, MONDAY, "PENDING")
    assert (row.due_at, row.since, row.next_age_at) == (DUE, DUE + HOUR, DUE + SUSTAIN)
    assert Run.objects.get().late_at is None
    Standing.objects.update(state="WARN", due_at=DUE)
    adopt_run(run, DUE + SUSTAIN)
    assert columns(row, "state", "due_at") == ("UNKNOWN", DUE)
    retired = RunFactory.create(data_test=DataTestFactory.create(retired_at=NOW), evaluated_at=None, late_at=NOW)
    adopt_run(retired, NOW)
    assert Standing.objects.count() == 1
    assert Run.objects.get(pk=retired.pk).late_at is None


@pytest.mark.parametrize(
    ("ends_at", "is_checked"), [(NOW, True), (NOW - SECOND, True), (NOW + SECOND, False), (None, False)]
)
def test_the_end_of_a_waiver_has_its_window_checked_at_once(
    fares: DataTest, ends_at: datetime | None, is_checked: bool
) -> None:
    ran(fares, "broken", DUE)
    row = StandingFactory.create(data_test=fares, state="WARN", waiver=waiver(fares, ends_at=ends_at), next_age_at=NOW)
    age_standing(row, NOW)
    assert columns(row, "next_check_at") == ((NOW if is_checked else None),)
    assert columns(row, "next_age_at") == ((ends_at if ends_at and ends_at > NOW else DUE + 2 * SUSTAIN),)


def test_a_standing_that_ages_is_judged_unless_its_test_is_retired(fares: DataTest) -> None:
    row = StandingFactory.create(data_test=fares, state="PENDING", next_age_at=DUE + SUSTAIN)
    retired = StandingFactory.create(
        data_test=DataTestFactory.create(retired_at=NOW), state="PENDING", next_age_at=DUE + SUSTAIN
    )
    for each in (row, retired):
        age_standing(each, DUE + SUSTAIN)
    assert columns(row, "state", "next_age_at") == ("UNKNOWN", None)
    assert columns(retired, "state", "next_age_at") == ("PENDING", None)


def hourly(**more: Any) -> DataTest:
    row: DataTest = DataTestFactory.create(dataset=DatasetFactory.create(granularity="hour"), **more)
    return row


def began_broken(test: DataTest, hours: range) -> dict[int, Standing]:
    """Each of these hours began broken, and is so still."""
    for n in hours:
        ran(test, "broken", HOURS[n].end + 6 * HOUR, window=HOURS[n])
    return {
        n: StandingFactory.create(
            data_test=test, window=HOURS[n], state="WARN", last_outcome="broken", due_at=HOURS[n].end + 6 * HOUR
        )
        for n in hours
    }


def test_hours_that_begin_broken_one_after_the_other_fail_once_that_lasts_for_the_sustain_period() -> None:
    test = hourly()
    rows = began_broken(test, range(5, 10))
    failed_at = HOURS[9].end + 6 * HOUR
    changed = {row.window: row.streak_at for row in restreak(rows[9], test)}
    assert changed == {HOURS[n]: failed_at for n in range(5, 10)}
    assert set(Standing.objects.values_list("streak_at")) == {(None,)}  # the caller writes them
    rows[5].streak_at = failed_at
    rows[5].save()
    assert HOURS[5] not in {row.window for row in restreak(rows[9], test)}


def test_a_streak_that_ends_takes_back_what_it_said_as_far_as_it_can_be_seen() -> None:
    test = hourly()
    rows = began_broken(test, range(3, 4))
    StandingFactory.create(data_test=test, window=HOURS[8], streak_at=NOW)  # five hours off: within reach
    StandingFactory.create(data_test=test, window=HOURS[9], streak_at=NOW)
    StandingFactory.create(data_test=test, window=HOURS[7], streak_at=NOW, revision=hourly().revision)
    StandingFactory.create(data_test=hourly(), window=HOURS[7], streak_at=NOW)
    changed = restreak(rows[3], test)
    assert [(row.window, row.streak_at) for row in changed] == [(HOURS[8], None)]


def test_short_streaks_long_periods_and_whole_tables_have_no_streak() -> None:
    short, whole = hourly(), hourly(scope=Scope.TABLE)
    as_long = hourly(sustain=HOUR)
    assert restreak(began_broken(short, range(5, 9))[8], short) == []
    assert restreak(began_broken(whole, range(5, 10))[9], whole) == []
    assert restreak(began_broken(as_long, range(5, 10))[9], as_long) == []
    calm = StandingFactory.create(data_test=hourly(), window=HOURS[9])
    assert restreak(calm, calm.data_test) == []


@pytest.mark.parametrize(
    ("near", "is_troubled"),
    [
        (None, False),
        ({"last_outcome": "broken"}, True),
        ({"streak_at": NOW}, True),
        ({"last_outcome": "broken", "hour": 20}, True),
        ({"last_outcome": "broken", "hour": 21}, False),
        ({"last_outcome": "broken", "hour": 0}, True),
        ({"last_outcome": "broken", "test": "other"}, False),
    ],
    ids=str,
)
def test_a_test_is_in_trouble_by_a_broken_window_as_near_as_a_streak_reaches(
    near: dict[str, Any] | None, is_troubled: bool
) -> None:
    test = hourly()
    if near is not None:
        fields = {key: value for key, value in near.items() if key not in ("hour", "test")}
        owner = hourly() if "test" in near else test
        StandingFactory.create(data_test=owner, window=HOURS[near.get("hour", 9)], **fields)
    assert (test.pk in troubled_tests([(test, HOURS[10])])) is is_troubled


def test_a_standing_is_locked_before_its_results_are_read(fares: DataTest) -> None:
    """A worker that waits for the lock sees what another has evaluated meanwhile."""
    ran(fares, "held", DUE)
    judged(fares, DUE)
    with CaptureQueriesContext(connection) as statements:
        judged(fares, DUE + HOUR)
    tables = re.findall(r"FROM .(alerting_standing|execution_engine_run)\b", " ".join(row["sql"] for row in statements))
    assert tables[:2] == ["alerting_standing", "execution_engine_run"]


def test_a_standing_follows_a_new_revision_whose_first_run_does_not_count(fares: DataTest) -> None:
    older: Any = DataTestFactory.create().revision
    row = StandingFactory.create(data_test=fares, state="UNKNOWN", since=DUE, revision=older)
    ran(fares, "error", DUE - HOUR, error_reason="not due", reason="schedule")
    judged(fares, DUE + HOUR)
    assert columns(row, "revision") == (fares.revision_id,)


def story(seed: int) -> list[Any]:
    """Where the standings of three tests stand after random results of four hours, and every flip on the way."""
    random = Random(seed)
    with transaction.atomic():
        tests = [new_test(dataset=new_table(granularity="hour"), sustain=2 * HOUR) for _ in range(3)]
        start(due(HOURS[0]))
        for _ in range(4):
            for _ in range(random.randrange(1, 9)):
                tell(random.choice(tests), random)
            advance(clock.now() + HOUR)
        found = [outcome_of(test) for test in tests]
        transaction.set_rollback(True)
    return found


def tell(test: DataTest, random: Random) -> None:
    """A result that nobody has judged yet."""
    now, outcome, window = clock.now(), random.choice(OUTCOMES), random.choice(HOURS[:4])
    RunFactory.create(
        data_test=test,
        reason="check",
        window_start=window.start,
        window_end=window.end,
        requested_at=now,
        judged_at=None,
        outcome=outcome,
        error_reason=random.choice(ERRORS).value if outcome == "error" else "",
    )


def outcome_of(test: DataTest) -> Any:
    columns = ("window_key", "state", "since", "due_at", "broken_since", "streak_at", "last_outcome", "error_reason")
    standings = Standing.objects.filter(data_test=test).order_by("window_key")
    flips = Flip.objects.filter(data_test=test).order_by("at", "window_start", "old", "new")
    return (
        list(standings.values_list(*columns, "next_age_at", "attempt")),
        list(flips.values_list("window_start", "old", "new", "at", "handled_at")),
    )


@pytest.mark.parametrize("seed", range(8))
def test_any_story_ends_as_it_does_one_by_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    together = story(seed)
    monkeypatch.setattr("assay.queue.claims.TOGETHER", 1)
    assert story(seed) == together


def test_many_sound_runs_take_fewer_statements_than_there_are_runs() -> None:
    table = new_table(granularity="hour")
    start(due(HOURS[0]))
    for test in [new_test(dataset=table) for _ in range(40)]:
        RunFactory.create(data_test=test, window_start=HOURS[0].start, window_end=HOURS[0].end, judged_at=None)
    with CaptureQueriesContext(connection) as seen:
        assert tasks.judge() == 40
    assert Standing.objects.filter(state="PASS").count() == 40
    assert not Run.objects.filter(judged_at__isnull=True).exists()
    assert len(seen) < 40
