"""What a scan takes, what it finds still true, and what it writes: each beside rows that differ in one thing."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from assay import clock
from assay.config import config
from assay.models import Dataset, Tallied, Tally
from execution_engine import services, tasks
from execution_engine.engines.protocol import Measured, ScanReport
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Ask, Measurement, Run, RunReason, Scan, Suspect
from execution_engine.outcome import Failure, Reason
from execution_engine.parts.state_store import INLINE_BYTES, state_of
from execution_engine.planning.planner import hash_of
from execution_engine.quarantine import REMEMBERED, ends_before, note_ends
from execution_engine.read_by import FallbackKind, Left, ReadBy, from_json
from execution_engine.scans.ask import ScanReading
from execution_engine.scans.reading import read
from execution_engine.scans.run_scan import wake
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, RunFactory, day
from tests.fakes import FakeEngine, rows
from tests.fixture_types import Patch
from tests.integration.execution_engine.conftest import Loop, measurement

MONDAY, SUNDAY = day("2026-03-09"), day("2026-03-08")
SECOND = timedelta(seconds=1)
HUNG = Failure(reason=Reason.TIMEOUT, detail="it passed its deadline")


def tallies() -> dict[tuple[str, str], float]:
    return {(kind, label): amount for kind, label, amount in Tally.objects.values_list("kind", "label", "amount")}


def order(loop: Loop, dataset: Dataset, assertion: str = "row_count() >= 100", **more: Any) -> Run:
    """A run, its measurements ordered."""
    run = loop.request(DataTestFactory.create(dataset=dataset, assertion=assertion, **more), MONDAY)
    tasks.plan()
    return run


def test_scans_are_counted_of_one_datacenter_or_of_all_and_no_more_than_twenty(loop: Loop) -> None:
    trips = DatasetFactory.create(name="trips", datacenters=("sea", "phx"))
    for datacenter in ("sea", "phx"):
        order(loop, trips, datacenter=datacenter)
    assert tasks.scan("dca") == 0
    assert (tasks.scan("phx"), tasks.scan("phx")) == (1, 0)
    assert list(Scan.objects.filter(ended_at=None).values_list("datacenter", flat=True)) == ["sea"]
    data_test = DataTestFactory.create(dataset=trips)
    for number in range(24):
        loop.request(data_test, type(MONDAY)(start=MONDAY.start - number * DAY, end=MONDAY.end - number * DAY))
    tasks.plan()
    assert [tasks.scan() for _ in range(3)] == [20, 4, 0]


def test_a_scan_writes_what_it_took_and_who_took_it(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", rows(120))
    order(loop, trips)
    order(loop, trips, "mean(fare) > 0")
    loop.at(NOW + HOUR)
    assert services.scan_pending("sea", worker="sea-1@assay") == 1
    scan = Scan.objects.get()
    assert (scan.started_at, scan.ended_at, scan.open_key, scan.worker) == (NOW + HOUR, NOW + HOUR, None, "sea-1@assay")
    assert (scan.spark_jobs, scan.taken, scan.reused, scan.error) == (1, 2, 0, "")
    assert (scan.lease_until, scan.attempts) == (None, 0)
    row = Measurement.objects.get(spec_text="row_count()")
    assert (row.measured_at, row.value, row.exact, row.failure_reason, row.failure_detail) == (
        NOW + HOUR, 120.0, "", "", "",
    )  # fmt: skip
    assert (row.fingerprint != "", row.state) == (True, None)
    assert tallies() == {(Tallied.SCANS, "sea"): 1, (Tallied.SCAN_SECONDS, "sea"): 0}


def test_jobs_and_seconds_of_all_passes_are_added_up(loop: Loop, trips: Dataset, monkeypatch: Patch) -> None:
    order(loop, trips)
    order(loop, trips, "mean(fare) > 0")
    Suspect.objects.create(**suspect(trips, MetricSpec(name="mean", columns=("fare",))))
    plain = FakeEngine.scan

    def slow(self: FakeEngine, *args: Any) -> ScanReport:
        report = plain(self, *args)
        return replace(report, spark_jobs=3, seconds=1.5, read_by=ReadBy(footers=1, kernels=2, left=(by_spark,)))

    by_spark = Left(kind=FallbackKind.UNKNOWN, why="it is measured by columns", values=4)
    monkeypatch.setattr(FakeEngine, "scan", slow)
    tasks.scan()
    scan = Scan.objects.get()
    assert (len(loop.lake.scans), scan.spark_jobs, scan.seconds) == (2, 6, 3.0)
    both = ReadBy(footers=2, kernels=4, left=(replace(by_spark, values=8),))
    assert from_json(scan.read_by) == both
    assert tallies()[Tallied.SCAN_SECONDS, "sea"] == 3.0
    counted = {key: amount for key, amount in tallies().items() if key[0] in (Tallied.VALUES, Tallied.VALUES_LEFT)}
    assert counted == {
        (Tallied.VALUES, "footers"): 2, (Tallied.VALUES, "kernels"): 4, (Tallied.VALUES_LEFT, "unknown"): 8,
    }  # fmt: skip


@pytest.mark.logs_a_failure
def test_an_engine_that_raises_fails_each_measurement_of_its_scan(loop: Loop, trips: Dataset) -> None:
    order(loop, trips)
    loop.lake.crashes.add("/lake/sea/trips")
    tasks.scan()
    row, scan = Measurement.objects.get(), Scan.objects.get()
    said = "ConnectionError: /lake/sea/trips is not there"
    assert (row.failure_reason, row.failure_detail, row.value, row.fingerprint) == (
        "engine unreachable",
        said,
        None,
        "",
    )
    assert (scan.error, scan.taken) == (f"engine unreachable: {said}", 1)
    assert tallies() == {(Tallied.SCANS_FAILED, "sea"): 1, (Tallied.SCAN_SECONDS, "sea"): 0}


@pytest.mark.logs_a_failure
def test_a_time_that_ran_out_is_told_from_what_could_not_be_reached(
    loop: Loop, trips: Dataset, monkeypatch: Patch
) -> None:
    order(loop, trips)

    def late(*_: object) -> None:
        raise TimeoutError("x" * 2000)

    monkeypatch.setattr(FakeEngine, "scan", late)
    tasks.scan()
    row = Measurement.objects.get()
    assert (row.failure_reason, len(row.failure_detail)) == ("timeout", 1000)


def test_a_replica_that_is_gone_or_may_not_be_read_fails_its_scan(loop: Loop) -> None:
    gone, barred = (DatasetFactory.create(name=name) for name in ("gone", "barred"))
    for dataset in (gone, barred):
        order(loop, dataset)
    gone.replicas.all().delete()
    barred.replicas.update(location="env:NOT_SET")
    tasks.scan()
    of_gone, of_barred = Measurement.objects.order_by("pk")
    assert {of_gone.failure_reason, of_barred.failure_reason} == {"table cannot be read"}
    assert of_gone.failure_detail == "raw.gone has no replica in sea any more"
    assert of_barred.failure_detail.startswith("raw.barred in sea: ")
    assert set(Scan.objects.values_list("error", flat=True)) == {of_gone.failure_detail, of_barred.failure_detail}


def test_a_table_named_by_a_variable_is_never_told_by_its_true_place(
    loop: Loop, trips: Dataset, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("ASSAY_LOCATION_TRIPS", "/secret/trips")
    trips.replicas.update(location="env:ASSAY_LOCATION_TRIPS")
    loop.lake.failures["/secret/trips"] = Failure(reason=Reason.UNREADABLE, detail="no file at /secret/trips/a")
    order(loop, trips)
    tasks.scan()
    assert Measurement.objects.get().failure_detail == "no file at env:ASSAY_LOCATION_TRIPS/a"


@pytest.mark.parametrize(
    ("given", "reason", "said"),
    [
        ({}, "query failed", "the engine gave nothing for row_count()"),
        ({"value": float("inf")}, "result is not a finite number", "row_count() is inf"),
        ({"value": float("nan")}, "result is not a finite number", "row_count() is nan"),
    ],
    ids=["nothing", "inf", "nan"],
)
def test_an_answer_that_is_no_number_is_a_failure(
    loop: Loop, trips: Dataset, monkeypatch: Patch, given: dict[str, float], reason: str, said: str
) -> None:
    order(loop, trips)

    def answer(self: FakeEngine, table: object, part: object, wanted: Any) -> ScanReport:
        measured = {item.key: Measured(**given) for item in wanted} if given else {}  # type: ignore[arg-type]
        return ScanReport(measured=measured, spark_jobs=1, seconds=0.0, fingerprint=None)

    monkeypatch.setattr(FakeEngine, "scan", answer)
    tasks.scan()
    row = Measurement.objects.get()
    assert (row.failure_reason, row.failure_detail, row.value) == (reason, said, None)


def earlier(dataset: Dataset, fingerprint: str, **more: Any) -> Measurement:
    """A measurement of Monday's rows at ten, when there were 77."""
    then = {"measured_at": NOW - 2 * HOUR, "value": 77.0, "exact": "77", "detail": {"note": "so it was"}}
    return measurement(dataset, **{**then, "fingerprint": fingerprint, **more})


