"""The standard tests of a dataset as rows: what comes, changes, goes and comes back, and what is noted as a gap."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from assay.catalog.selectors import surroundings
from assay.models import Dataset, DataTest, LineageEdge, Replica, Revision
from execution_engine.models import Heartbeat
from execution_engine.services import mark_obsolete
from test_generator.definition import Generation
from test_generator.generation.generate import changes, generate, stored_tests
from test_generator.generation.standard import Changes, ExistingTest
from test_generator.models import Gap
from test_generator.services import reconcile_datasets, write_data_test
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, LineageEdgeFactory, day, revised
from tests.integration.test_generator.written import named, newest, revisions, row

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)
TODAY = day("2026-03-10")
SLA = 6 * HOUR
COLUMNS = [{"name": "id", "type": "bigint"}, {"name": "fare", "type": "double"}]
ROWS = "row_count() / row_count(dataset='raw.trips') between 0.995 and 1.005"
FOUND = "sample_found('app.orders') / sample_size('app.orders') >= 0.995"


def mart(**more: Any) -> Dataset:
    return DatasetFactory.create(**{"namespace": "mart", "name": "trips", "reconcile_at": NOW, **more})


def brought(dataset: Dataset, at: datetime = NOW) -> set[str]:
    """The names of the dataset's live tests, once these are what its metadata leads to."""
    reconcile_datasets([Dataset.objects.get(pk=dataset.pk)], at)
    return set(named(dataset))


def again_at(dataset: Dataset) -> datetime | None:
    return Dataset.objects.get(pk=dataset.pk).reconcile_at


def told(dataset: Dataset, **more: Any) -> None:
    Dataset.objects.filter(pk=dataset.pk).update(**more)


def gaps(dataset: Dataset) -> set[tuple[str, datetime | None]]:
    rows = Gap.objects.filter(dataset=dataset)
    return {(gap.reason, gap.closed_at) for gap in rows}


STANDARD = {"freshness", "unpartitioned:whole", "duplicates", "duplicates:whole", "schema", "schema-keys", "novelty"}


def test_a_generated_test_has_every_field_that_was_wanted() -> None:
    dataset, beside = mart(datacenters=("sea", "phx")), DatasetFactory.create()
    names = brought(dataset)
    pairs = ("sea>phx", "phx>sea")
    assert names == STANDARD | {"freshness@phx"} | {
        name.format(pair)
        for pair in pairs
        for name in ("consistency-count:{}", "consistency-count:{}:whole", "consistency-bloom:{}")
    }
    tests = named(dataset)
    assert row(tests["consistency-bloom:phx>sea"]) == {
        "name": "consistency-bloom:phx>sea",
        "category": "consistency",
        "origin": "generated",
        "scope": "partition",
        "datacenter": "phx",
        "spoils": "sea",
        "created_at": NOW,
        "source": "",
        "template": "",
        "missing_since": None,
        "retired_at": None,
        "next_due_at": TODAY.end + SLA,
        "next_window_start": TODAY.start,
        "next_window_end": TODAY.end,
        "judges_from": None,
        "skipped_slots": 0,
    }
    assert revisions(tests["unpartitioned:whole"]) == [
        {
            "number": 1,
            "assertion": "unpartitioned_rows() = 0",
            "severity": "soft",
            "schedule": "weekly",
            "sustain": 4 * HOUR,
            "catch_up": "latest",
            "declared": "",
            "keep_rows": {},
            "created_at": NOW,
            "author": "assay",
            "rejudged_at": NOW,
        }
    ]
    whole = row(tests["duplicates:whole"])
    assert (whole["category"], whole["scope"], whole["spoils"]) == ("duplicates", "table", "")
    assert not DataTest.objects.filter(dataset=beside).exists()


def test_rows_are_compared_with_one_to_one_upstreams_and_samples_of_sampled_ones() -> None:
    dataset = mart()
    trips, orders = DatasetFactory.create(name="trips"), DatasetFactory.create(namespace="app", name="orders")
    Replica.objects.filter(dataset=orders).update(storage="sql", location="sqlite:////data/app.db")
    LineageEdgeFactory.create(upstream=trips, downstream=dataset)
    LineageEdgeFactory.create(upstream=orders, downstream=dataset, one_to_one=False, sampled=True)
    LineageEdgeFactory.create(upstream=DatasetFactory.create(), downstream=dataset, one_to_one=False)
    LineageEdgeFactory.create(upstream=dataset)
    LineageEdgeFactory.create()
    names = brought(dataset)
    assert names - STANDARD == {
        "completeness:raw.trips",
        "completeness:raw.trips:whole",
        "completeness-sample:app.orders",
    }
    tests = named(dataset)
    found = [newest(tests[name]).assertion for name in ("completeness:raw.trips", "completeness-sample:app.orders")]
    assert found == [ROWS, FOUND]
    assert not Gap.objects.filter(dataset=dataset, category="completeness").exists()


