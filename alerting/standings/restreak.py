"""Streaks: which windows near a judged one now FAIL because window after window began broken."""

from collections import defaultdict
from collections.abc import Iterable

from alerting.models import Standing
from alerting.verdicts.evidence import evaluated, seen
from alerting.verdicts.streak import FirstRun, first_run, streak_fails
from alerting.verdicts.sustain import SeenRun
from assay.models import DataTest, Scope
from assay.time.windows import Window
from execution_engine.outcome import Outcome
from execution_engine.selectors import period


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
