"""Sustain: a test's standing for one window, as a fold over its runs by the time each was measured.

A standing is never edited: late, repeated and out-of-order results only change what is folded.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby

from alerting.state import State
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
    asked = operands(tree)
    if not waived or not all(
        isinstance(each, Metric) and METRICS[each.spec.name].sums_bound and not each.spec.by and each.ago is None
        for each in asked
    ):
        return None
    left: dict[str, Number] = {}
    for operand in asked:
        total, parts = whole.get(operand.text), [counts.get(operand.text) for counts in waived]
        known = [part for part in parts if part is not None]
        if total is None or len(known) < len(parts):
            return None
        rest = decimal_of(total) - sum(map(decimal_of, known))
        if rest < 0:
            return None
        left[operand.text] = rest
    verdict = evaluate(tree, left, zero=ZeroDivision.STANDARD_ALLOW_EMPTY)
    return verdict if verdict.outcome is Outcome.HELD else None


def told_without(sentence: str, verdict: AssertionVerdict, count: int) -> str:
    """The sentence of a broken result that holds without so many windows."""
    windows = "1 window that was" if count == 1 else f"{count} windows that were"
    return f"{sentence}; without {windows} accepted or called a false positive: {verdict.sentence}"


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
        track = _step(track, result, terms)
        if settles and result.outcome is Outcome.HELD:
            break
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


def _step(track: Track, result: SeenRun, terms: SustainTerms) -> Track:
    if result.outcome is Outcome.ERROR:
        erring_since = track.erring_since or result.measured_at
        doubted_since = track.doubted_since or (result.measured_at if _casts_doubt(track, result) else None)
        return replace(track, error=result, erring_since=erring_since, doubted_since=doubted_since)
    if result.outcome is Outcome.HELD:
        return Track(
            latest=result,
            held_since=result.measured_at if track.doubted_since else track.held_since or result.measured_at,
            ever_broken=track.ever_broken,
            ever_failed=track.ever_failed,
        )
    t0 = track.t0 or max(result.measured_at, terms.due_at)
    sustained = result.measured_at - t0 >= terms.sustain
    failed_at = track.failed_at or (result.measured_at if sustained else None)
    return Track(
        latest=result,
        t0=t0,
        failed_at=failed_at,
        ever_broken=True,
        ever_failed=track.ever_failed or failed_at is not None,
    )


def _judge(track: Track, terms: SustainTerms, now: datetime) -> Verdict:
    state, since = _known(track, terms, now)
    silent_at = _unknown_at(track, terms)
    if silent_at is not None and silent_at <= now and state in (State.PENDING, State.WARN, State.PASS):
        learning = track.t0 is None and track.error is not None and track.error.reason is Reason.WARMING_UP
        state, since = State.LEARNING if learning else State.UNKNOWN, silent_at
    told = track.latest or track.error
    early_broken = state is State.PENDING and track.t0 is not None
    return Verdict(
        state=state,
        since=since,
        t0=None if early_broken else track.t0,
        failed_at=track.failed_at,
        outcome=track.latest.outcome if track.latest else None,
        run_id=told.run_id if told else None,
        measured_at=told.measured_at if told else None,
        value=track.latest.value if track.latest else None,
        excess=track.latest.excess if track.latest else None,
        reason=track.error.reason if track.error else None,
        early_broken=early_broken,
        ever_broken=track.ever_broken,
        ever_failed=track.ever_failed,
        next_change_at=_next_change(early_broken, terms.due_at, silent_at, now),
    )


def _known(track: Track, terms: SustainTerms, now: datetime) -> tuple[State, datetime | None]:
    """The state by what was seen, as if no silence were too long."""
    if track.failed_at is not None:
        return State.FAIL, track.failed_at
    if track.t0 is not None:
        return (State.PENDING, None) if now < terms.due_at else (State.WARN, track.t0)
    if track.latest is not None:
        return State.PASS, track.held_since
    if track.error is not None and track.error.reason is Reason.WARMING_UP:
        return State.LEARNING, track.erring_since
    return State.PENDING, None


def _unknown_at(track: Track, terms: SustainTerms) -> datetime | None:
    """When the standing becomes UNKNOWN if nothing more holds or breaks; None for never."""
    if track.failed_at is not None:
        return None
    if track.latest is None:
        learning = track.error is not None and track.error.reason is Reason.WARMING_UP
        return None if learning else terms.due_at + terms.unknown_after
    if track.t0 is None:
        last = terms.last_due_at
        missed = last + terms.unknown_after if last is not None and track.latest.measured_at < last else None
        return min((at for at in (missed, _doubted_at(track, terms)) if at is not None), default=None)
    if track.latest.measured_at < terms.due_at:  # broken early: the due run itself has given nothing yet
        return terms.due_at + terms.unknown_after
    sustained_at = track.t0 + terms.sustain
    silent_at = sustained_at + terms.unknown_after  # the check at t0 + sustain is a due run too
    return silent_at if track.erring_since is None else min(silent_at, max(sustained_at, track.erring_since))


def _casts_doubt(track: Track, result: SeenRun) -> bool:
    """Whether an error says that nobody knows any more whether what held still holds."""
    return result.of_change and track.held_since is not None and result.reason is not Reason.WARMING_UP


def _doubted_at(track: Track, terms: SustainTerms) -> datetime | None:
    """At once where the changed data cannot be judged as it is; a hiccup of the engine has the time of any due run."""
    if track.doubted_since is None or track.error is None:
        return None
    return track.doubted_since + (terms.unknown_after if track.error.reason in TRANSIENT else timedelta(0))


def _next_change(early_broken: bool, due_at: datetime, silent_at: datetime | None, now: datetime) -> datetime | None:
    candidates = [due_at] if early_broken else []
    candidates += [silent_at] if silent_at is not None else []
    return min((at for at in candidates if at > now), default=None)


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
            failed.update(_failed_in(list(streak), sustain))
    return failed


def _failed_in(streak: Sequence[FirstRun], sustain: timedelta) -> Mapping[Window, datetime]:
    ripe = next((i for i, run in enumerate(streak) if run.due_at - streak[0].due_at >= sustain), None)
    if ripe is None:
        return {}
    sustained_at = max(run.measured_at for run in streak[: ripe + 1])
    fails = {run.window: max(sustained_at, run.measured_at) for run in streak}
    return {run.window: fails[run.window] for run in streak if run.held_at is None or run.held_at > fails[run.window]}


def with_streak(verdict: Verdict, failed_at: datetime | None) -> Verdict:
    """The standing with what its streak adds: FAIL from ``failed_at`` until the window holds, over errors too."""
    if failed_at is None:
        return verdict
    if verdict.t0 is None or verdict.t0 > failed_at:  # it held since, so the streak is history
        return replace(verdict, ever_failed=True)
    earliest = min(failed_at, verdict.failed_at or failed_at)
    return replace(verdict, state=State.FAIL, since=earliest, failed_at=earliest, ever_failed=True, next_change_at=None)
