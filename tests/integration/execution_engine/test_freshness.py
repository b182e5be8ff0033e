"""What makes a window fresh, row by row: completions, histories, completeness tests and files of others say nothing."""

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assay.catalog.services import record_completion
from assay.models import Category, DataChange, Dataset, DataTest, Scope
from assay.time.windows import Window
from execution_engine.freshness.derive import TIME_TO_COMPLETE
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Measurement, Run, RunReason, Watch
from execution_engine.planning.planner import hash_of
from tests.factories import DAY, HOUR, DatasetFactory, DataTestFactory, LineageEdgeFactory, day
from tests.fakes import rows
from tests.integration.execution_engine.conftest import Loop, measurement

MONDAY, SUNDAY = day("2026-03-09"), day("2026-03-08")
DUE = MONDAY.end + 6 * HOUR
SECOND = timedelta(seconds=1)
NOBODY_KNOWS = "complete: {} rows; whether these are all cannot be known, as nothing says yet how many there should be"
WEEKS = ("2026-03-02", "2026-02-23", "2026-02-16")


@pytest.fixture(autouse=True)
def when_it_is_due(loop: Loop) -> None:
    """The clock."""
    loop.at(DUE)


def fresh(dataset: Dataset, assertion: str = "freshness(complete=0.9) < 6h", **more: Any) -> DataTest:
    return DataTestFactory.create(dataset=dataset, category=Category.FRESHNESS, assertion=assertion, **more)


def measured(dataset: Dataset, window: Window, value: float, spec: MetricSpec = ALL_ROWS, **more: Any) -> Measurement:
    return measurement(dataset, spec, window=window, **{"measured_at": DUE - DAY, "value": value, **more})


def judged(loop: Loop, dataset: Dataset, count: int, **more: Any) -> tuple[str, str]:
    """The outcome of a look at a window with so many rows, and what it stands on."""
    loop.write(dataset, "2026-03-09", rows(count))
    run = loop.run(fresh(dataset, **more), MONDAY)
    return run.outcome, run.sentence.partition("; ")[2]


def tell_completion(dataset: Dataset, **more: Any) -> None:
    given = {"datacenter": "sea", "window": MONDAY, "pipeline": "load", "now": DUE - HOUR, **more}
    record_completion(dataset=dataset, **given)


def test_a_completion_says_how_many_rows_there_should_be(loop: Loop, trips: Dataset) -> None:
    tell_completion(trips, rows=100)
    assert judged(loop, trips, 89) == ("broken", "incomplete: 89 of 100 rows that the pipeline told of")
    assert judged(loop, trips, 90) == ("held", "complete: 90 of 100 rows that the pipeline told of")


@pytest.mark.parametrize("other", ["datacenter", "window", "kind", "dataset"])
def test_a_completion_of_something_else_says_nothing(loop: Loop, trips: Dataset, other: str) -> None:
    match other:
        case "datacenter":
            tell_completion(trips, rows=100, datacenter="phx")
        case "window":
            for window in (SUNDAY, day("2026-03-10")):  # both end or begin where Monday does
                tell_completion(trips, rows=100, window=window)
        case "kind":
            tell_completion(trips, rows=100)
            DataChange.objects.update(kind="rewritten")
        case "dataset":
            tell_completion(DatasetFactory.create(), rows=100)
    assert judged(loop, trips, 10) == ("held", NOBODY_KNOWS.format(10))


def test_completions_count_in_the_order_in_which_they_came(loop: Loop, trips: Dataset) -> None:
    tell_completion(trips, rows=100, mode="overwrite", run="b", now=DUE - HOUR)
    tell_completion(trips, rows=10, mode="append", run="a", now=DUE - 2 * HOUR)
    assert judged(loop, trips, 100) == ("held", "complete: 100 of 100 rows that the pipeline told of")
    tell_completion(trips, rows=7, mode="append", run="c", now=DUE - SECOND)
    assert judged(loop, trips, 100)[1] == "complete: 100 of 107 rows that the pipeline told of"
    tell_completion(trips, rows=9, mode="append", run="c", now=DUE)  # the same run once more corrects itself
    assert judged(loop, trips, 100)[1] == "complete: 100 of 109 rows that the pipeline told of"


