"""Sustain: a test's standing for one window, as a fold over its runs by the time each was measured.

A standing is never edited: late, repeated and out-of-order results only change what is folded.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2s
from itertools import groupby

from alerting.state import State
from assay.time.durations import doubled
from assay.time.windows import Window
from execution_engine.exact import Number, decimal_of
from execution_engine.language.evaluate import AssertionVerdict, ZeroDivision, evaluate
from execution_engine.language.tree import Assertion, Metric, operands
from execution_engine.metrics.registry import METRICS
from execution_engine.outcome import TRANSIENT, Outcome, Reason

# What a whole table is held to once the windows that somebody accepted or forced are left out of its counts (pure).

Counts = Mapping[str, Number | None]  # by the text of the operand


def holds_without(tree: Assertion, whole: Counts, waived: Sequence[Counts]) -> AssertionVerdict | None:
    """The verdict on what is left of a broken whole table without its waived windows; None where that is broken too.

    Each count of the whole is lessened by what the same assertion last counted of each of these windows: what is lost
    beyond that stays lost. Values that are no counts of rows or keys cannot be parted, and explain nothing.
    """
    counts: dict[str, Number] = {}
    for operand in operands(tree):
        if not isinstance(operand, Metric) or operand.spec.by or operand.ago is not None:
            return None
        total, parts = whole.get(operand.text), [window.get(operand.text) for window in waived]
        figures = [part for part in parts if part is not None]
        if not METRICS[operand.spec.name].sums_bound or total is None or len(figures) < len(parts):
            return None
        counts[operand.text] = decimal_of(total) - sum(map(decimal_of, figures))
    if not waived or any(count < 0 for count in counts.values()):
        return None
    verdict = evaluate(tree, counts, zero=ZeroDivision.STANDARD_ALLOW_EMPTY)
    return verdict if verdict.outcome is Outcome.HELD else None


SHORTEST_SILENCE = timedelta(minutes=15)


@dataclass(frozen=True, kw_only=True)
class SeenRun:
    """What one run saw; ``excess`` is how far the value lies beyond its bound, larger is worse."""

    run_id: int
    measured_at: datetime
    outcome: Outcome
    reason: Reason | None = None
    value: float | None = None
    excess: float | None = None
    of_change: bool = False  # it was asked for because the data has changed


@dataclass(frozen=True, kw_only=True)
class SustainTerms:
    """What a standing is judged by. A whole-table test has many due instants: the first and the last of them."""

    due_at: datetime
    sustain: timedelta
    unknown_after: timedelta
    last_due_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A standing at one instant. The latest held or broken result gives outcome, value, excess and run."""

    state: State
    since: datetime | None = None
    t0: datetime | None = None  # the start of the sustain period, while the latest result is broken
    failed_at: datetime | None = None
    outcome: Outcome | None = None
    run_id: int | None = None
    measured_at: datetime | None = None
    value: float | None = None
    excess: float | None = None
    reason: Reason | None = None  # of the latest error, where nothing held or broke after it
    early_broken: bool = False  # broken before it is due: the gate sees it, the sustain period has not begun
    ever_broken: bool = False
    ever_failed: bool = False
    next_change_at: datetime | None = None  # when time alone will change it


def unknown_after(*, period: timedelta, sustain: timedelta) -> timedelta:
    """How long a due run may neither hold nor break before its standing is UNKNOWN."""
    return max(SHORTEST_SILENCE, min(period, sustain))


def fold(
    seen: Iterable[SeenRun],
    *,
    due_at: datetime,
    sustain: timedelta,
    now: datetime,
    unknown_after: timedelta,
    settles: bool = False,
    last_due_at: datetime | None = None,
) -> Verdict:
    """The standing at ``now``, the same for any order and repetition of the newest revision's results.

    ``settles``: the first held result is final (freshness beside a completeness test). ``last_due_at``: the latest
    due instant of a whole-table test, whose one standing is asked again each time.
    """
    terms = SustainTerms(due_at=due_at, sustain=sustain, unknown_after=unknown_after, last_due_at=last_due_at)
    track = Track()
    for result in in_order(seen):
        ever_broken, ever_failed = track.ever_broken, track.ever_failed
        if result.outcome is Outcome.ERROR:
            # nobody knows any more whether what held still holds
            casts_doubt = result.of_change and track.held_since is not None and result.reason is not Reason.WARMING_UP
            doubted_since = track.doubted_since or (result.measured_at if casts_doubt else None)
            erring_since = track.erring_since or result.measured_at
            track = replace(track, error=result, erring_since=erring_since, doubted_since=doubted_since)
        elif result.outcome is Outcome.HELD:
            since = result.measured_at if track.doubted_since else track.held_since or result.measured_at
            track = Track(latest=result, held_since=since, ever_broken=ever_broken, ever_failed=ever_failed)
            if settles:
                break
        else:
            t0 = track.t0 or max(result.measured_at, due_at)
            is_sustained = result.measured_at - t0 >= sustain
            failed_at = track.failed_at or (result.measured_at if is_sustained else None)
            ever_failed = ever_failed or failed_at is not None
            track = Track(latest=result, t0=t0, failed_at=failed_at, ever_broken=True, ever_failed=ever_failed)
    return _judge(track, terms, now)