def test_where_nothing_has_changed_nothing_is_written() -> None:
    dataset = mart(datacenters=("sea", "phx"))
    LineageEdgeFactory.create(upstream=DatasetFactory.create(name="trips"), downstream=dataset)
    brought(dataset)
    tests, count = named(dataset), Revision.objects.count()
    stood = {name: row(test) for name, test in tests.items()}
    around, stored = surroundings([dataset]), stored_tests([dataset])[dataset.pk]
    left = changes(dataset, stored, generate(dataset, around, is_obsolete=False), NOW)
    assert left == Changes()
    brought(dataset, NOW + DAY)
    assert {name: row(test) for name, test in named(dataset).items()} == stood
    assert (DataTest.objects.count(), Revision.objects.count()) == (len(tests), count)
    assert Gap.objects.count() == len(gaps(dataset))


def test_only_the_tests_that_should_be_another_are_revised() -> None:
    dataset, beside = mart(), mart(namespace="raw")
    for each in (dataset, beside):
        brought(each)
    told(dataset, duplicates_sla=0.2)
    brought(dataset, NOW + HOUR)
    tests = named(dataset)
    assert {name: newest(test).number for name, test in tests.items()} == {
        name: 2 if name.startswith("duplicates") else 1 for name in STANDARD
    }
    first, second = revisions(tests["duplicates"])
    assert second == {
        **first,
        "number": 2,
        "assertion": "1 - count_distinct(id) / row_count() <= 0.2",
        "created_at": NOW + HOUR,
        "author": "assay",
        "rejudged_at": None,
    }
    assert {newest(test).number for test in named(beside).values()} == {1}


def test_tests_move_with_the_home_though_they_assert_the_same() -> None:
    dataset = mart(datacenters=("sea", "phx"))
    brought(dataset)
    before = named(dataset)
    DataTest.objects.filter(name="consistency-bloom:sea>phx").update(category="custom", scope="table", spoils="")
    for position, datacenter in enumerate(("phx", "sea")):
        Replica.objects.filter(dataset=dataset, datacenter=datacenter).update(position=position)
    brought(dataset, NOW + HOUR)
    tests = named(dataset)
    assert tests["freshness@sea"].datacenter == "sea"
    assert (tests["freshness"].datacenter, tests["freshness"].spoils) == ("phx", "")
    assert newest(tests["freshness"]) == before["freshness"].revision
    assert row(tests["consistency-bloom:sea>phx"]) == row(before["consistency-bloom:sea>phx"])


def test_what_is_wanted_no_more_is_retired_and_comes_back_as_it_was_or_as_it_should_be_now() -> None:
    dataset = mart()
    brought(dataset)
    duplicates = named(dataset)["duplicates"]
    told(dataset, primary_key=[])
    assert brought(dataset, NOW + HOUR) == STANDARD - {"duplicates", "duplicates:whole", "schema-keys"}
    gone = row(duplicates)
    assert (gone["retired_at"], gone["next_due_at"]) == (NOW + HOUR, None)
    brought(dataset, NOW + 2 * HOUR)
    assert row(duplicates) == gone
    told(dataset, primary_key=["id"])
    assert brought(dataset, NOW + 3 * HOUR) == STANDARD
    back = row(duplicates)
    assert (back["retired_at"], back["next_due_at"]) == (None, TODAY.end + SLA)
    assert newest(duplicates).number == 1
    told(dataset, primary_key=[])
    brought(dataset, NOW + 4 * HOUR)
    told(dataset, primary_key=["id"], duplicates_sla=0.2)
    brought(dataset, NOW + 5 * HOUR)
    assert row(duplicates)["next_due_at"] == TODAY.end + SLA
    assert (newest(duplicates).number, row(duplicates)["retired_at"]) == (2, None)


def test_a_test_that_is_live_keeps_the_window_that_it_waits_for_when_it_is_revised() -> None:
    dataset = mart()
    brought(dataset)
    freshness = named(dataset)["freshness"]
    DataTest.objects.filter(pk=freshness.pk).update(next_due_at=NOW - HOUR)
    DataTest.objects.filter(dataset=dataset).update(spoils="phx")
    brought(dataset, NOW + HOUR)
    assert row(freshness)["next_due_at"] == NOW - HOUR
    assert row(freshness)["spoils"] == ""


