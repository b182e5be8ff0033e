"""What a change of a standing asks of others: which data is watched and checked, who hears of what was not judged."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from alerting.models import Notice, Standing
from alerting.standings.judge_runs import judge_runs
from alerting.standings.refold import (
    after_check,
    asks_for_looks,
    check_terms,
    engine_answers,
    last_cost,
    note_known_again,
    note_unknown,
    watch_closely,
)
from alerting.state import State
from alerting.verdicts.sustain import Verdict, next_check
from assay.models import Category, Dataset, DataTest
from assay.time.windows import Window
from execution_engine.models import Run, Scan, Watch
from execution_engine.outcome import Reason
from tests.factories import HOUR, NOW, DatasetFactory, DataTestFactory, NoticeFactory, RunFactory, StandingFactory, day
from tests.integration.rows import measurement, waiver

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
SUNDAY = day("2026-03-08")
SECOND = timedelta(seconds=1)
T0 = NOW - HOUR
SOON = NOW + HOUR


def reads(run: Run, dataset: Dataset, place: str = "sea", window: Window = MONDAY) -> None:
    """Let a run ask for a measurement."""
    measurement(dataset, window, run=run, datacenter=place)


def stands(test: DataTest, state: str, *, waived: bool = False, **more: Any) -> Standing:
    """The test's standing on Monday."""
    row: Standing = StandingFactory.create(
        data_test=test, state=state, waiver=waiver(test) if waived else None, **{"since": NOW - HOUR, **more}
    )
    return row


def watched() -> set[tuple[int, str, Window, bool, datetime | None]]:
    """Every watch: the dataset, the datacenter, the window, whether closely, and when it looks next."""
    return {(row.dataset_id, row.datacenter, row.window, row.closely, row.next_look_at) for row in Watch.objects.all()}


@pytest.mark.parametrize(
    ("state", "error", "waived", "asks"),
    [
        ("WARN", "", False, True),
        ("FAIL", "", False, True),
        ("UNKNOWN", "", False, True),
        ("FAIL", "timeout", True, False),
        ("PENDING", "timeout", False, True),
        ("PENDING", "timeout", True, False),
        ("PENDING", "", False, False),
        ("PASS", "timeout", False, False),
        ("LEARNING", "warming up", False, False),
    ],
)
def test_data_is_looked_at_often_while_its_window_is_in_trouble_or_its_due_run_has_erred(
    state: str, error: str, waived: bool, asks: bool
) -> None:
    assert asks_for_looks(stands(DataTestFactory.create(), state, error_reason=error, waived=waived)) is asks


def test_all_that_the_newest_run_of_a_troubled_window_reads_is_watched_closely() -> None:
    test, stops = DataTestFactory.create(), DatasetFactory.create()
    before, newest = RunFactory.create_batch(2, data_test=test)
    reads(before, DatasetFactory.create())
    reads(newest, test.dataset)
    reads(newest, stops, "phx", SUNDAY)
    standing = stands(test, "FAIL", last_run=newest)
    watch_closely(standing, test, was=True, now=NOW)
    assert watched() == set()
    watch_closely(standing, test, was=False, now=NOW + 61 * SECOND)
    soon = NOW + 300 * SECOND
    assert watched() == {(test.dataset_id, "sea", MONDAY, True, soon), (stops.pk, "phx", SUNDAY, True, soon)}


def test_a_window_without_a_measurement_has_the_data_of_its_own_test_watched() -> None:
    test = DataTestFactory.create(datacenter="phx")
    watch_closely(stands(test, "UNKNOWN"), test, was=False, now=NOW)
    assert watched() == {(test.dataset_id, "phx", MONDAY, True, NOW + 300 * SECOND)}


@pytest.mark.parametrize(
    ("other", "read", "closely"),
    [
        ({"state": "WARN"}, {}, True),
        ({"state": "FAIL"}, {}, True),
        ({"state": "UNKNOWN"}, {}, True),
        ({"state": "PENDING", "error_reason": "timeout"}, {}, True),
        ({"state": "PENDING"}, {}, False),
        ({"state": "PASS", "error_reason": "timeout"}, {}, False),
        ({"state": "FAIL", "waived": True}, {}, False),
        ({"state": "PENDING", "error_reason": "timeout", "waived": True}, {}, False),
        ({"state": "FAIL"}, {"dataset": None}, False),
        ({"state": "FAIL"}, {"place": "phx"}, False),
        ({"state": "FAIL"}, {"window": Window(start=MONDAY.start - HOUR, end=MONDAY.end)}, False),
        ({"state": "FAIL"}, {"window": Window(start=MONDAY.start, end=MONDAY.end + HOUR)}, False),
    ],
)
def test_data_is_watched_as_usual_again_once_no_test_in_trouble_reads_it(
    other: dict[str, Any], read: dict[str, Any], closely: bool
) -> None:
    test, another = DataTestFactory.create(), DataTestFactory.create()
    own, theirs = RunFactory.create(data_test=test), RunFactory.create(data_test=another)
    reads(own, test.dataset)
    given = {"dataset": test.dataset, **read}
    reads(theirs, **{**given, "dataset": given["dataset"] or another.dataset})
    stands(another, **other, last_run=theirs)
    standing = stands(test, "FAIL", last_run=own)
    watch_closely(standing, test, was=False, now=NOW)
    standing.state = "PASS"  # what is written of it is in trouble itself, and counts for nothing
    watch_closely(standing, test, was=True, now=NOW + SECOND)
    next_look = NOW + (300 * SECOND if closely else HOUR)
    assert watched() == {(test.dataset_id, "sea", MONDAY, closely, next_look)}


