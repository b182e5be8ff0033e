"""The slice behind the worst window of an alert is searched once, with a past of sound windows, or it says why not."""

from collections.abc import Iterator
from typing import Any

import pytest

from alerting.models import Alert, SliceSearch, SliceTrial, Standing, Waiver
from alerting.services import explain_due, open_alert, search_worst, weigh_due
from alerting.slices import MOST_TRIES
from alerting.state import WaiverKind
from alerting.trials import request_trials
from assay import clock
from assay.models import Dataset, DataTest, Scope
from assay.time.windows import Window
from execution_engine import storage
from execution_engine.services import exclude_window
from tests.factories import (
    NOW,
    DatasetFactory,
    DataTestFactory,
    LineageEdgeFactory,
    RunFactory,
    StandingFactory,
    day,
)
from tests.fakes import FakeEngine, Row

pytestmark = pytest.mark.django_db
MONDAY = day("2026-03-09")
COLUMNS = [{"name": "id", "type": "bigint"}, {"name": "city", "type": "string"}]
WEEKDAYS = [f"2026-03-0{at}" for at in range(2, 7)] + [f"2026-02-{at}" for at in (*range(16, 21), *range(23, 28))]


@pytest.fixture
def lake() -> Iterator[FakeEngine]:
    clock.simulate(NOW)
    with storage.using(lake := FakeEngine()):
        yield lake


@pytest.fixture
def trips(lake: FakeEngine) -> Dataset:
    """Three weeks of trips in three cities; on Monday most of those in Oslo are lost."""
    row: Dataset = DatasetFactory.create(name="trips", columns=COLUMNS)
    for number, key in enumerate(WEEKDAYS):
        lake.write("/lake/sea/trips", key, rows(Oslo=60 + number % 3, Rome=60 - number % 5, Lima=61))
    lake.write("/lake/sea/trips", "2026-03-09", rows(Oslo=12, Rome=60, Lima=61))
    return row


def rows(**counts: int) -> list[Row]:
    return [{"id": number, "city": city} for city, count in counts.items() for number in range(count)]


def fails(test: DataTest, window: Window = MONDAY, **more: Any) -> Standing:
    fields = {"state": "FAIL", "last_outcome": "broken", "excess": 0.2, **more}
    row: Standing = StandingFactory.create(data_test=test, window=window, **fields)
    return row


def alert_of(test: DataTest) -> Alert:
    return open_alert(dataset=test.dataset, category=test.category, owner="ada", now=NOW)


def searched(test: DataTest) -> dict[str, Any]:
    """What came of the search behind Monday."""
    search_worst(alert_of(test), NOW)
    assert explain_due("sea") == 1
    return dict(SliceSearch.objects.get().result)


def accepted(test: DataTest, window: Window) -> Waiver:
    """Somebody takes the window as it is."""
    assert test.revision is not None
    ends = {"window_start": window.start, "window_end": window.end}
    word = {"kind": WaiverKind.ACCEPTED, "reason": "known", "author": "ada", "starts_at": NOW}
    return Waiver.objects.create(data_test=test, revision=test.revision, **ends, **word)


def test_the_worst_window_is_searched_once_and_another_when_it_becomes_the_worst(lake: FakeEngine) -> None:
    test = DataTestFactory.create()
    alert: Alert = alert_of(test)
    monday = fails(test)
    for _ in range(2):
        search_worst(alert, NOW)
    fails(test, day("2026-03-08"), excess=0.1)
    search_worst(alert, NOW)
    assert list(SliceSearch.objects.values_list("standing", flat=True)) == [monday.pk]
    saturday = fails(test, day("2026-03-07"), excess=0.3)
    search_worst(alert, NOW)
    assert set(SliceSearch.objects.values_list("standing", flat=True)) == {monday.pk, saturday.pk}


def test_the_slice_is_searched_where_the_data_lies(trips: Dataset) -> None:
    test = DataTestFactory.create(dataset=trips)
    fails(test)
    search_worst(alert_of(test), NOW)
    assert (explain_due("phx"), explain_due("sea"), explain_due("sea")) == (0, 1, 0)
    assert SliceSearch.objects.get().result["slices"][0]["name"] == "city = 'Oslo'"


@pytest.mark.parametrize(("least", "holds", "words"), [(170, True, "hold"), (300, False, "be broken too")])
def test_a_value_below_is_tried_with_the_usual_rows_of_the_slice(
    lake: FakeEngine, trips: Dataset, least: int, holds: bool, words: str
) -> None:
    for key in WEEKDAYS:
        lake.write("/lake/sea/rides", key, rows(Oslo=60, Rome=60, Lima=61))
    lake.write("/lake/sea/rides", "2026-03-09", rows(Oslo=12, Rome=60, Lima=61))
    above, rides = DataTestFactory.create(dataset=trips), DatasetFactory.create(name="rides", columns=COLUMNS)
    cause = fails(above)
    searched(above)
    test = DataTestFactory.create(dataset=rides, assertion=f"row_count() >= {least}")
    run = RunFactory.create(data_test=test, window=MONDAY, outcome="broken", operands={"row_count()": 133})
    request_trials([fails(test, last_run=run)], [cause], NOW)
    assert weigh_due("sea") == 1
    trial = SliceTrial.objects.get()
    reason = f"were city = 'Oslo' as usual, it would {words}: row_count() = 181 in place of 133"
    assert (trial.reason, trial.holds, trial.columns) == (reason, holds, ["city"])


