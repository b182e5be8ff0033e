from datetime import UTC, datetime, timedelta

import pytest

from assay.models import Dataset
from assay.queue.claims import pending
from assay.queue.drain import next_due, stages_with_work
from assay.queue.flow import STAGES
from tests.factories import DatasetFactory

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


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