def test_the_tests_of_a_dataset_that_is_gone_end_after_a_day() -> None:
    dataset, beside = mart(primary_key=[]), mart(namespace="raw")
    brought(beside)
    names = brought(dataset)
    assert gaps(dataset) == {
        ("it has no primary key.", None),
        ("it has no upstream, so there is nothing to compare its rows with.", None),
        ("it has one replica, so there is nothing to compare it with.", None),
    }
    told(dataset, missing_since=NOW + HOUR)
    assert brought(dataset, NOW + 2 * HOUR) == names
    assert again_at(dataset) == NOW + HOUR + DAY
    assert {closed_at for _, closed_at in gaps(dataset)} == {NOW + 2 * HOUR}
    assert brought(dataset, NOW + HOUR + DAY - SECOND) == names
    assert brought(dataset, NOW + HOUR + DAY) == set()
    assert again_at(dataset) is None
    assert set(named(beside)) == STANDARD
    assert {closed_at for _, closed_at in gaps(beside)} == {None}
    gone = Dataset.objects.get(pk=dataset.pk)
    assert generate(gone, surroundings([gone]), is_obsolete=False).gaps == ()


def test_the_tests_of_an_obsolete_dataset_rest_until_a_commit_comes_and_those_of_people_go_on() -> None:
    dataset = mart(created_at=NOW - 200 * DAY)
    brought(dataset)
    DataTestFactory.create(dataset=dataset, name="own")
    Heartbeat.objects.update(seen_at=NOW, last_commit_at=NOW - 100 * DAY)
    mark_obsolete([], NOW)
    assert again_at(dataset) == NOW
    assert brought(dataset) == {"own"}
    Heartbeat.objects.update(last_commit_at=NOW)
    mark_obsolete([], NOW + HOUR)
    assert brought(dataset, NOW + HOUR) == STANDARD | {"own"}


def test_a_gap_is_told_weekly_where_metadata_would_mend_it_and_closed_once_it_is_mended() -> None:
    dataset, beside = mart(primary_key=[]), mart(namespace="raw", primary_key=[])
    for each in (dataset, beside):
        brought(each)
    found = {
        (gap.category, gap.mendable): (gap.since, gap.closed_at, gap.next_report_at)
        for gap in Gap.objects.filter(dataset=dataset)
    }
    assert found == {
        ("duplicates", True): (NOW, None, NOW + 7 * DAY),
        ("completeness", False): (NOW, None, None),
        ("consistency", False): (NOW, None, None),
    }
    told(dataset, primary_key=["id"])
    brought(dataset, NOW + HOUR)
    told(dataset, primary_key=[])
    brought(dataset, NOW + 2 * HOUR)
    rows = Gap.objects.filter(dataset=dataset, category="duplicates").order_by("since")
    assert [(gap.since, gap.closed_at, gap.next_report_at) for gap in rows] == [
        (NOW, NOW + HOUR, None),
        (NOW + 2 * HOUR, None, NOW + 2 * HOUR + 7 * DAY),
    ]
    assert {closed_at for _, closed_at in gaps(beside)} == {None}


def test_a_reason_that_changes_closes_one_gap_and_opens_another() -> None:
    dataset = mart()
    brought(dataset)
    LineageEdgeFactory.create(upstream=DatasetFactory.create(), downstream=dataset, one_to_one=False)
    brought(dataset, NOW + HOUR)
    nothing = "so there is nothing to compare its rows with."
    assert {gap for gap in gaps(dataset) if nothing in gap[0]} == {
        (f"it has no upstream, {nothing}", NOW + HOUR),
        (f"none of its upstreams is one-to-one or sampled, {nothing}", None),
    }


def test_users_tests_are_left_alone_and_their_names_are_theirs() -> None:
    dataset = mart()
    users = DataTestFactory.create(dataset=dataset, name="freshness", assertion="row_count() >= 1")
    ended = DataTestFactory.create(dataset=dataset, name="ended", retired_at=NOW - DAY)
    stood = row(users), row(ended)
    assert brought(dataset) == STANDARD
    assert (row(users), row(ended)) == stood
    assert newest(users).number == 1