def only_notice() -> Notice:
    return Notice.objects.get()


def test_who_is_told_of_an_unknown_reads_which_test_has_no_verdict_since_when_and_why() -> None:
    test = DataTestFactory.create(dataset=DatasetFactory.create(name="trips"), name="fares")
    run = RunFactory.create(data_test=test, outcome="error", error_reason="timeout", sentence="it took too long.")
    standing = stands(test, "UNKNOWN", error_reason="timeout", last_run=run)
    note_unknown(standing, test, was="PENDING", now=NOW)
    row = only_notice()
    assert row.key == f"standing:{standing.pk}:20260310T110000:unknown:log:platform-on-call"
    assert (row.event, row.recipient, row.created_at, row.due_at) == ("unknown", "platform-on-call", NOW, NOW)
    assert row.subject == "fares could not be judged for 2026-03-09: raw.trips"
    assert "Cause: it took too long. This says nothing about the data." in row.body
    assert "The test fares of raw.trips has had no verdict for 2026-03-09" in row.body
    assert "since 2026-03-10 11:00 UTC." in row.body
    assert row.facts == {"dataset": "raw.trips", "test": "fares", "window": MONDAY.text}


@pytest.mark.parametrize(
    ("error", "run", "cause", "hears"),
    [
        ("", None, "no result yet", "platform-on-call"),
        ("query failed", None, "query failed", "ada"),
        ("query failed", {"outcome": "error", "sentence": "no such function"}, "no such function", "ada"),
        ("query failed", {"outcome": "broken", "sentence": "too few rows"}, "query failed", "ada"),
        ("lease lost", {"outcome": "error", "sentence": ""}, "lease lost", "platform-on-call"),
    ],
)
def test_the_cause_of_an_unknown_is_the_error_of_the_newest_run_and_nothing_that_held_or_broke(
    error: str, run: dict[str, Any] | None, cause: str, hears: str
) -> None:
    test = DataTestFactory.create()
    newest = None if run is None else RunFactory.create(data_test=test, **run)
    note_unknown(stands(test, "UNKNOWN", error_reason=error, last_run=newest), test, was="WARN", now=NOW)
    assert f"Cause: {cause}. This" in only_notice().body
    assert only_notice().recipient == hears


@pytest.mark.parametrize(
    ("state", "was", "waived"), [("PASS", "PENDING", False), ("UNKNOWN", "UNKNOWN", False), ("UNKNOWN", "WARN", True)]
)
def test_what_was_known_already_judged_or_waived_is_told_to_nobody(state: str, was: str, waived: bool) -> None:
    test = DataTestFactory.create()
    note_unknown(stands(test, state, waived=waived), test, was=was, now=NOW)
    assert not Notice.objects.exists()