def in_order(seen: Iterable[SeenRun]) -> list[SeenRun]:
    """The results by the time they were measured, each run once, without those that came before the window was due."""
    once = {result.run_id: result for result in seen if result.reason is not Reason.NOT_DUE}
    return sorted(once.values(), key=lambda result: (result.measured_at, result.run_id))


@dataclass(frozen=True, kw_only=True)
class Track:
    """What the results alone say, before the clock is asked."""

    latest: SeenRun | None = None  # held or broken
    error: SeenRun | None = None  # the latest error after it
    erring_since: datetime | None = None
    doubted_since: datetime | None = None  # what held has changed since, and has only erred
    held_since: datetime | None = None
    t0: datetime | None = None
    failed_at: datetime | None = None
    ever_broken: bool = False
    ever_failed: bool = False


def _judge(track: Track, terms: SustainTerms, now: datetime) -> Verdict:
    warms_up = track.error is not None and track.error.reason is Reason.WARMING_UP
    state, since = State.PENDING, None  # by what was seen, as if no silence were too long
    if track.failed_at is not None:
        state, since = State.FAIL, track.failed_at
    elif track.t0 is not None:
        state, since = (State.PENDING, None) if now < terms.due_at else (State.WARN, track.t0)
    elif track.latest is not None:
        state, since = State.PASS, track.held_since
    elif warms_up:
        state, since = State.LEARNING, track.erring_since
    silent_at = _unknown_at(track, terms)
    if silent_at is not None and silent_at <= now and state in (State.PENDING, State.WARN, State.PASS):
        state, since = State.LEARNING if track.t0 is None and warms_up else State.UNKNOWN, silent_at
    latest, newest = track.latest, track.latest or track.error
    early_broken = state is State.PENDING and track.t0 is not None
    changes = [*([terms.due_at] if early_broken else []), *([silent_at] if silent_at else [])]
    return Verdict(
        state=state,
        since=since,
        t0=None if early_broken else track.t0,
        failed_at=track.failed_at,
        outcome=latest.outcome if latest else None,
        run_id=newest.run_id if newest else None,
        measured_at=newest.measured_at if newest else None,
        value=latest.value if latest else None,
        excess=latest.excess if latest else None,
        reason=track.error.reason if track.error else None,
        early_broken=early_broken,
        ever_broken=track.ever_broken,
        ever_failed=track.ever_failed,
        next_change_at=min((at for at in changes if at > now), default=None),
    )


def _unknown_at(track: Track, terms: SustainTerms) -> datetime | None:
    """When the standing becomes UNKNOWN if nothing more holds or breaks; None for never."""
    if track.failed_at is not None:
        return None
    if track.latest is None:
        learning = track.error is not None and track.error.reason is Reason.WARMING_UP
        return None if learning else terms.due_at + terms.unknown_after
    if track.t0 is None:
        instants, last = [], terms.last_due_at
        if last is not None and track.latest.measured_at < last:
            instants.append(last + terms.unknown_after)
        if track.doubted_since is not None and track.error is not None:
            # at once where the changed data cannot be judged as it is; a hiccup of the engine has the time of a due run
            patience = terms.unknown_after if track.error.reason in TRANSIENT else timedelta(0)
            instants.append(track.doubted_since + patience)
        return min(instants, default=None)
    if track.latest.measured_at < terms.due_at:  # broken early: the due run itself has given nothing yet
        return terms.due_at + terms.unknown_after
    sustained_at = track.t0 + terms.sustain
    silent_at = sustained_at + terms.unknown_after  # the check at t0 + sustain is a due run too
    return silent_at if track.erring_since is None else min(silent_at, max(sustained_at, track.erring_since))


