"""A catalog as rows: what is written of what a provider tells, what is refused, and what is read of it again."""

from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from assay.access import Owned
from assay.catalog import selectors
from assay.catalog.column_types import Declared
from assay.catalog.events import apply_event
from assay.catalog.openlineage import LineageEvent
from assay.catalog.profile import (
    BusinessMetricDefinition,
    CatalogProfile,
    Column,
    DatasetProfile,
    LineageProfile,
    PartitionProfile,
    ReplicaProfile,
    ServedTable,
    SlaProfile,
)
from assay.catalog.services import (
    Applied,
    UnableToApply,
    UnableToComplete,
    UnableToRemove,
    UnableToShare,
    apply_catalog,
    check_locations,
    mark_changed,
    record_completion,
    removal_fault,
)
from assay.catalog.tellings import telling_of
from assay.config import config
from assay.database.name_keys import name_key
from assay.models import DataChange, Dataset, EdgeTelling, LineageEdge, Source
from assay.time.stored_times import Holds
from assay.time.windows import Granularity, Window
from tests.factories import DAY, HOUR, NOW, DatasetFactory, LineageEdgeFactory, day

pytestmark = pytest.mark.django_db

LATER = NOW + HOUR
FULL = DatasetProfile(
    namespace="mart",
    name="Full",
    owner="rita",
    tier=1,
    replicas=(
        ReplicaProfile(datacenter="sea", storage="csv", location="/sea/full", options={"header": "true"}),
        ReplicaProfile(datacenter="phx", storage="parquet", location="/phx/full"),
    ),
    description="All of them.",
    team="trips",
    columns=(Column(name="id", type="bigint"), Column(name="Fare", type="double", sensitive=True)),
    primary_key=("id", "city"),
    partition=PartitionProfile(
        column="city",
        granularity=Granularity.HOUR,
        holds=Holds.TIME,
        stored_time_zone="Asia/Tokyo",
        time_zone="Europe/Berlin",
        key_format="%Y%m%d%H",
        first="2026010100",
    ),
    slas=SlaProfile(freshness=HOUR, completeness=0.9, duplicates=0.1, consistency=0.8, unpartitioned=0.2),
    sustain=timedelta(0),
    grace=2 * HOUR,
    severity="soft",
    catch_up="none",
    allow_empty=True,
    novelty=False,
    inferred_schema=True,
    retention=30 * DAY,
    gate_on="incident",
    unknown_policy="open",
    readers=("team:trips", "user:rita"),
    channels={"slack": "#trips"},
    tags=("finance", "pii"),
)
BARE = DatasetProfile(
    namespace="raw",
    name="bare",
    owner="ada",
    tier=3,
    replicas=(ReplicaProfile(datacenter="sea", storage="parquet", location="/sea/bare"),),
)


def named(name: str, like: DatasetProfile = BARE, **more: Any) -> DatasetProfile:
    return replace(like, name=name, **more)


FIXED = {"namespace", "name", "place", "business_metric", "inherited_sensitive"}


def edge(upstream: str, downstream: str, **flags: Any) -> LineageProfile:
    return LineageProfile(upstream=upstream, downstream=downstream, **flags)


def applied(*datasets: DatasetProfile, lineage: tuple[LineageProfile, ...] = (), **more: Any) -> Applied:
    profile = CatalogProfile(datasets=datasets, lineage=lineage)
    return apply_catalog(profile, **{"source": "ours", "full": True, "now": NOW, **more})


def found(name: str = "raw.bare") -> Dataset:
    return Dataset.objects.get(name_key=name_key(name))


def left_to_reconcile(at: datetime = LATER) -> set[str]:
    """The datasets that were marked at this time."""
    rows = Dataset.objects.filter(reconcile_at=at, changed_at=at)
    assert set(rows) == set(Dataset.objects.filter(reconcile_at=at)) == set(Dataset.objects.filter(changed_at=at))
    return {row.full_name for row in rows}


