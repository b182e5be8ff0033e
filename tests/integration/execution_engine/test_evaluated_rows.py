"""What a run is told of its measurements, what a history is made of, and who has read which data: row by row."""

from datetime import timedelta
from sys import float_info
from typing import Any

import pytest

from assay.models import Dataset, DataTest, Tallied, Tally
from assay.time.windows import Window
from execution_engine import selectors, services, tasks
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Ask, Exclusion, Measurement, Run
from execution_engine.outcome import Failure, Reason
from execution_engine.planning.planner import hash_of
from execution_engine.runs.evaluate_runs import groups_of, past_groups
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, RunFactory, day
from tests.fakes import rows
from tests.integration.execution_engine.conftest import Loop, measurement

pytestmark = pytest.mark.django_db

MONDAY, SUNDAY, SATURDAY = day("2026-03-09"), day("2026-03-08"), day("2026-03-07")
SECOND = timedelta(seconds=1)
OTHER = MetricSpec(name="row_count", where="fare > 1")
HASHES = {SUNDAY: hash_of(ALL_ROWS), MONDAY: hash_of(ALL_ROWS)}


def measured(dataset: Dataset, **more: Any) -> Measurement:
    return measurement(dataset, **{"measured_at": NOW, "value": 7.0, **more})


def past(dataset: Dataset) -> list[float | None]:
    """The value of Sunday and of Monday, as both ways of asking tell them."""
    values = list(selectors.latest_values(dataset.pk, "sea", HASHES).items())
    found = list(selectors.latest_measurements(dataset.pk, "sea", HASHES).items())
    assert [window for window, _ in values] == [window for window, _ in found] == [SUNDAY, MONDAY]
    assert [value for _, value in values] == [None if row is None else row.number for _, row in found]
    return [value for _, value in values]  # type: ignore[misc]


def test_the_latest_value_of_each_window_is_taken_with_every_digit(trips: Dataset) -> None:
    measured(trips, measured_at=NOW + SECOND, value=8.0)
    measured(trips, measured_at=NOW, value=9.0)
    assert past(trips) == [None, 8]
    measured(trips, measured_at=NOW + SECOND, value=2.0**63, exact="9223372036854775807")
    measured(trips, window=SUNDAY)
    assert past(trips) == [7, 9223372036854775807]


@pytest.mark.parametrize(
    "other",
    [
        {"datacenter": "phx"},
        {"spec": OTHER},
        {"failure_reason": "timeout"},
        {"measured_at": None},
        {"window": SATURDAY},
        {"window": Window(start=MONDAY.start, end=MONDAY.end + DAY)},
    ],
    ids=str,
)
def test_values_of_something_else_are_no_history(trips: Dataset, other: dict[str, Any]) -> None:
    measured(trips, **other)
    measured(DatasetFactory.create())
    assert past(trips) == [None, None]


def test_each_window_has_a_hash_of_its_own(trips: Dataset) -> None:
    measured(trips, spec=OTHER)
    hashes = {SUNDAY: hash_of(ALL_ROWS), MONDAY: hash_of(OTHER)}
    assert selectors.latest_values(trips.pk, "sea", hashes) == {SUNDAY: None, MONDAY: 7}
    measured(trips, window=SUNDAY, spec=OTHER)  # known, but not what is asked of Sunday
    assert selectors.latest_values(trips.pk, "sea", hashes) == {SUNDAY: None, MONDAY: 7}
    assert selectors.latest_values(trips.pk, "sea", {}) == {}


