"""The streak: a test whose period is shorter than its sustain FAILs when window after window starts broken."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby

from alerting.state import State
from assay.time.windows import Window
from execution_engine.outcome import Outcome

from .sustain import SeenRun, Verdict, in_order


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
