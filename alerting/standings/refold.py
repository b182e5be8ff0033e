"""Fold a window's evidence into its standing, and write a flip where its state or waiver changes."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.db import IntegrityError, connection, transaction

from alerting.inhibition.selectors import decide_again
from alerting.models import Flip, Standing, Waiver
from alerting.state import BROKEN, TROUBLED, State
from alerting.verdicts.backoff import CheckKey, next_check
from alerting.verdicts.evidence import Evidence, due_at, evaluated, evidence_of, seen, verdict_of, window_key
from alerting.verdicts.sustain import FirstRun, SeenRun, Verdict, first_run, streak_fails
from alerting.waivers.covering import end_held_waivers, waiver_of, waiver_over
from assay.database.statements import Prepared, update_each
from assay.models import DataTest, Scope
from assay.time.windows import Window
from execution_engine.models import Run, Scan
from execution_engine.outcome import TRANSIENT, Outcome, Reason
from execution_engine.selectors import period
from execution_engine.services import expires_at, is_expired

from .consequences import asks_for_looks, note_known_again, note_released, note_unknown, watch_closely

# Streaks: which windows near a judged one now FAIL because window after window began broken.


def restreak(standing: Standing, test: DataTest) -> list[Standing]:
    """The standings around this one whose streak changed with it, each with its new ``streak_at``, not yet written."""
    assert test.revision is not None
    sustain, length = test.revision.sustain, period(test)
    if test.scope == Scope.TABLE or length >= sustain:
        return []
    distance = 2 * (sustain + length)
    span = (standing.window_start - distance, standing.window_start + distance)
    rows = Standing.objects.filter(data_test=standing.data_test_id, revision_id=standing.revision_id)
    near = list(rows.filter(window_start__range=span).select_related("waiver"))
    if not any(row.last_outcome == Outcome.BROKEN or row.streak_at for row in near):
        return []
    failed = streak_fails(_first_runs(near, test), sustain=sustain)
    reach = sustain + length  # further away, the head of a streak may lie out of sight
    changed = []
    for row in near:
        inner = abs(row.window_start - standing.window_start) <= reach
        if inner and failed.get(row.window) != row.streak_at:
            row.streak_at = failed.get(row.window)
            changed.append(row)
    return changed


def _first_runs(rows: list[Standing], test: DataTest) -> Iterable[FirstRun]:
    starts = [row.window_start for row in rows]
    results: dict[Window, list[SeenRun]] = defaultdict(list)
    for run in evaluated(test).filter(window_start__range=(min(starts), max(starts))):
        results[run.window].append(seen(run))
    found = (first_run(row.window, due_at=row.due_at, seen=results[row.window]) for row in rows)
    return [run for run in found if run is not None]


# When a window in trouble is checked: set when its trouble begins, moved on by each check.


def is_checked(state: State, reason: Reason | None) -> bool:
    """Whether a window is run again by itself: while it is broken, or could not be read just now."""
    return state in BROKEN or reason in TRANSIENT


def check_terms(standing: Standing, test: DataTest, verdict: Verdict, *, waived: bool, now: datetime) -> dict[str, Any]:
    """What changes of a standing's check schedule with a verdict: it begins anew with each new t0."""
    if waived or not is_checked(verdict.state, verdict.reason):
        return {"attempt": 0, "next_check_at": None}
    if standing.next_check_at is not None and verdict.t0 == standing.broken_since:
        return {}
    t0 = verdict.t0 or now
    return {"attempt": 0, "next_check_at": after_check(standing, test, attempt=0, t0=t0, now=now)}


def after_check(
    standing: Standing, test: DataTest, *, attempt: int, t0: datetime, now: datetime, cost: timedelta = timedelta(0)
) -> datetime:
    """When to check next after check number ``attempt`` at ``now``."""
    assert test.revision is not None
    key = CheckKey(dataset=test.dataset.full_name, test=test.name, window=standing.window_key)
    return next_check(attempt, after=now, t0=t0, sustain=test.revision.sustain, key=key, cost=cost)


def last_cost(standing: Standing) -> timedelta:
    """How long the scans of a standing's newest run took."""
    scans = Scan.objects.filter(measurements__asks__run=standing.last_run_id).distinct()
    return timedelta(seconds=sum(scans.values_list("seconds", flat=True)))


def is_waited_for() -> bool:
    """Whether anything is to be checked because its engine could not be reached."""
    return Standing.objects.filter(error_reason=Reason.ENGINE_UNREACHABLE.value, next_check_at__isnull=False).exists()


