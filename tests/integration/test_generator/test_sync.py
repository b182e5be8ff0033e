"""A sync of a catalog with the tests that its users wrote beside it: what is written, refused, and noted as gone."""

from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assay.catalog.profile import CatalogProfile, CategoryName, CustomProfile, DatasetProfile, ReplicaProfile
from assay.models import Category, Dataset, DataTest, Revision, Source
from test_generator.services import UnableToWrite, remove_source, retire, sync, write_data_test
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, day
from tests.integration.test_generator.written import newest, revisions, row
from tests.unit.test_generator.profiles import dataset, replica

pytestmark = pytest.mark.django_db

LATER = NOW + HOUR
TODAY = day("2026-03-10")
SLA = 6 * HOUR
FARES = "mean(fare) >= 5"


def fares(of: str = "raw.trips", name: str = "fares", **more: Any) -> CustomProfile:
    return CustomProfile(**{"dataset": of, "name": name, "assertion": FARES, **more})


def synced(*custom: CustomProfile, datasets: tuple[DatasetProfile, ...] = (), **more: Any) -> Any:
    profile = CatalogProfile(datasets=datasets, custom=custom)
    return sync(profile, **{"source": "trips", "now": NOW, **more})


def refused(*custom: CustomProfile, **more: Any) -> str:
    """What is said of tests of which none is written."""
    count, known = Revision.objects.count(), Dataset.objects.count()
    with pytest.raises(UnableToWrite) as error:
        synced(*custom, **more)
    assert (Revision.objects.count(), Dataset.objects.count()) == (count, known)
    return str(error.value)


def changed() -> set[tuple[str, Any]]:
    """The datasets whose tests are left to be reconciled."""
    rows = Dataset.objects.filter(reconcile_at__isnull=False)
    return {(each.full_name, each.reconcile_at) for each in rows}


def test_a_told_test_is_written_with_all_that_is_told() -> None:
    table = DatasetFactory.create(name="trips")
    DatasetFactory.create(name="other")
    asked: dict[str, Any] = {"severity": "soft", "schedule": "0 7 * * *", "sustain": HOUR, "catch_up": "none"}
    synced(fares("RAW.Trips", category="completeness", **asked))
    test = DataTest.objects.get()
    told = row(test)
    assert test.dataset == table
    names = ("name", "category", "origin", "source", "missing_since", "next_due_at")
    assert [told[name] for name in names] == ["fares", "completeness", "user", "trips", None, TODAY.end + 7 * HOUR]
    (revision,) = revisions(test)
    written = {"assertion": FARES, **asked, "author": "trips", "created_at": NOW}
    assert {name: revision[name] for name in written} == written


def test_a_category_stays_while_the_test_lives() -> None:
    assert set(get_args(CategoryName)) == set(Category.values)
    DatasetFactory.create(name="trips")
    synced(fares(category="column"))
    assert "its category is column and stays so: give it another name" in refused(fares(category="anomaly"))


def test_what_is_not_told_comes_from_the_dataset_though_it_was_told_before() -> None:
    DatasetFactory.create(name="trips", severity="soft", sustain=2 * HOUR, catch_up="all")
    synced(fares())
    test = DataTest.objects.get()
    first = newest(test)
    assert (first.severity, first.sustain, first.catch_up, first.schedule) == ("soft", 2 * HOUR, "all", "partition")
    synced(fares(severity="hard", sustain=timedelta(0), catch_up="none"), now=LATER)
    second = newest(test)
    assert (second.severity, second.sustain, second.catch_up) == ("hard", timedelta(0), "none")
    assert (second.number, second.created_at, second.author) == (2, LATER, "trips")
    synced(fares())
    third = newest(test)
    assert (third.number, third.severity, third.sustain, third.catch_up) == (3, "soft", 2 * HOUR, "all")