def test_a_dataset_is_read_again_with_every_field_that_was_told() -> None:
    unset = {each.name for each in fields(FULL) if getattr(FULL, each.name) == getattr(BARE, each.name)}
    assert unset == {"place", "business_metric", "inherited_sensitive"}  # what it is, and what it is not told
    applied(FULL, BARE)
    assert selectors.profile_of(found("mart.full")) == FULL
    assert selectors.profile_of(found()) == BARE
    assert [replica.options for replica in found("mart.full").replicas.all()] == [{"header": "true"}, {}]


@pytest.mark.parametrize("name", sorted({each.name for each in fields(FULL)} - FIXED))
def test_each_field_that_is_told_otherwise_is_written_and_no_other(name: str) -> None:
    applied(FULL)
    changed = replace(FULL, **{name: getattr(BARE, name)})
    assert applied(changed, now=LATER).changed == ("mart.Full",)
    assert selectors.profile_of(found("mart.full")) == changed
    assert left_to_reconcile() == {"mart.Full"}


def test_a_business_metric_is_read_again_as_it_was_told_and_becomes_no_table() -> None:
    definition = BusinessMetricDefinition(
        expression="sum(fare)",
        canonical="sum(fare, dataset='mart.Full')",
        sources=("mart.Full",),
        dimensions=("city", "na me"),
        served=(ServedTable(dataset="raw.bare", column="fare", dimension="city"),),
        band={"last": 30, "strategy": "batch_normal"},
        tolerance=0.5,
    )
    metric = replace(BARE, name="metric", business_metric=definition)
    applied(FULL, BARE, metric)
    assert selectors.profile_of(found("raw.metric")) == metric
    with pytest.raises(UnableToShare, match=r"raw\.metric is known as a business metric"):
        applied(FULL, BARE, replace(metric, business_metric=None))
    with pytest.raises(UnableToShare, match=r"raw\.bare is known as a table"):
        applied(FULL, replace(BARE, business_metric=definition), metric)


def test_a_new_dataset_has_a_source_and_the_time_at_which_it_came() -> None:
    assert applied(FULL) == Applied(created=("mart.Full",), changed=(), missing=(), dataset_count=0)
    row = found("mart.full")
    assert (row.source, row.created_at, row.changed_at, row.reconcile_at) == ("ours", NOW, NOW, NOW)
    assert (row.full_name, row.missing_since) == ("mart.Full", None)
    assert row.declared == {"id": NOW.isoformat(), "Fare": NOW.isoformat()}


def test_a_table_without_partitions_has_keys_in_utc_and_names_none() -> None:
    applied(BARE)
    names = ("partition_column", "granularity", "partition_holds", "key_format", "first_partition")
    assert [getattr(found(), name) for name in names] == ["", "", "key", "", ""]
    assert (found().stored_time_zone, found().time_zone) == ("UTC", "UTC")


def test_what_is_told_again_in_whatever_case_changes_nothing() -> None:
    applied(FULL, BARE)
    Dataset.objects.update(reconcile_at=None)
    again = replace(FULL, namespace="MART", name="full")
    assert applied(again, BARE, now=LATER) == Applied(created=(), changed=(), missing=(), dataset_count=2)
    assert left_to_reconcile() == set()
    assert found("mart.full").full_name == "mart.Full"


def test_a_column_is_declared_from_when_it_came_or_changed_its_type() -> None:
    applied(FULL)
    columns = (Column(name="ID", type="bigint"), Column(name="Fare", type="float"), Column(name="tip", type="int"))
    applied(replace(FULL, columns=columns), now=LATER)
    first, second = NOW.isoformat(), LATER.isoformat()
    assert found("mart.full").declared == {"ID": first, "Fare": second, "tip": second}


