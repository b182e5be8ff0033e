"""What waits in each stage: how much, since when, what is tried in vain, and when the next is due."""

from datetime import datetime, timedelta

import pytest

from assay import clock
from assay.models import Dataset
from assay.queue.claims import claim, pending, table
from assay.queue.drain import Backlog, TriedRow, backlogs, next_due, stages_with_work, worst_rows
from assay.queue.flow import STAGES, stage
from tests.factories import HOUR, NOW, DatasetFactory, RunFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def noon() -> None:
    """The clock."""
    clock.simulate(NOW)


def of(name: str) -> Backlog:
    """One stage's backlog."""
    return next(each for each in backlogs() if each.stage == name)


def end_leases() -> None:
    """Let every lease have run out."""
    Dataset.objects.update(lease_until=clock.database_now() - HOUR)


def test_a_backlog_is_as_old_as_the_row_that_waits_longest() -> None:
    for hours in (1, 3, 2):
        DatasetFactory.create(reconcile_at=NOW - hours * HOUR)
    DatasetFactory.create(reconcile_at=NOW + HOUR)
    found = of("reconcile")
    assert (found.waiting, found.failing, found.age(NOW)) == (3, 0, 3 * HOUR)


def test_where_nothing_waits_nothing_is_old() -> None:
    assert {each.age(NOW) for each in backlogs()} == {timedelta(0)}
    assert [each.stage for each in backlogs()] == [stage.name for stage in STAGES]


def test_a_row_waits_from_the_end_of_the_stage_before() -> None:
    RunFactory.create(judged_at=None, requested_at=NOW - 9 * HOUR, evaluated_at=NOW - 2 * HOUR)
    assert of("judge").age(NOW) == 2 * HOUR


def test_every_stage_says_since_when_its_rows_wait() -> None:
    for each in STAGES:
        assert table(each)._meta.get_field(each.waits_since).get_internal_type() == "DateTimeField"


def test_a_row_that_is_tried_for_the_first_time_does_not_wait() -> None:
    DatasetFactory.create(reconcile_at=NOW - HOUR)
    claim(stage("reconcile"), now=NOW, limit=1)
    assert (of("reconcile").waiting, of("reconcile").age(NOW)) == (1, timedelta(0))


def test_a_row_that_is_tried_again_and_again_waits_even_while_it_is_tried() -> None:
    DatasetFactory.create(reconcile_at=NOW - HOUR)
    claim(stage("reconcile"), now=NOW, limit=1)
    end_leases()
    claim(stage("reconcile"), now=NOW, limit=1)
    assert (of("reconcile").failing, of("reconcile").age(NOW)) == (1, HOUR)


def test_the_worst_rows_were_tried_most_often() -> None:
    for attempts in (2, 5, 1, 9):
        DatasetFactory.create(reconcile_at=NOW, attempts=attempts)
    keys = dict(Dataset.objects.values_list("attempts", "pk"))
    assert worst_rows(2) == [TriedRow(stage="reconcile", id=keys[n], attempts=n) for n in (9, 5)]


def names(now: datetime) -> list[str]:
    return [each.name for each in stages_with_work(now)]


def test_a_stage_has_work_from_the_instant_on_at_which_a_row_is_due() -> None:
    DatasetFactory.create(reconcile_at=NOW)
    assert [names(NOW - HOUR), names(NOW), names(NOW + HOUR)] == [[], ["reconcile"], ["reconcile"]]


def test_the_stages_with_work_are_those_that_have_pending_rows() -> None:
    DatasetFactory.create(reconcile_at=NOW)
    assert names(NOW) == [each.name for each in STAGES if pending(each, NOW).exists()]


def test_the_next_due_instant_is_the_least_that_is_still_to_come() -> None:
    for hours in (-1, 0, 2, 3):
        DatasetFactory.create(reconcile_at=NOW + hours * HOUR + timedelta(microseconds=1))
    found = next_due(NOW)
    assert found == NOW + timedelta(microseconds=1)
    assert next_due(found) == NOW + 2 * HOUR + timedelta(microseconds=1)


def test_nothing_is_due_where_nothing_waits() -> None:
    DatasetFactory.create(reconcile_at=None)
    assert (names(NOW), next_due(NOW), Dataset.objects.count()) == ([], None, 1)
