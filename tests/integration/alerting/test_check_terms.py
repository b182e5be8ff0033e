"""When a window in trouble is checked again, and which windows an engine's answer brings forward."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from alerting.models import Standing
from alerting.standings.judge_runs import judge_runs
from alerting.standings.refold import after_check, check_terms, engine_answers, last_cost
from alerting.state import State
from alerting.verdicts.sustain import Verdict, next_check
from assay.models import DataTest
from execution_engine.models import Run, Scan
from execution_engine.outcome import Reason
from tests.factories import HOUR, NOW, DatasetFactory, DataTestFactory, RunFactory, StandingFactory, day
from tests.integration.rows import measurement

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
SECOND = timedelta(seconds=1)
T0 = NOW - HOUR
SOON = NOW + HOUR


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