@pytest.mark.parametrize(
    ("freshness", "of_test", "is_told"),
    [
        ({"state": "FAIL"}, {}, False),
        ({"state": "WARN"}, {}, False),
        ({"state": "WARN", "window": Window(start=MONDAY.start - HOUR, end=MONDAY.start + SECOND)}, {}, False),
        ({"state": "WARN", "window": Window(start=MONDAY.end - SECOND, end=MONDAY.end + HOUR)}, {}, False),
        ({"state": "WARN", "window": SUNDAY}, {}, True),
        ({"state": "WARN", "window": day("2026-03-10")}, {}, True),
        ({"state": "UNKNOWN"}, {}, True),
        ({"state": "PASS"}, {}, True),
        ({"state": "FAIL"}, {"category": Category.CUSTOM}, True),
        ({"state": "FAIL"}, {"dataset": None}, True),
    ],
)
def test_that_there_is_no_data_is_no_news_while_the_freshness_of_the_same_data_is_broken(
    freshness: dict[str, Any], of_test: dict[str, Any], is_told: bool
) -> None:
    test = DataTestFactory.create()
    given = {"dataset": test.dataset, "category": Category.FRESHNESS, **of_test}
    beside = DataTestFactory.create(**{**given, "dataset": given["dataset"] or DatasetFactory.create()})
    StandingFactory.create(data_test=beside, **freshness)
    note_unknown(stands(test, "UNKNOWN", error_reason="no data"), test, was="PENDING", now=NOW)
    assert Notice.objects.exists() is is_told


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("PASS", "holds again"),
        ("WARN", "has a verdict again: it is broken"),
        ("FAIL", "has a verdict again: it is broken"),
        ("LEARNING", "is gathering history again"),
        ("UNTESTED", "needs no verdict any more"),
        ("PENDING", "needs no verdict yet"),
    ],
)
def test_whoever_was_told_last_of_an_unknown_hears_what_became_of_it(state: str, says: str) -> None:
    test = DataTestFactory.create(dataset=DatasetFactory.create(name="trips"), name="fares")
    standing = stands(test, state)
    for hour, who in ((9, "night-watch"), (10, "ada"), (11, "grace")):
        key = f"standing:{standing.pk}:20260310T{hour:02d}0000:unknown:log:{who}"
        NoticeFactory.create(
            key=key, event="unknown", recipient=who, suppressed="resolved within grace" if who == "grace" else ""
        )
    note_known_again(standing, test, was="UNKNOWN", now=NOW)
    row = Notice.objects.get(event="known again")
    assert row.key == f"standing:{standing.pk}:20260310T100000:known again:log:ada"
    assert (row.recipient, row.created_at) == ("ada", NOW)
    assert row.subject == "fares can be judged again for 2026-03-09: raw.trips"
    assert row.body.startswith(f"Since 2026-03-10 12:00 UTC the test fares of raw.trips {says} for 2026-03-09")
    assert row.facts == {"dataset": "raw.trips", "test": "fares", "window": MONDAY.text}


@pytest.mark.parametrize(
    ("state", "was", "key", "event"),
    [
        ("UNKNOWN", "UNKNOWN", "standing:{pk}:20260310T100000:unknown:log:ada", "unknown"),
        ("PASS", "FAIL", "standing:{pk}:20260310T100000:unknown:log:ada", "unknown"),
        ("PASS", "UNKNOWN", "standing:{pk}1:20260310T100000:unknown:log:ada", "unknown"),
        ("PASS", "UNKNOWN", "standing:0:20260310T100000:unknown:log:ada", "unknown"),
        ("PASS", "UNKNOWN", "standing:{pk}:20260310T100000:opened:log:ada", "opened"),
    ],
)
def test_without_a_word_of_that_unknown_nobody_hears_that_it_is_over(
    state: str, was: str, key: str, event: str
) -> None:
    test = DataTestFactory.create()
    standing = stands(test, state)
    NoticeFactory.create(key=key.format(pk=standing.pk), event=event)
    note_known_again(standing, test, was=was, now=NOW)
    assert Notice.objects.count() == 1


def test_whoever_was_told_of_an_unknown_hears_once_that_a_window_holds_again_that_is_waived_since() -> None:
    test = DataTestFactory.create()
    standing = stands(test, "UNKNOWN", error_reason="query failed")
    note_unknown(standing, test, was="PENDING", now=NOW)
    standing.waiver = waiver(test)
    for hour, (was, state) in enumerate(pairwise(("UNKNOWN", "PASS", "UNKNOWN", "PASS")), start=1):
        standing.state, standing.since = state, NOW + hour * HOUR
        note_unknown(standing, test, was=was, now=standing.since)
        note_known_again(standing, test, was=was, now=standing.since)
    said = list(Notice.objects.order_by("pk").values_list("event", "recipient", "created_at"))
    assert said == [("unknown", "ada", NOW), ("known again", "ada", NOW + HOUR)]


def test_nobody_hears_that_a_window_holds_again_that_was_waived_before_it_could_not_be_judged() -> None:
    test = DataTestFactory.create()
    standing = stands(test, "UNKNOWN", error_reason="query failed", waived=True)
    note_unknown(standing, test, was="PENDING", now=NOW)
    standing.state = "PASS"
    note_known_again(standing, test, was="UNKNOWN", now=NOW + HOUR)
    assert not Notice.objects.exists()


@pytest.fixture
def test() -> DataTest:
    """A test of trips that may stay broken for four hours."""
    row: DataTest = DataTestFactory.create(dataset=DatasetFactory.create(name="trips"), name="fares")
    return row


def first_check(t0: datetime) -> datetime:
    key = ("raw.trips", "fares", MONDAY.text)
    return next_check(0, after=NOW, t0=t0, sustain=4 * HOUR, key=key)