@pytest.fixture
def print_(loop: Loop, trips: Dataset) -> str:
    """What Monday looks like."""
    loop.write(trips, "2026-03-09", rows(120))
    data_test = DataTestFactory.create(dataset=trips)
    loop.run(data_test, MONDAY)
    found = Measurement.objects.get().fingerprint
    Measurement.objects.all().delete()
    loop.lake.scans.clear()
    return found


def test_what_is_still_true_is_taken_over_as_it_is(loop: Loop, trips: Dataset, print_: str) -> None:
    earlier(trips, print_)
    run = loop.run(DataTestFactory.create(dataset=trips), MONDAY, RunReason.REVISION)
    row = Measurement.objects.latest("pk")
    assert (row.value, row.exact, row.detail, row.fingerprint) == (77.0, "77", {"note": "so it was"}, print_)
    assert (row.measured_at, run.value, loop.lake.scans) == (NOW - 2 * HOUR, 77, [])
    scan = Scan.objects.latest("pk")
    assert (scan.taken, scan.reused, scan.spark_jobs) == (0, 1, 0)
    assert "so it was" in run.sentence


@pytest.mark.parametrize(
    "other",
    [
        {"datacenter": "phx"},
        {"window": SUNDAY},
        {"window": type(MONDAY)(start=MONDAY.start, end=MONDAY.end + DAY)},
        {"spec": MetricSpec(name="row_count", where="fare > 1")},
        {"fingerprint": "another"},
        {"failure_reason": "timeout"},
        {"measured_at": None},
    ],
    ids=str,
)
def test_what_was_of_something_else_is_measured_anew(
    loop: Loop, trips: Dataset, print_: str, other: dict[str, Any]
) -> None:
    earlier(trips, **{"fingerprint": print_, **other})
    earlier(DatasetFactory.create(), print_)
    assert loop.run(DataTestFactory.create(dataset=trips), MONDAY, RunReason.REVISION).value == 120