def test_replicas_come_change_their_places_and_go() -> None:
    beside = DatasetFactory.create(datacenters=("sea", "lax"))
    one, two = FULL.replicas
    applied(FULL)
    third = ReplicaProfile(datacenter="lax", storage="orc", location="/lax/full")
    moved = replace(
        FULL, replicas=(replace(two, storage="csv", location="/phx/new", options={"header": "true"}), third)
    )
    assert applied(moved, now=LATER).changed == ("mart.Full",)
    rows = [(each.datacenter, each.position) for each in found("mart.full").replicas.all()]
    assert rows == [("phx", 0), ("lax", 1)]
    assert selectors.profile_of(found("mart.full")).replicas == moved.replicas
    assert applied(replace(moved, replicas=(*moved.replicas, one)), now=LATER).changed == ("mart.Full",)
    assert selectors.profile_of(beside).replicas[1].datacenter == "lax"


def test_a_full_sync_notes_what_is_told_no_more_of_its_own_source_alone() -> None:
    applied(BARE, named("gone"), named("B"))
    applied(named("theirs"), source="theirs")
    long_ago = DatasetFactory.create(name="away", source="ours", missing_since=NOW - DAY)
    assert applied(named("b"), full=False, now=LATER).missing == ()
    assert not Dataset.objects.filter(missing_since=LATER).exists()
    told = applied(named("b"), now=LATER)
    assert (told.missing, told.dataset_count, told.changed) == (("raw.bare", "raw.gone"), 3, ())
    missing = Dataset.objects.filter(missing_since__isnull=False)
    assert {row.full_name: row.missing_since for row in missing} == {
        "raw.bare": LATER,
        "raw.gone": LATER,
        str(long_ago): NOW - DAY,
    }
    assert left_to_reconcile() == {"raw.bare", "raw.gone"}
    assert applied(named("b"), now=LATER).dataset_count == 1


def test_a_dataset_that_comes_back_is_missing_no_more() -> None:
    applied(BARE, named("b"))
    applied(named("b"), now=LATER)
    back = applied(BARE, named("b"), source="ours", now=LATER + HOUR)
    assert (back.created, back.changed) == ((), ("raw.bare",))
    assert found().missing_since is None
    assert left_to_reconcile(LATER + HOUR) == {"raw.bare"}


def test_what_another_source_tells_of_is_refused_with_both_places_until_it_is_free() -> None:
    Source.objects.create(name="theirs", place="/etc/theirs.yaml")
    applied(named("b"), named("a"), named("c"), source="theirs")
    applied(named("d"), source="nameless")
    Dataset.objects.filter(name="c").update(missing_since=NOW)
    with pytest.raises(UnableToShare) as error:
        applied(named("B"), named("a", place="ours.yaml:7"), named("c"), named("d"), named("new"))
    assert str(error.value).splitlines() == [
        "ours.yaml:7: raw.a belongs to the source 'theirs' (/etc/theirs.yaml), and 'ours' tells of it too",
        "raw.b belongs to the source 'theirs' (/etc/theirs.yaml), and 'ours' tells of it too",
        "raw.d belongs to the source 'nameless', and 'ours' tells of it too",
        "keep each in one of the two; what leaves a source, or whose source is removed, is free for another",
    ]
    assert not Dataset.objects.filter(source="ours").exists()
    assert applied(named("c"), now=LATER).changed == ("raw.c",)
    assert (found("raw.c").source, found("raw.c").missing_since) == ("ours", None)


@pytest.mark.parametrize(("gone", "ends"), [(20, "t19"), (21, "t19 and 1 more"), (25, "t19 and 5 more")])
def test_twenty_of_those_that_would_leave_are_named(gone: int, ends: str) -> None:
    said = removal_fault([f"t{number}" for number in range(gone)], gone)
    assert said is not None
    assert said.endswith(f", t18, {ends}")


def test_too_many_leave_a_source_only_where_that_is_asked_for() -> None:
    names = [f"t{number}" for number in range(6)]
    applied(*(named(name) for name in names))
    applied(named("theirs"), source="theirs")
    with pytest.raises(UnableToRemove) as error:
        applied(named("new"), now=LATER)
    assert str(error.value) == (
        "'ours': 6 of its 6 datasets would leave the source at once: "
        f"{', '.join(f'raw.{name}' for name in names)}; if that is meant, say --allow-removal"
    )
    assert not Dataset.objects.filter(missing_since__isnull=False).exists()
    assert not Dataset.objects.filter(name="new").exists()
    assert len(applied(named("new"), allow_removal=True, now=LATER).missing) == 6


