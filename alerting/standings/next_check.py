"""When a window in trouble is checked: set when its trouble begins, moved on by each check."""

from datetime import datetime, timedelta
from typing import Any

from alerting.models import Standing
from alerting.state import BROKEN, State
from alerting.verdicts.backoff import CheckKey, next_check
from alerting.verdicts.sustain import Verdict
from assay.models import DataTest
from execution_engine.models import Run, Scan
from execution_engine.outcome import TRANSIENT, Outcome, Reason


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