def test_the_newest_of_those_that_are_still_true_is_taken_over(loop: Loop, trips: Dataset, print_: str) -> None:
    earlier(trips, print_, measured_at=NOW - HOUR, value=78.0, exact="78")
    earlier(trips, print_)
    assert loop.run(DataTestFactory.create(dataset=trips), MONDAY, RunReason.REVISION).value == 78


@pytest.mark.parametrize(("seconds", "value"), [(0, 77), (-1, 120)])
def test_a_measurement_is_new_enough_from_the_instant_asked_for_on(
    loop: Loop, trips: Dataset, print_: str, seconds: int, value: int
) -> None:
    earlier(trips, print_, measured_at=NOW + seconds * SECOND)
    run = loop.run(DataTestFactory.create(dataset=trips), MONDAY, RunReason.CHECK)  # accepts what is from now on
    assert run.value == value


def test_where_nothing_can_be_told_of_the_data_all_of_it_is_read(
    loop: Loop, trips: Dataset, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(FakeEngine, "fingerprint", lambda *_: None)
    loop.write(trips, "2026-03-09", rows(120))
    earlier(trips, "")
    assert loop.run(DataTestFactory.create(dataset=trips), MONDAY, RunReason.REVISION).value == 120


def test_a_measurement_over_others_is_reused_while_theirs_look_the_same(loop: Loop, trips: Dataset) -> None:
    orders = DatasetFactory.create(name="orders")
    loop.write(orders, "2026-03-09", rows(10))
    loop.write(trips, "2026-03-09", rows(9))
    data_test = DataTestFactory.create(dataset=trips, assertion="keys_found(id, datacenter='sea') >= 1")
    loop.run(data_test, MONDAY, RunReason.REVISION)
    prints = dict(Measurement.objects.values_list("spec_text", "fingerprint"))
    assert len(set(prints.values())) == len(prints) > 1
    loop.lake.scans.clear()
    loop.run(data_test, MONDAY, RunReason.REVISION, "2")
    assert loop.lake.scans == []


def test_after_two_lost_workers_each_measurement_has_a_scan_like_the_first(loop: Loop, monkeypatch: Patch) -> None:
    monkeypatch.setattr("execution_engine.scans.run_scan.MOST_AT_A_TIME", 1)
    trips = DatasetFactory.create(name="trips", owner="grace", tier=1)
    order(loop, trips)
    order(loop, trips, "mean(fare) > 0")
    Scan.objects.update(attempts=2, turn=7, engine="spark")
    loop.at(NOW + HOUR)
    assert tasks.scan() == 1
    first, *parts = Scan.objects.order_by("pk")
    assert (first.ended_at, first.error) == (NOW + HOUR, "2 workers were lost with it: measured one by one")
    columns = ("dataset_id", "datacenter", "window", "turn", "owner", "engine", "created_at")
    for part in parts:
        assert [getattr(part, name) for name in columns] == [trips.pk, "sea", MONDAY, 7, "grace", "spark", NOW]
        assert (part.measurements.count(), part.open_key, part.started_at) == (1, None, None)
    assert (len(parts), loop.lake.scans) == (2, [])
    assert tallies() == {(Tallied.SCANS_FAILED, "sea"): 1}
    loop.drain()
    assert sorted(texts for _, _, texts in loop.lake.scans) == [("mean(fare)",), ("row_count()",)]


def test_a_single_measurement_is_tried_a_third_time_and_then_given_up(loop: Loop, trips: Dataset) -> None:
    order(loop, trips)
    Scan.objects.update(attempts=3)
    tasks.scan()
    row = Measurement.objects.get()
    said = "3 workers were lost while they read this"
    assert (row.failure_reason, row.failure_detail) == ("lease lost", said)
    assert Scan.objects.get().error == f"lease lost: {said}"
    Scan.objects.update(attempts=2, ended_at=None)
    Measurement.objects.update(measured_at=None, failure_reason="", failure_detail="")
    tasks.scan()
    row.refresh_from_db()
    assert (row.value, len(loop.lake.scans)) == (0, 1)


def test_what_is_measured_already_is_not_taken_again(loop: Loop, trips: Dataset) -> None:
    order(loop, trips)
    order(loop, trips, "mean(fare) > 0")
    Measurement.objects.filter(spec_text="row_count()").update(measured_at=NOW - DAY, value=5.0)
    tasks.scan()
    assert [texts for _, _, texts in loop.lake.scans] == [("mean(fare)",)]
    assert Measurement.objects.get(spec_text="row_count()").measured_at == NOW - DAY


@pytest.mark.parametrize(("length", "is_inline"), [(INLINE_BYTES, True), (INLINE_BYTES + 1, False)])
def test_a_large_state_goes_into_the_store_and_comes_back(
    loop: Loop, trips: Dataset, monkeypatch: Patch, tmp_path: Path, length: int, is_inline: bool
) -> None:
    monkeypatch.setattr(config(), "state_store", str(tmp_path))
    state = b"x" * length

    def answer(self: FakeEngine, table: object, part: object, wanted: Any) -> ScanReport:
        measured = {item.key: Measured(value=1.0, state=state) for item in wanted}
        return ScanReport(measured=measured, spark_jobs=1, seconds=0.0, fingerprint=None)

    monkeypatch.setattr(FakeEngine, "scan", answer)
    order(loop, trips)
    tasks.scan()
    row = Measurement.objects.get()
    assert (row.state is not None, row.state_path == "", row.state_checksum == "") == (is_inline,) * 3
    assert row.state_length == (0 if is_inline else length)
    assert state_of(row) == state


def suspect(dataset: Dataset, spec: MetricSpec = ALL_ROWS, **more: Any) -> dict[str, Any]:
    window = more.pop("window", MONDAY)
    return {
        "dataset": dataset,
        "datacenter": "sea",
        "spec_hash": hash_of(spec),
        "spec_text": spec.text,
        "window_start": window.start,
        "window_end": window.end,
        "ends": 2,
        "reason": "timeout",
        "first_at": NOW - DAY,
        "last_at": NOW - DAY,
        **more,
    }


def scan_of(dataset: Dataset) -> Scan:
    times = {"created_at": NOW, "started_at": NOW, "window_start": MONDAY.start, "window_end": MONDAY.end}
    return Scan.objects.create(dataset=dataset, datacenter="sea", **times)


def test_ends_are_remembered_of_the_same_metric_there_for_some_weeks(trips: Dataset) -> None:
    row, other = earlier(trips, ""), earlier(trips, "", spec=MetricSpec(name="mean", columns=("fare",)))
    forgotten = NOW - REMEMBERED
    quarantined = {"last_at": forgotten, "quarantined_at": forgotten}
    for more in (
        {"ends": 1},
        {"ends": 10, "window": SUNDAY},
        {"ends": 100, "last_at": forgotten + SECOND, "window": day("2026-03-01")},
        {"ends": 1000, "window": day("2026-03-02"), **quarantined},
        {"ends": 20000, "last_at": forgotten, "window": day("2026-03-03")},
        {"ends": 20000, "datacenter": "phx"},
        {"ends": 20000, "spec": MetricSpec(name="row_count", where="a")},
    ):
        Suspect.objects.create(**suspect(trips, **more))
    Suspect.objects.create(**suspect(DatasetFactory.create()))
    assert ends_before([row, other], NOW) == {row.pk: 1111}


def test_a_first_abnormal_end_is_written_down(trips: Dataset) -> None:
    row = earlier(trips, "")
    told = note_ends(scan_of(trips), [row], {row.pk: Measured(failure=HUNG)}, alone=set(), earlier_ends={}, now=NOW)
    assert told == {row.pk: Measured(failure=HUNG)}
    (found,) = Suspect.objects.values()
    assert found | {"id": 0} == {
        "id": 0,
        **{key: value for key, value in suspect(trips).items() if key != "dataset"},
        "dataset_id": trips.pk,
        "ends": 1,
        "detail": "it passed its deadline",
        "first_at": NOW,
        "last_at": NOW,
        "quarantined_at": None,
    }


def test_the_last_end_is_told_and_the_first_instant_kept(trips: Dataset) -> None:
    row = earlier(trips, "")
    known = Suspect.objects.create(**suspect(trips, ends=1))
    crashed = Failure(reason=Reason.CRASHED, detail="gone")
    note_ends(
        scan_of(trips), [row], {row.pk: Measured(failure=crashed)}, alone=set(), earlier_ends={row.pk: 1}, now=NOW
    )
    known.refresh_from_db()
    assert (known.ends, known.reason, known.detail) == (2, "engine crashed", "gone")
    assert (known.first_at, known.last_at, known.quarantined_at) == (NOW - DAY, NOW, None)


@pytest.mark.parametrize(
    ("more", "alone", "is_quarantined"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"ends": 1}, True, False),
        ({"window": type(MONDAY)(start=SUNDAY.start, end=MONDAY.end)}, True, True),  # of a whole table: it overlaps
        ({"window": SUNDAY}, True, False),
        ({"window": day("2026-03-10")}, True, False),
        ({"datacenter": "phx"}, True, False),
        ({"spec": MetricSpec(name="row_count", where="a")}, True, False),
    ],
    ids=str,
)
def test_the_third_end_alone_over_the_same_data_is_the_last(
    trips: Dataset, more: dict[str, Any], alone: bool, is_quarantined: bool
) -> None:
    row = earlier(trips, "")
    Suspect.objects.create(**suspect(trips, **more))
    by_itself = {row.pk} if alone else set()
    told = note_ends(scan_of(trips), [row], {row.pk: Measured(failure=HUNG)}, alone=by_itself, earlier_ends={}, now=NOW)
    failure = told[row.pk].failure
    assert failure
    assert failure.reason == (Reason.QUARANTINED if is_quarantined else Reason.TIMEOUT)
    assert list(Suspect.objects.exclude(quarantined_at=None).values_list("quarantined_at", flat=True)) == (
        [NOW] if is_quarantined else []
    )
    if is_quarantined:
        said = "row_count() ended abnormally 3 times, at last by itself (timeout: it passed its deadline)"
        assert failure.detail.startswith(said)