def test_a_location_that_may_not_be_read_is_told_of_each_dataset_and_datacenter() -> None:
    def at(location: str, datacenter: str = "sea", **more: Any) -> ReplicaProfile:
        return ReplicaProfile(**{"datacenter": datacenter, "storage": "parquet", "location": location, **more})

    wrong = CatalogProfile(
        datasets=(
            named("a", replicas=(at("/right"), at("relative", "phx"))),
            named("b", replicas=(at("ftp://x/y"),), place="ours.yaml:7"),
            named("c", replicas=(at("/right", options={"header": "true"}),)),
        )
    )
    with pytest.raises(UnableToApply) as error:
        apply_catalog(wrong, source="ours", full=True, now=NOW)
    assert [line.partition(": ")[0] for line in str(error.value).splitlines()] == [
        "raw.a in phx",
        "ours.yaml:7",
        "raw.c in sea",
    ]
    assert "ours.yaml:7: raw.b in sea: no file system is called ftp://" in str(error.value)
    assert not Dataset.objects.exists()


def test_only_what_is_pushed_is_bound_to_the_roots_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config(), "allowed_roots", ())
    check_locations([telling_of(BARE)], source="ours")
    with pytest.raises(UnableToApply, match=r"raw\.bare in sea: /sea/bare lies outside"):
        check_locations([telling_of(BARE)], source="push")
    monkeypatch.setattr(config(), "allowed_roots", ("/sea",))
    check_locations([telling_of(BARE)], source="push")


def pushed(told: DatasetProfile, **more: Any) -> DatasetProfile:
    """What a dataset is once a request has told of it."""
    applied(told, source="push", full=False, **more)
    return selectors.profile_of(found(told.full_name))


def test_a_request_opens_nothing_that_was_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config(), "allowed_roots", ("/",))
    closed = named(
        "bare",
        team="trips",
        readers=("team:trips",),
        channels={"slack": "#trips"},
        columns=(
            Column(name="Id", type="bigint", sensitive=True),
            Column(name="email", type="string", sensitive=True),
            Column(name="fare", type="double"),
        ),
    )
    assert pushed(closed) == closed
    told = named(
        "bare", owner="eve", channels={"slack": "#all"}, team="eves", tier=4, columns=(Column(name="ID", type="int"),)
    )
    assert pushed(told, now=LATER) == replace(
        told,
        channels={"slack": "#trips"},
        owner="ada",
        team="trips",
        readers=("team:trips",),
        columns=(Column(name="ID", type="int", sensitive=True), Column(name="email", type="string", sensitive=True)),
    )
    assert found().declared == {"ID": LATER.isoformat(), "email": NOW.isoformat()}


def test_a_request_may_change_what_is_open_and_a_file_may_open_what_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config(), "allowed_roots", ("/",))
    pushed(named("bare", columns=(Column(name="id", type="int"),)))
    told = named("bare", owner="eve", team="eves", readers=("team:eves",), columns=(Column(name="x", type="int"),))
    assert pushed(told) == told
    closed = named("closed", readers=("team:trips",), columns=(Column(name="id", type="int", sensitive=True),))
    applied(closed)
    opened = named("closed", owner="eve", columns=(Column(name="id", type="int"),))
    applied(opened, now=LATER)
    assert selectors.profile_of(found("raw.closed")) == opened


def edges() -> dict[tuple[str, str], tuple[bool, bool, str]]:
    rows = LineageEdge.objects.select_related("upstream", "downstream")
    return {(row.upstream.name, row.downstream.name): (row.one_to_one, row.sampled, row.source) for row in rows}