@pytest.mark.parametrize(
    ("state", "reason", "waived", "known", "changes"),
    [
        (State.FAIL, None, True, (SOON, T0), "none"),
        (State.PASS, None, False, (SOON, None), "none"),
        (State.UNKNOWN, Reason.QUERY_FAILED, False, (SOON, T0), "none"),
        (State.WARN, None, False, (SOON, T0), "nothing"),
        (State.FAIL, None, False, (SOON, T0), "nothing"),
        (State.FAIL, None, False, (None, T0), "anew"),
        (State.FAIL, None, False, (SOON, T0 - SECOND), "anew"),
        (State.UNKNOWN, Reason.TIMEOUT, False, (None, None), "anew"),
        (State.UNKNOWN, Reason.TIMEOUT, True, (SOON, T0), "none"),
    ],
)
def test_checks_begin_anew_with_each_trouble_go_on_while_it_lasts_and_end_with_it(
    test: DataTest,
    state: State,
    reason: Reason | None,
    waived: bool,
    known: tuple[datetime | None, datetime | None],
    changes: str,
) -> None:
    next_check_at, broken_since = known
    standing = StandingFactory.create(data_test=test, next_check_at=next_check_at, broken_since=broken_since, attempt=3)
    found = check_terms(standing, test, Verdict(state=state, reason=reason, t0=T0), waived=waived, now=NOW)
    wanted: dict[str, dict[str, Any]] = {
        "none": {"attempt": 0, "next_check_at": None},
        "nothing": {},
        "anew": {"attempt": 0, "next_check_at": first_check(T0)},
    }
    assert found == wanted[changes]


def test_what_has_only_erred_is_checked_as_if_its_trouble_began_now(test: DataTest) -> None:
    standing = StandingFactory.create(data_test=test)
    verdict = Verdict(state=State.PENDING, reason=Reason.ENGINE_UNREACHABLE)
    terms = check_terms(standing, test, verdict, waived=False, now=NOW)
    assert terms == {"attempt": 0, "next_check_at": first_check(NOW)}


def test_a_check_that_took_long_is_followed_by_a_pause_four_times_as_long(test: DataTest) -> None:
    standing = StandingFactory.create(data_test=test)
    assert after_check(standing, test, attempt=1, t0=T0, now=NOW, cost=2 * HOUR) == NOW + 8 * HOUR
    assert after_check(standing, test, attempt=9, t0=NOW - 9 * HOUR, now=NOW) > NOW + 5 * HOUR
    assert after_check(standing, test, attempt=9, t0=NOW - 3 * HOUR, now=NOW) == NOW + HOUR


def scanned(run: Run, seconds: float, asks: int = 1) -> None:
    dataset, window = run.data_test.dataset, {"window_start": MONDAY.start, "window_end": MONDAY.end}
    scan = Scan.objects.create(
        dataset=dataset, datacenter="sea", created_at=NOW, ended_at=NOW, seconds=seconds, **window
    )
    for _ in range(asks):
        measurement(dataset, MONDAY, run=run, scan=scan)


def test_a_check_cost_what_each_scan_of_the_newest_run_took_once(test: DataTest) -> None:
    before, newest = RunFactory.create_batch(2, data_test=test)
    scanned(before, 1000)
    scanned(newest, 100, asks=2)
    scanned(newest, 20.5)
    assert last_cost(StandingFactory.create(data_test=test, last_run=newest)) == timedelta(seconds=120.5)


def waiting(tier: int = 2, **more: Any) -> Standing:
    """A window that the engine of its datacenter did not reach; it is checked in an hour."""
    datacenter = more.pop("datacenter", "sea")
    test = more.pop("data_test", None) or DataTestFactory.create(
        dataset=DatasetFactory.create(tier=tier), datacenter=datacenter
    )
    given = {"error_reason": "engine unreachable", "next_check_at": SOON, "state": "UNKNOWN", **more}
    row: Standing = StandingFactory.create(data_test=test, **given)
    return row


def test_what_an_engine_did_not_reach_is_checked_at_once_when_it_answers_critical_tiers_first(test: DataTest) -> None:
    rows = [
        (waiting(tier=0), NOW),
        (waiting(tier=5), NOW + 5 * SECOND),
        (waiting(tier=5, next_check_at=NOW + 6 * SECOND), NOW + 5 * SECOND),
        (waiting(tier=5, next_check_at=NOW + 4 * SECOND), NOW + 4 * SECOND),
        (waiting(tier=5, next_check_at=NOW - SECOND), NOW - SECOND),
        (waiting(datacenter="phx"), SOON),
        (waiting(data_test=test), SOON),
        (waiting(error_reason="timeout"), SOON),
        (waiting(next_check_at=None), None),
    ]
    judge_runs([RunFactory.create(data_test=DataTestFactory.create(), outcome="error")], NOW)
    assert {Standing.objects.get(pk=row.pk).next_check_at for row, _ in rows[:2]} == {SOON}
    engine_answers([test], NOW)
    assert [Standing.objects.get(pk=row.pk).next_check_at for row, _ in rows] == [at for _, at in rows]
