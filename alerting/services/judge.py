"""Judge the runs that have been evaluated, and the windows that time alone or silence has changed."""

from datetime import datetime

from alerting.evidence import evidence, runs_of
from alerting.models import Standing
from alerting.services.checks import engine_answers
from alerting.services.standings import create, judge_window, locked, refold
from alerting.services.streaks import restreak
from assay.models import DataTest
from assay.queue import finish
from execution_engine.models import Run, RunReason
from execution_engine.services import request_run


def judge_run(run: Run, now: datetime) -> None:
    """Bring the standing of a run's window up to date; a backtest enters none."""
    test = _live(run.data_test_id)
    if test is not None and run.reason != RunReason.BACKTEST:
        _judge(run, test, now)
    finish(run, judged_at=now)


def adopt_run(run: Run, now: datetime) -> None:
    """Give the window of a due run that has told nothing its standing, so that its silence shows."""
    test = _live(run.data_test_id)
    if test is not None:
        standing = locked(test, run.window) or create(test, run.window, due=run.due_at, now=now)
        refold(standing, test, evidence(runs_of(test, standing.window)), now)
    finish(run, late_at=None)


def age_standing(standing: Standing, now: datetime) -> None:
    """Judge a window again because time alone changes it; the end of a waiver has it checked at once."""
    test = _live(standing.data_test_id)
    if test is None:
        finish(standing, next_age_at=None)
        return
    row = Standing.objects.select_for_update().select_related("waiver").get(pk=standing.pk)
    row.next_age_at = None
    refold(row, test, evidence(runs_of(test, row.window)), now)
    ended = row.waiver is not None and row.waiver.ends_at is not None and row.waiver.ends_at <= now
    finish(standing, next_age_at=row.next_age_at, next_check_at=now if ended else row.next_check_at)


def _live(test_id: int) -> DataTest | None:
    tests = DataTest.objects.filter(retired_at__isnull=True, revision__isnull=False)
    return tests.select_related("dataset", "revision").filter(pk=test_id).first()


def _judge(run: Run, test: DataTest, now: datetime) -> None:
    if run.revision_id != test.revision_id:
        _ask_again(run, test, now)
        return
    standing = judge_window(test, run.window, now)
    if standing is not None:
        for neighbour in restreak(standing, test):
            refold(neighbour, test, evidence(runs_of(test, neighbour.window)), now)
    engine_answers(run, test, now)


def _ask_again(run: Run, test: DataTest, now: datetime) -> None:
    """A scheduled run that a newer revision overtook is made up for under that revision."""
    assert test.revision is not None
    if run.reason == RunReason.SCHEDULE:
        request_run(
            data_test=test,
            window=run.window,
            reason=RunReason.REVISION,
            occasion=f"r{test.revision.number}",
            now=now,
        )