@pytest.mark.parametrize(
    ("datacenter", "window", "left"),
    [
        ("", MONDAY, [1, None]),
        ("sea", MONDAY, [1, None]),
        ("phx", MONDAY, [1, 2]),
        ("sea", SUNDAY, [None, 2]),
        ("sea", SATURDAY, [1, 2]),
        ("sea", day("2026-03-10"), [1, 2]),
        ("sea", Window(start=MONDAY.end - SECOND, end=MONDAY.end + DAY), [1, None]),
        ("sea", Window(start=SATURDAY.start, end=SUNDAY.start + SECOND), [None, 2]),
        ("", Window(start=SATURDAY.start, end=NOW), [None, None]),
    ],
    ids=str,
)
def test_a_spoilt_window_enters_no_history_there(
    trips: Dataset, datacenter: str, window: Window, left: list[float | None]
) -> None:
    measured(trips, window=SUNDAY, value=1.0)
    measured(trips, value=2.0)
    services.exclude_window(dataset=DatasetFactory.create(), window=MONDAY, holder="a")
    services.exclude_window(dataset=trips, window=window, datacenter=datacenter, holder="a")
    assert past(trips) == left


def test_an_exclusion_ends_with_its_last_holder_alone(trips: Dataset) -> None:
    other = DatasetFactory.create()
    for dataset, holder in ((trips, "a"), (trips, "a"), (trips, "b"), (other, "a")):
        services.exclude_window(dataset=dataset, window=MONDAY, datacenter="sea", holder=holder)
    columns = ("dataset", "datacenter", "window_start", "window_end", "holder")
    place = (trips.pk, "sea", MONDAY.start, MONDAY.end)
    elsewhere = (other.pk, "sea", MONDAY.start, MONDAY.end, "a")
    assert set(Exclusion.objects.values_list(*columns)) == {(*place, "a"), (*place, "b"), elsewhere}
    assert Exclusion.objects.count() == 3
    services.include_windows(dataset=trips, holders=["a"])
    assert set(Exclusion.objects.values_list(*columns)) == {(*place, "b"), elsewhere}


