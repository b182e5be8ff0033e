from datetime import timedelta

import pytest

from assay.models import Dataset, DataTest
from assay.time.windows import Window
from execution_engine import services, tasks
from execution_engine.models import Measurement, Run, RunReason, Scan
from execution_engine.outcome import Outcome
from tests.factories import NOW, DatasetFactory, DataTestFactory, day
from tests.fakes import rows
from tests.integration.execution_engine.conftest import Loop

MONDAY = day("2026-03-09")


def test_a_run_breaks_when_its_assertion_does_not_hold(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", rows(80))
    run = loop.run(DataTestFactory.create(dataset=trips, assertion="row_count() >= 100"), MONDAY)
    assert (run.outcome, run.value, run.excess) == ("broken", 80, 20)


def test_ten_runs_that_ask_the_same_share_one_measurement_and_one_scan(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", rows(120))
    for _ in range(10):
        loop.request(DataTestFactory.create(dataset=trips, assertion="row_count() >= 100"), MONDAY)
    loop.drain()
    assert Measurement.objects.count() == Scan.objects.count() == len(loop.lake.scans) == 1
    assert Run.objects.filter(outcome=Outcome.HELD).count() == 10


def test_all_measurements_of_one_window_are_taken_in_one_scan(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", rows(120))
    loop.request(DataTestFactory.create(dataset=trips, assertion="row_count() >= 100"), MONDAY)
    loop.request(DataTestFactory.create(dataset=trips, assertion="1 - distinct_count(id) / row_count() <= 0"), MONDAY)
    loop.request(DataTestFactory.create(dataset=trips, assertion="mean(fare) between 10 and 20"), MONDAY)
    loop.drain()
    assert [specs for _, _, specs in loop.lake.scans] == [("distinct_count(id)", "mean(fare)", "row_count()")]


def test_the_same_occasion_gives_the_same_run(loop: Loop, trips: Dataset) -> None:
    data_test = DataTestFactory.create(dataset=trips)
    assert loop.request(data_test, MONDAY) == loop.request(data_test, MONDAY)
    assert loop.request(data_test, MONDAY) != loop.request(data_test, MONDAY, occasion="2")


def test_a_table_that_is_appended_to_all_the_time_is_judged_all_the_same(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", rows(120))
    loop.lake.while_reading.append(lambda: loop.write(trips, "2026-03-09", rows(130)))
    run = loop.run(DataTestFactory.create(dataset=trips), MONDAY)
    assert (run.outcome, run.value) == ("held", 120)


def test_a_held_early_run_satisfies_the_scheduled_one_while_the_data_is_unchanged(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", rows(120))
    data_test = DataTestFactory.create(dataset=trips)
    loop.run(data_test, MONDAY, RunReason.TRIGGER)
    loop.at(NOW + timedelta(hours=2))
    run = loop.run(data_test, MONDAY, RunReason.SCHEDULE)
    assert (run.outcome, run.measured_at, len(loop.lake.scans)) == ("held", NOW, 1)


def test_an_upstream_is_compared_over_the_same_window(loop: Loop, trips: Dataset) -> None:
    raw = DatasetFactory.create(name="events", granularity="hour", key_format="%Y-%m-%d-%H")
    loop.write(trips, "2026-03-09", rows(48))
    for hour in range(24):
        loop.write(raw, f"2026-03-09-{hour:02}", rows(2))
    run = loop.run(
        DataTestFactory.create(dataset=trips, assertion="row_count() / row_count(dataset='raw.events') = 1"), MONDAY
    )
    assert (run.outcome, run.value) == ("held", 1)


@pytest.mark.logs_a_failure
def test_an_engine_that_crashes_makes_a_transient_error_and_the_others_go_on(loop: Loop, trips: Dataset) -> None:
    fares = DatasetFactory.create(name="fares")
    loop.write(fares, "2026-03-09", rows(120))
    loop.lake.crashes.add("/lake/sea/trips")
    crashed = loop.request(DataTestFactory.create(dataset=trips), MONDAY)
    sound = loop.run(DataTestFactory.create(dataset=fares), MONDAY)
    crashed.refresh_from_db()
    assert (sound.outcome, crashed.outcome, crashed.error_reason, crashed.transient) == (
        "held",
        "error",
        "engine unreachable",
        True,
    )


def test_a_filter_is_built_over_there_before_it_is_probed_here(loop: Loop) -> None:
    trips = DatasetFactory.create(name="trips", datacenters=("sea", "phx"))
    loop.write(trips, "2026-03-09", rows(100))
    loop.write(trips, "2026-03-09", rows(99), datacenter="phx")
    assertion = "keys_found(id, datacenter='phx') / distinct_count(id) >= 0.999"
    run = loop.run(DataTestFactory.create(dataset=trips, assertion=assertion), MONDAY)
    assert (run.outcome, run.value) == ("broken", 0.99)
    assert run.findings["keys_found(id, datacenter='phx')"]["lost"] == [["99"]]
    assert loop.lake.scans == [
        ("/lake/sea/trips", ("2026-03-09",), ("distinct_count(id)", "key_digest(id)")),
        ("/lake/phx/trips", ("2026-03-09",), ("key_digest(id)",)),
        ("/lake/phx/trips", ("2026-03-09",), ("bloom_filter(id)",)),
        ("/lake/sea/trips", ("2026-03-09",), ("keys_found(id)",)),
    ]


def test_no_filter_is_built_where_the_digests_of_both_sides_are_equal(loop: Loop) -> None:
    trips = DatasetFactory.create(name="trips", datacenters=("sea", "phx"))
    for datacenter in ("sea", "phx"):
        loop.write(trips, "2026-03-09", rows(100), datacenter=datacenter)
    assertion = "keys_found(id, datacenter='phx') / distinct_count(id) >= 0.999"
    run = loop.run(DataTestFactory.create(dataset=trips, assertion=assertion), MONDAY)
    assert (run.outcome, run.value) == ("held", 1)
    read = {metric for _, _, metrics in loop.lake.scans for metric in metrics}
    assert read == {"distinct_count(id)", "key_digest(id)"}


def test_a_check_of_a_sampled_upstream_probes_the_first_sample_again(loop: Loop, trips: Dataset) -> None:
    orders = DatasetFactory.create(name="orders")
    loop.write(orders, "2026-03-09", rows(10))
    loop.write(trips, "2026-03-09", rows(9))
    assertion = "sample_found('raw.orders') / sample_size('raw.orders') >= 0.99"
    data_test = DataTestFactory.create(dataset=trips, assertion=assertion)
    first = loop.run(data_test, MONDAY)
    loop.write(orders, "2026-03-09", rows(10, start=500))
    loop.write(trips, "2026-03-09", rows(10))
    loop.at(NOW + timedelta(minutes=5))
    second = loop.run(data_test, MONDAY, RunReason.CHECK)
    assert [(run.outcome, run.value) for run in (first, second)] == [("broken", 0.9), ("held", 1)]


def test_an_operand_of_another_day_takes_any_measurement_of_unchanged_data(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-02", rows(100))
    loop.write(trips, "2026-03-09", rows(120))
    data_test = DataTestFactory.create(dataset=trips, assertion="row_count() / row_count(ago=7d) < 1.5")
    loop.run(data_test, MONDAY)
    loop.at(NOW + timedelta(hours=1))
    run = loop.run(data_test, MONDAY, RunReason.CHECK)
    assert (run.outcome, run.value) == ("held", 1.2)
    assert [keys for _, keys, _ in loop.lake.scans].count(("2026-03-02",)) == 1


def test_templates_are_filled_in_for_the_window_that_is_measured(loop: Loop, trips: Dataset) -> None:
    loop.run(
        DataTestFactory.create(dataset=trips, assertion="row_count(where=\"d = '{window.start:date}'\") >= 0"), MONDAY
    )
    assert Measurement.objects.get().metric.where == "d = '2026-03-09'"


def test_a_standard_ratio_of_two_empty_sides_is_no_data(loop: Loop, trips: Dataset) -> None:
    DatasetFactory.create(name="events")
    assertion = "row_count() / row_count(dataset='raw.events') between 0.99 and 1.01"
    run = loop.run(DataTestFactory.create(dataset=trips, assertion=assertion, origin="generated"), MONDAY)
    assert (run.outcome, run.error_reason) == ("error", "no data")


def check(data_test: DataTest, window: Window) -> Run | None:
    return services.request_run(data_test=data_test, window=window, reason=RunReason.CHECK, occasion="1", now=NOW)


def test_a_window_beyond_retention_is_never_run_again(loop: Loop) -> None:
    trips = DatasetFactory.create(name="trips", retention=timedelta(days=30))
    data_test = DataTestFactory.create(dataset=trips)
    assert check(data_test, day("2026-02-07")) is None
    assert check(data_test, day("2026-02-08")) is not None


def test_a_retired_test_is_never_run_again(loop: Loop, trips: Dataset) -> None:
    assert check(DataTestFactory.create(dataset=trips, retired_at=NOW), MONDAY) is None


@pytest.mark.parametrize(("stored", "outcome"), [(True, "held"), (False, "error")])
def test_a_history_needs_half_of_its_windows(loop: Loop, trips: Dataset, stored: bool, outcome: str) -> None:
    data_test = DataTestFactory.create(
        dataset=trips, assertion="row_count() / mean(row_count(), last=4) between 0.8 and 1.2"
    )
    for key in ("2026-03-07", "2026-03-08")[not stored :]:
        loop.write(trips, key, rows(100))
        loop.run(data_test, day(key))
    loop.write(trips, "2026-03-09", rows(110))
    run = loop.run(data_test, MONDAY)
    assert (run.outcome, run.error_reason) == (outcome, "" if stored else "warming up")


def test_a_run_of_a_day_of_a_table_that_is_cut_by_weeks_since_ends_as_an_error(loop: Loop, trips: Dataset) -> None:
    run = loop.request(DataTestFactory.create(dataset=trips), MONDAY)
    assert tasks.plan()
    Dataset.objects.update(granularity="week", key_format="%Y-%m-%d")
    loop.drain()
    run.refresh_from_db()
    assert (run.outcome, run.error_reason) == (Outcome.ERROR, "partitions do not align")


def test_a_back_fill_judges_a_window_by_its_past_though_newer_windows_are_measured_first(
    loop: Loop, trips: Dataset
) -> None:
    data_test = DataTestFactory.create(dataset=trips, assertion="row_count() = mean(row_count(), last=2)")
    for key in ("2026-03-07", "2026-03-08", "2026-03-09"):
        loop.write(trips, key, rows(100))
    newest = loop.request(data_test, MONDAY, RunReason.BACKFILL)
    assert tasks.plan() + tasks.scan()
    for key in ("2026-03-08", "2026-03-07"):
        loop.request(data_test, day(key), RunReason.BACKFILL)
    assert tasks.evaluate() == 0
    loop.drain()
    newest.refresh_from_db()
    assert newest.outcome == Outcome.HELD


def test_a_history_that_is_too_short_says_what_is_left_out_as_spoilt(loop: Loop, trips: Dataset) -> None:
    data_test = DataTestFactory.create(dataset=trips, assertion="row_count() = mean(row_count(), last=2)")
    for key in ("2026-03-07", "2026-03-08", "2026-03-09"):
        loop.write(trips, key, rows(100))
        services.exclude_window(dataset=trips, window=day(key), holder="test")
        run = loop.run(data_test, day(key))
    assert run.sentence.endswith("mean(row_count(), last=2): 2 measured, 2 left out as spoilt")


@pytest.mark.parametrize("query", ["select map(s)", "select map(s) from trips", "select * from map(s)"])
def test_a_query_that_the_parser_stumbles_over_costs_its_own_run_alone(loop: Loop, trips: Dataset, query: str) -> None:
    loop.write(trips, "2026-03-09", rows(120))
    odd = loop.request(DataTestFactory.create(dataset=trips, assertion=f"query('{query}') > 0"), MONDAY)
    other = loop.run(DataTestFactory.create(dataset=trips, assertion="row_count() >= 100"), MONDAY)
    odd.refresh_from_db()
    assert (other.outcome, other.value) == ("held", 120)
    assert (odd.outcome, odd.error_reason != "engine unreachable") == ("error", True)


def test_a_whole_number_keeps_every_digit_up_to_the_verdict(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", [{"id": 2**63 - 1}])
    assertion = "max(id) = 9223372036854775806"
    run = loop.run(DataTestFactory.create(dataset=trips, assertion=assertion), MONDAY)
    assert (run.outcome, run.sentence) == ("broken", "max(id) = 9223372036854775807, wanted = 9223372036854775806")
    assert (run.value, run.exact, run.operands) == (2.0**63, "9223372036854775807", {"max(id)": "9223372036854775807"})
    assert Measurement.objects.get().number == 2**63 - 1


def test_values_of_a_sensitive_column_are_not_taken_whatever_was_written_before(loop: Loop) -> None:
    dataset = DatasetFactory.create(name="trips")
    data_test = DataTestFactory.create(dataset=dataset, assertion="max(fare) < 1000")
    dataset.columns = [{"name": "id", "type": "bigint"}, {"name": "Fare", "type": "double", "sensitive": True}]
    dataset.save()
    loop.write(dataset, "2026-03-09", rows(3))
    run = loop.run(data_test, day("2026-03-09"))
    assert run.outcome == Outcome.ERROR
    assert "sensitive" in run.sentence
    assert not Measurement.objects.exists()