def test_what_is_expected_is_that_of_the_same_weekday_there(loop: Loop, trips: Dataset) -> None:
    for key in WEEKS:
        measured(trips, day(key), 100)
    expected = "rows, of at least 70 expected after 3 windows like it"
    assert judged(loop, trips, 69) == ("broken", f"incomplete: 69 {expected}")
    assert judged(loop, trips, 70) == ("held", f"complete: 70 {expected}")


@pytest.mark.parametrize(
    "other",
    [{"datacenter": "phx"}, {"failure_reason": "timeout"}, {"window": SUNDAY}, {"value": None}],
    ids=str,
)
def test_what_was_elsewhere_or_of_another_day_is_not_usual(loop: Loop, trips: Dataset, other: dict[str, Any]) -> None:
    for key in WEEKS[:2]:
        measured(trips, day(key), 100)
        measured(DatasetFactory.create(), day(key), 100)
    given = {"window": day(WEEKS[2]), "value": 100, **other}
    measured(trips, **given)
    assert judged(loop, trips, 1)[1] == NOBODY_KNOWS.format(1)


def test_a_history_says_nothing_where_a_pipeline_does(loop: Loop, trips: Dataset) -> None:
    for key in WEEKS:
        measured(trips, day(key), 100)
    tell_completion(trips)
    assert judged(loop, trips, 10) == ("held", "complete: 10 rows, and the pipeline says that these are all")


def test_a_table_without_partitions_has_no_usual_day(loop: Loop) -> None:
    rates = DatasetFactory.create(name="rates", partition_column="", freshness_sla=6 * HOUR)
    for key in WEEKS:
        measured(rates, day(key), 100)
    assert judged(loop, rates, 10)[1] == NOBODY_KNOWS.format(10)


def test_an_empty_window_is_complete_only_where_that_is_allowed(loop: Loop, trips: Dataset) -> None:
    assert judged(loop, trips, 0) == ("broken", "incomplete: no rows")
    trips.allow_empty = True
    trips.save()
    assert judged(loop, trips, 0) == ("held", NOBODY_KNOWS.format(0))


def feed(loop: Loop, dataset: Dataset, *upstreams: tuple[str, int]) -> None:
    for name, count in upstreams:
        upstream = DatasetFactory.create(name=name)
        LineageEdgeFactory.create(upstream=upstream, downstream=dataset)
        loop.write(upstream, "2026-03-09", rows(count))