def test_what_is_told_again_changes_nothing_and_keeps_its_place_in_the_schedule() -> None:
    DatasetFactory.create(name="trips")
    synced(fares())
    test = DataTest.objects.get()
    DataTest.objects.update(next_due_at=NOW - HOUR)
    stood = row(test)
    synced(fares(), now=LATER)
    assert (row(test), Revision.objects.count(), changed()) == (stood, 1, set())


def test_many_tests_that_are_told_again_take_as_many_statements_as_one() -> None:
    DatasetFactory.create(name="trips")
    custom = [fares(name=f"fares {number}") for number in range(20)]
    synced(*custom)
    counts = []
    for part in (custom, custom[:1]):
        with CaptureQueriesContext(connection) as statements:
            synced(*part, full=False)
        counts.append(len(statements))
    assert counts[0] == counts[1]


def test_names_of_tests_that_differ_in_case_alone_are_refused_as_some_databases_hold_them_for_one() -> None:
    DatasetFactory.create(name="trips")
    assert "raw.trips, test 'FARES': another test of the source has that name" in refused(fares(), fares(name="FARES"))


def test_a_dataset_may_be_told_with_its_tests_and_what_changed_is_returned() -> None:
    told = dataset("raw.trips")
    applied = synced(fares(assertion="row_count() >= 1"), datasets=(told,))
    assert (applied.created, applied.changed, applied.missing, applied.dataset_count) == (("raw.trips",), (), (), 0)
    assert DataTest.objects.get().dataset.source == "trips"
    again = synced(fares(assertion="row_count() >= 1"), datasets=(dataset("raw.trips", owner="rita"),), now=LATER)
    assert (again.created, again.changed, again.dataset_count) == ((), ("raw.trips",), 1)
    assert changed() == {("raw.trips", LATER)}


def test_all_that_is_wrong_is_told_at_once_and_nothing_is_kept() -> None:
    table = DatasetFactory.create(name="trips")
    DataTestFactory.create(dataset=table, name="freshness", origin="generated")
    DataTestFactory.create(dataset=table, name="by page")
    DataTestFactory.create(dataset=table, name="theirs", source="rides")
    said = refused(
        fares(),
        fares("raw.none", place="a.yaml:7"),
        fares(name="freshness"),
        fares(name="by page", place="a.yaml:9"),
        fares(name="theirs"),
        fares(name="wrong", assertion="mean(tip) >= 5"),
        datasets=(dataset("raw.new"),),
    )
    lines = [line for line in said.splitlines() if line.startswith(("raw.", "a.yaml"))]
    assert lines == [
        "a.yaml:7: raw.none, test 'fares': the catalog has no dataset 'raw.none'; tell of it first",
        "raw.trips, test 'freshness': that is the name of a standard test: give it another name",
        "a.yaml:9: raw.trips, test 'by page': a test of that name was written by page or API: "
        "give it another name, or retire that one first",
        "raw.trips, test 'theirs': a test of that name was written in the source 'rides': "
        "give it another name, or retire that one first",
        "raw.trips, test 'wrong': Cannot accept the assertion: raw.trips has no column tip: "
        "take one of datestr, fare, id",
    ]


@pytest.mark.parametrize(
    "free", [{"retired_at": NOW - DAY}, {"missing_since": NOW - HOUR}], ids=lambda free: next(iter(free))
)
@pytest.mark.parametrize("source", ["", "rides"])
def test_the_name_of_a_test_that_is_gone_is_free(source: str, free: dict[str, Any]) -> None:
    table = DatasetFactory.create(name="trips")
    test = DataTestFactory.create(dataset=table, name="fares", source=source, **free)
    same_name = DataTestFactory.create(name="fares", source=source, **free)
    stood = row(same_name)
    synced(fares(), full=False)
    found = row(test)
    assert (found["source"], found["retired_at"], found["missing_since"]) == ("trips", None, None)
    assert newest(test).assertion == FARES
    assert row(same_name) == stood


def test_a_retired_test_comes_back_with_the_definition_that_it_had() -> None:
    table = DatasetFactory.create(name="trips")
    synced(fares())
    test = DataTest.objects.get()
    retire(test, now=NOW)
    synced(fares(), now=LATER)
    found = row(test)
    assert (found["retired_at"], newest(test).number) == (None, 1)
    assert (found["next_window_start"], found["next_due_at"]) == (TODAY.start, TODAY.end + SLA)
    assert test.dataset == table


