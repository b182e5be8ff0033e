"""When rows that have had their time are looked for, and by whom."""

import pytest

from alerting.models import Standing
from assay.config import config
from assay.models import DataTest, Pruning
from assay.queue.claims import claim
from assay.queue.flow import stage
from assay.time.windows import Window
from execution_engine.models import Run
from incident_manager.retention import prune
from tests.factories import (
    DAY,
    NOW,
    day,
)
from tests.integration.incident_manager.old_rows import OLD, judged, measured

pytestmark = pytest.mark.usefixtures("a_week")

NOTHING_SEEN = {"states": 0, "whole_profiles": 0, "profiles": 0}


def test_the_next_pass_comes_a_day_later(custom: DataTest) -> None:
    prune()
    assert prune() == 0
    row = Pruning.objects.get()
    assert (row.due_at, row.ended_at, row.table, row.cursors) == (NOW + DAY, NOW, "", NOTHING_SEEN)


def test_a_state_is_looked_at_once(custom: DataTest) -> None:
    row = measured(custom.dataset, day("2026-03-05"), state=b"large")
    prune()
    assert Pruning.objects.get().cursors == {**NOTHING_SEEN, "states": row.pk}


def test_no_days_keep_everything(custom: DataTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config(), "run_retention", 0)
    monkeypatch.setattr(config(), "state_retention", 0)
    judged(custom, OLD), prune()
    assert (Run.objects.count(), Standing.objects.count()) == (1, 1)


def test_a_pass_goes_on_where_the_time_was_up(custom: DataTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incident_manager.retention.CHUNK", 3)
    monkeypatch.setattr("incident_manager.retention.AT_A_TIME", 0.02)
    for number in range(30):
        judged(custom, Window(start=OLD.start - number * DAY, end=OLD.end - number * DAY))
    turns = 0
    while prune():
        turns += 1
    assert (turns > 1, Run.objects.count(), Standing.objects.count()) == (True, 0, 0)
    assert Pruning.objects.get().removed["runs"] == 30


def test_a_pass_whose_lease_was_lost_is_another_workers(custom: DataTest, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(custom, OLD)
    monkeypatch.setattr("incident_manager.retention.extend", lambda row: False)
    prune()
    assert Pruning.objects.get().due_at == NOW  # not finished: the other will


def test_a_lease_keeps_two_workers_from_one_pass() -> None:
    assert len(claim(stage("prune"), now=NOW, limit=1)) == 1
    assert prune() == 0
