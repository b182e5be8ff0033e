"""Which measurements and scans a run is given, and which early run spares it one: rows of others are never taken."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assay import clock
from assay.models import Dataset, DataTest, LineageEdge, Scope, Tally
from assay.queue.claims import rounds
from execution_engine import services, tasks
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Ask, Measurement, Run, RunReason, Scan
from execution_engine.outcome import Failure, Reason
from execution_engine.planning.catalog_sources import Sources
from execution_engine.planning.planner import Want, hash_of
from execution_engine.runs.plan_runs import end_as_error
from execution_engine.runs.shown_results import fetch_tests
from execution_engine.scans.ask import ask, flatten
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, RunFactory, day
from tests.integration.execution_engine.conftest import Loop, measurement

MONDAY, SUNDAY = day("2026-03-09"), day("2026-03-08")
LATER = NOW + HOUR
SECOND = timedelta(seconds=1)
SAMPLE = MetricSpec(name="sample", columns=("id",))


def plan(data_test: DataTest, reason: RunReason = RunReason.SCHEDULE, at: datetime = LATER) -> Run:
    """A run that was asked for and planned then."""
    clock.simulate(at)
    run = services.request_run(data_test=data_test, window=MONDAY, reason=reason, occasion="1", now=at)
    assert run
    tasks.plan()
    run.refresh_from_db()
    return run


def early(data_test: DataTest, **more: Any) -> Run:
    """A run of Monday that somebody asked for, held at noon."""
    given = {"reason": "trigger", "measured_at": NOW, "evaluated_at": NOW, "window": MONDAY, **more}
    run: Run = RunFactory.create(data_test=data_test, **given)
    for at in (NOW + 5 * timedelta(minutes=1), NOW):
        taken = measurement(data_test.dataset, window=run.window, measured_at=at, value=120.0)
        Ask.objects.create(run=run, measurement=taken, operand=str(at))
    return run


@pytest.mark.parametrize("reason", ["trigger", "manual"])
def test_a_held_early_run_counts_from_its_first_measurement_on(loop: Loop, trips: Dataset, reason: str) -> None:
    data_test = DataTestFactory.create(dataset=trips)
    early(data_test, reason=reason)
    assert plan(data_test).accept_from == NOW


@pytest.mark.parametrize(
    "other",
    [
        {"outcome": "broken"},
        {"outcome": "error"},
        {"evaluated_at": None},
        {"reason": "check"},
        {"reason": "revision"},
        {"reason": "backtest"},
        {"window": SUNDAY},
    ],
    ids=str,
)
def test_no_other_run_spares_a_scheduled_one_its_measurement(
    loop: Loop, trips: Dataset, other: dict[str, object]
) -> None:
    data_test = DataTestFactory.create(dataset=trips)
    early(data_test, **other)
    early(DataTestFactory.create(dataset=trips))
    assert plan(data_test).accept_from == LATER


def test_planning_many_runs_that_held_early_takes_as_many_statements_as_one(loop: Loop) -> None:
    taken = []
    loop.at(LATER)
    for number in (1, 9):
        for _ in range(number):
            data_test = DataTestFactory.create(dataset=DatasetFactory.create())
            early(data_test)
            loop.request(data_test, MONDAY, RunReason.SCHEDULE)
        with CaptureQueriesContext(connection) as asked, rounds():
            assert tasks.plan() == number
        taken.append(len(asked))
    assert taken[0] == taken[1]
    assert set(Run.objects.filter(reason="schedule").values_list("accept_from", flat=True)) == {NOW}


@pytest.mark.parametrize(("broken_at", "accept_from"), [(NOW + SECOND, LATER), (NOW - SECOND, NOW)])
def test_a_broken_run_takes_back_what_an_earlier_one_held_and_no_later_one(
    loop: Loop, trips: Dataset, broken_at: datetime, accept_from: datetime
) -> None:
    data_test = DataTestFactory.create(dataset=trips)
    early(data_test)
    early(data_test, outcome="broken", measured_at=broken_at)
    assert plan(data_test).accept_from == accept_from


def test_only_a_scheduled_run_is_spared_and_never_made_stricter(loop: Loop, trips: Dataset) -> None:
    data_test = DataTestFactory.create(dataset=trips)
    early(data_test)
    assert plan(data_test, RunReason.CHECK).accept_from == LATER
    assert plan(data_test, at=NOW - HOUR).accept_from == NOW - HOUR


def test_what_cannot_be_measured_ends_its_run_at_once(loop: Loop, trips: Dataset) -> None:
    run = plan(DataTestFactory.create(dataset=trips, assertion="row_count() / row_count(dataset='raw.gone') = 1"))
    assert (run.planned_at, run.ready_at, run.evaluated_at, run.measured_at) == (LATER,) * 4
    assert (run.outcome, run.error_reason, run.transient) == ("error", "assertion is invalid", False)
    assert run.sentence.startswith("assertion is invalid: There is no dataset 'raw.gone'")
    assert (run.lease_until, run.attempts) == (None, 0)
    assert list(Tally.objects.values_list("kind", "label", "amount")) == [("runs", "error", 1)]


def test_a_run_that_ends_as_an_error_keeps_the_instants_that_it_has(loop: Loop, trips: Dataset) -> None:
    run = RunFactory.create(planned_at=NOW - HOUR, ready_at=NOW, evaluated_at=None, measured_at=None)
    end_as_error(run, Failure(reason=Reason.LEASE_LOST, detail="lost"), LATER)
    run.refresh_from_db()
    assert (run.planned_at, run.ready_at, run.evaluated_at, run.measured_at) == (NOW - HOUR, NOW, LATER, LATER)
    assert (run.transient, run.sentence) == (True, "lease lost: lost")


def test_a_run_whose_workers_were_lost_says_so(loop: Loop, trips: Dataset) -> None:
    run = loop.request(DataTestFactory.create(dataset=trips), MONDAY)
    Run.objects.update(attempts=2)  # planned the third time
    tasks.plan()
    assert Run.objects.get(pk=run.pk).outcome == ""
    Run.objects.update(planned_at=None, attempts=3)
    tasks.plan()
    assert Run.objects.get(pk=run.pk).sentence == "lease lost: planning it failed; see the log"


@pytest.mark.logs_a_failure
def test_a_plan_that_nobody_foresaw_to_fail_ends_its_own_run(
    loop: Loop, trips: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = loop.request(DataTestFactory.create(dataset=trips), MONDAY)
    monkeypatch.setattr(
        "execution_engine.planning.planner.Planner.want", lambda *_: (_ for _ in ()).throw(OverflowError("x" * 2000))
    )
    tasks.plan()
    run.refresh_from_db()
    said = f"assertion is invalid: it cannot be planned over {MONDAY.text}: OverflowError('xxx"
    assert (run.sentence[: len(said)], len(run.sentence)) == (said, len("assertion is invalid: ") + 1000)


def test_a_measurement_and_its_scan_are_those_of_the_run(loop: Loop) -> None:
    dataset = DatasetFactory.create(name="trips", owner="grace", tier=4, datacenters=("sea", "phx"))
    dataset.replicas.filter(datacenter="phx").update(storage="sql", location="mysql://host/db")
    run = plan(DataTestFactory.create(dataset=dataset, datacenter="phx"))
    row, scan = Measurement.objects.get(), Scan.objects.get()
    assert (row.dataset, row.datacenter, row.window, row.metric) == (dataset, "phx", MONDAY, ALL_ROWS)
    assert (row.spec_hash, row.spec_text, row.scan) == (hash_of(ALL_ROWS), "row_count()", scan)
    assert (row.requested_at, row.accept_from, row.measured_at) == (LATER, LATER, None)
    assert (scan.dataset, scan.datacenter, scan.window, scan.created_at) == (dataset, "phx", MONDAY, LATER)
    assert (scan.turn, scan.owner, scan.engine[:4]) == (4, "grace", "sql ")
    assert scan.open_key == f"{dataset.pk}:phx:{MONDAY.text}"
    assert list(Ask.objects.values_list("run", "measurement", "operand")) == [(run.pk, row.pk, "row_count()")]
    assert (run.planned_at, run.ready_at) == (LATER, None)


def test_runs_come_with_their_tests_in_one_statement_and_once(loop: Loop, trips: Dataset) -> None:
    for each in DataTestFactory.create_batch(3, dataset=trips):
        loop.request(each, MONDAY)
    found = list(Run.objects.all())
    for statements in (1, 0):
        with CaptureQueriesContext(connection) as asked:
            fetch_tests(found)
            told = {(run.revision.data_test, run.data_test, id(run.data_test.dataset)) for run in found}
        assert (len(asked), len(told), len({dataset for _, _, dataset in told})) == (statements, 3, 1)
    assert all(run.revision.data_test is run.data_test for run in found)


def test_what_feeds_a_dataset_is_read_with_it(loop: Loop, trips: Dataset) -> None:
    feeding = DatasetFactory.create(name="orders")
    LineageEdge.objects.create(upstream=feeding, downstream=trips, one_to_one=True)
    sources = Sources(NOW)
    sources.know([trips])
    with CaptureQueriesContext(connection) as asked:
        found = sources(feeding.full_name.upper())
    assert found is not None
    assert (found.name, found.datacenters, len(asked)) == (feeding.full_name, ("sea",), 2)  # its replicas and edges
    assert sources("raw.nothing") is None


def test_the_scan_of_a_replica_that_is_gone_is_of_no_engine(loop: Loop, trips: Dataset) -> None:
    trips.replicas.all().delete()
    ask([want()], sources=Sources(NOW), now=NOW)
    assert Scan.objects.get().engine == ""


def test_a_test_of_the_whole_table_has_measurements_of_its_own(loop: Loop, trips: Dataset) -> None:
    plan(DataTestFactory.create(dataset=trips))
    plan(DataTestFactory.create(dataset=trips, scope=Scope.TABLE))
    part, whole = Measurement.objects.order_by("pk")
    assert (part.is_of_whole_table, whole.is_of_whole_table) == (False, True)
    assert part.spec_hash != whole.spec_hash
    assert (whole.metric, part.scan) == (ALL_ROWS, whole.scan)


def want(spec: MetricSpec = ALL_ROWS, **more: Any) -> Want:
    return Want(**{"dataset": "raw.trips", "datacenter": "sea", "window": MONDAY, "spec": spec, **more})


def asked(*wants: Want, now: datetime = NOW, **more: bool) -> list[Measurement]:
    """The measurements of these wants, as the rows of ``raw.trips`` are."""
    sources = Sources(now)
    found = ask(wants, sources=sources, now=now, **more)
    return [found[each.key] for each in wants]


def test_of_equal_wants_the_strictest_counts_and_inputs_come_first() -> None:
    part = want(MetricSpec(name="row_count", where="a"))
    loose, strict = want(), want(accept_from=NOW)
    stricter = want(accept_from=LATER, inputs=())
    assert flatten([loose, strict, stricter, strict, loose]) == [stricter]
    whole = want(SAMPLE, inputs=(part,))
    assert flatten([whole]) == [part, whole]
    assert flatten([strict, want(accept_from=NOW)])[0] is strict


def test_a_pending_measurement_is_shared_and_made_stricter_never_looser(loop: Loop, trips: Dataset) -> None:
    (first,) = asked(want())
    bounds = ((None, None), (NOW, NOW), (None, NOW), (NOW - HOUR, NOW), (NOW, NOW), (LATER, LATER), (NOW, LATER))
    for accept_from, expected in bounds:
        (again,) = asked(want(accept_from=accept_from))
        first.refresh_from_db()
        assert (again.pk, first.accept_from) == (first.pk, expected)
    assert Measurement.objects.count() == Scan.objects.count() == 1


@pytest.mark.parametrize(
    "other",
    [
        {"datacenter": "phx"},
        {"window": SUNDAY},
        {"spec": MetricSpec(name="row_count", where="fare > 1")},
        {"dataset": "raw.other"},
    ],
    ids=["datacenter", "window", "metric", "dataset"],
)
def test_a_measurement_of_something_else_is_not_shared(loop: Loop, other: dict[str, Any]) -> None:
    for name in ("trips", "other"):
        DatasetFactory.create(name=name, datacenters=("sea", "phx"))
    (own,) = asked(want())
    (else_,) = asked(want(**other))
    assert own.pk != else_.pk
    (again, both) = asked(want(), want(**other))
    assert (again.pk, both.pk) == (own.pk, else_.pk)


def test_what_is_being_scanned_or_measured_already_is_asked_for_anew(loop: Loop, trips: Dataset) -> None:
    (first,) = asked(want())
    Scan.objects.update(open_key=None, started_at=NOW)
    (second,) = asked(want())
    Measurement.objects.filter(pk=second.pk).update(measured_at=NOW)
    (third,) = asked(want())
    assert len({first.pk, second.pk, third.pk}) == 3
    assert second.scan == third.scan != first.scan


def test_what_is_wanted_now_hurries_and_what_is_made_up_for_waits(loop: Loop, trips: Dataset) -> None:
    asked(want(), are_made_up_for=True)
    assert Scan.objects.get().turn == 2 + 6
    asked(want(), are_made_up_for=True)
    assert Scan.objects.get().turn == 2 + 6
    asked(want(window=SUNDAY))  # another's scan does not hurry it
    assert Scan.objects.get(window_start=MONDAY.start).turn == 2 + 6
    for _ in range(2):
        asked(want())
        assert set(Scan.objects.values_list("turn", flat=True)) == {2}


def test_a_measurement_waits_for_its_inputs_without_a_scan(loop: Loop, trips: Dataset) -> None:
    found = want(MetricSpec(name="sample_found", arguments=("raw.trips",)), inputs=(want(SAMPLE),))
    part, whole = asked(want(SAMPLE), found)
    assert (part.scan is not None, whole.scan) == (True, None)
    assert list(whole.inputs.all()) == [part]
    again = asked(found)  # with the same inputs it is the same
    assert again == [whole]
    Measurement.objects.filter(pk=part.pk).update(measured_at=NOW)
    anew, of_anew = asked(want(SAMPLE), found)
    assert anew.pk != part.pk
    assert of_anew.pk != whole.pk  # it builds on another
    assert list(of_anew.inputs.all()) == [anew]


def test_one_that_waits_for_another_sample_is_not_shared(loop: Loop, trips: Dataset) -> None:
    found = want(MetricSpec(name="sample_found", arguments=("raw.trips",)), inputs=(want(SAMPLE),))
    _, whole = asked(want(SAMPLE), found)
    whole.inputs.set([measurement(trips, SAMPLE)])
    assert asked(found) != [whole]


FOUND = MetricSpec(name="sample_found", arguments=("raw.trips",))


def missed_sample(dataset: Dataset, **more: Any) -> Measurement:
    """A sample of seven keys, one of which was not found."""
    sample = measurement(dataset, **{"spec": SAMPLE, "value": 7.0, **more})
    measurement(dataset, FOUND, measured_at=NOW - HOUR, value=6.0).inputs.add(sample)
    return sample


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"failure_reason": "timeout"},
        {"value": 0.0},
        {"measured_at": None},
        {"datacenter": "phx"},
        {"window": SUNDAY},
        {"spec": MetricSpec(name="sample", columns=("fare",))},
        {"measured_at": NOW - 2 * DAY},
    ],
    ids=str,
)
def test_the_newest_sample_is_probed_again_while_some_of_it_is_missed(
    loop: Loop, trips: Dataset, other: dict[str, Any]
) -> None:
    missed = missed_sample(trips, measured_at=NOW - DAY)
    newer = missed_sample(trips, **{"measured_at": NOW - HOUR, **other})
    missed_sample(DatasetFactory.create(), measured_at=NOW)
    (kept,) = asked(want(SAMPLE, stays_while_missed=True))
    assert kept == (missed if other else newer)
    assert asked(want(SAMPLE))[0].pk not in (missed.pk, newer.pk)


def test_a_sample_that_was_found_as_a_whole_is_followed_by_another(loop: Loop, trips: Dataset) -> None:
    sample = missed_sample(trips, measured_at=NOW - DAY)
    found = measurement(trips, FOUND, measured_at=NOW - HOUR, value=sample.value)
    found.inputs.add(sample)
    assert asked(want(SAMPLE, stays_while_missed=True)) != [sample]


def test_a_run_over_a_kept_sample_is_scanned_at_once(loop: Loop, trips: Dataset) -> None:
    kept = missed_sample(trips, measured_at=NOW - HOUR)
    part = want(SAMPLE, stays_while_missed=True)
    found, size = asked(
        want(MetricSpec(name="sample_found", arguments=("raw.trips",)), inputs=(part,)),
        want(MetricSpec(name="sample_size", arguments=("raw.trips",)), inputs=(part,)),
    )
    assert list(found.inputs.all()) == [kept]
    assert found.scan is not None
    assert (size.scan, size.value, size.measured_at) == (None, 7.0, NOW - HOUR)


def test_a_run_whose_measurements_are_all_known_is_ready_at_once(loop: Loop, trips: Dataset) -> None:
    orders = DatasetFactory.create(name="orders")
    missed_sample(orders, measured_at=NOW - HOUR)
    run = plan(DataTestFactory.create(dataset=trips, assertion="sample_size('raw.orders') >= 10"))
    assert (run.planned_at, run.ready_at) == (LATER, LATER)
    assert clock.now() == LATER