def test_a_value_clears_its_own_suspects_over_the_same_data_alone(trips: Dataset) -> None:
    row = earlier(trips, "")
    gone = [
        Suspect.objects.create(**suspect(trips)),
        Suspect.objects.create(**suspect(trips, window=type(MONDAY)(start=SUNDAY.start, end=MONDAY.end + DAY))),
    ]
    kept = [
        Suspect.objects.create(**suspect(trips, window=SUNDAY)),
        Suspect.objects.create(**suspect(trips, datacenter="phx")),
        Suspect.objects.create(**suspect(trips, MetricSpec(name="row_count", where="a"))),
        Suspect.objects.create(**suspect(DatasetFactory.create())),
    ]
    results = {row.pk: Measured(value=1.0)}
    note_ends(scan_of(trips), [row], results, alone=set(), earlier_ends={}, now=NOW)
    assert Suspect.objects.count() == len(gone) + len(kept)
    unreached = {row.pk: Measured(failure=Failure(reason=Reason.ENGINE_UNREACHABLE))}
    note_ends(scan_of(trips), [row], unreached, alone=set(), earlier_ends={row.pk: 1}, now=NOW)
    assert Suspect.objects.count() == len(gone) + len(kept)
    note_ends(scan_of(trips), [row], results, alone=set(), earlier_ends={row.pk: 1}, now=NOW)
    assert list(Suspect.objects.order_by("pk")) == kept