def engine_answers(run: Run, test: DataTest, now: datetime) -> None:
    """After an engine's success, what it could not reach before is due at once, critical tiers first."""
    if run.outcome == Outcome.ERROR:
        return
    waiting = Standing.objects.filter(
        error_reason=Reason.ENGINE_UNREACHABLE.value, data_test__datacenter=test.datacenter, next_check_at__gt=now
    )
    for standing in waiting.exclude(data_test=test).select_related("data_test__dataset"):
        soon = now + timedelta(seconds=standing.data_test.dataset.tier)
        Standing.objects.filter(pk=standing.pk, next_check_at__gt=soon).update(next_check_at=soon)


KEPT = frozenset({State.PASS.value, State.WARN.value, State.FAIL.value})
WRITTEN = (
    "revision",
    "state",
    "since",
    "due_at",
    "broken_since",
    "streak_at",
    "last_run",
    "last_outcome",
    "error_reason",
    "value",
    "excess",
    "sentence",
    "waiver",
    "next_age_at",
    "attempt",
    "next_check_at",
)


def judge_window(test: DataTest, window: Window, now: datetime) -> Standing | None:
    """The standing of a window after all that is known of it; None while nothing counts yet."""
    standing = locked(test, window)
    found = evidence_of(test, window)
    if standing is None:
        if not found.runs:
            return None
        standing = create(test, window, due=due_at(test, window, found.runs), now=now)
    refold(standing, test, found, now)
    return standing


def locked(test: DataTest, window: Window) -> Standing | None:
    """The standing of a window, locked until the transaction ends."""
    return next(iter(_of_window(connection.vendor).rows(test.pk, window_key(test, window))), None)


@cache
def _of_window(vendor: str) -> Prepared[Standing]:
    rows = Standing.objects.select_for_update().select_related("waiver")
    return Prepared(rows.filter(data_test=-1, window_key="a window"), -1, "a window")


def create(test: DataTest, window: Window, *, due: datetime | None, now: datetime) -> Standing:
    """A new standing, PENDING; or the one that another worker was first to create."""
    assert test.revision is not None
    key = window_key(test, window)
    try:
        with transaction.atomic():
            return Standing.objects.create(
                data_test=test,
                window_key=key,
                window_start=window.start,
                window_end=window.end,
                revision=test.revision,
                since=now,
                due_at=due or now,
            )
    except IntegrityError:
        return Standing.objects.select_for_update().get(data_test=test, window_key=key)


@dataclass(frozen=True, kw_only=True)
class Later:
    """Standings and flips that are written together: of sound windows, which ask nothing of others."""

    standings: list[Standing] = field(default_factory=list)
    flips: list[Flip] = field(default_factory=list)

    def write(self) -> None:
        """Write them now."""
        update_each(self.standings, WRITTEN)
        Flip.objects.bulk_create(self.flips)


def refold(standing: Standing, test: DataTest, found: Evidence, now: datetime, later: Later | None = None) -> None:
    """Bring a standing up to what its evidence says at ``now``; written at once, or with all that is ``later``.

    A standing of an older revision stays until a run of the newest has held or broken: an error changes nothing.
    Beyond retention nothing is judged any more.
    """
    if is_expired(test.dataset, standing.window, now):
        withdraw(standing, test, now)
        return
    if standing.revision_id != test.revision_id:
        if standing.state in KEPT and not found.judged:
            _keep(standing, test, now)
            return
        standing.streak_at = None
    verdict = verdict_of(standing, test, found, now)
    waiver = waiver_of(standing, test, verdict, found)
    end_held_waivers(test, standing, verdict, found)
    if waiver is not None and verdict.state is State.UNKNOWN:
        # Nobody checks what is waived, so that silence says nothing.
        verdict = replace(verdict, state=State.WARN, since=verdict.t0)
    write(standing, test, verdict, waiver, found, now, later)


def _keep(standing: Standing, test: DataTest, now: datetime) -> None:
    """The word of an older revision stays; what a user has said since covers it too."""
    if standing.waiver_id is not None or standing.last_outcome != Outcome.BROKEN:
        return
    waiver = waiver_over(standing, test, measured_at=now, excess=standing.excess)
    if waiver is None:
        return
    ages = [at for at in (standing.next_age_at, waiver.ends_at) if at is not None]
    _change(standing, waiver_id=waiver.pk, attempt=0, next_check_at=None, next_age_at=min(ages, default=None))
    flip(standing, standing.state, now)
    watch_closely(standing, test, was=standing.state in TROUBLED, now=now)


def withdraw(standing: Standing, test: DataTest, now: datetime) -> None:
    """Leave a window in trouble or waived UNTESTED: its data is not kept, or its test is retired."""
    if standing.state in TROUBLED or standing.waiver_id is not None:
        _take_back(standing, test, State.UNTESTED, now, next_age_at=None)