def detail(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = run.findings[next(text for text in run.findings if text.startswith("freshness"))]
    return found


def test_a_window_is_held_against_the_upstream_with_most_rows(loop: Loop, trips: Dataset) -> None:
    feed(loop, trips, ("few", 50), ("many", 100))
    tell_completion(trips, rows=1)  # where there are upstreams, what its pipeline tells says nothing
    assert judged(loop, trips, 89) == ("broken", "incomplete: 89 of 100 rows of raw.many")
    assert judged(loop, trips, 90) == ("held", "complete: 90 of 100 rows of raw.many")


def test_a_window_waits_where_it_has_all_that_its_upstream_has(loop: Loop, trips: Dataset) -> None:
    feed(loop, trips, ("events", 50))
    upstream = Dataset.objects.get(name="events")
    tell_completion(upstream, rows=100)
    loop.write(trips, "2026-03-09", rows(50))
    run = loop.run(fresh(trips), MONDAY)
    said = "incomplete: 50 of 50 rows of raw.events; raw.events not complete yet"
    assert detail(run) == {
        "complete": False, "rows": 50, "expected": 100, "waits": True, "evidence": "upstream", "note": said,
    }  # fmt: skip
    loop.write(trips, "2026-03-09", rows(40))
    run = loop.run(fresh(trips), MONDAY)
    assert (detail(run)["waits"], detail(run)["rows"]) == (False, 40)
    tell_completion(upstream, rows=50, mode="overwrite", now=DUE)
    loop.write(trips, "2026-03-09", rows(50))
    run = loop.run(fresh(trips), MONDAY)
    assert (detail(run)["complete"], detail(run)["waits"], run.value) == (True, False, 0)


def test_a_replica_is_held_against_home(loop: Loop) -> None:
    trips = DatasetFactory.create(name="trips", datacenters=("sea", "phx"), freshness_sla=6 * HOUR)
    loop.write(trips, "2026-03-09", rows(100))
    loop.write(trips, "2026-03-09", rows(80), datacenter="phx")
    data_test = fresh(trips, datacenter="phx")
    assert detail(loop.run(data_test, MONDAY))["note"] == "incomplete: 80 of 100 rows of home, sea"
    loop.write(trips, "2026-03-09", rows(90), datacenter="phx")
    assert loop.run(data_test, MONDAY, occasion="2").outcome == "held"


def was_complete(dataset: Dataset, **more: Any) -> None:
    measured(dataset, **{"window": MONDAY, "value": 60.0, "spec": TIME_TO_COMPLETE, **more})


@pytest.mark.parametrize(
    ("is_settled", "of_test", "of_time"),
    [
        (True, {}, {}),
        (False, {"datacenter": "phx"}, {}),
        (False, {"retired_at": DUE}, {}),
        (False, {"scope": Scope.TABLE}, {}),
        (False, {"category": Category.CUSTOM}, {}),
        (False, {"other": True}, {}),
        (False, {}, {"datacenter": "phx"}),
        (False, {}, {"window": SUNDAY}),
        (False, {}, {"window": Window(start=MONDAY.start, end=MONDAY.end + DAY)}),
        (False, {}, {"window": Window(start=SUNDAY.start, end=MONDAY.end)}),
        (False, {}, {"spec": ALL_ROWS}),
        (False, {}, {"other": True}),
    ],
    ids=str,
)
def test_a_window_that_was_complete_is_for_its_own_live_completeness_test(
    loop: Loop, trips: Dataset, is_settled: bool, of_test: dict[str, Any], of_time: dict[str, Any]
) -> None:
    given = {"category": Category.COMPLETENESS, "datacenter": "sea", **of_test}
    DataTestFactory.create(dataset=DatasetFactory.create() if given.pop("other", False) else trips, **given)
    was_complete(DatasetFactory.create() if of_time.pop("other", False) else trips, **of_time)
    outcome, said = judged(loop, trips, 0)
    settled = "complete: it was before, and its completeness test answers for it since"
    assert (outcome, said) == (("held", settled) if is_settled else ("broken", "incomplete: no rows"))


def times_to_complete(dataset: Dataset) -> list[float | None]:
    found = Measurement.objects.filter(spec_hash=hash_of(TIME_TO_COMPLETE), dataset=dataset, datacenter="sea")
    return list(found.filter(window_start=MONDAY.start, window_end=MONDAY.end).values_list("value", flat=True))


def test_how_long_a_window_took_is_written_down_once(loop: Loop, trips: Dataset) -> None:
    was_complete(trips, datacenter="phx")
    was_complete(trips, window=SUNDAY)
    was_complete(DatasetFactory.create())
    loop.at(DUE - HOUR)
    judged(loop, trips, 7)
    loop.at(DUE)
    judged(loop, trips, 8)
    assert times_to_complete(trips) == [5 * 3600]
    row = Measurement.objects.get(dataset=trips, spec_hash=hash_of(TIME_TO_COMPLETE), datacenter="sea",
                                  window_start=MONDAY.start)  # fmt: skip
    assert (row.metric, row.spec_text, row.window) == (TIME_TO_COMPLETE, "time_to_complete()", MONDAY)
    assert (row.requested_at, row.measured_at, row.scan) == (DUE - HOUR, DUE - HOUR, None)
    assert row.detail == {"evidence": "nothing", "note": NOBODY_KNOWS.format(7)}


def test_an_incomplete_window_took_no_time_yet(loop: Loop, trips: Dataset) -> None:
    judged(loop, trips, 0)
    assert times_to_complete(trips) == []


def watched(dataset: Dataset, hours: float | None, datacenter: str = "sea", window: Window = MONDAY) -> None:
    Watch.objects.update_or_create(
        dataset=dataset,
        datacenter=datacenter,
        window_start=window.start,
        window_end=window.end,
        defaults={
            "changed_at": None if hours is None else MONDAY.end + hours * HOUR,
            "seen_at": DUE,
            "fingerprint": "as it is",
        },
    )


@pytest.mark.parametrize(
    ("own", "upstream", "took"),
    [(2, 1, 2), (1, 2, 2), (2, None, 2), (None, 2, 6), (-1, -2, 0), (9, 1, 6)],
)
def test_a_window_took_until_the_last_of_its_files_came(
    loop: Loop, trips: Dataset, monkeypatch: pytest.MonkeyPatch, own: float | None, upstream: float | None, took: float
) -> None:
    feed(loop, trips, ("events", 10))
    events = Dataset.objects.get(name="events")
    monkeypatch.setattr("execution_engine.scans.run_scan.note_fingerprints", lambda *_: None)
    watched(trips, own)
    watched(events, upstream)
    watched(DatasetFactory.create(), 5)
    watched(trips, 5, datacenter="phx")
    watched(events, 5, datacenter="phx")
    for window in (
        SUNDAY,
        Window(start=MONDAY.start, end=MONDAY.end + DAY),
        Window(start=SUNDAY.start, end=MONDAY.end),
    ):
        watched(trips, 5, window=window)
    judged(loop, trips, 10)
    assert times_to_complete(trips) == [took * 3600]


@pytest.mark.parametrize(("before", "outcome", "reason"), [(SECOND, "error", "not due"), (0 * SECOND, "broken", "")])
def test_an_incomplete_window_is_late_only_once_it_is_due(
    loop: Loop, trips: Dataset, before: timedelta, outcome: str, reason: str
) -> None:
    loop.at(DUE - before)
    run = loop.run(fresh(trips), MONDAY, RunReason.TRIGGER)
    assert (run.outcome, run.error_reason) == (outcome, reason)
    if reason:
        said = f"not due: {MONDAY.text} is not complete yet, and need not be before 2026-03-10 06:00 UTC"
        assert run.sentence.startswith(said)
    else:
        assert run.value == 6 * 3600


@pytest.mark.parametrize(("hours", "reason"), [(3, "not due"), (4, "")])
def test_the_freshness_of_another_table_is_due_when_that_table_is(
    loop: Loop, trips: Dataset, hours: int, reason: str
) -> None:
    DatasetFactory.create(name="events", freshness_sla=4 * HOUR)
    loop.at(MONDAY.end + hours * HOUR)
    run = loop.run(fresh(trips, "freshness(dataset='raw.events') < 6h"), MONDAY)
    assert run.error_reason == reason


def test_what_lateness_stands_on_is_when_it_was_measured(loop: Loop, trips: Dataset) -> None:
    instants: list[datetime | None] = []
    feed(loop, trips, ("events", 10))
    loop.at(DUE + HOUR)
    run = loop.run(fresh(trips), MONDAY)
    instants += [run.measured_at, Measurement.objects.get(dataset=trips, spec_text__startswith="freshness").measured_at]
    assert (instants, run.value) == ([DUE + HOUR] * 2, 7 * 3600)


def test_a_window_is_not_complete_before_its_upstreams_are(loop: Loop, trips: Dataset) -> None:
    raw = DatasetFactory.create(name="events")
    LineageEdgeFactory.create(upstream=raw, downstream=trips)
    loop.write(trips, "2026-03-09", rows(40))
    assert loop.run(fresh(trips), MONDAY).outcome == "broken"


def test_what_an_upstream_is_fed_by_counts_too(loop: Loop, trips: Dataset) -> None:
    raw, staged = DatasetFactory.create(name="events"), DatasetFactory.create(name="staged")
    LineageEdgeFactory.create(upstream=raw, downstream=staged)
    LineageEdgeFactory.create(upstream=staged, downstream=trips)
    loop.write(raw, "2026-03-09", rows(100))
    loop.write(staged, "2026-03-09", rows(50))
    loop.write(trips, "2026-03-09", rows(50))
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
    assert loop.run(fresh(trips), MONDAY).outcome == "held"


def write_file(folder: Path, key: str, written_at: datetime) -> None:
    """A real file of a partition, written at an instant."""
    file = folder / f"datestr={key}" / "part-0.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"")
    os.utime(file, (written_at.timestamp(),) * 2)


def test_a_window_is_complete_no_sooner_than_what_it_is_measured_against(
    loop: Loop, trips: Dataset, tmp_path: Path
) -> None:
    raw = DatasetFactory.create(name="events")
    LineageEdgeFactory.create(upstream=raw, downstream=trips)
    for dataset, hours in ((trips, 1), (raw, 2)):
        dataset.replicas.update(location=str(tmp_path / dataset.name))
        write_file(tmp_path / dataset.name, "2026-03-09", MONDAY.end + hours * HOUR)
        loop.lake.write(str(tmp_path / dataset.name), "2026-03-09", rows(100))
    loop.run(fresh(trips), MONDAY)
    took = Measurement.objects.filter(spec_text=TIME_TO_COMPLETE.text)
    assert dict(took.values_list("dataset__name", "value")) == {"events": 2 * 3600, "trips": 2 * 3600}