def test_a_row_without_a_result_ends_neither_way_and_hides_none_behind_it(trips: Dataset) -> None:
    none, row = earlier(trips, ""), earlier(trips, "", spec=MetricSpec(name="mean", columns=("fare",)))
    note_ends(scan_of(trips), [none, row], {row.pk: Measured(failure=HUNG)}, alone=set(), earlier_ends={}, now=NOW)
    assert Suspect.objects.get().spec_text == "mean(fare)"


def test_after_three_abnormal_ends_the_rest_of_a_scan_is_left_for_another(loop: Loop, trips: Dataset) -> None:
    for number in range(5):
        spec = MetricSpec(name="row_count", where=f"fare > {number}")
        Suspect.objects.create(**suspect(trips, spec, ends=1, window=SUNDAY))
        loop.lake.poison[spec.text] = HUNG
        order(loop, trips, f"{spec.text} > 0")
    tasks.scan()
    reasons = [row.failure_reason for row in Measurement.objects.order_by("pk")]
    assert reasons == ["timeout"] * 3 + ["engine unreachable"] * 2
    assert len(loop.lake.scans) == 3
    assert Measurement.objects.latest("pk").failure_detail.startswith("not tried, as 3 others of its scan")


def linked(dataset: Dataset, *inputs: Measurement, **more: Any) -> Measurement:
    spec = MetricSpec(name="sample_found", arguments=("raw.trips",))
    row = earlier(dataset, "", spec=spec, **{"measured_at": None, "value": None, "exact": "", **more})
    row.inputs.set(inputs)
    return row


