"""How far a dataset is complete, how long its windows took, and how late it usually is behind its upstreams."""

from datetime import timedelta
from typing import Any

import pytest

from alerting.inhibition.selectors import usual_delay
from alerting.models import Standing
from alerting.selectors import Took, complete_up_to, times_to_complete
from alerting.verdicts.evidence import place_of, spoilt_place
from assay.models import Category, Dataset, DataTest
from assay.time.windows import Window
from execution_engine.freshness.derive import TIME_TO_COMPLETE
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    LineageEdgeFactory,
    RunFactory,
    StandingFactory,
    day,
)
from tests.integration.rows import ROWS, measurement, waiver

pytestmark = pytest.mark.django_db

FIRST = day("2026-03-01")


def window(number: int) -> Window:
    """The day that is so many days after 1 March 2026."""
    return Window(start=FIRST.start + number * DAY, end=FIRST.end + number * DAY)


def took(dataset: Dataset, number: int, seconds: float | None, *, place: str = "sea", **more: Any) -> None:
    """The time to complete of a day, or another metric's ``spec`` of it."""
    done = {"value": seconds, "measured_at": None if seconds is None else NOW, "datacenter": place}
    measurement(dataset, window(number), **{"spec": TIME_TO_COMPLETE, **done, **more})


def took_each(dataset: Dataset, *seconds: float) -> None:
    for number, each in enumerate(seconds):
        took(dataset, number, each)


def freshness(dataset: Dataset, **more: Any) -> DataTest:
    row: DataTest = DataTestFactory.create(dataset=dataset, category=Category.FRESHNESS, **more)
    return row


def stands(test: DataTest, number: int, state: str, **more: Any) -> Standing:
    row: Standing = StandingFactory.create(data_test=test, window=window(number), state=state, **more)
    return row


@pytest.fixture
def trips() -> Dataset:
    """At home in ``sea``, with a copy in ``phx``; its first five days took an hour each."""
    dataset: Dataset = DatasetFactory.create(datacenters=("sea", "phx"))
    took_each(dataset, 3600, 3600, 3600, 3600, 3600)
    return dataset


def test_without_a_lack_a_dataset_is_complete_up_to_its_newest_complete_window(trips: Dataset) -> None:
    took(trips, 5, None)
    took(trips, 6, 60, place="phx")
    took(trips, 7, 60, spec=ROWS)
    assert complete_up_to(trips) == window(4).end


@pytest.mark.parametrize(
    ("state", "up_to"), [("WARN", 2), ("FAIL", 2), ("UNKNOWN", 2), ("PENDING", 4), ("PASS", 4), ("LEARNING", 4)]
)
def test_it_is_complete_before_the_first_window_that_is_not_or_of_which_nobody_knows(
    trips: Dataset, state: str, up_to: int
) -> None:
    test = freshness(trips)
    stands(test, 3, state)
    stands(test, 4, state)
    stands(test, 1, "PASS")
    assert complete_up_to(trips) == window(up_to).end


def test_other_tests_copies_tables_and_what_was_accepted_take_nothing_from_it(trips: Dataset) -> None:
    stands(freshness(DatasetFactory.create()), 1, "FAIL")
    stands(freshness(trips, datacenter="phx"), 1, "FAIL")
    stands(freshness(trips, retired_at=NOW), 1, "FAIL")
    stands(DataTestFactory.create(dataset=trips), 1, "FAIL")
    test = freshness(trips)
    stands(test, 1, "FAIL", waiver=waiver(test, window(1)))
    assert complete_up_to(trips) == window(4).end


def test_of_what_is_known_of_nothing_or_only_of_what_is_late_there_is_no_end(trips: Dataset) -> None:
    assert complete_up_to(DatasetFactory.create()) is None
    stands(freshness(trips), 0, "FAIL")
    assert complete_up_to(trips) is None
    homeless = DatasetFactory.create()
    took(homeless, 0, 60)
    homeless.replicas.all().delete()
    assert complete_up_to(homeless) is None


def test_the_times_of_the_last_windows_are_of_one_copy_the_newest_first(trips: Dataset) -> None:
    took(trips, 5, 12_000.0)
    took(trips, 6, None)
    took(trips, 7, 60, place="phx")
    took(trips, 8, 60, spec=ROWS)
    found = times_to_complete(trips, "sea", 2)
    assert found == [
        Took(window=window(5), seconds=12_000.0, allowed=found[0].allowed),
        Took(window=window(4), seconds=3600.0, allowed=found[0].allowed),
    ]
    assert [each.window for each in times_to_complete(trips, "phx", 9)] == [window(7)]
    assert Took(window=FIRST, seconds=12_000.0, allowed=4 * HOUR).text == "3h 20m of 4h"


def test_a_window_that_was_filled_later_took_nobody_knows_how_long(trips: Dataset) -> None:
    late, filled = window(6), window(5)
    for number in (5, 6):
        took(trips, number, 60_000.0)
    test = freshness(trips)
    RunFactory.create(data_test=test, window=late, outcome="broken")
    RunFactory.create(data_test=test, window=filled, outcome="broken", reason="manual")
    found = {each.window: each for each in times_to_complete(trips, "sea", 2)}
    assert (found[late].is_known, found[late].text) == (True, "16h 40m of 6h")
    assert (found[filled].is_known, found[filled].text) == (False, "not known: filled 16h 40m after its end")


def test_the_usual_delay_is_behind_the_slowest_direct_upstream() -> None:
    raw, slow, trips, report = DatasetFactory.create_batch(4)
    for upstream in (raw, slow):
        LineageEdgeFactory.create(upstream=upstream, downstream=trips)
    LineageEdgeFactory.create(upstream=trips, downstream=report)
    took_each(raw, 100, 100, 100)
    took_each(slow, 600, 600, 600)
    took_each(trips, 4000, 1000, 1600)
    took_each(report, 9000, 9000, 9000)
    assert usual_delay(trips.pk) == timedelta(seconds=1000)
    assert usual_delay(report.pk) == timedelta(seconds=7400)
    assert usual_delay(raw.pk) == timedelta()


def test_only_the_last_fourteen_windows_that_were_complete_say_what_is_usual() -> None:
    raw, trips = DatasetFactory.create_batch(2)
    LineageEdgeFactory.create(upstream=raw, downstream=trips)
    took_each(raw, *[0.0] * 3)
    took_each(trips, *[9000.0] * 15, *[60.0] * 6, *[120.0] * 8)
    took(trips, 29, None)
    took(trips, 30, 9000, spec=ROWS)
    assert usual_delay(trips.pk) == timedelta(seconds=120)


@pytest.mark.parametrize(
    ("runs_in", "spoils", "place"), [("sea", "", ""), ("phx", "", "phx"), ("sea", "phx", "phx"), ("phx", "sea", "sea")]
)
def test_data_is_spoilt_where_a_test_says_or_runs_and_everywhere_by_home(
    trips: Dataset, runs_in: str, spoils: str, place: str
) -> None:
    test = DataTestFactory.create(dataset=trips, datacenter=runs_in, spoils=spoils)
    assert (place_of(runs_in, spoils, "sea"), spoilt_place(test, "sea")) == (place, place)
