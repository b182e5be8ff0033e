"""Changes of many partitions: refused where they name too much, else followed piece by piece."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assay import clock
from assay.catalog.services import record_completion
from assay.models import DataChange, Dataset
from assay.time.windows import Window
from execution_engine.models import Run
from incident_manager import tasks
from tests.factories import DAY, NOW, DatasetFactory, DataTestFactory

pytestmark = pytest.mark.django_db


def days(count: int) -> Window:
    """The last so many days that have ended."""
    end = NOW.replace(hour=0)
    return Window(start=end - count * DAY, end=end)


def completed(dataset: Dataset, window: Window) -> DataChange:
    clock.simulate(NOW)
    return record_completion(dataset=dataset, datacenter="sea", window=window, pipeline="nightly", now=NOW)


def starts() -> list[datetime]:
    return sorted(Run.objects.values_list("window_start", flat=True))


@pytest.fixture
def trips() -> Dataset:
    """A daily table with one test."""
    test = DataTestFactory.create(dataset=DatasetFactory.create(name="trips"))
    return test.dataset


def test_a_long_change_is_followed_to_its_end_in_few_statements(trips: Dataset) -> None:
    window = days(1000)
    change = completed(trips, window)
    with CaptureQueriesContext(connection) as asked:
        tasks.follow()
    change.refresh_from_db()
    assert starts() == [window.start + number * DAY for number in range(1000)]
    assert change.followed_at == NOW
    assert len(asked) < 300


def test_only_partitions_that_can_be_there_are_tested() -> None:
    young = DatasetFactory.create(name="young", first_partition="2026-02-01")
    short = DatasetFactory.create(name="short", retention=timedelta(days=10))
    for dataset in (young, short):
        completed(DataTestFactory.create(dataset=dataset).dataset, days(3000))
    tasks.follow()
    of = {name: Run.objects.filter(data_test__dataset__name=name) for name in ("young", "short")}
    assert (of["young"].count(), of["short"].count()) == (37, 10)


@pytest.mark.parametrize(("start", "end"), [(1900, 2100), (1, 9999), (1, 3), (9990, 9999)])
def test_a_change_from_before_that_rule_ends_and_holds_nobody_up(trips: Dataset, start: int, end: int) -> None:
    trips.retention = timedelta(days=30)
    trips.save()
    window = Window(start=datetime(start, 1, 1, tzinfo=UTC), end=datetime(end, 12, 31, tzinfo=UTC))
    clock.simulate(NOW)
    change = DataChange.objects.create(
        dataset=trips, datacenter="sea", kind="completed", window_start=window.start, window_end=window.end, at=NOW
    )
    with CaptureQueriesContext(connection) as asked:
        for _ in range(100):
            tasks.follow()
    change.refresh_from_db()
    assert change.followed_at is not None
    assert len(asked) < 20_000
    assert all(first >= NOW - timedelta(days=31) for first in starts())