def test_what_waited_for_its_last_input_is_scanned_and_nothing_else(trips: Dataset) -> None:
    done, missing = earlier(trips, "", measured_at=NOW), earlier(trips, "", measured_at=None)
    other = earlier(trips, "", measured_at=NOW)
    ready = linked(trips, done)
    waiting = linked(trips, done, missing, window=SUNDAY)
    measured = linked(trips, done, measured_at=NOW - DAY, window=day("2026-03-07"))
    scanned = linked(trips, done, scan=scan_of(trips), window=day("2026-03-06"))
    unrelated = linked(trips, other, window=day("2026-03-05"))
    wake([done.pk], NOW + HOUR, {})
    scan = Scan.objects.get(open_key__isnull=False)
    assert (scan.window, scan.dataset, scan.datacenter, scan.created_at) == (MONDAY, trips, "sea", NOW + HOUR)
    found = {row.pk: row.scan_id for row in Measurement.objects.all()}
    assert [found[row.pk] for row in (ready, waiting, measured, unrelated)] == [scan.pk, None, None, None]
    assert found[scanned.pk] == scanned.scan_id


def test_what_waited_is_ordered_with_as_many_statements_for_many_windows_as_for_one(trips: Dataset) -> None:
    taken = []
    for first, number in ((1, 1), (2, 5)):
        days = [n * DAY for n in range(first, first + number)]
        windows = [type(MONDAY)(start=MONDAY.start - back, end=MONDAY.end - back) for back in days]
        done = [earlier(trips, "", measured_at=NOW, window=window) for window in windows]
        ready = [linked(trips, row, window=window) for row, window in zip(done, windows, strict=True)]
        with CaptureQueriesContext(connection) as asked:
            wake([row.pk for row in done], NOW + HOUR, {})
        taken.append(len(asked))
        found = Measurement.objects.filter(pk__in=[row.pk for row in ready])
        assert found.filter(scan__window_start=F("window_start")).count() == number
    assert taken[0] == taken[1]