def put_off(standing: Standing, test: DataTest, due_at: datetime, now: datetime) -> None:
    """Take back what was said of a window that, by the newest revision, is not due before ``due_at``."""
    _take_back(standing, test, State.PENDING, now, revision_id=test.revision_id, due_at=due_at, next_age_at=due_at)


def _take_back(standing: Standing, test: DataTest, state: State, now: datetime, **more: Any) -> None:
    old, closely = standing.state, standing.state in TROUBLED and standing.waiver_id is None
    nothing = {"broken_since": None, "streak_at": None, "last_outcome": "", "error_reason": "", "waiver_id": None}
    _change(standing, **{"state": state.value, "since": now, "attempt": 0, "next_check_at": None, **nothing, **more})
    flip(standing, old, now)
    decide_again(standing, test, was=old, now=now)
    watch_closely(standing, test, was=closely, now=now)
    note_known_again(standing, test, was=old, now=now)


def _change(standing: Standing, **changes: Any) -> None:
    Standing.objects.filter(pk=standing.pk).update(**changes)
    for name, value in changes.items():
        setattr(standing, name, value)


def write(
    standing: Standing,
    test: DataTest,
    verdict: Verdict,
    waiver: Waiver | None,
    found: Evidence,
    now: datetime,
    later: Later | None = None,
) -> None:
    """Write the standing, and whatever follows from its change."""
    before, looked_at = (standing.state, standing.waiver_id is not None), asks_for_looks(standing)
    told = found.run(verdict.run_id)
    newest = found.newest
    moved = _moved(test, standing, newest)
    changes = {
        "revision_id": test.revision_id,
        "state": verdict.state.value,
        "since": verdict.since or (standing.since if verdict.state == standing.state else now),
        "due_at": due_at(test, standing.window, found.runs) or standing.due_at,
        "broken_since": verdict.t0,
        "streak_at": standing.streak_at,
        "last_run_id": newest.pk if newest else None,
        "last_outcome": verdict.outcome.value if verdict.outcome else "",
        "error_reason": verdict.reason.value if verdict.reason else "",
        "value": verdict.value,
        "excess": verdict.excess,
        "sentence": found.sentence(told),
        "waiver_id": waiver.pk if waiver else None,
        "next_age_at": _next_age(standing, test, verdict, waiver, now),
        **moved,
        **check_terms(standing, test, verdict, waived=waiver is not None, now=now),
    }
    for name, value in changes.items():
        setattr(standing, name, value)
    if later is not None:
        later.standings.append(standing)
    else:
        Standing.objects.filter(pk=standing.pk).update(**changes)
    changed = before != (standing.state, standing.waiver_id is not None)
    if changed or (moved and standing.state == State.FAIL):
        flip(standing, before[0], now, later)
    decide_again(standing, test, was=before[0], now=now)
    watch_closely(standing, test, was=looked_at, now=now)
    if waiver is not None or before[1]:
        note_released(standing, test, waiver)
    if changed:
        note_unknown(standing, test, was=before[0], now=now)
        note_known_again(standing, test, was=before[0], now=now)


def _moved(test: DataTest, standing: Standing, newest: Run | None) -> dict[str, datetime]:
    """The new window of a whole table, where its newest run had another."""
    if test.scope != Scope.TABLE or newest is None or newest.window == standing.window:
        return {}
    return {"window_start": newest.window_start, "window_end": newest.window_end}


def _next_age(
    standing: Standing, test: DataTest, verdict: Verdict, waiver: Waiver | None, now: datetime
) -> datetime | None:
    instants = [verdict.next_change_at, waiver.ends_at if waiver else None]
    if verdict.state in TROUBLED:
        instants.append(expires_at(test.dataset, standing.window))
    return min((at for at in instants if at is not None and at > now), default=None)


def flip(standing: Standing, old: str, now: datetime, later: Later | None = None) -> None:
    """A row for the incident manager: the state or the waiver has changed.

    Nearly all are a first verdict that opens nothing: there is nothing to handle.
    """
    is_harmless = old == State.PENDING and standing.state != State.FAIL and standing.waiver_id is None
    row = Flip(
        standing=standing,
        data_test_id=standing.data_test_id,
        revision_id=standing.revision_id,
        run_id=standing.last_run_id,
        window_start=standing.window_start,
        window_end=standing.window_end,
        old=old,
        new=standing.state,
        waived=standing.waiver_id is not None,
        at=now,
        handled_at=now if is_harmless else None,
    )
    if later is not None:
        later.flips.append(row)
    else:
        row.save(force_insert=True)
