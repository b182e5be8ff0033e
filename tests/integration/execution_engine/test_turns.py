"""Which scan begins next: what is current before what an outage left, and the critical ones first; and no more at once
for one owner, dataset or engine than agreed.
"""

from datetime import timedelta

import pytest

from assay import clock
from assay.models import Dataset, DataTest
from assay.queue.claims import claim
from assay.queue.flow import stage
from execution_engine import tasks
from execution_engine.models import Scan
from execution_engine.scans.run_scan import may_begin
from tests.factories import DAY, NOW, DatasetFactory, DataTestFactory, day
from tests.integration.execution_engine.conftest import Loop
from tests.integration.execution_engine.test_schedule import scheduled

MONDAY, SUNDAY, SATURDAY = day("2026-03-09"), day("2026-03-08"), day("2026-03-07")


def order(loop: Loop, dataset: Dataset) -> None:
    """Scans of three days of a dataset."""
    test = DataTestFactory.create(dataset=dataset)
    for window in (SATURDAY, SUNDAY, MONDAY):
        loop.request(test, window)


def begin(**bounds: int) -> list[str]:
    """The datasets of the scans that begin, each beside those before it."""
    return [name for name, _ in begin_over(**bounds)]


def begin_over(**bounds: int) -> list[tuple[str, str]]:
    """The same, each with the day that it reads."""
    begun: list[tuple[str, str]] = []
    while claimed := claim(stage("scan"), now=NOW, limit=1, may=may_begin("sea", bounds)):
        begun += [(row.dataset.name, f"{row.window_start:%m-%d}") for row in claimed]
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


@pytest.fixture
def after_an_outage(loop: Loop) -> DataTest:
    """Two tables three days behind, all of it planned; the test of the less critical one."""
    _, late = [scheduled(DatasetFactory.create(name=name, tier=tier)) for name, tier in (("riders", 0), ("fares", 3))]
    loop.at(NOW + 3 * DAY)
    tasks.schedule()
    tasks.plan()
    return late


@pytest.mark.usefixtures("after_an_outage")
def test_what_an_outage_left_begins_after_all_that_is_current() -> None:
    current, left = ["03-12"], ["03-10", "03-11"]
    assert begin_over() == [(name, each) for days in (current, left) for name in ("riders", "fares") for each in days]


def test_what_somebody_wants_now_does_not_wait_among_what_an_outage_left(loop: Loop, after_an_outage: DataTest) -> None:
    loop.request(after_an_outage, day("2026-03-10"))
    tasks.plan()
    assert begin_over()[:4] == [("riders", "03-12"), ("fares", "03-12"), ("fares", "03-10"), ("riders", "03-10")]


@pytest.mark.usefixtures("ordered")
@pytest.mark.parametrize(
    ("bounds", "begun"),
    [
        ({"dataset_id": 1}, "riders trips fares"),
        ({"owner": 2}, "riders riders trips trips"),
        ({"engine": 4}, "riders riders riders trips"),
    ],
    ids=str,
)
def test_no_more_scans_of_one_kind_begin_at_once_than_agreed(bounds: dict[str, int], begun: str) -> None:
    assert begin(**bounds) == begun.split()


@pytest.mark.usefixtures("ordered")
def test_what_has_ended_or_lost_its_worker_makes_room() -> None:
    begin(dataset_id=1)
    Scan.objects.filter(dataset__name="riders").update(lease_until=clock.database_now() - timedelta(seconds=1))
    assert begin(dataset_id=1) == ["riders"]