def test_a_run_is_ready_once_all_it_asks_for_is_in(trips: Dataset) -> None:
    done, missing = earlier(trips, "", measured_at=NOW), earlier(trips, "", measured_at=None)
    before = NOW - DAY
    asks = {"ready": [done], "waits": [done, missing], "was ready": [done], "of others": [earlier(trips, "")]}
    for slot, wanted in asks.items():
        run = RunFactory.create(slot=slot, ready_at=before if slot == "was ready" else None)
        for number, row in enumerate(wanted):
            Ask.objects.create(run=run, measurement=row, operand=str(number))
    wake([done.pk], NOW + HOUR, {})
    found = dict(Run.objects.values_list("slot", "ready_at"))
    assert found == {"ready": NOW + HOUR, "waits": None, "was ready": before, "of others": None}


def test_what_builds_on_a_failure_fails_as_that_did(loop: Loop, trips: Dataset) -> None:
    row = linked(trips, earlier(trips, "", failure_reason="timeout", failure_detail="late"))
    (reading,) = read([ScanReading(scan=scan_of(trips), measurements=[row])])
    failure = reading.results[row.pk].failure
    assert (failure and str(failure), loop.lake.scans) == ("timeout: late", [])


def test_a_scan_is_claimed_only_when_its_turn_has_come(loop: Loop, trips: Dataset) -> None:
    data_test = DataTestFactory.create(dataset=trips)
    for window in (SUNDAY, MONDAY):
        loop.request(data_test, window)
    held: list[int] = []
    loop.lake.while_reading.append(lambda: held.append(Scan.objects.filter(lease_until__isnull=False).count()))
    loop.drain()
    assert held == [1]
    assert Scan.objects.filter(ended_at__isnull=False).count() == 2


def test_what_a_stalled_worker_read_is_dropped_once_another_has_taken_over(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", rows(120))
    loop.request(DataTestFactory.create(dataset=trips), MONDAY)

    def another_takes_over() -> None:
        Scan.objects.update(lease_until=clock.database_now().replace(year=2000))
        loop.write(trips, "2026-03-09", rows(300))
        services.scan_pending(worker="phx-2@assay")

    loop.lake.while_reading.append(another_takes_over)
    loop.drain()
    scan = Scan.objects.get()
    assert (scan.worker, scan.epoch, len(loop.lake.scans)) == ("phx-2@assay", 2, 2)
    assert (Measurement.objects.get().value, Run.objects.get().value) == (300, 300)