def test_the_groups_of_the_past_are_those_of_the_same_place(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-08", [{"id": 1, "city": "oslo"}])
    data_test = DataTestFactory.create(dataset=trips, assertion="row_count() >= 1 by city")
    loop.run(data_test, SUNDAY)
    row = Measurement.objects.get()
    hashes = {SATURDAY: row.spec_hash, SUNDAY: row.spec_hash}
    assert past_groups(trips.pk, "sea", hashes) == [None, {("oslo",): 1.0}]
    assert past_groups(trips.pk, "phx", hashes) == [None, None]
    Measurement.objects.update(state=b"no groups")
    assert past_groups(trips.pk, "sea", hashes) == [None, None]
    failure = groups_of(Measurement.objects.get())
    assert isinstance(failure, Failure)
    assert failure.reason == Reason.QUERY_FAILED
    assert failure.detail.startswith("row_count() by city: ")


def test_groups_whose_state_is_gone_from_the_store_are_measured_again_later(trips: Dataset) -> None:
    failure = groups_of(measured(trips, state_path="ab/gone", state_length=9, state_checksum="c"))
    assert isinstance(failure, Failure)
    assert (failure.reason, failure.transient) == (Reason.ENGINE_UNREACHABLE, True)
    assert "ab/gone" in failure.detail


@pytest.mark.parametrize(
    ("line", "granularity", "length"),
    [("partition", "day", DAY), ("partition", "hour", HOUR), ("partition", "", 7 * DAY), ("weekly", "day", 7 * DAY)],
)
def test_the_period_of_a_test_is_that_of_its_own_schedule(line: str, granularity: str, length: timedelta) -> None:
    more = {"day": {}, "hour": {"key_format": "%Y-%m-%d-%H"}, "": {"partition_column": ""}}[granularity]
    dataset = DatasetFactory.create(granularity=granularity, **more)
    assert selectors.period(DataTestFactory.create(dataset=dataset, schedule=line)) == length


def read(data_test: DataTest, *read: Measurement, window: Window = MONDAY, **more: Any) -> Run:
    run: Run = RunFactory.create(data_test=data_test, window=window, **more)
    for row in read:
        Ask.objects.create(run=run, measurement=row, operand=str(row.pk))
    return run


def test_who_has_read_a_window_is_told_by_what_was_measured_of_it(trips: Dataset) -> None:
    """Directly, over an overlapping window, and through measurements that build on others."""
    own, long = measured(trips), measured(trips, window=Window(start=SUNDAY.start, end=MONDAY.start + SECOND))
    tests = DataTestFactory.create_batch(9, dataset=trips)
    first, second, third, *others = tests
    read(first, own)
    read(first, own, window=SUNDAY)
    read(first, own)  # once more over the same window
    read(second, long)
    built = measured(DatasetFactory.create(), window=SATURDAY)
    built.inputs.add(measured(trips))
    upon = measured(DatasetFactory.create(), window=SATURDAY)
    upon.inputs.add(built)
    read(third, upon)
    read(others[0], measured(trips, datacenter="phx"))
    read(others[1], measured(DatasetFactory.create()))
    read(others[2], measured(trips, window=SUNDAY), measured(trips, window=day("2026-03-10")))
    read(others[3], own, evaluated_at=None)
    read(DataTestFactory.create(dataset=trips, retired_at=NOW), own)
    assert selectors.has_judged(trips, "sea", MONDAY) == [
        (first, SUNDAY),
        (first, MONDAY),
        (second, MONDAY),
        (third, MONDAY),
    ]


def evaluated(loop: Loop, dataset: Dataset, assertion: str, at: timedelta = HOUR, **more: Any) -> Run:
    """A run that was measured at noon and evaluated later."""
    run = loop.request(DataTestFactory.create(dataset=dataset, assertion=assertion, **more), MONDAY)
    tasks.plan()
    tasks.scan()
    loop.at(NOW + at)
    tasks.evaluate()
    run.refresh_from_db()
    return run


def test_a_run_is_of_the_instant_at_which_its_last_measurement_was_taken(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", rows(120))
    run = evaluated(loop, trips, "row_count() >= 100")
    assert (run.evaluated_at, run.measured_at) == (NOW + HOUR, NOW)
    assert (run.outcome, run.error_reason, run.transient, run.exact) == ("held", "", False, "")
    assert (run.sentence, run.operands, run.findings) == (
        "row_count() = 120, wanted >= 100", {"row_count()": 120}, {},
    )  # fmt: skip
    assert (run.value, run.excess, run.lease_until) == (120, 0, None)
    assert list(Tally.objects.filter(kind=Tallied.RUNS).values_list("label", "amount")) == [("held", 1)]


def test_of_two_measurements_the_later_one_says_when(loop: Loop, trips: Dataset) -> None:
    loop.request(DataTestFactory.create(dataset=trips, assertion="row_count() + distinct_count(id) >= 0"), MONDAY)
    tasks.plan()
    tasks.scan()
    Measurement.objects.filter(spec_text="row_count()").update(measured_at=NOW - DAY)
    tasks.evaluate()
    assert Run.objects.get().measured_at == NOW


def test_what_nothing_was_measured_for_is_of_now(loop: Loop, trips: Dataset) -> None:
    loop.request(DataTestFactory.create(dataset=trips), MONDAY)
    tasks.plan()
    tasks.scan()
    Measurement.objects.update(measured_at=None)
    loop.at(NOW + HOUR)
    tasks.evaluate()
    assert Run.objects.get().measured_at == NOW + HOUR


@pytest.mark.parametrize(
    ("reason", "transient"), [(Reason.TIMEOUT, True), (Reason.UNREADABLE, False)], ids=["timeout", "unreadable"]
)
def test_a_failure_is_that_of_the_measurement(loop: Loop, trips: Dataset, reason: Reason, transient: bool) -> None:
    loop.lake.failures["/lake/sea/trips"] = Failure(reason=reason, detail="so it is")
    run = evaluated(loop, trips, "row_count() >= 100")
    assert (run.outcome, run.error_reason, run.transient) == ("error", reason.value, transient)
    assert (run.sentence, run.value, run.excess) == (f"{reason.value}: so it is", None, None)
    assert list(Tally.objects.filter(kind=Tallied.RUNS).values_list("label", "amount")) == [("error", 1)]


def test_a_run_whose_evaluation_killed_its_workers_ends(loop: Loop, trips: Dataset) -> None:
    poison = loop.request(DataTestFactory.create(dataset=trips, assertion="row_count() >= 0"), MONDAY)
    sound = loop.request(DataTestFactory.create(dataset=trips, assertion="row_count() < 9"), MONDAY)
    tasks.plan()
    tasks.scan()
    Run.objects.filter(pk=poison.pk).update(attempts=2)
    tasks.evaluate()
    assert set(Run.objects.values_list("outcome", flat=True)) == {"held"}  # the third try is one too
    Run.objects.update(evaluated_at=None, outcome="")
    Run.objects.filter(pk=poison.pk).update(attempts=3)
    tasks.evaluate()
    poison.refresh_from_db()
    sound.refresh_from_db()
    said = "lease lost: evaluating it failed; see the log"
    assert (poison.sentence, poison.outcome, sound.outcome) == (said, "error", "held")


ZERO = "row_count(where='x') / row_count() >= 0.5"


@pytest.mark.parametrize(
    ("origin", "allow_empty", "outcome", "reason"),
    [
        ("user", False, "error", "result is null"),
        ("user", True, "error", "result is null"),
        ("generated", False, "error", "no data"),
        ("generated", True, "held", ""),
    ],
)
def test_zero_of_zero_is_what_its_kind_of_test_says(
    loop: Loop, trips: Dataset, origin: str, allow_empty: bool, outcome: str, reason: str
) -> None:
    trips.allow_empty = allow_empty
    trips.save()
    run = evaluated(loop, trips, ZERO, origin=origin)
    assert (run.outcome, run.error_reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("origin", "allow_empty", "assertion", "outcome"),
    [
        ("generated", True, "schema_drift() = 0", "held"),
        ("generated", False, "schema_drift() = 0", "error"),
        ("user", True, "schema_drift() = 0", "error"),
        ("generated", True, "mean(fare) = 0", "error"),
    ],
)
def test_no_file_is_no_drift_where_a_window_may_be_empty(
    loop: Loop, trips: Dataset, origin: str, allow_empty: bool, assertion: str, outcome: str
) -> None:
    trips.allow_empty = allow_empty
    trips.declared = {column["name"]: (NOW - 90 * DAY).isoformat() for column in trips.columns}
    trips.save()
    run = evaluated(loop, trips, assertion, origin=origin)
    assert run.outcome == outcome, run.sentence
    loop.lake.failures["/lake/sea/trips"] = Failure(reason=Reason.UNREADABLE, detail="locked")
    assert evaluated(loop, trips, assertion, 2 * HOUR, origin=origin).outcome == "error"


def test_a_number_beyond_all_floats_is_the_largest_of_them(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", [{"id": 1, "fare": float_info.max}])
    run = evaluated(loop, trips, "max(fare) <= -1.7e308")
    assert (run.outcome, run.excess) == ("broken", float_info.max)


def test_a_history_that_looks_back_on_nothing_is_told(loop: Loop) -> None:
    rates = DatasetFactory.create(name="rates", partition_column="")
    run = evaluated(loop, rates, "row_count() > mean(row_count(), last=3)")
    assert (run.outcome, run.error_reason) == ("error", "assertion is invalid")
    assert "needs single partitions" in run.sentence


def test_a_history_of_another_table_or_place_is_taken_from_there(loop: Loop, trips: Dataset) -> None:
    events = DatasetFactory.create(name="events", datacenters=("sea", "phx"))
    for dataset, datacenter, value in ((events, "sea", 5.0), (events, "phx", 50.0), (trips, "sea", 500.0)):
        for window in (SATURDAY, SUNDAY):
            measured(dataset, datacenter=datacenter, window=window, value=value)
    run = evaluated(loop, trips, "mean(row_count(dataset='raw.events'), last=2) > 0")
    assert run.value == 5
