"""The standard tests and gaps of a few datasets, every field of them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from assay.catalog.profile import Column, DatasetProfile, SlaProfile
from assay.time.windows import Granularity
from test_generator.definition import DataTestSpec, GapSpec
from test_generator.generation.standard import UNPARTITIONED, Upstream, is_comparable, standard_tests
from tests.unit.test_generator.profiles import dataset, days, replica

SLAS = SlaProfile(freshness=timedelta(hours=2), completeness=0.9, duplicates=0.01, consistency=0.8, unpartitioned=0.02)
MART = dataset(
    replicas=(replica("sea"), replica("phx")),
    slas=SLAS,
    severity="hard",
    catch_up="none",
    sustain=timedelta(hours=3),
    columns=(
        Column(name="TRIP_ID", type="bigint"),
        Column(name="fare", type="double"),
        Column(name="trip_id", type="x"),
    ),
)
RAW = dataset("raw.trips")
ORDERS = dataset("app.orders", replicas=(replica("sea", "sql"),))
ROWS = "row_count() / row_count(dataset='raw.trips') between 0.9 and 1.1"
FOUND = "sample_found('app.orders') / sample_size('app.orders') >= 0.9"
SAME_SEA, SAME_PHX = (
    f"least(row_count(), row_count(datacenter='{where}')) / row_count() >= 0.8" for where in ("sea", "phx")
)
KEYS_SEA, KEYS_PHX = (
    f"keys_found(trip_id, datacenter='{where}') / distinct_count(trip_id) >= 0.8" for where in ("sea", "phx")
)
UNIQUE = "1 - count_distinct(trip_id) / row_count() <= 0.01"
PART, WHOLE = ("partition", "partition"), ("table", "weekly")  # what is tested, and when


def facts_of(test: DataTestSpec) -> tuple[object, ...]:
    where = (test.datacenter, test.spoils or None)
    return (
        test.name,
        test.category,
        test.definition.assertion,
        where,
        (test.scope, test.definition.schedule),
        test.definition.severity,
    )


def test_a_dataset_with_everything_has_these_tests_and_no_others() -> None:
    upstreams = [Upstream(dataset=RAW, one_to_one=True), Upstream(dataset=ORDERS, sampled=True), Upstream(dataset=MART)]
    generation = standard_tests(MART, upstreams)
    home, to_phx, to_sea = ("sea", None), ("sea", "phx"), ("phx", "sea")
    timely = "freshness(complete=0.9) < 2h"
    assert [facts_of(test) for test in generation.tests] == [
        ("freshness", "freshness", timely, home, PART, "hard"),
        ("freshness@phx", "freshness", timely, ("phx", None), PART, "hard"),
        ("completeness:raw.trips", "completeness", ROWS, home, PART, "hard"),
        ("completeness:raw.trips:whole", "completeness", ROWS, home, WHOLE, "hard"),
        ("completeness-sample:app.orders", "completeness", FOUND, home, PART, "hard"),
        (UNPARTITIONED, "completeness", "unpartitioned_rows() / row_count() <= 0.02", home, WHOLE, "soft"),
        ("duplicates", "duplicates", UNIQUE, home, PART, "hard"),
        ("duplicates:whole", "duplicates", UNIQUE, home, WHOLE, "hard"),
        ("consistency-count:sea>phx", "consistency", SAME_PHX, to_phx, PART, "hard"),
        ("consistency-count:sea>phx:whole", "consistency", SAME_PHX, to_phx, WHOLE, "hard"),
        ("consistency-count:phx>sea", "consistency", SAME_SEA, to_sea, PART, "hard"),
        ("consistency-count:phx>sea:whole", "consistency", SAME_SEA, to_sea, WHOLE, "hard"),
        ("consistency-bloom:sea>phx", "consistency", KEYS_PHX, to_phx, PART, "hard"),
        ("consistency-bloom:phx>sea", "consistency", KEYS_SEA, to_sea, PART, "hard"),
        ("schema-keys", "schema", "schema_drift(of='keys') = 0", home, PART, "hard"),
        ("schema", "schema", "schema_drift(of='others') = 0", home, PART, "soft"),
        ("novelty", "novelty", "novelty() <= 1", home, PART, "soft"),
    ]
    assert generation.gaps == ()
    assert {(test.definition.catch_up, test.definition.sustain) for test in generation.tests} == {
        ("none", timedelta(hours=3))
    }
    assert UNPARTITIONED == "unpartitioned:whole"


def test_a_dataset_without_partitions_has_these() -> None:
    whole = replace(MART, partition=None, replicas=(replica("sea"),), columns=(Column(name="trip_id", type="bigint"),))
    generation = standard_tests(whole, [Upstream(dataset=replace(RAW, partition=None), one_to_one=True)])
    home = ("sea", None)
    assert [facts_of(test) for test in generation.tests] == [
        ("completeness:raw.trips:whole", "completeness", ROWS, home, WHOLE, "hard"),
        ("duplicates:whole", "duplicates", UNIQUE, home, WHOLE, "hard"),
        ("schema-keys:whole", "schema", "schema_drift(of='keys') = 0", home, WHOLE, "hard"),
    ]


def gaps(target: DatasetProfile, upstreams: Sequence[Upstream] = ()) -> list[tuple[str, str, bool]]:
    """The gaps of a dataset, each of which names it."""
    found = standard_tests(target, upstreams).gaps
    assert {gap.dataset for gap in found} <= {target.full_name}
    return [(gap.category, gap.reason, gap.mendable) for gap in found]


NO_UPSTREAM = ("completeness", "it has no upstream, so there is nothing to compare its rows with.", False)
ALONE = ("consistency", "it has one replica, so there is nothing to compare it with.", False)
NO_KEY = "it has no primary key"


@pytest.mark.parametrize(
    ("target", "found"),
    [
        (dataset(), [NO_UPSTREAM, ALONE]),
        (
            dataset(replicas=()),
            [
                (category, "it has no replica: say where its data lies.", True)
                for category in ("freshness", "completeness", "duplicates", "consistency")
            ],
        ),
        (
            dataset(partition=None),
            [("freshness", "it has no partition key, so nothing says for when its data is.", True), NO_UPSTREAM, ALONE],
        ),
        (
            dataset(primary_key=(), replicas=MART.replicas),
            [
                NO_UPSTREAM,
                ("duplicates", f"{NO_KEY}.", True),
                ("consistency", f"{NO_KEY}, so only its rows are counted.", True),
            ],
        ),
        (
            dataset(primary_key=("leg", "trip_id", "no")),
            [NO_UPSTREAM, ("duplicates", "its primary key leg, no is no column of it.", True), ALONE],
        ),
        (
            dataset(replicas=(replica("sea"), replica("phx", "sql"))),
            [NO_UPSTREAM]
            + 2
            * [("consistency", "its replica in phx lies outside the lake, where no Bloom filter can be built.", False)],
        ),
    ],
)
def test_what_a_dataset_lacks_is_told_with_what_would_mend_it(
    target: DatasetProfile, found: list[tuple[str, str, bool]]
) -> None:
    assert gaps(target) == found


SENSITIVE = (Column(name="TRIP_ID", type="bigint", sensitive=True), Column(name="datestr", type="string"))
BARE = replace(RAW, replicas=())


@pytest.mark.parametrize(
    ("target", "upstream", "reason"),
    [
        (
            dataset(),
            Upstream(dataset=BARE, one_to_one=True),
            "its upstream raw.trips has no replica: say where its data lies.",
        ),
        (
            dataset(),
            Upstream(dataset=BARE, sampled=True),
            "its upstream raw.trips has no replica: say where its data lies.",
        ),
        (
            dataset(),
            Upstream(dataset=replace(RAW, partition=None), one_to_one=True),
            "its upstream raw.trips has no partition key, so no part of it matches a partition.",
        ),
        (
            dataset(),
            Upstream(dataset=replace(ORDERS, partition=days("UTC")), sampled=True),
            "partitions do not align: those of app.orders do not tile its own; give both the same time zone.",
        ),
        (
            dataset(),
            Upstream(dataset=RAW, sampled=True),
            "raw.trips is sampled but lies inside the lake, where counting is exact: mark it one-to-one instead.",
        ),
        (
            dataset(replicas=(replica("sea", "sql"),)),
            Upstream(dataset=ORDERS, sampled=True),
            "it lies outside the lake itself, so a sample of app.orders cannot be looked up in it.",
        ),
        (
            dataset(primary_key=()),
            Upstream(dataset=ORDERS, sampled=True),
            "it has no primary key, so a sample of app.orders cannot be looked up.",
        ),
        (
            dataset(columns=SENSITIVE, primary_key=("TRIP_ID",)),
            Upstream(dataset=ORDERS, sampled=True),
            "its primary key TRIP_ID is sensitive, and a sample would keep its values.",
        ),
        (
            dataset(primary_key=("trip_id", "datestr")),
            Upstream(dataset=replace(ORDERS, columns=SENSITIVE), sampled=True),
            "its primary key trip_id is sensitive, and a sample would keep its values.",
        ),
        (
            dataset(),
            Upstream(dataset=replace(ORDERS, readers=("team:shop",)), sampled=True),
            "app.orders is shown to its readers only, and a sample of its keys would be shown here to others.",
        ),
        (
            dataset(),
            Upstream(dataset=replace(ORDERS, columns=(Column(name="id", type="int"),)), sampled=True),
            "its primary key trip_id is no column of app.orders, which is sampled by it: if the key has another "
            "name there, write keys: {trip_id: …} at the edge.",
        ),
    ],
)
def test_what_keeps_rows_from_being_compared_is_told_with_what_would_mend_it(
    target: DatasetProfile, upstream: Upstream, reason: str
) -> None:
    assert [gap for gap in gaps(target, [upstream]) if gap[0] == "completeness"] == [("completeness", reason, True)]


def test_an_upstream_that_is_neither_one_to_one_nor_sampled_is_a_gap_that_nothing_mends() -> None:
    reason = "none of its upstreams is one-to-one or sampled, so there is nothing to compare its rows with."
    assert gaps(dataset(), [Upstream(dataset=RAW)]) == [("completeness", reason, False), ALONE]


def sampled(target: DatasetProfile, upstream: DatasetProfile) -> bool:
    generation = standard_tests(target, [Upstream(dataset=upstream, sampled=True)])
    return "completeness-sample:app.orders" in {test.name for test in generation.tests}


def test_a_sample_may_be_drawn_of_an_upstream_whose_columns_nobody_declares() -> None:
    assert sampled(dataset(), replace(ORDERS, columns=()))


def test_a_sample_is_shown_where_all_who_see_it_may_read_the_upstream() -> None:
    readers = ("team:shop",)
    assert sampled(dataset(readers=readers), replace(ORDERS, readers=readers))
    assert not sampled(dataset(readers=readers, owner="eve"), replace(ORDERS, readers=readers))
    assert not sampled(dataset(readers=readers, team="rides"), replace(ORDERS, readers=readers))
    assert sampled(dataset(readers=readers, team="rides"), replace(ORDERS, readers=readers, team="rides"))


def test_an_upstream_that_is_sampled_and_one_to_one_inside_the_lake_is_counted_and_no_gap() -> None:
    both = standard_tests(dataset(), [Upstream(dataset=RAW, one_to_one=True, sampled=True)])
    assert [test.name for test in both.tests if test.category == "completeness"] == [
        *("completeness:raw.trips", "completeness:raw.trips:whole", "unpartitioned:whole")
    ]
    assert [gap.category for gap in both.gaps] == ["consistency"]


def test_only_partitions_of_both_can_be_compared() -> None:
    whole = replace(RAW, partition=None)
    assert is_comparable(MART, RAW)
    assert not is_comparable(MART, whole)
    assert not is_comparable(whole, MART)
    assert is_comparable(MART, replace(RAW, partition=days(granularity=Granularity.HOUR)))
    assert not is_comparable(replace(RAW, partition=days(granularity=Granularity.HOUR)), MART)


def test_an_edge_of_the_lineage_says_nothing_unless_it_is_told_to() -> None:
    assert Upstream(dataset=RAW) == Upstream(dataset=RAW, one_to_one=False, sampled=False)
    assert GapSpec(dataset="a.b", category="schema", reason="x").mendable


def test_the_first_replica_alone_says_whether_an_upstream_lies_in_the_lake() -> None:
    assert sampled(dataset(), replace(ORDERS, replicas=(replica("sea", "sql"), replica("phx"))))