def test_edges_come_change_and_go_with_their_source_and_leave_their_downstreams_to_be_reconciled() -> None:
    tables = tuple(named(name) for name in "abcdef")
    applied(*tables, source="tables")
    first = (
        edge("raw.a", "raw.b", one_to_one=True),
        edge("raw.b", "raw.c", sampled=True),
        edge("raw.c", "raw.d"),
        edge("raw.d", "raw.e"),
    )
    applied(lineage=first)
    applied(lineage=(edge("raw.e", "raw.f", one_to_one=True),), source="theirs")
    assert left_to_reconcile(NOW) == {f"raw.{name}" for name in "abcdef"}
    second = (edge("RAW.A", "RAW.B", one_to_one=True), edge("raw.b", "raw.c", one_to_one=True), edge("raw.a", "raw.f"))
    applied(lineage=second, full=False, now=LATER)
    kept = {("c", "d"): (False, False, "ours"), ("d", "e"): (False, False, "ours")}
    told = {
        ("a", "b"): (True, False, "ours"),
        ("b", "c"): (True, False, "ours"),
        ("a", "f"): (False, False, "ours"),
        ("e", "f"): (True, False, "theirs"),
    }
    assert edges() == {**told, **kept}
    assert left_to_reconcile() == {"raw.c", "raw.f"}
    applied(lineage=second, now=LATER + HOUR)
    assert edges() == told
    assert left_to_reconcile(LATER + HOUR) == {"raw.d", "raw.e"}


def test_the_names_of_key_columns_upstream_are_those_that_are_told_last() -> None:
    applied(named("a"), named("b"), lineage=(edge("raw.a", "raw.b", sampled=True, keys={"id": "order_id"}),))
    assert LineageEdge.objects.get().keys == {"id": "order_id"}
    applied(named("a"), named("b"), lineage=(edge("raw.a", "raw.b", sampled=True),), now=LATER)
    assert (LineageEdge.objects.get().keys, left_to_reconcile()) == ({}, {"raw.b"})


def test_an_event_maps_key_columns_where_the_catalog_does_not() -> None:
    applied(named("a"), replace(named("b"), primary_key=("id",)), lineage=(edge("raw.a", "raw.b", sampled=True),))
    for name in ("order_id", "another"):
        renamed = LineageProfile(upstream="raw.a", downstream="raw.b", keys={"id": name, "city": "town"})
        apply_event(LineageEvent(job="etl", at=LATER, lineage=(renamed,)), now=LATER)
    row = LineageEdge.objects.get()
    assert (row.keys, row.sampled, left_to_reconcile()) == ({"id": "another"}, True, {"raw.b"})


def test_an_edge_is_what_the_first_of_its_sources_says_and_stays_while_one_of_them_says_it() -> None:
    applied(named("a"), named("b"), source="tables")
    applied(lineage=(edge("raw.a", "raw.b", one_to_one=True),), source="theirs")
    heard = LineageProfile(upstream="raw.a", downstream="raw.b", columns={"total": ("fare",)})
    apply_event(LineageEvent(job="etl", at=NOW, lineage=(heard,)), now=NOW)
    assert (edges(), LineageEdge.objects.get().columns) == ({("a", "b"): (True, False, "theirs")}, {"total": ["fare"]})
    applied(lineage=(edge("raw.a", "raw.b", sampled=True),))
    assert edges() == {("a", "b"): (False, True, "ours")}
    applied()
    assert edges() == {("a", "b"): (True, False, "theirs")}
    applied(source="theirs")
    assert edges() == {("a", "b"): (False, False, "openlineage")}


def test_an_edge_that_a_file_also_says_is_no_longer_that_of_a_push() -> None:
    applied(named("a"), named("b"), source="tables")
    for source in ("push", "ours"):
        applied(lineage=(edge("raw.a", "raw.b"),), source=source, full=False)
    assert edges() == {("a", "b"): (False, False, "ours")}
    applied()
    assert edges() == {}


