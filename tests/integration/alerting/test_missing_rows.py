"""Whether the rows that a broken window of freshness lacks are late or lost, by the rows that tell of it."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from alerting.inhibition.rules import Spot
from alerting.inhibition.selectors import missing_rows
from alerting.models import Standing
from assay.models import Category, ChangeKind, DataChange, Dataset
from assay.time.windows import Window
from execution_engine.engines.protocol import NO_FILES
from execution_engine.models import Watch
from tests.factories import DAY, HOUR, DatasetFactory, DataTestFactory, RunFactory, StandingFactory, day

pytestmark = pytest.mark.django_db

SUNDAY, MONDAY, TUESDAY = day("2026-03-08"), day("2026-03-09"), day("2026-03-10")
SECOND = timedelta(seconds=1)
COUNTED = MONDAY.end + 10 * HOUR
SUSTAIN = 2 * HOUR
TOLD = MONDAY.end + HOUR
SOME = {"sea": {"rows": 5}, "note": "five rows"}
HOME = Spot(window=MONDAY)
COPY = Spot(window=MONDAY, datacenter="phx")


@pytest.fixture
def trips() -> Dataset:
    """At home in ``sea``, with a copy in ``phx``."""
    dataset: Dataset = DatasetFactory.create(datacenters=("sea", "phx"))
    return dataset


def broken(dataset: Dataset, findings: dict[str, Any], **more: Any) -> Standing:
    """A window of freshness that was counted ten hours after its end, and lacks rows."""
    test = DataTestFactory.create(dataset=dataset, category=Category.FRESHNESS, sustain=SUSTAIN)
    run = RunFactory.create(data_test=test, outcome="broken", measured_at=COUNTED, findings=findings)
    row: Standing = StandingFactory.create(data_test=test, state="FAIL", last_run=run, **more)
    return row


def told(dataset: Dataset, at: datetime = TOLD, **more: Any) -> None:
    """A pipeline has told that it is done with a window."""
    window = more.pop("window", MONDAY)
    given = {"datacenter": "sea", "kind": ChangeKind.COMPLETED, **more}
    DataChange.objects.create(dataset=dataset, window_start=window.start, window_end=window.end, at=at, **given)


def looked_at(dataset: Dataset, *, window: Window = MONDAY, **more: Any) -> None:
    given = {"datacenter": "sea", "fingerprint": "f1", "changed_at": TOLD, **more}
    Watch.objects.create(dataset=dataset, window_start=window.start, window_end=window.end, **given)


def fate(row: Standing, spot: Spot = HOME, *, now: datetime = COUNTED) -> tuple[bool, datetime | None]:
    """Whether the rows of a spot are lost now, and when they will be."""
    (found,) = missing_rows([row], [spot], [spot], home="sea", now=now)
    assert replace(found, lost=False, lost_at=None) == spot
    return found.lost, found.lost_at


def test_rows_are_lost_from_the_completion_on_that_says_no_more_will_come(trips: Dataset) -> None:
    told(trips)
    row = broken(trips, SOME)
    assert fate(row, now=TOLD - SECOND) == (False, TOLD)
    assert fate(row, now=TOLD) == (True, TOLD)


@pytest.mark.parametrize(
    ("at", "more"),
    [
        (MONDAY.end - SECOND, {}),
        (COUNTED + SECOND, {}),
        (TOLD, {"datacenter": "phx"}),
        (TOLD, {"kind": ChangeKind.REWRITTEN}),
        (TOLD, {"dataset": None}),
        (TOLD, {"window": Window(start=MONDAY.start, end=MONDAY.end - SECOND)}),
        (TOLD, {"window": Window(start=MONDAY.start + SECOND, end=MONDAY.end)}),
        (TOLD, {"window": TUESDAY}),
    ],
)
def test_no_other_word_says_that_no_more_will_come(trips: Dataset, at: datetime, more: dict[str, Any]) -> None:
    dataset = trips if "dataset" not in more else DatasetFactory.create()
    told(dataset, at, **{name: value for name, value in more.items() if name != "dataset"})
    assert fate(broken(trips, SOME)) == (False, None)


def test_the_newest_word_counts_of_several_that_name_the_whole_of_it_together(trips: Dataset) -> None:
    noon = MONDAY.start + 12 * HOUR
    told(trips, MONDAY.end, window=Window(start=MONDAY.start, end=noon))
    told(trips, TOLD + HOUR, window=Window(start=noon, end=MONDAY.end))
    told(trips, TOLD + 2 * HOUR, window=SUNDAY)
    told(trips, TOLD + 2 * HOUR, window=TUESDAY)
    assert fate(broken(trips, SOME)) == (True, TOLD + HOUR)


def test_a_word_at_the_very_end_of_the_window_counts(trips: Dataset) -> None:
    told(trips, MONDAY.end)
    assert fate(broken(trips, SOME)) == (True, MONDAY.end)


def test_files_that_stand_still_for_the_sustain_period_say_so_too(trips: Dataset) -> None:
    looked_at(trips)
    row = broken(trips, SOME)
    assert fate(row, now=TOLD + SUSTAIN - SECOND) == (False, TOLD + SUSTAIN)
    assert fate(row, now=TOLD + SUSTAIN) == (True, TOLD + SUSTAIN)


@pytest.mark.parametrize(
    "more",
    [
        {"datacenter": "phx"},
        {"dataset": None},
        {"window": Window(start=MONDAY.start, end=MONDAY.end + SECOND)},
        {"window": Window(start=MONDAY.start - SECOND, end=MONDAY.end)},
        {"changed_at": None},
        {"changed_at": COUNTED + SECOND},
    ],
)
def test_files_of_other_data_or_that_changed_after_the_count_say_nothing(trips: Dataset, more: dict[str, Any]) -> None:
    dataset = trips if "dataset" not in more else DatasetFactory.create()
    looked_at(dataset, **{name: value for name, value in more.items() if name != "dataset"})
    assert fate(broken(trips, SOME)) == (False, None)


@pytest.mark.parametrize(
    ("findings", "fingerprint", "is_lost"),
    [
        ({}, "f1", True),
        ({"sea": {"rows": 0}}, "f1", True),
        ({"sea": {"rows": 0}}, "", False),
        ({"sea": {"rows": 0}}, NO_FILES, False),
        ({"sea": {"rows": 0}, "phx": {"rows": 1}}, NO_FILES, True),
    ],
)
def test_where_nothing_has_come_yet_nothing_is_lost(
    trips: Dataset, findings: dict[str, Any], fingerprint: str, is_lost: bool
) -> None:
    told(trips)
    looked_at(trips, fingerprint=fingerprint)
    assert fate(broken(trips, findings))[0] is is_lost


def test_without_a_watch_and_without_rows_nothing_is_lost(trips: Dataset) -> None:
    told(trips)
    assert fate(broken(trips, {"sea": {"rows": 0}})) == (False, None)


def changes_of_sunday(dataset: Dataset, *hours: int, **more: Any) -> None:
    for hour in hours:
        told(dataset, SUNDAY.end + hour * HOUR, **{"window": SUNDAY, "kind": ChangeKind.REWRITTEN, **more})


def test_files_must_stand_still_as_long_as_is_usual_between_the_changes_of_one_window(trips: Dataset) -> None:
    looked_at(trips)
    changes_of_sunday(trips, 0, 3, 8)
    told(trips, SUNDAY.end + 16 * HOUR, window=SUNDAY)
    assert fate(broken(trips, SOME))[1] == TOLD + 5 * HOUR


@pytest.mark.parametrize(
    "more",
    [
        {"kind": ChangeKind.RESOLVED},
        {"datacenter": "phx"},
        {"dataset": None},
        {"window": Window(start=SUNDAY.start, end=SUNDAY.end + SECOND)},
        {"window": TUESDAY},
    ],
)
def test_what_is_usual_is_told_by_changes_of_earlier_windows_of_the_same_copy_alone(
    trips: Dataset, more: dict[str, Any]
) -> None:
    looked_at(trips)
    dataset = trips if "dataset" not in more else DatasetFactory.create()
    given = {name: value for name, value in more.items() if name != "dataset"}
    changes_of_sunday(dataset, 0, 5, 10, 15, **given)
    assert fate(broken(trips, SOME))[1] == TOLD + SUSTAIN


def test_what_lies_between_the_changes_of_different_windows_is_no_gap(trips: Dataset) -> None:
    looked_at(trips)
    for days in range(4):
        window = Window(start=SUNDAY.start - days * DAY, end=SUNDAY.end - days * DAY)
        told(trips, window.end + 5 * HOUR, window=window)
    assert fate(broken(trips, SOME))[1] == TOLD + SUSTAIN


def test_of_the_changes_before_only_the_last_two_hundred_say_what_is_usual(trips: Dataset) -> None:
    looked_at(trips)
    before = Window(start=SUNDAY.start - DAY, end=SUNDAY.end - DAY)
    changes_of_sunday(trips, *range(0, 9 * 400, 9), window=before)
    changes_of_sunday(trips, *range(0, 4 * 199, 4))
    assert fate(broken(trips, SOME))[1] == TOLD + 4 * HOUR


def test_the_rows_of_a_copy_are_told_of_where_the_copy_is(trips: Dataset) -> None:
    told(trips)
    told(trips, TOLD + HOUR, datacenter="phx")
    assert fate(broken(trips, SOME), COPY) == (True, TOLD + HOUR)


@pytest.mark.parametrize("judges", [[], [Spot(window=SUNDAY)], [COPY]])
def test_where_no_test_found_rows_missing_nothing_is_known(trips: Dataset, judges: list[Spot]) -> None:
    told(trips)
    assert missing_rows([broken(trips, SOME)], [HOME], judges, home="sea", now=COUNTED) == [HOME]


def test_a_copy_that_has_all_that_home_has_shares_the_fate_of_home(trips: Dataset) -> None:
    told(trips)
    rows = [broken(trips, {"phx": {"rows": 5, "waits": True}}), broken(trips, SOME)]
    found = missing_rows(rows, [COPY, HOME], [COPY, HOME], home="sea", now=COUNTED)
    assert found == [replace(HOME, lost=True, lost_at=TOLD)] * 2
    assert missing_rows(rows[:1], [COPY], [COPY], home="sea", now=COUNTED) == [COPY]
    rows = [broken(trips, {"phx": {"rows": 5, "waits": False}}), rows[1]]
    told(trips, TOLD + HOUR, datacenter="phx")
    found = missing_rows(rows, [COPY, HOME], [COPY, HOME], home="sea", now=COUNTED)
    assert [spot.datacenter for spot in found] == ["phx", None]


@pytest.mark.parametrize("newest", [None, "held", "error"])
def test_what_broke_last_was_counted_last_whatever_ran_after_it(trips: Dataset, newest: str | None) -> None:
    told(trips)
    row = broken(trips, SOME)
    test = row.data_test
    for at, more in (
        (TOLD - 2 * SECOND, {}),
        (TOLD, {}),
        (TOLD - SECOND, {}),
        (COUNTED, {"window": SUNDAY}),
        (COUNTED, {"window": Window(start=MONDAY.start, end=MONDAY.end + SECOND)}),
        (COUNTED, {"outcome": "held"}),
        (COUNTED, {"data_test": DataTestFactory.create(dataset=trips)}),
        (None, {}),
    ):
        given = {"data_test": test, "outcome": "broken", "findings": SOME, **more}
        RunFactory.create(measured_at=at, **given)
    assert row.last_run is not None
    if newest is None:
        row.last_run.delete()
        row.last_run = None
    else:
        row.last_run.outcome = newest
        row.last_run.save()
    assert fate(row) == (True, TOLD)
    told(trips, TOLD + SECOND)  # after what was counted last
    assert fate(row) == (False, None)


def test_what_was_never_counted_is_not_lost(trips: Dataset) -> None:
    told(trips)
    row = StandingFactory.create(data_test=DataTestFactory.create(dataset=trips, category=Category.FRESHNESS))
    assert fate(row) == (False, None)