def test_a_users_test_is_known_by_its_name_and_by_when_it_left_in_one_statement(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    dataset = mart()
    brought(dataset)
    ids = {
        name: DataTestFactory.create(dataset=dataset, name=name, missing_since=since).pk
        for name, since in {"fares": NOW, "tips": NOW - DAY, "kept": None}.items()
    }
    with django_assert_num_queries(1):
        found = changes(dataset, stored_tests([dataset])[dataset.pk], Generation(), NOW)

    def users(name: str, since: datetime) -> ExistingTest:
        return ExistingTest(id=ids[name], name=name, definition=None, missing_since=since)

    assert [each for each in found.retire if each.definition is None] == [users("tips", NOW - DAY)]
    assert {each.name for each in found.retire} == STANDARD | {"tips"}


def test_a_users_test_that_left_its_source_ends_after_a_day_each_in_its_own_time() -> None:
    dataset, beside = mart(), mart(namespace="raw")
    ago = {"fares": HOUR, "tips": 3 * HOUR, "kept": None}
    tests = {
        name: DataTestFactory.create(dataset=dataset, name=name, missing_since=since and NOW - since)
        for name, since in ago.items()
    }
    ended = DataTestFactory.create(dataset=dataset, missing_since=NOW - 5 * HOUR, retired_at=NOW - 4 * HOUR)
    DataTestFactory.create(dataset=beside, missing_since=NOW - 6 * HOUR)
    assert brought(dataset) == STANDARD | {"fares", "tips", "kept"}
    assert again_at(dataset) == NOW - 3 * HOUR + DAY
    assert brought(dataset, NOW - 3 * HOUR + DAY) == STANDARD | {"fares", "kept"}
    assert row(tests["tips"])["retired_at"] == NOW - 3 * HOUR + DAY
    assert again_at(dataset) == NOW - HOUR + DAY
    assert brought(dataset, NOW + DAY) == STANDARD | {"kept"}
    assert again_at(dataset) is None
    assert row(ended)["retired_at"] == NOW - 4 * HOUR


def test_users_tests_are_held_to_the_columns_that_are_declared_now() -> None:
    dataset, beside = mart(), mart(namespace="raw")
    texts = {
        "keys": "schema_drift(of='keys') = 0",
        "all": "schema_drift() = 0",
        "ended": "schema_drift(of='all') = 0",
        "unfit": "schema_drift() = 0 and mean(fare) > 0",
        "rows": "row_count() >= 1",
    }
    for each in (dataset, beside):
        for name, text in texts.items():
            write_data_test(dataset=each, name=name, assertion=text, author="grace", now=NOW)
    DataTest.objects.filter(name="ended").update(retired_at=NOW)
    told(dataset, columns=[COLUMNS[0], {"name": "tip", "type": "double"}])
    brought(dataset, NOW + HOUR)

    def numbers(of: Dataset) -> dict[str, tuple[int, str]]:
        users = DataTest.objects.filter(dataset=of, origin="user")
        return {test.name: (newest(test).number, newest(test).author) for test in users}

    first = dict.fromkeys(texts, (1, "grace"))
    assert numbers(dataset) == {**first, "all": (2, "assay")}
    assert newest(named(dataset)["all"]).created_at == NOW + HOUR
    assert numbers(beside) == first


def test_a_generated_test_of_columns_is_revised_when_these_are_declared_otherwise() -> None:
    dataset = mart()
    brought(dataset)
    told(dataset, columns=[COLUMNS[0], {"name": "fare", "type": "float"}])
    brought(dataset, NOW + HOUR)
    tests = named(dataset)
    assert (newest(tests["schema"]).number, newest(tests["schema-keys"]).number) == (2, 1)
    brought(dataset, NOW + 2 * HOUR)
    assert newest(tests["schema"]).number == 2


def test_a_dataset_that_is_as_it_should_be_waits_for_no_more() -> None:
    dataset = mart(attempts=2)
    brought(dataset)
    found = Dataset.objects.get(pk=dataset.pk)
    assert (found.reconcile_at, found.attempts, found.lease_until) == (None, 0, None)
    assert LineageEdge.objects.count() == 0


def test_a_generated_test_that_somebody_revised_is_brought_back_to_what_metadata_says() -> None:
    dataset = mart()
    brought(dataset)
    freshness = named(dataset)["freshness"]
    others: dict[str, Any] = {"severity": "soft", "schedule": "0 7 * * *", "sustain": HOUR, "catch_up": "none"}
    revised(freshness, assertion="row_count() >= 1", **others, author="ada", now=NOW)
    brought(dataset, NOW + HOUR)
    first, second, third = revisions(freshness)
    assert (second["author"], second["schedule"]) == ("ada", "0 7 * * *")
    assert third == {**first, "number": 3, "created_at": NOW + HOUR, "rejudged_at": None}
