"""The engine's stages over real files, read by Spark."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.models import Dataset, Tallied
from assay.queue.claims import totals
from execution_engine.models import Measurement, RunReason, Scan
from execution_engine.read_by import NO_VALUES
from tests.factories import DatasetFactory, DataTestFactory, day
from tests.integration.execution_engine.conftest import Loop

MONDAY = day("2026-03-09")


def table(folder: Path, name: str, *datacenters: str) -> Dataset:
    dataset = DatasetFactory.create(name=name, datacenters=datacenters or ("sea",))
    for replica in dataset.replicas.all():
        replica.location = str(folder / replica.datacenter / name)
        replica.save()
    return dataset


def write(dataset: Dataset, ids: list[int], datacenter: str = "sea") -> None:
    part = Path(dataset.replicas.get(datacenter=datacenter).location) / "datestr=2026-03-09"
    part.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": ids, "fare": [float(number) for number in ids]}), part / "part-0.parquet")


def test_standard_ratios_are_read_from_files_in_one_scan_each(spark: Loop, tmp_path: Path) -> None:
    raw, trips = table(tmp_path, "events"), table(tmp_path, "trips")
    write(raw, list(range(100)))
    write(trips, [*range(98), 0])
    complete = "row_count() / row_count(dataset='raw.events') between 0.99 and 1.01"
    unique = "1 - distinct_count(id) / row_count() <= 0.001"
    asked = [
        spark.request(DataTestFactory.create(dataset=trips, assertion=text), MONDAY) for text in (complete, unique)
    ]
    spark.drain()
    for run in asked:
        run.refresh_from_db()
    assert [(run.outcome, run.value) for run in asked] == [("held", 0.99), ("broken", pytest.approx(1 / 99))]
    assert Scan.objects.count() == 2


def test_ten_more_aggregate_tests_of_a_table_add_no_spark_job(spark: Loop, tmp_path: Path) -> None:
    trips = table(tmp_path, "trips")
    write(trips, list(range(100)))
    first = DataTestFactory.create(dataset=trips, assertion="mean(fare) between 0 and 100")
    spark.run(first, MONDAY)
    (alone,) = Scan.objects.all()
    more = [DataTestFactory.create(dataset=trips, assertion=f"max(fare) + min(id) * {n} < 1000") for n in range(5)]
    more += [DataTestFactory.create(dataset=trips, assertion=f'compliance("fare > {n}") >= 0') for n in range(5)]
    asked = [spark.request(each, MONDAY) for each in more]
    spark.drain()
    together = Scan.objects.exclude(pk=alone.pk).get()
    for run in asked:
        run.refresh_from_db()
    assert {run.outcome for run in asked} == {"held"}
    assert together.taken == 2 + 5  # max, min, and the five conditions
    assert together.spark_jobs == alone.spark_jobs == 1


@pytest.mark.usefixtures("kernels_always_pay")
def test_a_scan_keeps_who_read_its_values_and_adds_them_to_the_totals(spark: Loop, tmp_path: Path) -> None:
    trips = table(tmp_path, "trips")
    write(trips, list(range(100)))
    texts = ("row_count() > 0", "max(fare) > 0", "uniqueness(id) > 0", "approx_quantile(fare, 0.5) > 0")
    asked = [spark.request(DataTestFactory.create(dataset=trips, assertion=text), MONDAY) for text in texts]
    spark.drain()
    for run in asked:
        run.refresh_from_db()
    assert {run.outcome for run in asked} == {"held"}
    left = [{"kind": "unknown", "why": "kll is Spark's to gather", "values": 1}]
    assert Scan.objects.get().read_by == {"footers": 1, "kernels": 2, "spark": 1, "left": left}
    assert totals()[Tallied.VALUES] == {"footers": 1, "kernels": 2}
    assert totals()[Tallied.VALUES_LEFT] == {"unknown": 1}


def test_a_scan_that_takes_over_what_is_known_reads_no_values(spark: Loop, tmp_path: Path) -> None:
    trips = table(tmp_path, "trips")
    write(trips, list(range(100)))
    for text in ("max(fare) > 0", "max(fare) > 1"):
        spark.run(DataTestFactory.create(dataset=trips, assertion=text), MONDAY)
    first, second = Scan.objects.order_by("pk")
    assert (first.read_by["kernels"], second.reused) == (1, 1)
    assert second.read_by == NO_VALUES.to_json()
    assert totals()[Tallied.VALUES] == {"kernels": 1}


def test_equal_keys_are_found_by_one_spark_job_on_each_side(spark: Loop, tmp_path: Path) -> None:
    trips = table(tmp_path, "trips", "sea", "phx")
    write(trips, list(range(5000)))
    write(trips, list(reversed(range(5000))), "phx")
    run = spark.run(DataTestFactory.create(dataset=trips, assertion="keys_found(id, datacenter='phx') = 5000"), MONDAY)
    assert (run.outcome, run.value) == ("held", 5000)
    jobs = list(Scan.objects.order_by("pk").values_list("spark_jobs", flat=True))
    assert sorted(jobs, reverse=True)[:2] == [1, 1]
    assert sum(jobs) == 2


def test_where_keys_are_swapped_only_their_buckets_are_shipped(spark: Loop, tmp_path: Path) -> None:
    trips = table(tmp_path, "trips", "sea", "phx")
    write(trips, list(range(5000)))
    write(trips, list(range(2, 5002)), "phx")  # as many rows, two of them others
    assertion = "keys_found(id, datacenter='phx') / row_count(datacenter='phx') >= 0.999999"
    run = spark.run(DataTestFactory.create(dataset=trips, assertion=assertion), MONDAY)
    assert (run.outcome, run.value) == ("broken", 4998 / 5000)
    assert [key["id"] for key in run.findings["keys_found(id, datacenter='phx')"]["lost"]] == ["0", "1"]
    shipped = Measurement.objects.get(spec_text="bloom_filter(id)")
    assert shipped.detail["buckets"] <= 4
    assert shipped.detail["capacity"] < 20


def test_a_query_reads_the_tables_it_names(spark: Loop, tmp_path: Path) -> None:
    raw, trips = table(tmp_path, "events"), table(tmp_path, "trips")
    write(raw, [1, 2, 3])
    write(trips, [1, 2])
    missing = (
        "select count(*) from events e left anti join raw.trips t on e.id = t.id where datestr = '{window.start:date}'"
    )
    run = spark.run(DataTestFactory.create(dataset=trips, assertion=f'query("{missing}") = 0'), MONDAY)
    assert (run.outcome, run.value) == ("broken", 1)


@pytest.mark.parametrize(
    ("assertion", "outcome", "value"),
    [
        ("referential_integrity(id, 'raw.events') = 1", "broken", 0.75),
        ("referential_integrity(id, 'raw.events', where='id < 4') = 1", "held", 1),
        ("accuracy(fare, 'raw.events', on='id') >= 0.75", "held", 0.75),
    ],
)
def test_rows_are_compared_with_those_of_another_dataset(
    spark: Loop, tmp_path: Path, assertion: str, outcome: str, value: float
) -> None:
    raw, trips = table(tmp_path, "events"), table(tmp_path, "trips")
    write(raw, [1, 2, 3])
    write(trips, [1, 2, 3, 4])
    run = spark.run(DataTestFactory.create(dataset=trips, assertion=assertion), MONDAY)
    assert (run.outcome, run.value) == (outcome, value)


def test_a_comparison_is_taken_anew_as_the_other_dataset_may_have_changed(spark: Loop, tmp_path: Path) -> None:
    raw, trips = table(tmp_path, "events"), table(tmp_path, "trips")
    write(raw, [1])
    write(trips, [1, 2])
    data_test = DataTestFactory.create(dataset=trips, assertion="referential_integrity(id, 'raw.events') = 1")
    before = spark.run(data_test, MONDAY)
    write(raw, [1, 2])
    after = spark.run(data_test, MONDAY, RunReason.REVISION)
    assert [(run.outcome, run.value) for run in (before, after)] == [("broken", 0.5), ("held", 1)]


def test_a_rewritten_file_is_read_again_and_an_unchanged_one_is_not(spark: Loop, tmp_path: Path) -> None:
    trips = table(tmp_path, "trips")
    data_test = DataTestFactory.create(dataset=trips)
    write(trips, list(range(120)))
    spark.run(data_test, MONDAY)
    unchanged = spark.run(data_test, MONDAY, RunReason.REVISION)
    write(trips, list(range(20)))
    rewritten = spark.run(data_test, MONDAY, RunReason.REVISION, "2")
    assert [run.outcome for run in (unchanged, rewritten)] == ["held", "broken"]
    assert [(scan.taken, scan.reused) for scan in Scan.objects.order_by("pk")] == [(1, 0), (0, 1), (1, 0)]


def test_a_missing_table_is_an_error_that_says_where_it_was_looked_for(spark: Loop, tmp_path: Path) -> None:
    run = spark.run(DataTestFactory.create(dataset=table(tmp_path, "trips")), MONDAY)
    assert (run.outcome, run.error_reason) == ("error", "table cannot be read")
    assert str(tmp_path) in run.sentence
