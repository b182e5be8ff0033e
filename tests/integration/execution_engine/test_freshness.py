import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from assay.catalog.services import record_completion
from assay.models import Category, Dataset, DataTest
from execution_engine.freshness.derive import TIME_TO_COMPLETE
from execution_engine.models import Measurement, RunReason
from tests.factories import HOUR, DatasetFactory, DataTestFactory, LineageEdgeFactory, day
from tests.fakes import rows
from tests.integration.execution_engine.conftest import Loop

MONDAY = day("2026-03-09")
DUE = MONDAY.end + 6 * HOUR


def fresh(dataset: Dataset, datacenter: str = "sea") -> DataTest:
    return DataTestFactory.create(
        dataset=dataset,
        name=f"freshness@{datacenter}",
        datacenter=datacenter,
        category=Category.FRESHNESS,
        assertion="freshness(complete=0.99) < 6h",
        origin="generated",
    )


def test_a_table_that_is_there_in_time_is_fresh_however_late_the_run_is(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", rows(100))
    loop.at(DUE + timedelta(seconds=20))
    run = loop.run(fresh(trips), MONDAY)
    assert (run.outcome, run.value) == ("held", 0)


def test_an_empty_window_is_as_late_as_the_look_at_it(loop: Loop, trips: Dataset) -> None:
    loop.at(DUE)
    data_test = fresh(trips)
    run = loop.run(data_test, MONDAY)
    assert (run.outcome, run.value) == ("broken", 6 * 3600)
    loop.write(trips, "2026-03-09", rows(100))
    loop.at(DUE + HOUR)
    assert loop.run(data_test, MONDAY, RunReason.CHECK).outcome == "held"


def test_an_early_trigger_on_part_of_the_data_gives_no_verdict(loop: Loop, trips: Dataset) -> None:
    raw = DatasetFactory.create(name="events")
    LineageEdgeFactory.create(upstream=raw, downstream=trips)
    loop.write(raw, "2026-03-09", rows(100))
    loop.write(trips, "2026-03-09", rows(40))
    loop.at(MONDAY.end + HOUR)
    data_test = fresh(trips)
    early = loop.run(data_test, MONDAY, RunReason.TRIGGER)
    loop.at(DUE)
    late = loop.run(data_test, MONDAY, RunReason.SCHEDULE)
    assert [(run.outcome, run.error_reason) for run in (early, late)] == [("error", "not due"), ("broken", "")]


def test_a_window_is_not_complete_before_its_upstreams_are(loop: Loop, trips: Dataset) -> None:
    raw = DatasetFactory.create(name="events")
    LineageEdgeFactory.create(upstream=raw, downstream=trips)
    loop.write(trips, "2026-03-09", rows(40))
    loop.at(DUE)
    assert loop.run(fresh(trips), MONDAY).outcome == "broken"


def test_what_an_upstream_is_fed_by_counts_too(loop: Loop, trips: Dataset) -> None:
    raw, staged = DatasetFactory.create(name="events"), DatasetFactory.create(name="staged")
    LineageEdgeFactory.create(upstream=raw, downstream=staged)
    LineageEdgeFactory.create(upstream=staged, downstream=trips)
    loop.write(raw, "2026-03-09", rows(100))
    loop.write(staged, "2026-03-09", rows(50))
    loop.write(trips, "2026-03-09", rows(50))
    loop.at(DUE)
    data_test = fresh(trips)
    assert loop.run(data_test, MONDAY).outcome == "broken"
    loop.write(staged, "2026-03-09", rows(100))
    loop.write(trips, "2026-03-09", rows(100))
    assert loop.run(data_test, MONDAY, occasion="2").outcome == "held"


def test_tables_that_feed_each_other_can_be_fresh(loop: Loop, trips: Dataset) -> None:
    other = DatasetFactory.create(name="other")
    LineageEdgeFactory.create(upstream=trips, downstream=other)
    LineageEdgeFactory.create(upstream=other, downstream=trips)
    for dataset in (trips, other):
        loop.write(dataset, "2026-03-09", rows(10))
    loop.at(DUE)
    assert loop.run(fresh(trips), MONDAY).outcome == "held"


def test_what_is_expected_on_that_weekday_is_complete(loop: Loop, trips: Dataset) -> None:
    counts = DataTestFactory.create(dataset=trips, assertion="row_count() >= 0")
    for key in ("2026-02-16", "2026-02-23", "2026-03-02"):
        loop.write(trips, key, rows(100))
        loop.run(counts, day(key))
    data_test = fresh(trips)
    loop.at(DUE)
    loop.write(trips, "2026-03-09", rows(69))
    assert loop.run(data_test, MONDAY).outcome == "broken"
    loop.write(trips, "2026-03-09", rows(70))
    assert loop.run(data_test, MONDAY, occasion="2").outcome == "held"


def test_a_completion_event_outweighs_what_is_usual(loop: Loop, trips: Dataset) -> None:
    counts = DataTestFactory.create(dataset=trips, assertion="row_count() >= 0")
    for key in ("2026-02-16", "2026-02-23", "2026-03-02"):
        loop.write(trips, key, rows(100))
        loop.run(counts, day(key))
    loop.write(trips, "2026-03-09", rows(10))
    record_completion(dataset=trips, datacenter="sea", window=MONDAY, pipeline="load", now=MONDAY.end)
    loop.at(DUE)
    assert loop.run(fresh(trips), MONDAY).outcome == "held"


def test_a_replica_is_complete_against_home(loop: Loop) -> None:
    trips = DatasetFactory.create(name="trips", datacenters=("sea", "phx"), freshness_sla=6 * HOUR)
    loop.write(trips, "2026-03-09", rows(100))
    loop.write(trips, "2026-03-09", rows(90), datacenter="phx")
    loop.at(DUE)
    data_test = fresh(trips, "phx")
    assert loop.run(data_test, MONDAY).outcome == "broken"
    loop.write(trips, "2026-03-09", rows(99), datacenter="phx")
    assert loop.run(data_test, MONDAY, occasion="2").outcome == "held"


@pytest.mark.parametrize(("has_completeness", "outcome"), [(True, "held"), (False, "broken")])
def test_later_loss_is_for_the_completeness_test_where_there_is_one(
    loop: Loop, trips: Dataset, has_completeness: bool, outcome: str
) -> None:
    if has_completeness:
        DataTestFactory.create(dataset=trips, category=Category.COMPLETENESS)
    loop.write(trips, "2026-03-09", rows(100))
    loop.at(DUE)
    data_test = fresh(trips)
    loop.run(data_test, MONDAY)
    loop.write(trips, "2026-03-09", [])
    loop.at(DUE + HOUR)
    assert loop.run(data_test, MONDAY, RunReason.CHECK).outcome == outcome


def test_how_long_a_window_took_is_measured_once(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", rows(100))
    data_test = fresh(trips)
    for hours in (2, 7):
        loop.at(MONDAY.end + hours * HOUR)
        loop.run(data_test, MONDAY, occasion=str(hours))
    assert Measurement.objects.get(spec_text=TIME_TO_COMPLETE.text).value == 2 * 3600


def write_file(folder: Path, key: str, written_at: datetime) -> None:
    """A real file of a partition, written at an instant."""
    file = folder / f"datestr={key}" / "part-0.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"")
    os.utime(file, (written_at.timestamp(),) * 2)


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        (3.5, 3.5),
        (-2, 0),  # before the window's end it was not late
        (9, 6),  # in the future of a replay: it came when it was looked at
    ],
)
def test_a_window_took_as_long_as_its_newest_file(
    loop: Loop, trips: Dataset, tmp_path: Path, hours: float, expected: float
) -> None:
    trips.replicas.update(location=str(tmp_path))
    write_file(tmp_path, "2026-03-09", MONDAY.end + hours * HOUR)
    loop.lake.write(str(tmp_path), "2026-03-09", rows(100))
    loop.at(DUE)
    loop.run(fresh(trips), MONDAY)
    assert Measurement.objects.get(spec_text=TIME_TO_COMPLETE.text).value == expected * 3600


def test_a_window_is_complete_no_sooner_than_what_it_is_measured_against(
    loop: Loop, trips: Dataset, tmp_path: Path
) -> None:
    raw = DatasetFactory.create(name="events")
    LineageEdgeFactory.create(upstream=raw, downstream=trips)
    for dataset, hours in ((trips, 1), (raw, 2)):
        dataset.replicas.update(location=str(tmp_path / dataset.name))
        write_file(tmp_path / dataset.name, "2026-03-09", MONDAY.end + hours * HOUR)
        loop.lake.write(str(tmp_path / dataset.name), "2026-03-09", rows(100))
    loop.at(DUE)
    loop.run(fresh(trips), MONDAY)
    took = Measurement.objects.filter(spec_text=TIME_TO_COMPLETE.text)
    assert dict(took.values_list("dataset__name", "value")) == {"events": 2 * 3600, "trips": 2 * 3600}
