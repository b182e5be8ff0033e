"""Run windows in trouble again until they are right, waived or gone."""

from datetime import datetime, timedelta

from alerting.models import Standing
from alerting.services import after_check, is_checked, last_cost, withdraw
from alerting.standing import State
from assay.models import Scope
from assay.queue import finish
from execution_engine.models import RunReason
from execution_engine.outcome import Reason
from execution_engine.services import request_run


def check_standing(standing: Standing, now: datetime) -> None:
    """Request the next run of a window in trouble, and note when the one after is due."""
    row = Standing.objects.select_related("data_test__dataset", "data_test__revision", "waiver").get(pk=standing.pk)
    if not _is_wanted(row, now):
        finish(standing, next_check_at=None, attempt=0)
        return
    run = request_run(
        data_test=row.data_test,
        window=row.window,
        reason=RunReason.CHECK,
        occasion=f"{row.attempt}:{row.next_check_at:%Y%m%dT%H%M%S.%f}",
        now=now,
    )
    if run is None:  # beyond retention, or retired: nobody will ever know
        withdraw(row, row.data_test, now)
        finish(standing, next_check_at=None, next_age_at=None, attempt=0)
        return
    finish(standing, next_check_at=_next(row, now), attempt=row.attempt + 1)


def _is_wanted(row: Standing, now: datetime) -> bool:
    if row.waiver is not None and (row.waiver.ends_at is None or row.waiver.ends_at > now):
        return False
    return is_checked(State(row.state), Reason(row.error_reason) if row.error_reason else None)


def _next(row: Standing, now: datetime) -> datetime:
    cost = last_cost(row) if row.data_test.scope == Scope.TABLE else timedelta()
    t0 = row.broken_since or row.due_at
    return after_check(row, row.data_test, attempt=row.attempt + 1, t0=t0, now=now, cost=cost)
