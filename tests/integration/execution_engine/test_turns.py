"""Which scan begins next: the critical ones first, and no more at once for one owner, dataset or engine than agreed."""

from datetime import timedelta

import pytest

from assay import clock
from assay.flow import stage
from assay.models import Dataset
from assay.queue import claim
from execution_engine import tasks
from execution_engine.models import Scan
from execution_engine.services.turns import may_begin
from tests.factories import NOW, DatasetFactory, DataTestFactory, day
from tests.integration.execution_engine.conftest import Loop

MONDAY, SUNDAY, SATURDAY = day("2026-03-09"), day("2026-03-08"), day("2026-03-07")


def order(loop: Loop, dataset: Dataset) -> None:
    """Scans of three days of a dataset."""
    test = DataTestFactory.create(dataset=dataset)
    for window in (SATURDAY, SUNDAY, MONDAY):
        loop.request(test, window)


def begin(**bounds: int) -> list[str]:
    """The datasets of the scans that begin, each beside those before it."""
    begun: list[str] = []
    while claimed := claim(stage("scan"), now=NOW, limit=1, may=may_begin("sea", bounds)):
        begun += [row.dataset.name for row in claimed]
    return begun


@pytest.fixture
def ordered(loop: Loop) -> None:
    """Three scans each of two tables of ada's and one, the most critical, of grace's."""
    for name, owner, tier in (("fares", "ada", 3), ("trips", "ada", 2), ("riders", "grace", 0)):
        order(loop, DatasetFactory.create(name=name, owner=owner, tier=tier))
    tasks.plan()


@pytest.mark.usefixtures("ordered")
def test_the_most_critical_begins_first() -> None:
    assert begin() == ["riders"] * 3 + ["trips"] * 3 + ["fares"] * 3


@pytest.mark.usefixtures("ordered")
def test_a_dataset_has_no_more_scans_at_once_than_agreed() -> None:
    assert begin(dataset_id=1) == ["riders", "trips", "fares"]


@pytest.mark.usefixtures("ordered")
def test_an_owner_leaves_room_for_the_others() -> None:
    assert begin(owner=2) == ["riders", "riders", "trips", "trips"]


@pytest.mark.usefixtures("ordered")
def test_an_engine_takes_no_more_at_once_than_agreed() -> None:
    assert len(begin(engine=4)) == 4


@pytest.mark.usefixtures("ordered")
def test_what_has_ended_or_lost_its_worker_makes_room() -> None:
    begin(dataset_id=1)
    Scan.objects.filter(dataset__name="riders").update(lease_until=clock.database_now() - timedelta(seconds=1))
    assert begin(dataset_id=1) == ["riders"]