def test_a_full_sync_notes_which_of_its_own_live_tests_are_told_no_more() -> None:
    table, other = DatasetFactory.create(name="trips"), DatasetFactory.create(name="rides")
    synced(fares(), fares(name="kept"), fares("raw.rides"))
    away = DataTestFactory.create(dataset=table, source="trips", missing_since=NOW - HOUR)
    ended = DataTestFactory.create(dataset=other, source="trips", retired_at=NOW - HOUR)
    theirs, by_page = DataTestFactory.create(dataset=other, source="rides"), DataTestFactory.create(dataset=other)
    synced(fares(), fares(name="kept"), fares("raw.rides"))
    assert not DataTest.objects.filter(missing_since=NOW).exists()
    assert changed() == set()
    synced(fares(name="kept"), fares("raw.rides"), full=False, now=LATER)
    assert not DataTest.objects.filter(missing_since=LATER).exists()
    synced(fares(name="kept"), fares("raw.rides"), now=LATER)
    found = {str(test): test.missing_since for test in DataTest.objects.filter(missing_since__isnull=False)}
    assert found == {"raw.trips/fares": LATER, str(away): NOW - HOUR}
    assert changed() == {("raw.trips", LATER)}
    for each in (ended, theirs, by_page):
        assert row(each)["missing_since"] is None


def test_a_source_is_taken_away_with_its_datasets_and_tests_and_no_other() -> None:
    for name in ("trips", "rides"):
        Source.objects.create(name=name, place=f"/{name}.yaml")
        for number in range(6):
            DatasetFactory.create(namespace=name, name=f"t{number}", source=name)
    synced(fares("trips.t0"), fares("rides.t0"), full=False)
    applied = remove_source("trips", now=LATER)
    gone = tuple(f"trips.t{number}" for number in range(6))
    assert (applied.missing, applied.dataset_count) == (gone, 6)
    assert set(Dataset.objects.filter(missing_since=LATER).values_list("full_name", flat=True)) == set(gone)
    assert not Dataset.objects.filter(source="rides", missing_since__isnull=False).exists()
    assert {row(test)["missing_since"] for test in DataTest.objects.all()} == {LATER}
    assert [source.name for source in Source.objects.all()] == ["rides"]


def test_a_folder_whose_files_alone_are_no_table_is_refused_where_files_are_read(tmp_path: Path) -> None:
    for name in ("delta/_delta_log", "plain"):
        (tmp_path / name).mkdir(parents=True)
    delta, plain = str(tmp_path / "delta"), str(tmp_path / "plain")

    def at(datacenter: str, location: str, storage: Any = "parquet") -> ReplicaProfile:
        return ReplicaProfile(datacenter=datacenter, storage=storage, location=location)

    right = dataset("raw.right", replicas=(at("sea", plain), at("phx", "/nowhere"), replica("lax")))
    wrong = dataset("raw.wrong", replicas=(at("sea", plain), at("phx", delta)))
    also = dataset("raw.also", replicas=(at("sea", delta, "csv"),))
    table = dataset("raw.table", replicas=(at("sea", "lake.trips", "table"),))
    lines = refused(datasets=(right, wrong, also, table)).splitlines()
    assert [line.partition(" is a Delta table: its files alone are not its rows")[0] for line in lines] == [
        f"raw.wrong in phx: {delta}",
        f"raw.also in sea: {delta}",
    ]
    assert synced(datasets=(right, table)).created == ("raw.right", "raw.table")


def test_a_test_written_by_page_stays_where_a_source_tells_of_its_dataset() -> None:
    table = DatasetFactory.create(name="trips")
    test = write_data_test(dataset=table, name="ours", assertion=FARES, author="ada", now=NOW)
    stood = row(test)
    synced(fares())
    assert row(test) == stood
