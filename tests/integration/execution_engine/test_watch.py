from datetime import timedelta

import pytest

from assay.catalog.services import record_completion
from assay.models import ChangeKind, DataChange, Dataset
from execution_engine import selectors, services, tasks
from execution_engine.models import Watch
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, day
from tests.fakes import FakeEngine, rows
from tests.integration.execution_engine.conftest import Loop

MONDAY = day("2026-03-09")


def test_a_window_is_watched_from_its_first_scan_on(loop: Loop, trips: Dataset) -> None:
    loop.run(DataTestFactory.create(dataset=trips), MONDAY)
    watch = Watch.objects.get()
    assert (watch.window, watch.next_look_at, watch.fingerprint != "") == (MONDAY, NOW + HOUR, True)


def test_rewritten_data_is_told_once(loop: Loop, trips: Dataset) -> None:
    loop.run(DataTestFactory.create(dataset=trips), MONDAY)
    loop.write(trips, "2026-03-09", rows(7))
    for hours in (1, 2):
        loop.at(NOW + hours * HOUR)
        assert tasks.watch() == 1
    change = DataChange.objects.get()
    assert (change.kind, change.window, change.datacenter, change.at) == (
        ChangeKind.REWRITTEN,
        MONDAY,
        "sea",
        NOW + HOUR,
    )


def test_a_change_that_a_scan_comes_upon_is_told_too(loop: Loop, trips: Dataset) -> None:
    data_test = DataTestFactory.create(dataset=trips)
    loop.run(data_test, MONDAY)
    loop.write(trips, "2026-03-09", rows(7))
    loop.run(data_test, MONDAY, occasion="2")
    assert DataChange.objects.count() == 1


def completed(dataset: Dataset, minutes: int) -> None:
    at = NOW + timedelta(minutes=minutes)
    record_completion(dataset=dataset, datacenter="sea", window=MONDAY, pipeline="daily", now=at)


def test_a_change_that_a_pipeline_announced_is_not_told_again(loop: Loop, trips: Dataset) -> None:
    loop.run(DataTestFactory.create(dataset=trips), MONDAY)
    loop.write(trips, "2026-03-09", rows(7))
    completed(trips, minutes=30)
    loop.at(NOW + HOUR)
    tasks.watch()
    assert not DataChange.objects.filter(kind=ChangeKind.REWRITTEN).exists()


def test_a_rewrite_after_an_announced_state_was_scanned_is_told(loop: Loop, trips: Dataset) -> None:
    data_test = DataTestFactory.create(dataset=trips)
    loop.run(data_test, MONDAY)
    completed(trips, minutes=30)
    loop.at(NOW + timedelta(minutes=31))
    loop.run(data_test, MONDAY, occasion="2")
    loop.write(trips, "2026-03-09", rows(7))
    loop.at(NOW + HOUR)
    tasks.watch()
    assert DataChange.objects.filter(kind=ChangeKind.REWRITTEN).count() == 1


def test_what_was_missing_at_the_last_look_and_is_there_now_has_changed(
    loop: Loop, trips: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as removed:
        removed.setattr(loop.lake, "fingerprint", lambda table, part: None)
        loop.run(DataTestFactory.create(dataset=trips), MONDAY)
    loop.at(NOW + HOUR)
    tasks.watch()
    assert [change.window for change in DataChange.objects.all()] == [MONDAY]


def test_a_window_in_trouble_is_looked_at_every_five_minutes(loop: Loop, trips: Dataset) -> None:
    loop.run(DataTestFactory.create(dataset=trips), MONDAY)
    services.watch_window(dataset=trips, datacenter="sea", window=MONDAY, closely=True, now=NOW)
    assert Watch.objects.get().next_look_at == NOW + timedelta(minutes=5)
    services.watch_window(dataset=trips, datacenter="sea", window=MONDAY, closely=False, now=NOW)
    assert Watch.objects.get().next_look_at == NOW + HOUR


def test_an_old_window_is_looked_at_daily_and_an_expired_one_never(loop: Loop) -> None:
    trips = DatasetFactory.create(name="trips", retention=timedelta(days=40))
    loop.run(DataTestFactory.create(dataset=trips), MONDAY)
    loop.at(NOW + 36 * DAY)
    tasks.watch()
    assert Watch.objects.get().next_look_at == day("2026-04-16").start
    loop.at(NOW + 50 * DAY)
    tasks.watch()
    assert Watch.objects.get().next_look_at is None


def test_a_look_that_fails_keeps_what_was_seen_and_looks_again(loop: Loop, trips: Dataset) -> None:
    loop.run(DataTestFactory.create(dataset=trips), MONDAY)
    seen = Watch.objects.get().fingerprint
    trips.replicas.update(location="env:NOT_SET")
    loop.at(NOW + HOUR)
    tasks.watch()
    watch = Watch.objects.get()
    assert (watch.fingerprint, watch.next_look_at) == (seen, NOW + 2 * HOUR)


def test_the_tests_that_read_a_window_are_known_through_what_they_derive(loop: Loop, trips: Dataset) -> None:
    fresh = DataTestFactory.create(dataset=trips, assertion="freshness() < 6h")
    other = DataTestFactory.create(dataset=trips, assertion="row_count() >= 0")
    loop.run(fresh, MONDAY)
    loop.run(other, day("2026-03-08"))
    assert selectors.has_judged(trips, "sea", MONDAY) == [(fresh, MONDAY)]


def test_a_folder_that_is_removed_is_a_change_told_once_and_its_return_is_another(
    loop: Loop, trips: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_test = DataTestFactory.create(dataset=trips)
    loop.run(data_test, MONDAY)
    with monkeypatch.context() as removed:
        removed.setattr(FakeEngine, "fingerprint", lambda self, table, part: None)
        for hours in (1, 2):
            loop.at(NOW + hours * HOUR)
            assert tasks.watch() == 1
        assert DataChange.objects.count() == 1
        loop.run(data_test, MONDAY, occasion="2")
    loop.at(NOW + 4 * HOUR)
    tasks.watch()
    assert DataChange.objects.count() == 2
