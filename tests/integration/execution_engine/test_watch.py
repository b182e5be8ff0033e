"""Which windows are looked at, and what counts as told: rows of other windows, places and tables stay as they are."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assay import clock
from assay.catalog.services import record_completion
from assay.models import ChangeKind, DataChange, Dataset
from assay.time.windows import Window
from execution_engine import selectors, services, tasks
from execution_engine import watch as watch
from execution_engine.models import Watch
from execution_engine.watch import Seen, note_fingerprints, seen_before, watch_window
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, day
from tests.fakes import FakeEngine, rows
from tests.integration.execution_engine.conftest import Loop

MONDAY, SUNDAY = day("2026-03-09"), day("2026-03-08")
# Statements: the time, two claims of four and three, the tables and where they lie, what was seen in three. A server is
# asked for its own time by each claim too.
LOOK = 14
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


def seen(dataset: Dataset, print_: str, **more: Any) -> Seen:
    return Seen(**{"dataset": dataset, "datacenter": "sea", "window": MONDAY, "fingerprint": print_, **more})


def test_a_window_that_was_never_scanned_is_watched_only_in_trouble(others: list[Watch]) -> None:
    trips = others[0].dataset
    watch_window(dataset=trips, datacenter="sea", window=MONDAY, closely=False, now=NOW)
    assert Watch.objects.count() == len(others)
    watch_window(dataset=trips, datacenter="sea", window=MONDAY, closely=True, now=NOW)
    assert Watch.objects.exclude(pk__in=[row.pk for row in others]).get().window == MONDAY


def test_of_a_table_without_partitions_the_newest_window_of_a_datacenter_is_looked_at(db: None) -> None:
    rates = DatasetFactory.create(partition_column="", datacenters=("sea", "phx"))
    old, there, other = watched(rates, window=SUNDAY), watched(rates, "phx"), watched(DatasetFactory.create())
    note_fingerprints([seen(rates, "g")], NOW)
    looked_at = {row.pk: row.next_look_at is not None for row in Watch.objects.all()}
    own = Watch.objects.get(dataset=rates, datacenter="sea", window_start=MONDAY.start)
    assert looked_at == {old.pk: False, there.pk: True, other.pk: True, own.pk: True}


@pytest.mark.parametrize(
    ("of", "count"),
    [({}, 0), ({"datacenter": "phx"}, 1), ({"now": NOW - HOUR}, 1), ({"dataset": "another"}, 1)],
    ids=str,
)
def test_a_change_is_announced_by_a_completion_of_the_same_data_since(
    loop: Loop, trips: Dataset, of: dict[str, Any], count: int
) -> None:
    loop.run(DataTestFactory.create(dataset=trips), MONDAY)
    loop.write(trips, "2026-03-09", rows(7))
    given = {"dataset": trips, "datacenter": "sea", "window": MONDAY, "pipeline": "daily", "now": HALF_PAST, **of}
    record_completion(**given | ({"dataset": DatasetFactory.create()} if "dataset" in of else {}))
    loop.at(NOW + HOUR)
    tasks.watch()
    assert DataChange.objects.filter(kind=ChangeKind.REWRITTEN, dataset=trips).count() == count


def looked_at(loop: Loop, dataset: Dataset, hours: int = 1) -> Watch:
    """The watch of Monday in sea, looked at so many hours later."""
    loop.at(NOW + hours * HOUR)
    tasks.watch()
    return Watch.objects.get(dataset=dataset, datacenter="sea", window_start=MONDAY.start, window_end=MONDAY.end)


def changes() -> list[tuple[object, ...]]:
    return list(DataChange.objects.order_by("pk").values_list("kind", "datacenter", "window_start", "window_end", "at"))


REWRITTEN = (ChangeKind.REWRITTEN, "sea", MONDAY.start, MONDAY.end)


def test_looks_are_counted_of_one_datacenter_or_of_all(others: list[Watch]) -> None:
    Watch.objects.update(next_look_at=NOW)
    clock.simulate(NOW)
    assert (services.look("dca"), services.look("phx"), services.look("phx"), services.look()) == (0, 1, 0, 2)
    assert set(Watch.objects.values_list("seen_at", "next_look_at", "lease_until", "attempts")) == {
        (NOW, NOW + HOUR, None, 0)
    }


def test_what_a_look_finds_changed_is_written_down_and_told(loop: Loop, trips: Dataset) -> None:
    loop.run(DataTestFactory.create(dataset=trips), MONDAY)
    first = Watch.objects.get()
    assert (first.seen_at, first.changed_at, first.closely) == (NOW, NOW, False)
    same = looked_at(loop, trips)
    assert (same.fingerprint, same.seen_at, same.changed_at) == (first.fingerprint, NOW + HOUR, NOW)
    assert (changes(), same.lease_until, same.attempts) == ([], None, 0)
    loop.write(trips, "2026-03-09", rows(7))
    other = looked_at(loop, trips, 2)
    assert (other.fingerprint != first.fingerprint, other.changed_at) == (True, NOW + 2 * HOUR)
    looked_at(loop, trips, 3)
    assert changes() == [(*REWRITTEN, NOW + 2 * HOUR)]


def test_the_first_look_at_a_window_in_trouble_tells_nothing(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", rows(7))
    watch_window(dataset=trips, datacenter="sea", window=MONDAY, closely=True, now=NOW)
    found = looked_at(loop, trips)
    assert (found.changed_at, found.seen_at, found.fingerprint != "") == (NOW + HOUR, NOW + HOUR, True)
    assert (found.next_look_at, changes()) == (NOW + HOUR + timedelta(minutes=5), [])


@pytest.mark.logs_a_failure
def test_a_look_that_fails_says_nothing_of_the_data(
    loop: Loop, trips: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = watched(trips)
    Watch.objects.update(next_look_at=NOW)

    def away(*_: object) -> None:
        raise ConnectionError

    with monkeypatch.context() as broken:
        broken.setattr(FakeEngine, "fingerprint", away)
        found = looked_at(loop, trips)
    assert (found.fingerprint, found.seen_at, found.next_look_at) == (before.fingerprint, NOW + HOUR, NOW + 2 * HOUR)
    trips.replicas.update(location="env:NOT_SET")
    assert (looked_at(loop, trips, 2).fingerprint, changes()) == ("f", [])
    trips.replicas.all().delete()
    assert (looked_at(loop, trips, 3).fingerprint, changes()) == ("f", [])


def test_a_window_without_a_fingerprint_that_still_has_none_has_not_changed(
    loop: Loop, trips: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeEngine, "fingerprint", lambda *_: None)
    watched(trips)
    Watch.objects.update(next_look_at=NOW, fingerprint="")
    assert looked_at(loop, trips).fingerprint == ""
    Watch.objects.update(fingerprint="f", next_look_at=NOW)
    gone = looked_at(loop, trips, 2)
    assert (gone.fingerprint, gone.changed_at) == ("cannot be looked at", NOW + 2 * HOUR)
    assert changes() == [(*REWRITTEN, NOW + 2 * HOUR)]


def test_of_several_windows_those_that_expired_are_looked_at_no_more(loop: Loop) -> None:
    trips = DatasetFactory.create(name="trips", retention=9 * DAY)
    kept, old = watched(trips), watched(trips, window=day("2026-02-28"))
    Watch.objects.update(next_look_at=NOW, attempts=1)
    looked_at(loop, trips)
    assert (fresh(kept).next_look_at, fresh(kept).seen_at) == (NOW + 2 * HOUR, NOW + HOUR)
    row = fresh(old)
    assert (row.next_look_at, row.seen_at, row.lease_until, row.attempts) == (None, NOW, None, 0)


def test_each_table_and_place_is_looked_at_by_itself(loop: Loop) -> None:
    trips = DatasetFactory.create(name="trips", datacenters=("sea", "phx"))
    fares = DatasetFactory.create(name="fares")
    own, there, other = watched(trips), watched(trips, "phx"), watched(fares)
    loop.write(trips, "2026-03-09", rows(1))
    loop.write(trips, "2026-03-09", rows(2), datacenter="phx")
    loop.write(fares, "2026-03-09", rows(3))
    Watch.objects.update(next_look_at=NOW)
    looked_at(loop, trips)
    assert len({fresh(row).fingerprint for row in (own, there, other)} - {"f"}) == 3
    assert DataChange.objects.count() == 3


@pytest.mark.logs_a_failure
def test_a_table_whose_look_cannot_be_noted_keeps_no_other_from_it(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    trips, fares = DatasetFactory.create(name="trips"), DatasetFactory.create(name="fares")
    own, other = watched(trips), watched(fares)
    for dataset in (trips, fares):
        loop.write(dataset, "2026-03-09", rows(1))
    Watch.objects.update(next_look_at=NOW)
    tell = watch._tell

    def tell_or_fail(changed: list[Watch], now: datetime) -> None:
        if trips in {row.dataset for row in changed}:
            raise ValueError("not this one")
        tell(changed, now)

    monkeypatch.setattr(watch, "_tell", tell_or_fail)
    tasks.watch()
    assert (fresh(own).fingerprint, fresh(own).seen_at) == ("f", NOW)
    assert fresh(other).fingerprint != "f"
    assert [change.dataset for change in DataChange.objects.all()] == [fares]


def test_a_look_at_many_tables_takes_as_many_statements_as_at_one(loop: Loop) -> None:
    taken = []
    for tables in (1, 9):
        for _ in range(tables):
            watched(DatasetFactory.create())
        Watch.objects.update(next_look_at=NOW)
        tasks.watch()  # what they look like is known from here on
        Watch.objects.update(next_look_at=NOW)
        with CaptureQueriesContext(connection) as asked:
            tasks.watch()
        taken.append(len(asked))
    assert taken == [LOOK, LOOK]


def noted(dataset: Dataset, print_: str, **more: Any) -> Watch:
    note_fingerprints([seen(dataset, print_, **more)], NOW + HOUR)
    return Watch.objects.get(dataset=dataset, datacenter="sea", window_start=MONDAY.start, window_end=MONDAY.end)


@pytest.mark.parametrize(
    ("print_", "written", "changed"),
    [("g", None, NOW + HOUR), ("g", NOW, NOW), ("g", NOW + DAY, NOW + HOUR), ("", NOW, None)],
)
def test_the_first_scan_notes_what_it_saw(
    db: None, print_: str, written: datetime | None, changed: datetime | None
) -> None:
    row = noted(DatasetFactory.create(), print_, written_at=written)
    assert (row.fingerprint, row.seen_at, row.changed_at) == (print_, NOW + HOUR, changed)
    assert (row.next_look_at, row.closely, changes()) == (NOW + 2 * HOUR, False, [])


@pytest.mark.parametrize(
    ("before", "print_", "after", "changed", "is_told"),
    [
        ("f", "f", "f", NOW - DAY, False),
        ("f", "g", "g", NOW, True),
        ("", "g", "g", NOW, False),
        ("f", "", "f", NOW - DAY, False),
    ],
)
def test_a_later_scan_notes_what_is_new(
    others: list[Watch], before: str, print_: str, after: str, changed: datetime, is_told: bool
) -> None:
    trips = others[0].dataset
    watched(trips)
    Watch.objects.update(fingerprint=before, changed_at=NOW - DAY)
    row = noted(trips, print_, written_at=NOW)
    assert (row.fingerprint, row.seen_at, row.changed_at, row.next_look_at) == (after, NOW + HOUR, changed, NOW + DAY)
    assert changes() == ([(*REWRITTEN, NOW + HOUR)] if is_told else [])
    assert {fresh(other).seen_at for other in others} == {NOW}


def test_windows_of_whole_tables_are_not_watched_as_their_partitions_are(db: None) -> None:
    dataset, bare = DatasetFactory.create(), DatasetFactory.create(partition_column="")
    for days, is_watched in ((32, True), (33, False)):
        window = Window(start=MONDAY.start, end=MONDAY.start + days * DAY)
        for each in (dataset, bare):
            assert bool(seen_before([seen(each, "f", window=window)])) is (is_watched or each is bare)
            note_fingerprints([seen(each, "f", window=window)], NOW)
        assert Watch.objects.filter(dataset=dataset, window_end=window.end).exists() is is_watched
        assert Watch.objects.filter(dataset=bare, window_end=window.end).exists()


def test_news_is_what_was_never_seen_of_this_window_there(others: list[Watch]) -> None:
    trips = others[0].dataset
    assert seen_before([seen(trips, "f")]) == {0: None}  # those who know it are of something else
    watch_id = watched(trips).pk
    assert seen_before([seen(trips, print_) for print_ in ("f", "g", "")]) == {0: watch_id, 1: None}


def test_what_many_scans_saw_is_noted_with_as_many_statements_as_what_one_saw(db: None) -> None:
    taken = []
    for number in (1, 9):
        tables = DatasetFactory.create_batch(number)
        for print_ in ("f", "f"):
            with CaptureQueriesContext(connection) as asked:
                told = [seen(each, print_) for each in tables]
                found = seen_before(told)
                note_fingerprints([replace(each, watch_id=found[number]) for number, each in enumerate(told)], NOW)
            taken.append((len(asked), list(found.values()).count(None)))
    (first, _), again, *of_many = taken
    assert (first, again) == (4, (2, 0))
    assert of_many == [(first, 9), again]


def test_what_another_worker_was_first_to_see_is_compared_with(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    trips = DatasetFactory.create()
    row = watched(trips)
    known, asked = watch._watches, []

    def too_early(seen: Any) -> dict[Any, Watch]:
        asked.append(seen)
        return {} if len(asked) == 1 else known(seen)

    monkeypatch.setattr(watch, "_watches", too_early)
    note_fingerprints([seen(trips, "g")], NOW + HOUR)
    assert fresh(row).fingerprint == "g"
    assert [change.dataset for change in DataChange.objects.all()] == [trips]


def test_a_watch_is_made_closer_once_and_looser_once(db: None) -> None:
    trips = DatasetFactory.create()
    watched(trips)
    close: dict[str, Any] = {"dataset": trips, "datacenter": "sea", "window": MONDAY, "closely": True}
    watch_window(**close, now=NOW)
    watch_window(**close, now=NOW + HOUR)  # it is so already: its next look stays
    assert terms(list(Watch.objects.all())) == [(True, NOW + timedelta(minutes=5))]
    watch_window(**{**close, "closely": False}, now=NOW)
    assert terms(list(Watch.objects.all())) == [(False, NOW + HOUR)]


@pytest.mark.parametrize(
    ("window", "is_announced"),
    [
        (Window(start=SUNDAY.start, end=MONDAY.start + HOUR), True),
        (Window(start=MONDAY.end - HOUR, end=MONDAY.end + DAY), True),
        (SUNDAY, False),
        (day("2026-03-10"), False),
    ],
)
def test_a_completion_announces_what_it_overlaps(others: list[Watch], window: Window, is_announced: bool) -> None:
    trips = others[0].dataset
    watched(trips)
    record_completion(dataset=trips, datacenter="sea", window=window, pipeline="daily", now=NOW)
    noted(trips, "g")
    assert DataChange.objects.filter(kind=ChangeKind.REWRITTEN).exists() is not is_announced


def test_a_rewrite_that_was_found_announces_no_other(others: list[Watch]) -> None:
    trips = others[0].dataset
    watched(trips)
    DataChange.objects.create(
        dataset=trips, datacenter="sea", kind=ChangeKind.REWRITTEN, window_start=MONDAY.start, window_end=MONDAY.end,
        at=NOW,
    )  # fmt: skip
    noted(trips, "g")
    assert DataChange.objects.count() == 2


def test_a_change_that_a_scan_comes_upon_is_told_too(loop: Loop, trips: Dataset) -> None:
    data_test = DataTestFactory.create(dataset=trips)
    loop.run(data_test, MONDAY)
    loop.write(trips, "2026-03-09", rows(7))
    loop.run(data_test, MONDAY, occasion="2")
    assert DataChange.objects.count() == 1


def test_a_rewrite_after_an_announced_state_was_scanned_is_told(loop: Loop, trips: Dataset) -> None:
    data_test = DataTestFactory.create(dataset=trips)
    loop.run(data_test, MONDAY)
    record_completion(dataset=trips, datacenter="sea", window=MONDAY, pipeline="daily", now=HALF_PAST)
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


def test_the_tests_that_read_a_window_are_known_through_what_they_derive(loop: Loop, trips: Dataset) -> None:
    own = DataTestFactory.create(dataset=trips, assertion="freshness() < 6h")
    other = DataTestFactory.create(dataset=trips, assertion="row_count() >= 0")
    loop.run(own, MONDAY)
    loop.run(other, day("2026-03-08"))
    assert selectors.has_judged(trips, "sea", MONDAY) == [(own, MONDAY)]


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
