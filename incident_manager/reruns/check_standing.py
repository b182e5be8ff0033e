"""Run windows in trouble again until they are right, waived or gone."""

from datetime import datetime, timedelta

from alerting.models import Standing
from alerting.services import after_check, is_checked, last_cost, withdraw
from alerting.state import State
from alerting.verdicts.evidence import waived_parts
from assay.database.prepared import rows_of
from assay.models import Scope
from assay.queue.claims import finish
from execution_engine.models import RunReason
from execution_engine.outcome import Reason
from execution_engine.services import is_live, request_run, request_runs

RELATED = ("data_test__dataset", "data_test__revision", "waiver", "last_run")
MOST_COUNTED_ANEW = 20  # windows with one check of their whole table, those first that were counted longest ago


def check_standing(standing: Standing, now: datetime) -> None:
    """Request the next run of a window in trouble, and note when the one after is due."""
    (row,) = rows_of(Standing, [standing.pk], related=RELATED)
    if not _is_wanted(row, now):
        finish(standing, next_check_at=None, attempt=0)
        return
    occasion = f"{row.attempt}:{row.next_check_at:%Y%m%dT%H%M%S.%f}"
    is_to_run = is_live(row.data_test) and not _is_range(row)
    wanted = [(row.data_test, row.window, now)] if is_to_run else []
    if not request_runs(
        wanted, reason=RunReason.CHECK, occasion=occasion, now=now
    ):  # beyond retention, retired, or many partitions as one: nobody will ever know
        withdraw(row, row.data_test, now)
        finish(standing, next_check_at=None, next_age_at=None, attempt=0)
        return
    if row.data_test.scope == Scope.TABLE:
        _count_waived_anew(row, now)
    cost = last_cost(row) if row.data_test.scope == Scope.TABLE else timedelta()
    t0 = row.broken_since or row.due_at
    finish(
        standing,
        next_check_at=after_check(row, row.data_test, attempt=row.attempt + 1, t0=t0, now=now, cost=cost),
        attempt=row.attempt + 1,
    )


def _is_range(row: Standing) -> bool:
    """Whether a test of a partition was once run over many as one: each of them is judged by itself now."""
    partitioning = row.data_test.dataset.partitioning
    if row.data_test.scope == Scope.TABLE or partitioning is None:
        return False
    return len(partitioning.between(row.window.start, row.window.end, 2)) > 1


def _count_waived_anew(row: Standing, now: datetime) -> None:
    """Count the waived windows that a whole table was last held to without, where that was counted before it was.

    Rows that were accepted as lost may have come since, and then the whole table has more than is left out of it.
    """
    if row.last_run is None or row.last_run.measured_at is None:
        return
    older = waived_parts(row.data_test).filter(last_run__measured_at__lt=row.last_run.measured_at)
    parts = older.select_related("data_test__dataset", "data_test__revision").order_by("last_run__measured_at", "pk")
    for part in parts[:MOST_COUNTED_ANEW]:
        request_run(
            data_test=part.data_test,
            window=part.window,
            reason=RunReason.CHECK,
            occasion=f"whole:{row.last_run_id}",
            now=now,
        )


def _is_wanted(row: Standing, now: datetime) -> bool:
    if row.waiver is not None and (row.waiver.ends_at is None or row.waiver.ends_at > now):
        return False
    return is_checked(State(row.state), Reason(row.error_reason) if row.error_reason else None)
