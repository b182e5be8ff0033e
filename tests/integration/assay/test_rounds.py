"""What comes round by time: each stage has one row, which begins and goes on as its cadence has it."""

import pytest

from assay import clock
from assay.models import Round
from assay.queue.claims import claim
from assay.queue.drain import backlogs, bring_back, next_due, stages_with_work
from assay.queue.flow import stage
from assay.scheduler.beat import begin_rounds
from tests.factories import DAY, HOUR, NOW

pytestmark = pytest.mark.django_db

SIX = NOW.replace(hour=6) + DAY  # the next time of the digests
SECOND = HOUR / 3600


def test_a_round_begins_once_when_its_cadence_has_it() -> None:
    for hours in (0, 1):
        begin_rounds(NOW + hours * HOUR)
    assert {"digest": SIX, "prune": NOW + DAY}.items() <= dict(Round.objects.values_list("name", "due_at")).items()


def test_a_stage_has_its_own_round_alone() -> None:
    clock.simulate(NOW)
    digests = Round.objects.create(name="digest", due_at=NOW)
    Round.objects.create(name="prune", due_at=NOW + HOUR)
    assert [each.name for each in stages_with_work(NOW)] == ["digest"]
    assert [each.stage for each in backlogs() if each.waiting] == ["digest"]
    assert next_due(NOW) == NOW + HOUR
    assert claim(stage("prune"), now=NOW, limit=9) == []
    assert claim(stage("digest"), now=NOW + DAY, limit=9) == [digests]


def test_a_round_that_a_clock_put_off_comes_when_its_cadence_has_it() -> None:
    row = Round.objects.create(name="digest", due_at=NOW + 366 * DAY)
    bring_back(NOW)
    row.refresh_from_db()
    assert row.due_at == SIX


def test_a_round_that_a_host_has_worked_whose_clock_is_a_little_ahead_is_not_brought_back() -> None:
    row = Round.objects.create(name="digest", due_at=SIX + DAY)
    bring_back(SIX - SECOND)
    row.refresh_from_db()
    assert row.due_at == SIX + DAY
