"""A replay asks the database no more for a look than it needs, however many hours it takes."""

from datetime import datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assay import clock
from assay.queue.drain import advance, drain
from execution_engine.models import Run, Watch
from tests.factories import DAY, HOUR, NOW, DatasetFactory, day
from tests.integration.execution_engine.conftest import Loop
from tests.integration.execution_engine.test_schedule import scheduled

# Setting the clock; the rows claimed; the tables and where they lie; what was seen; which stages have work, and when.
LOOK = 14 if connection.vendor == "sqlite" else 15  # a server is asked what time it is, and reads what it leases


@pytest.fixture
def _watched(loop: Loop) -> None:
    dataset = DatasetFactory.create()
    window = day("2026-03-09")
    Watch.objects.create(
        dataset=dataset,
        datacenter="sea",
        window_start=window.start,
        window_end=window.end,
        seen_at=NOW,
        next_look_at=NOW + HOUR,
    )


def asked_until(instant: datetime) -> list[str]:
    with CaptureQueriesContext(connection) as asked:
        advance(instant)
    return [each["sql"] for each in asked]


@pytest.mark.usefixtures("_watched")
def test_an_hour_with_a_look_takes_the_same_few_statements_each_time() -> None:
    advance(NOW + HOUR)
    few, many = asked_until(NOW + 3 * HOUR), asked_until(NOW + 23 * HOUR)
    assert len(many) - len(few) == 18 * LOOK
    assert Watch.objects.get().seen_at == NOW + 23 * HOUR


def test_a_due_run_comes_to_its_verdict_before_it_is_asked_again_what_has_work(loop: Loop) -> None:
    data_test = scheduled(DatasetFactory.create())
    due = data_test.next_due_at
    assert due is not None
    loop.at(due - HOUR)
    drain()
    loop.at(due)
    with CaptureQueriesContext(connection) as asked:
        drain()
    assert Run.objects.get().judged_at == due
    assert len([each for each in asked if each["sql"].startswith("SELECT EXISTS")]) == 2  # at last there is nothing


@pytest.mark.usefixtures("_watched")
def test_a_replay_does_not_ask_for_the_time_that_it_has_set() -> None:
    told = [sql for sql in asked_until(NOW + DAY) if "simulatedclock" in sql and sql.startswith("SELECT")]
    assert len(told) == 1  # where it stands at the beginning
    assert clock.now() == NOW + DAY


@pytest.mark.usefixtures("_watched")
def test_in_a_replay_only_a_clock_that_is_set_back_is_looked_for() -> None:
    advance(NOW + HOUR)
    Watch.objects.update(next_look_at=NOW + 2 * HOUR)
    assert not [sql for sql in asked_until(NOW + 9 * HOUR) if sql.startswith("UPDATE") and "reconcile_at" in sql]
    Watch.objects.update(next_look_at=NOW + 20 * DAY)
    clock.simulate(NOW)
    advance(NOW)
    assert Watch.objects.get().next_look_at == NOW + DAY
