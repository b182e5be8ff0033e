"""Judge the runs that have been evaluated, and the windows that time alone or silence has changed."""

from collections.abc import Collection, Sequence
from datetime import datetime

from alerting.emissions.emit import note_judged
from alerting.models import Standing
from alerting.verdicts.evidence import evidence_of
from assay.database.prepared import rows_of
from assay.models import DataTest
from assay.queue.claims import finish, finish_all
from assay.time.windows import Window
from execution_engine.models import Run, RunReason
from execution_engine.services import request_run

from .never_broken import judge_sound
from .next_check import engine_answers, is_waited_for
from .refold import create, judge_window, locked, refold
from .restreak import restreak


def judge_runs(runs: Sequence[Run], now: datetime) -> None:
    """Bring the standings of the runs' windows up to date; a backtest enters none."""
    tests = _live_tests({run.data_test_id for run in runs})
    entering = [run for run in runs if run.data_test_id in tests and run.reason != RunReason.BACKTEST]
    newest = [run for run in entering if run.revision_id == tests[run.data_test_id].revision_id]
    for run in entering:
        if run not in newest:
            _ask_again(run, tests[run.data_test_id], now)
    windows = list(dict.fromkeys((tests[run.data_test_id], run.window) for run in newest))
    for test, window in judge_sound(windows, now):
        _judge(test, window, now)
    if newest and is_waited_for():
        for run in newest:
            engine_answers(run, tests[run.data_test_id], now)
    for run in runs:
        run.judged_at = now
    finish_all(runs, "judged_at")
    note_judged(entering, now)


def adopt_run(run: Run, now: datetime) -> None:
    """Give the window of a due run that has told nothing its standing, so that its silence shows."""
    test = _live(run.data_test_id)
    if test is not None:
        standing = locked(test, run.window) or create(test, run.window, due=run.due_at, now=now)
        refold(standing, test, evidence_of(test, standing.window), now)
    finish(run, late_at=None)


def age_standing(standing: Standing, now: datetime) -> None:
    """Judge a window again because time alone changes it; the end of a waiver has it checked at once."""
    test = _live(standing.data_test_id)
    if test is None:
        finish(standing, next_age_at=None)
        return
    row = Standing.objects.select_for_update().select_related("waiver").get(pk=standing.pk)
    row.next_age_at = None
    refold(row, test, evidence_of(test, row.window), now)
    ended = row.waiver is not None and row.waiver.ends_at is not None and row.waiver.ends_at <= now
    finish(standing, next_age_at=row.next_age_at, next_check_at=now if ended else row.next_check_at)


def _live(test_id: int) -> DataTest | None:
    return _live_tests({test_id}).get(test_id)


def _live_tests(ids: Collection[int]) -> dict[int, DataTest]:
    tests = rows_of(DataTest, ids, related=("dataset", "revision"))
    return {test.pk: test for test in tests if test.retired_at is None and test.revision is not None}


def _judge(test: DataTest, window: Window, now: datetime) -> None:
    """One window, with those near it that its streak changes."""
    standing = judge_window(test, window, now)
    if standing is not None:
        for neighbour in restreak(standing, test):
            refold(neighbour, test, evidence_of(test, neighbour.window), now)


def _ask_again(run: Run, test: DataTest, now: datetime) -> None:
    """Make up for a run that a newer revision overtook, whoever asked for it: its window is judged by that revision."""
    assert test.revision is not None
    request_run(
        data_test=test,
        window=run.window,
        reason=RunReason.REVISION,
        occasion=f"r{test.revision.number}",
        now=now,
    )