def test_an_event_that_says_nothing_of_columns_leaves_those_of_an_earlier_one() -> None:
    applied(named("a"), named("b"))
    bare = LineageProfile(upstream="raw.a", downstream="raw.b")
    heard = replace(bare, columns={"total": ("fare",)}, keys={"id": "key"})
    events = [
        LineageEvent(job="etl", at=NOW, lineage=(heard,)),
        LineageEvent(job="etl", at=NOW, lineage=(bare,), without_columns=frozenset({"raw.b"})),
        LineageEvent(job="etl", at=NOW, lineage=(bare,)),
    ]
    stored = []
    for event in events:
        apply_event(event, now=NOW)
        stored.append((EdgeTelling.objects.get().keys, LineageEdge.objects.get().columns))
    assert stored == [({"id": "key"}, {"total": ["fare"]})] * 2 + [({}, {})]


def test_an_edge_that_an_event_says_waits_until_both_ends_are_datasets() -> None:
    applied(named("b"), source="tables")
    heard = LineageProfile(upstream="raw.a", downstream="raw.b")
    apply_event(LineageEvent(job="etl", at=NOW, lineage=(heard,)), now=NOW)
    assert edges() == {}
    applied(named("a"))
    assert edges() == {("a", "b"): (False, False, "openlineage")}


def test_edges_of_datasets_that_nobody_tells_of_are_refused_by_name() -> None:
    with pytest.raises(UnableToApply) as error:
        applied(BARE, lineage=(edge("raw.z", "raw.bare"), edge("raw.BARE", "raw.y"), edge("raw.z", "raw.y")))
    assert str(error.value) == "lineage names datasets that the catalog lacks: raw.y, raw.z; tell of them first"


def test_what_compares_itself_with_a_dataset_is_reconciled_with_it() -> None:
    tables = {name: named(name) for name in "abcd"}
    lineage = (edge("raw.a", "raw.b"), edge("raw.b", "raw.c"))
    applied(*tables.values(), lineage=lineage)
    applied(*(tables | {"a": named("a", tier=1)}).values(), lineage=lineage, now=LATER)
    assert left_to_reconcile() == {"raw.a", "raw.b"}


def test_datasets_are_marked_by_their_names_in_whatever_case() -> None:
    applied(named("a"), named("b"))
    mark_changed({"RAW.A", "raw.none"}, LATER)
    assert left_to_reconcile() == {"raw.a"}


def test_a_completion_is_written_with_all_that_is_told() -> None:
    dataset, window = DatasetFactory.create(), day("2026-03-09")
    more: dict[str, Any] = {"run": "r7", "rows": 12, "mode": "append"}
    told = {"dataset": dataset, "datacenter": "phx", "window": window, "pipeline": "load", "now": NOW}
    names = ("dataset", "datacenter", "kind", "window", "pipeline", "run", "rows", "mode", "at", "followed_at")
    for said, kept in ((more, ("r7", 12, "append")), ({}, ("", None, ""))):
        change = DataChange.objects.get(pk=record_completion(**told, **said).pk)  # type: ignore[arg-type]
        assert tuple(getattr(change, name) for name in names) == (
            dataset,
            "phx",
            "completed",
            window,
            "load",
            *kept,
            NOW,
            None,
        )


def test_a_completion_of_more_partitions_than_one_change_may_name_is_refused() -> None:
    hourly = DatasetFactory.create(name="trips", granularity="hour")
    wide = Window(start=NOW - 4000 * DAY, end=NOW)
    with pytest.raises(UnableToComplete, match=r"partitions of raw\.trips: complete it in parts"):
        record_completion(dataset=hourly, datacenter="sea", window=wide, pipeline="load", now=NOW)
    assert not DataChange.objects.exists()
    whole = DatasetFactory.create(partition_column="", granularity="")
    assert record_completion(dataset=whole, datacenter="sea", window=wide, pipeline="load", now=NOW).window == wide


def test_the_targets_are_the_datasets_own_and_else_its_tiers() -> None:
    applied(FULL, BARE)
    assert selectors.slas(found("mart.full")) == FULL.targets
    assert selectors.slas(found()) == BARE.targets


def test_datasets_are_found_by_the_names_that_were_asked_for() -> None:
    trips, rides = DatasetFactory.create(name="Trips"), DatasetFactory.create(name="rides")
    DatasetFactory.create(name="other")
    assert selectors.by_name("raw.TRIPS") == trips
    assert selectors.by_name("raw.trip") is None
    asked = ("RAW.rides", "raw.trips", "raw.none", "raw.Trips")
    assert selectors.by_names(asked) == {"RAW.rides": rides, "raw.trips": trips, "raw.Trips": trips}


