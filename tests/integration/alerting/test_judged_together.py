"""Runs that are judged in one transaction leave what they would have left one by one."""

from random import Random
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from alerting import tasks
from alerting.models import Flip, Standing
from assay import clock
from assay.models import DataTest
from assay.time.windows import Window
from execution_engine.models import Run
from execution_engine.outcome import Reason
from tests.factories import HOUR, RunFactory, day
from tests.integration.story import advance, due, new_table, new_test, start

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
HOURS = [Window(start=MONDAY.start + n * HOUR, end=MONDAY.start + (n + 1) * HOUR) for n in range(4)]
OUTCOMES = ("held", "held", "held", "broken", "error")
ERRORS = (Reason.TIMEOUT, Reason.QUERY_FAILED)


def story(seed: int) -> list[Any]:
    """Where the standings of three tests stand after random results of four hours, and every flip on the way."""
    random = Random(seed)
    with transaction.atomic():
        tests = [new_test(dataset=new_table(granularity="hour"), sustain=2 * HOUR) for _ in range(3)]
        start(due(HOURS[0]))
        for _ in range(4):
            for _ in range(random.randrange(1, 9)):
                tell(random.choice(tests), random)
            advance(clock.now() + HOUR)
        found = [outcome_of(test) for test in tests]
        transaction.set_rollback(True)
    return found


def tell(test: DataTest, random: Random) -> None:
    """A result that nobody has judged yet."""
    now, outcome, window = clock.now(), random.choice(OUTCOMES), random.choice(HOURS)
    RunFactory.create(
        data_test=test,
        reason="check",
        window_start=window.start,
        window_end=window.end,
        requested_at=now,
        judged_at=None,
        outcome=outcome,
        error_reason=random.choice(ERRORS).value if outcome == "error" else "",
    )


def outcome_of(test: DataTest) -> Any:
    columns = ("window_key", "state", "since", "due_at", "broken_since", "streak_at", "last_outcome", "error_reason")
    standings = Standing.objects.filter(data_test=test).order_by("window_key")
    flips = Flip.objects.filter(data_test=test).order_by("at", "window_start", "old", "new")
    return (
        list(standings.values_list(*columns, "next_age_at", "attempt")),
        list(flips.values_list("window_start", "old", "new", "at", "handled_at")),
    )


@pytest.mark.parametrize("seed", range(8))
def test_any_story_ends_as_it_does_one_by_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    together = story(seed)
    monkeypatch.setattr("assay.queue.claims.TOGETHER", 1)
    assert story(seed) == together


def test_many_sound_runs_take_fewer_statements_than_there_are_runs() -> None:
    table = new_table(granularity="hour")
    start(due(HOURS[0]))
    for test in [new_test(dataset=table) for _ in range(40)]:
        RunFactory.create(data_test=test, window_start=HOURS[0].start, window_end=HOURS[0].end, judged_at=None)
    with CaptureQueriesContext(connection) as seen:
        assert tasks.judge() == 40
    assert Standing.objects.filter(state="PASS").count() == 40
    assert not Run.objects.filter(judged_at__isnull=True).exists()
    assert len(seen) < 40
