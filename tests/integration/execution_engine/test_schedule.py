from datetime import datetime

import pytest

from assay.models import Dataset, DataTest
from execution_engine import services, tasks
from execution_engine.models import Run
from execution_engine.planning.schedules import Slot
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, day
from tests.integration.execution_engine.conftest import Loop


def cursor(data_test: DataTest, now: datetime) -> Slot:
    assert data_test.revision is not None
    return services.first_cursor(data_test, data_test.revision, now)


def scheduled(dataset: Dataset, **kwargs: object) -> DataTest:
    data_test = DataTestFactory.create(dataset=dataset, **kwargs)
    slot = cursor(data_test, NOW)
    data_test.next_due_at = slot.due_at
    data_test.next_window_start, data_test.next_window_end = slot.window.start, slot.window.end
    data_test.save()
    return data_test


def due_runs() -> list[tuple[str, datetime]]:
    return [(f"{run.window_start:%m-%d}", run.due_at) for run in Run.objects.order_by("window_start")]


def test_the_first_window_is_the_one_that_has_not_ended(loop: Loop, trips: Dataset) -> None:
    scheduled(trips)
    loop.at(NOW + 20 * HOUR)
    tasks.schedule()
    assert due_runs() == [("03-10", day("2026-03-11").start + 6 * HOUR)]


def test_what_is_due_at_one_instant_is_requested_dataset_by_dataset(loop: Loop, trips: Dataset) -> None:
    other = DatasetFactory.create(freshness_sla=trips.freshness_sla)
    for _ in range(3):  # the ids of their tests alternate
        scheduled(trips)
        scheduled(other)
    loop.at(NOW + 20 * HOUR)
    tasks.schedule()
    asked = Run.objects.order_by("pk").values_list("data_test__dataset", flat=True)
    assert list(asked) == [trips.pk] * 3 + [other.pk] * 3


def test_every_window_has_its_run_after_a_short_outage(loop: Loop, trips: Dataset) -> None:
    data_test = scheduled(trips)
    loop.at(NOW + 3 * DAY)
    tasks.schedule()
    assert [key for key, _ in due_runs()] == ["03-10", "03-11", "03-12"]
    data_test.refresh_from_db()
    assert data_test.next_window_start == day("2026-03-13").start


def test_only_the_newest_31_windows_are_made_up_for_after_a_long_one(loop: Loop, trips: Dataset) -> None:
    scheduled(trips)
    loop.at(NOW + 100 * DAY)
    tasks.schedule()
    assert Run.objects.count() == 31
    assert max(run.window_end for run in Run.objects.all()) == day("2026-06-18").start


@pytest.mark.parametrize(("line", "window"), [("30 3 * * *", "03-09"), ("30 7 * * *", "03-10")])
def test_a_cron_line_tests_the_latest_window_that_is_due(loop: Loop, trips: Dataset, line: str, window: str) -> None:
    scheduled(trips, schedule=line)
    loop.at(NOW + 20 * HOUR)
    tasks.schedule()
    assert [key for key, _ in due_runs()] == [window]