def test_values_of_the_same_table_and_of_those_below_are_decided_again_once_a_slice_is_known(trips: Dataset) -> None:
    below = LineageEdgeFactory.create(upstream=trips, downstream=DatasetFactory.create()).downstream
    for dataset in (trips, below, DatasetFactory.create()):
        open_alert(dataset=dataset, category="novelty", owner="ada", now=NOW)
    Alert.objects.update(next_notice_at=None)
    test = DataTestFactory.create(dataset=trips)
    fails(test)
    searched(test)
    values = Alert.objects.filter(category="novelty").order_by("pk")
    assert list(values.values_list("next_notice_at", flat=True)) == [NOW, NOW, None]


def test_the_slice_is_searched_in_the_copy_that_is_spoilt(lake: FakeEngine, trips: Dataset) -> None:
    test = DataTestFactory.create(dataset=trips, category="consistency", spoils="phx")
    fails(test)
    search_worst(alert_of(test), NOW)
    assert (explain_due("sea"), explain_due("phx")) == (0, 1)
    assert SliceSearch.objects.get().result["sentence"] == (
        "Not looked into: the table has no replica in phx any more."
    )


@pytest.mark.parametrize("more", [{}, {"line": 1, "kind": 2}], ids=["two columns", "four columns"])
def test_a_column_whose_values_are_new_in_each_window_hides_no_slice(lake: FakeEngine, more: dict[str, int]) -> None:
    columns = [*COLUMNS, {"name": "hour", "type": "string"}, *({"name": name, "type": "bigint"} for name in more)]
    dataset: Dataset = DatasetFactory.create(name="rides", columns=columns)
    for key in (*WEEKDAYS, "2026-03-09"):
        counts = {"Oslo": 12 if key == "2026-03-09" else 60, "Rome": 60, "Lima": 61}
        hourly: list[Row] = [{**row, **more, "hour": f"{key} {int(str(row['id'])) % 3}"} for row in rows(**counts)]
        lake.write("/lake/sea/rides", key, hourly)
    test = DataTestFactory.create(dataset=dataset)
    fails(test)
    result = searched(test)
    assert result["slices"][0]["name"] == "city = 'Oslo'"
    assert {"column": "hour", "reason": "its values are new in each window"} in result["columns_left_out"]


def test_windows_that_were_broken_or_forgiven_or_bad_for_another_test_teach_nothing(trips: Dataset) -> None:
    test, other = DataTestFactory.create(dataset=trips), DataTestFactory.create(dataset=trips)
    fails(test)
    for key in ("2026-03-02", "2026-03-03"):
        StandingFactory.create(data_test=test, window=day(key), last_outcome="broken", state="WARN")
    for key in ("2026-03-04", "2026-03-05"):
        fails(other, day(key), waiver=accepted(other, day(key)))
    exclude_window(dataset=trips, window=day("2026-03-06"), holder="another test")
    assert searched(test)["past_windows"] == 10


def test_a_past_that_is_too_short_is_told(trips: Dataset) -> None:
    test = DataTestFactory.create(dataset=trips)
    fails(test)
    for key in WEEKDAYS[:9]:
        exclude_window(dataset=trips, window=day(key), holder=f"test {key}")
    assert searched(test)["sentence"] == "Not looked into: 6 windows of the past have rows, fewer than 7."


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"assertion": "max(id) < 5"}, "its test measures no count, sum, mean or share of the table's own rows"),
        ({"scope": Scope.TABLE}, "what broke is no single partition, and so has no past like it"),
    ],
)
def test_what_cannot_be_searched_says_why(trips: Dataset, more: dict[str, Any], reason: str) -> None:
    test = DataTestFactory.create(dataset=trips, **more)
    fails(test)
    result = searched(test)
    assert (result["status"], result["sentence"]) == ("not searched", f"Not looked into: {reason}.")


def test_a_search_that_was_lost_is_done_again_but_not_for_ever(trips: Dataset) -> None:
    test = DataTestFactory.create(dataset=trips)
    fails(test)
    search_worst(alert_of(test), NOW)
    SliceSearch.objects.update(attempts=MOST_TRIES - 1, epoch=1)
    assert explain_due() == 1
    assert SliceSearch.objects.get().result["status"] == "slices"
    SliceSearch.objects.update(attempts=MOST_TRIES, ended_at=None)
    assert explain_due() == 1
    assert SliceSearch.objects.get().result["sentence"] == "Not looked into: 2 workers were lost while they looked."


def test_a_search_goes_with_its_standing(trips: Dataset) -> None:
    test = DataTestFactory.create(dataset=trips)
    standing = fails(test)
    searched(test)
    standing.delete()
    assert not SliceSearch.objects.exists()
