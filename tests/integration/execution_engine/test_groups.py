"""Runs of assertions by groups, over an engine that measures each group."""

import pytest

from assay.models import Dataset, DataTest
from execution_engine import services
from execution_engine.models import Measurement
from execution_engine.outcome import Failure
from execution_engine.parts.state_store import INLINE_BYTES
from execution_engine.runs.evaluate_runs import groups_of
from tests.factories import DataTestFactory, day
from tests.fakes import Row
from tests.integration.execution_engine.conftest import Loop

MONDAY = day("2026-03-09")
STEADY = "row_count() >= 0.5 * mean(row_count(), last=3) by city"


def cities(**counts: int) -> list[Row]:
    """So many rows of each city."""
    return [{"id": number, "city": city} for city, count in counts.items() for number in range(count)]


def by_city(dataset: Dataset, assertion: str) -> DataTest:
    return DataTestFactory.create(dataset=dataset, assertion=assertion)


def test_a_run_breaks_when_one_group_does_and_names_it(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", cities(oslo=12, voss=3, bergen=20))
    run = loop.run(by_city(trips, "row_count() >= 10 by city"), MONDAY)
    assert (run.outcome, run.value, run.operands) == ("broken", 2 / 3, {"row_count() by city": 3})
    assert run.excess == pytest.approx(1 / 3)
    assert [found["group"] for found in run.findings["worst_groups"]] == [{"city": "voss"}]


def test_groups_and_the_whole_are_measured_in_one_scan(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", cities(oslo=12))
    loop.request(by_city(trips, "row_count() >= 10"), MONDAY)
    loop.request(by_city(trips, "row_count() >= 10 by city"), MONDAY)
    loop.request(by_city(trips, "row_count() >= 5 by city for 50 % of groups"), MONDAY)
    loop.drain()
    assert [specs for _, _, specs in loop.lake.scans] == [("row_count()", "row_count() by city")]


def test_each_group_is_held_against_its_own_past(loop: Loop, trips: Dataset) -> None:
    data_test = by_city(trips, STEADY)
    for key in ("2026-03-06", "2026-03-07", "2026-03-08"):
        loop.write(trips, key, cities(oslo=100, voss=4))
        assert loop.run(data_test, day(key)).error_reason in ("", "warming up")
    loop.write(trips, "2026-03-09", cities(oslo=90, moss=1))
    run = loop.run(data_test, MONDAY)
    assert run.outcome == "broken"
    assert [found["group"]["city"] for found in run.findings["worst_groups"]] == ["voss"]
    assert [found["group"]["city"] for found in run.findings["groups_not_judged"]] == ["moss"]


def test_more_past_groups_than_can_be_held_say_what_to_do(
    loop: Loop, trips: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("execution_engine.runs.evaluate_runs.MAX_VALUES", 3)
    data_test = by_city(trips, STEADY)
    for key in ("2026-03-07", "2026-03-08", "2026-03-09"):
        loop.write(trips, key, cities(oslo=10, voss=10))
        run = loop.run(data_test, day(key))
    assert run.sentence.endswith("look back on fewer windows, or group by less")


def test_a_spoilt_window_enters_no_history_of_groups(loop: Loop, trips: Dataset) -> None:
    data_test = by_city(trips, STEADY)
    for key, count in (("2026-03-07", 10), ("2026-03-08", 1000)):
        loop.write(trips, key, cities(oslo=count))
        loop.run(data_test, day(key))
    services.exclude_window(dataset=trips, window=day("2026-03-08"), holder="test 1")
    loop.write(trips, "2026-03-09", cities(oslo=10))
    assert loop.run(data_test, MONDAY).error_reason == "warming up"


def test_ten_thousand_groups_go_to_the_state_store_and_come_back(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", [{"id": number, "city": f"city {number}"} for number in range(10_000)])
    run = loop.run(by_city(trips, "row_count() = 1 by city"), MONDAY)
    assert (run.outcome, run.operands) == ("held", {"row_count() by city": 10_000})
    assert Measurement.objects.get().state_length > INLINE_BYTES


def test_an_engine_that_cannot_group_is_told(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", cities(oslo=12))
    loop.run(by_city(trips, "row_count() >= 10 by city"), MONDAY)
    Measurement.objects.update(state=None)
    failure = groups_of(Measurement.objects.get())
    assert isinstance(failure, Failure)
    assert failure.detail == "row_count() by city was measured as a whole: the engine of this table cannot group"


def test_an_empty_window_has_no_groups_yet(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", [])
    run = loop.run(by_city(trips, "row_count() >= 10 by city"), MONDAY)
    assert (run.outcome, run.error_reason, run.transient) == ("error", "no data", True)