def test_what_is_found_by_name_brings_its_replicas_and_an_edge_its_upstream(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    tables = [DatasetFactory.create(name=name, datacenters=("phx", "sea")) for name in "abc"]
    for upstream in tables[:2]:
        LineageEdgeFactory.create(upstream=upstream, downstream=tables[2])
    with django_assert_num_queries(2):
        one = selectors.by_name("raw.a")
        assert one is not None
        assert selectors.home(one).datacenter == "phx"
    with django_assert_num_queries(2):
        several = selectors.by_names(["raw.a", "raw.b", "raw.c"])
        assert [selectors.home(each).datacenter for each in several.values()] == ["phx"] * 3
    with django_assert_num_queries(1):
        assert [each.upstream.name for each in selectors.upstream_edges(tables[2])] == ["a", "b"]


def test_a_datasets_readers_columns_and_replicas_are_its_own() -> None:
    applied(FULL, BARE)
    full, bare = found("mart.full"), found()
    assert selectors.owned(full) == Owned(
        name="mart.Full", owner="rita", team="trips", readers=("team:trips", "user:rita")
    )
    assert selectors.owned(bare) == Owned(name="raw.bare", owner="ada", team="", readers=())
    assert selectors.sensitive_columns(full) == {"fare"}
    assert selectors.home(full).datacenter == "sea"
    phx = selectors.replica(full, "phx")
    assert phx is not None
    assert phx.location == "/phx/full"
    assert selectors.replica(bare, "phx") is None


def test_a_column_that_nothing_dates_is_declared_since_its_dataset_came() -> None:
    columns = [{"name": name, "type": "int"} for name in ("ID", "fare", "datestr")]
    dataset = DatasetFactory.create(columns=columns, declared={"fare": LATER.isoformat()})
    since = dataset.created_at
    assert selectors.declared_by(dataset) == (
        Declared(name="ID", type="int", is_key=True, since=since),
        Declared(name="fare", type="int", is_key=False, since=LATER),
        Declared(name="datestr", type="int", is_key=True, since=since),
    )


def test_lineage_is_read_by_its_ends_and_in_the_order_of_names() -> None:
    a, b, c, d = (DatasetFactory.create(name=name) for name in ("d", "c", "b", "a"))
    for upstream, downstream in ((a, c), (b, c), (c, d), (c, a), (b, d)):
        LineageEdgeFactory.create(upstream=upstream, downstream=downstream)
    assert [each.upstream for each in selectors.upstream_edges(c)] == [b, a]
    assert {each.downstream for each in selectors.upstream_edges(c)} == {c}
    assert selectors.upstream_keys("RAW.B") == {a.name_key, b.name_key}
    assert selectors.downstreams(c) == [d, a]
    assert {key: set(value) for key, value in selectors.lineage_above(d.pk).items()} == {
        a.pk: {c.pk},
        b.pk: set(),
        c.pk: {a.pk, b.pk},
        d.pk: {b.pk, c.pk},
    }


def test_a_dataset_of_more_upstreams_than_a_statement_may_name_has_them_all_around_it() -> None:
    down = DatasetFactory.create(name="down")
    names = [f"up_{number}" for number in range(1100)]
    rows = Dataset.objects.bulk_create(
        Dataset(
            namespace="raw", name=name, full_name=f"raw.{name}", name_key=name_key(f"raw.{name}"), tier=5,
            created_at=NOW, changed_at=NOW,
        )
        for name in names
    )  # fmt: skip
    LineageEdge.objects.bulk_create(LineageEdge(upstream=row, downstream=down) for row in rows)
    around = selectors.surroundings([down])
    assert around.upstream_keys(down.full_name) == {row.name_key for row in rows}
    assert around.profile_named("RAW.up_1099") == selectors.profile_of(rows[-1])
