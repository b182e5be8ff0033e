"""The standard tests: which there are, what they assert, where they run, and what cannot be written."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from assay.catalog.profile import Column, DatasetProfile, SlaProfile
from assay.time.windows import Granularity
from execution_engine.language.parse import parse
from test_generator.definition import DataTestSpec, Generation
from test_generator.generation.standard import Upstream, standard_tests
from tests.unit.test_generator.profiles import dataset, days, replica

RAW = dataset("raw.trips")
ALWAYS_SOFT = ("unpartitioned:whole", "novelty")
TWO_REPLICAS = (replica("sea"), replica("phx"))
ORDERS = dataset("app.orders", replicas=(replica("sea", "sql"),))


def generate(target: DatasetProfile, *upstreams: Upstream) -> Generation:
    return standard_tests(target, upstreams)


def one_to_one(upstream: DatasetProfile = RAW) -> Upstream:
    return Upstream(dataset=upstream, one_to_one=True)


def names(generation: Generation) -> list[str]:
    return [test.name for test in generation.tests]


def named(generation: Generation, name: str) -> DataTestSpec:
    return next(test for test in generation.tests if test.name == name)


def gaps(generation: Generation, category: str) -> list[str]:
    return [gap.reason for gap in generation.gaps if gap.category == category]


@pytest.mark.parametrize(
    ("name", "assertion"),
    [
        ("freshness", "freshness(complete=0.999) < 4h"),
        ("completeness:raw.trips:whole", "row_count() / row_count(dataset='raw.trips') between 0.999 and 1.001"),
        ("unpartitioned:whole", "unpartitioned_rows() = 0"),
        ("duplicates", "1 - count_distinct(trip_id) / row_count() <= 0"),
        ("consistency-bloom:phx>sea", "keys_found(trip_id, datacenter='sea') / distinct_count(trip_id) >= 0.999"),
    ],
)
def test_what_a_dataset_does_not_say_itself_its_tier_says_in_the_assertion(name: str, assertion: str) -> None:
    generation = generate(dataset(replicas=TWO_REPLICAS), one_to_one())
    assert named(generation, name).definition.assertion == assertion


def test_only_what_is_declared_has_a_test_of_the_schema() -> None:
    only_others = generate(dataset(columns=(Column(name="x", type="int"),), primary_key=()))
    assert [name for name in names(only_others) if "schema" in name] == ["schema"]
    assert [name for name in names(generate(dataset(columns=()))) if "schema" in name] == []


def test_a_schema_is_inferred_for_those_who_ask_for_it_and_whoever_cannot_have_one_is_told_why() -> None:
    test = named(generate(dataset(inferred_schema=True)), "schema-inferred")
    assert (test.definition.assertion, test.definition.severity) == ("novelty(method='schema') <= 1", "soft")
    assert (test.category, test.scope) == ("schema", "partition")
    lacking: list[tuple[dict[str, Any], str]] = [
        ({"partition": None}, "it has no partition key, so a schema cannot be inferred from earlier partitions."),
        ({"replicas": (replica("sea", "sql"),)}, "it lies outside the lake, where no profile is taken."),
    ]
    for lacks, reason in lacking:
        generation = generate(dataset(inferred_schema=True, **lacks))
        assert "schema-inferred" not in names(generation)
        assert [gap.reason for gap in generation.gaps if gap.category == "schema"] == [reason]


def test_a_dataset_is_watched_for_novelty_unless_its_tier_or_its_metadata_says_otherwise() -> None:
    watched: list[dict[str, Any]] = [{"tier": 4}, {"tier": 5, "novelty": True}]
    others: list[dict[str, Any]] = [{"tier": 5}, {"tier": 0, "novelty": False}, {"partition": None}]
    assert ["novelty" in names(generate(dataset(**each))) for each in [*watched, *others]] == [True] * 2 + [False] * 3


def test_what_lies_outside_the_lake_cannot_be_watched_for_novelty_and_says_so() -> None:
    outside = generate(dataset(replicas=(replica("sea", "sql"),)))
    assert gaps(outside, "novelty") == ["it lies outside the lake, where no profile is taken."]


def test_every_standard_assertion_is_one_the_language_reads() -> None:
    generation = generate(
        dataset(replicas=TWO_REPLICAS, slas=SlaProfile(freshness=timedelta(seconds=90), duplicates=1e-7)),
        one_to_one(),
        one_to_one(dataset("raw.o'hare")),
        Upstream(dataset=ORDERS, sampled=True),
    )
    for test in generation.tests:
        parse(test.definition.assertion)


def test_three_replicas_are_compared_in_every_direction() -> None:
    generation = generate(dataset(replicas=(*TWO_REPLICAS, replica("iad"))))
    counts = [name for name in names(generation) if name.startswith("consistency-count") and ":whole" not in name]
    assert len(counts) == 6


@pytest.mark.parametrize(
    ("changes", "severity", "sustain"),
    [
        ({"tier": 0}, "hard", timedelta(0)),
        ({"tier": 4}, "soft", timedelta(hours=24)),
        ({"tier": 4, "severity": "hard", "sustain": timedelta(hours=2)}, "hard", timedelta(hours=2)),
    ],
)
def test_severity_and_sustain_come_from_the_tier_unless_metadata_says_otherwise(
    changes: dict[str, Any], severity: str, sustain: timedelta
) -> None:
    wanted = generate(dataset(**changes), one_to_one()).tests
    assert {test.definition.sustain for test in wanted} == {sustain}
    assert {test.definition.severity for test in wanted if test.name not in ALWAYS_SOFT} == {severity}


@pytest.mark.parametrize(
    ("sla", "freshness", "bounds"),
    [
        (1.0, "complete=0.999", "between 1 and 1"),
        (0.9995, "complete=0.999", "between 0.9995 and 1.0005"),
        (0.95, "complete=0.95", "between 0.95 and 1.05"),
        (0.9, "complete=0.9", "between 0.9 and 1.1"),
    ],
)
def test_the_completeness_sla_gives_both_bounds_without_float_noise(sla: float, freshness: str, bounds: str) -> None:
    generation = generate(dataset(slas=SlaProfile(completeness=sla)), one_to_one())
    assert freshness in named(generation, "freshness").definition.assertion
    assert named(generation, "completeness:raw.trips").definition.assertion.endswith(bounds)


def test_a_dataset_without_partitions_is_tested_as_a_whole() -> None:
    generation = generate(dataset(partition=None, replicas=TWO_REPLICAS), one_to_one())
    assert {test.scope for test in generation.tests} == {"table"}
    assert "consistency-bloom:sea>phx:whole" in names(generation)


def test_of_a_dataset_without_primary_key_only_the_rows_are_counted() -> None:
    generation = generate(dataset(primary_key=(), replicas=TWO_REPLICAS))
    assert not [name for name in names(generation) if "bloom" in name or "duplicates" in name]


def test_a_key_of_any_name_is_written_between_backticks_where_it_must_be() -> None:
    generation = generate(dataset(columns=(), primary_key=("trip_id", "order id", "item.one", "it`s")))
    assert gaps(generation, "duplicates") == []
    assert (
        "count_distinct(trip_id, `order id`, `item.one`, `it``s`)"
        in named(generation, "duplicates").definition.assertion
    )


def test_a_key_that_an_assertion_cannot_name_is_a_gap() -> None:
    hidden = generate(dataset(columns=(), primary_key=("trip_id", "\ufefforder")))
    assert gaps(hidden, "duplicates") == [
        "its primary key has a hidden character in '\\ufefforder': rename the column."
    ]
    long = generate(dataset(columns=(), primary_key=("trip_id", "order " * 300)))
    assert gaps(long, "duplicates") == ["its primary key takes 1811 bytes to name, and an assertion has room for 1500."]


def test_the_partition_key_may_be_part_of_the_primary_key_without_being_declared() -> None:
    generation = generate(dataset(columns=(Column(name="trip_id", type="int"),), primary_key=("trip_id", "datestr")))
    assert "count_distinct(trip_id, datestr)" in named(generation, "duplicates").definition.assertion


@pytest.mark.parametrize(
    ("own", "upstream"),
    [
        (days("America/New_York"), days("UTC")),
        (days("America/New_York"), days("America/Toronto", Granularity.MONTH)),
        (days("UTC", Granularity.HOUR), days("UTC")),
        (days("UTC", Granularity.MONTH), days("UTC", Granularity.WEEK)),
        (days("Asia/Kolkata"), days("UTC", Granularity.HOUR)),
        (days("Europe/London"), days("UTC")),  # the same all winter
    ],
)
def test_partitions_that_do_not_align_are_a_gap(own: Any, upstream: Any) -> None:
    generation = generate(dataset(partition=own), one_to_one(dataset("raw.trips", partition=upstream)))
    assert gaps(generation, "completeness")[0].startswith("partitions do not align: those of raw.trips")
    assert [test.name for test in generation.tests if test.category == "completeness"] == ["unpartitioned:whole"]


@pytest.mark.parametrize(
    ("own", "upstream"),
    [
        (days("America/New_York"), days("UTC", Granularity.HOUR)),
        (days("America/New_York"), days("America/Toronto")),
        (days("UTC", Granularity.MONTH), days("UTC")),
        (days("UTC", Granularity.WEEK), days("UTC", Granularity.HOUR)),
    ],
)
def test_finer_partitions_upstream_tile_coarser_ones(own: Any, upstream: Any) -> None:
    generation = generate(dataset(partition=own), one_to_one(dataset("raw.trips", partition=upstream)))
    assert "completeness:raw.trips" in names(generation)


def test_an_upstream_without_partitions_is_no_gap_for_a_dataset_without() -> None:
    whole = one_to_one(dataset("raw.trips", partition=None))
    assert "completeness:raw.trips:whole" in names(generate(dataset(partition=None), whole))


def test_a_key_of_another_name_upstream_is_sampled_by_that_name() -> None:
    orders = replace(ORDERS, columns=(Column(name="id", type="int"),))
    generation = generate(dataset(), Upstream(dataset=orders, sampled=True, keys={"trip_id": "id"}))
    assert "completeness-sample:app.orders" in names(generation)
    hidden = replace(orders, columns=(Column(name="id", type="int", sensitive=True),))
    generation = generate(dataset(), Upstream(dataset=hidden, sampled=True, keys={"trip_id": "id"}))
    assert gaps(generation, "completeness")[0].startswith("its primary key id is sensitive")


def test_a_replica_outside_the_lake_is_only_counted() -> None:
    generation = generate(dataset(replicas=(replica("sea"), replica("phx", "sql"))))
    assert "consistency-count:sea>phx" in names(generation)
    assert not [name for name in names(generation) if "bloom" in name]


def test_a_dataset_that_feeds_itself_is_not_compared_with_itself() -> None:
    assert "completeness:raw.trips" not in names(generate(RAW, one_to_one(RAW)))


def test_a_dataset_without_replica_has_only_gaps() -> None:
    assert generate(dataset(replicas=())).tests == ()


def test_names_are_unique_within_a_dataset() -> None:
    both = Upstream(dataset=ORDERS, one_to_one=True, sampled=True)
    found = names(generate(dataset(replicas=(*TWO_REPLICAS, replica("iad"))), one_to_one(), both))
    assert len(set(found)) == len(found)
