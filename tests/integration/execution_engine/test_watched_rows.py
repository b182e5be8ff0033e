"""Which windows are looked at, and what counts as told: rows of other windows, places and tables stay as they are."""

from datetime import timedelta

import pytest

from assay.catalog.services import record_completion
from assay.models import ChangeKind, DataChange, Dataset
from assay.windows import Window
from execution_engine import services, tasks
from execution_engine.models import Watch
from execution_engine.services.watch import note_fingerprint, watch_window
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, day
from tests.fakes import rows
from tests.integration.execution_engine.conftest import Loop

MONDAY, SUNDAY = day("2026-03-09"), day("2026-03-08")
HALF_PAST = NOW + timedelta(minutes=30)


def watched(dataset: Dataset, datacenter: str = "sea", window: Window = MONDAY) -> Watch:
    return Watch.objects.create(
        dataset=dataset,
        datacenter=datacenter,
        window_start=window.start,
        window_end=window.end,
        fingerprint="f",
        seen_at=NOW,
        next_look_at=NOW + DAY,
    )


@pytest.fixture
def others(db: None) -> list[Watch]:
    """Watches that are not of Monday's trips in sea."""
    trips = DatasetFactory.create(name="trips", datacenters=("sea", "phx"))
    return [watched(trips, "phx"), watched(trips, window=SUNDAY), watched(DatasetFactory.create())]


def terms(watches: list[Watch]) -> list[tuple[bool, object]]:
    return [(row.closely, row.next_look_at) for row in map(fresh, watches)]


def fresh(row: Watch) -> Watch:
    return Watch.objects.get(pk=row.pk)


def test_one_window_is_watched_more_closely_or_no_more_and_no_other(others: list[Watch]) -> None:
    trips, before = others[0].dataset, terms(others)
    own = watched(trips)
    watch_window(dataset=trips, datacenter="sea", window=MONDAY, closely=True, now=NOW)
    assert (terms([own]), terms(others)) == ([(True, NOW + timedelta(minutes=5))], before)
    services.unwatch_window(dataset=trips, datacenter="sea", window=MONDAY)
    assert (terms([own]), terms(others)) == ([(False, None)], before)


def test_a_window_that_was_never_scanned_is_watched_only_in_trouble(others: list[Watch]) -> None:
    trips = others[0].dataset
    watch_window(dataset=trips, datacenter="sea", window=MONDAY, closely=False, now=NOW)
    assert Watch.objects.count() == len(others)
    watch_window(dataset=trips, datacenter="sea", window=MONDAY, closely=True, now=NOW)
    assert Watch.objects.exclude(pk__in=[row.pk for row in others]).get().window == MONDAY


def test_of_a_table_without_partitions_the_newest_window_of_a_datacenter_is_looked_at(db: None) -> None:
    rates = DatasetFactory.create(partition_column="", datacenters=("sea", "phx"))
    old, there, other = watched(rates, window=SUNDAY), watched(rates, "phx"), watched(DatasetFactory.create())
    note_fingerprint(rates, "sea", MONDAY, "g", NOW)
    looked_at = {row.pk: row.next_look_at is not None for row in Watch.objects.all()}
    own = Watch.objects.get(dataset=rates, datacenter="sea", window_start=MONDAY.start)
    assert looked_at == {old.pk: False, there.pk: True, other.pk: True, own.pk: True}


@pytest.mark.parametrize(
    ("told", "count"),
    {
        "this change": ({}, 0),
        "another window": ({"window": SUNDAY}, 1),
        "another datacenter": ({"datacenter": "phx"}, 1),
        "before the last look": ({"now": NOW - HOUR}, 1),
    }.values(),
    ids=["this change", "another window", "another datacenter", "before the last look"],
)
def test_a_change_is_announced_by_a_completion_of_the_same_data_since(
    loop: Loop, trips: Dataset, told: dict[str, object], count: int
) -> None:
    loop.run(DataTestFactory.create(dataset=trips), MONDAY)
    loop.write(trips, "2026-03-09", rows(7))
    given = {"dataset": trips, "datacenter": "sea", "window": MONDAY, "pipeline": "daily", "now": HALF_PAST, **told}
    record_completion(**given)  # type: ignore[arg-type]
    loop.at(NOW + HOUR)
    tasks.watch()
    assert DataChange.objects.filter(kind=ChangeKind.REWRITTEN).count() == count


def test_a_completion_of_another_table_announces_nothing(loop: Loop, trips: Dataset) -> None:
    loop.run(DataTestFactory.create(dataset=trips), MONDAY)
    loop.write(trips, "2026-03-09", rows(7))
    other = DatasetFactory.create()
    record_completion(dataset=other, datacenter="sea", window=MONDAY, pipeline="daily", now=HALF_PAST)
    loop.at(NOW + HOUR)
    tasks.watch()
    assert DataChange.objects.filter(kind=ChangeKind.REWRITTEN, dataset=trips).count() == 1


def test_a_rewrite_that_was_told_does_not_announce_the_next(loop: Loop, trips: Dataset) -> None:
    loop.run(DataTestFactory.create(dataset=trips), MONDAY)
    for hours in (1, 2):
        loop.write(trips, "2026-03-09", rows(7 + hours))
        loop.at(NOW + hours * HOUR)
        tasks.watch()
    assert DataChange.objects.filter(kind=ChangeKind.REWRITTEN).count() == 2