# The streak: a test whose period is shorter than its sustain FAILs when window after window starts broken.


@dataclass(frozen=True, kw_only=True)
class FirstRun:
    """The first result of a window that counts, and when the window first held after it."""

    window: Window
    due_at: datetime
    measured_at: datetime
    outcome: Outcome
    held_at: datetime | None = None


def first_run(window: Window, *, due_at: datetime, seen: Iterable[SeenRun]) -> FirstRun | None:
    """The window's first result that held, or broke at or after due; None while there is none (errors are none)."""
    results = [result for result in in_order(seen) if result.outcome is not Outcome.ERROR]
    first = next((r for r in results if r.outcome is Outcome.HELD or r.measured_at >= due_at), None)
    if first is None:
        return None
    holds = (r.measured_at for r in results if r.outcome is Outcome.HELD and r.measured_at >= first.measured_at)
    return FirstRun(
        window=window,
        due_at=due_at,
        measured_at=first.measured_at,
        outcome=first.outcome,
        held_at=next(holds, None),
    )


def streak_fails(first_runs: Iterable[FirstRun], *, sustain: timedelta) -> Mapping[Window, datetime]:
    """The windows that FAILed by a streak, each with the instant; a window that had held by then is not among them.

    An error passes: it neither lengthens nor ends a streak. Give this only tests whose period is below the sustain.
    """
    judged = sorted((run for run in first_runs if run.outcome is not Outcome.ERROR), key=lambda run: run.due_at)
    failed: dict[Window, datetime] = {}
    for outcome, streak in groupby(judged, key=lambda run: run.outcome):
        if outcome is Outcome.BROKEN:
            runs = list(streak)
            ripe = next((i for i, run in enumerate(runs) if run.due_at - runs[0].due_at >= sustain), len(runs))
            sustained_at = max(run.measured_at for run in runs[: ripe + 1])
            fails = {run.window: max(sustained_at, run.measured_at) for run in runs if ripe < len(runs)}
            healed = {run.window: run.held_at for run in runs if run.held_at is not None}
            failed |= {window: at for window, at in fails.items() if window not in healed or healed[window] > at}
    return failed


def with_streak(verdict: Verdict, failed_at: datetime | None) -> Verdict:
    """The standing with what its streak adds: FAIL from ``failed_at`` until the window holds, over errors too."""
    if failed_at is None:
        return verdict
    if verdict.t0 is None or verdict.t0 > failed_at:  # it held since, so the streak is history
        return replace(verdict, ever_failed=True)
    earliest = min(failed_at, verdict.failed_at or failed_at)
    return replace(verdict, state=State.FAIL, since=earliest, failed_at=earliest, ever_failed=True, next_change_at=None)


# When a window in trouble is checked again: exponential back-off whose jitter a replay repeats.

INITIAL_INTERVAL = timedelta(minutes=5)
MAXIMUM_INTERVAL = timedelta(hours=6)
LONG_STANDING = timedelta(days=14)
LONG_STANDING_INTERVAL = timedelta(hours=24)
JITTER = 0.1
COST_FACTOR = 4  # a whole-table check takes at most a fifth of the time


def next_check(
    attempt: int,
    *,
    after: datetime,
    t0: datetime,
    sustain: timedelta,
    key: tuple[str, str, str],
    cost: timedelta = timedelta(0),
) -> datetime:
    """When to check after check number ``attempt`` (0: none yet), which ended at ``after``.

    One check is at t0 + sustain exactly. ``cost`` is what the last check of a whole table took; leave it out for a
    partition. ``t0`` is the first broken result, or the first error where nothing has broken. Checks are spread by
    ``key``, which names dataset, test and window.
    """
    # a share in [-JITTER, JITTER), the same in every process
    number = int.from_bytes(blake2s("\n".join((*key, str(attempt))).encode(), digest_size=6).digest())
    is_old = after - t0 >= LONG_STANDING
    interval = LONG_STANDING_INTERVAL if is_old else doubled(INITIAL_INTERVAL, attempt, most=MAXIMUM_INTERVAL)
    at = after + interval * (1 + JITTER * (2 * number / 2**48 - 1))
    sustained_at = t0 + sustain
    if after < sustained_at < at:
        at = sustained_at
    return max(at, after + COST_FACTOR * cost)
