"""What a text finds: by name, ranked, and only what whoever asks may see."""

import pytest
from django.test import Client
from rest_framework.test import APIClient

from assay.catalog.dataset_rows import write_column_names
from assay.models import Dataset, Origin
from tests.factories import DatasetFactory, DataTestFactory, IncidentFactory
from web.rendering.search import MOST_RANKED, HitKind, search

pytestmark = pytest.mark.django_db


def _names(text: str, kind: HitKind) -> list[str]:
    return [hit.name for hit in search(text, hidden=(), most=8) if hit.kind is kind]


def _columns(dataset: Dataset, *names: str) -> None:
    Dataset.objects.filter(pk=dataset.pk).update(columns=[{"name": name, "type": "string"} for name in names])
    write_column_names([dataset.full_name])


def test_the_name_itself_comes_before_one_of_which_a_part_begins_so_and_that_before_the_others() -> None:
    for name in ("strips", "round_trips", "trips", "trips_old"):
        DatasetFactory.create(name=name)
    assert _names("trips", HitKind.DATASET) == ["raw.trips", "raw.round_trips", "raw.trips_old", "raw.strips"]


def test_of_datasets_alike_those_with_open_incidents_come_first() -> None:
    DatasetFactory.create(name="trips_a")
    incident = IncidentFactory.create(dataset=DatasetFactory.create(name="trips_b"))
    assert _names("TRIPS", HitKind.DATASET) == ["raw.trips_b", "raw.trips_a"]
    assert _names("trips", HitKind.INCIDENT) == _names(f"#{incident.pk}", HitKind.INCIDENT)


def test_a_name_that_is_the_text_is_found_among_very_many_that_hold_it() -> None:
    at = {"owner": "o", "created_at": "2026-01-01T00:00Z", "changed_at": "2026-01-01T00:00Z"}
    names = [f"xid{number:04}" for number in range(MOST_RANKED)] + ["zz_id", "zz.id"]
    rows = [Dataset(namespace="n", name=name, full_name=f"n.{name}", name_key=name, **at) for name in names]
    Dataset.objects.bulk_create(rows)
    assert _names("id", HitKind.DATASET)[:2] == ["n.zz.id", "n.zz_id"]


def test_a_column_is_found_once_for_all_its_datasets_in_whatever_case() -> None:
    trips, fares = DatasetFactory.create(name="trips"), DatasetFactory.create(name="fares")
    _columns(trips, "rider_id", "fare")
    _columns(fares, "Rider_Id")
    (hit,) = (hit for hit in search("rider", hidden=(), most=8) if hit.kind is HitKind.COLUMN)
    assert (hit.name.lower(), hit.datasets, hit.address) == ("rider_id", 2, f"/?column={hit.name}")
    _columns(fares, "fare")
    (hit,) = (hit for hit in search("rider", hidden=(), most=8) if hit.kind is HitKind.COLUMN)
    assert (hit.datasets, hit.dataset) == (1, "raw.trips")


def test_tests_that_people_wrote_and_owners_and_teams_are_found() -> None:
    dataset = DatasetFactory.create(owner="ada", team="adapters")
    DataTestFactory.create(dataset=dataset, name="adults only", origin=Origin.USER)
    DataTestFactory.create(dataset=dataset, name="adrift", origin=Origin.GENERATED)
    found = [(hit.kind.value, hit.name) for hit in search("ad", hidden=(), most=8)]
    assert found == [("owner", "ada"), ("team", "adapters"), ("test", "adults only")]


def test_what_one_may_not_see_is_neither_listed_nor_counted(api: APIClient, client: Client) -> None:
    closed = DatasetFactory.create(name="salaries", owner="payroll", team="salary", readers="user:boss")
    _columns(closed, "salary_eur")
    _columns(DatasetFactory.create(name="jobs"), "salary_band")
    DataTestFactory.create(dataset=closed, name="salary is paid", origin=Origin.USER)
    IncidentFactory.create(dataset=closed)
    hidden = [closed.pk]
    assert [hit.name for hit in search("salar", hidden=hidden, most=8)] == ["salary_band"]
    assert search("payroll", hidden=hidden, most=8) == []


def test_the_page_and_its_part_and_the_api_find_the_same(pages: Client, api: APIClient) -> None:
    dataset = DatasetFactory.create(name="trips_of_today")
    (hit,) = api.get("/api/v1/search", {"q": "today"}).json()["hits"]
    assert (hit["kind"], hit["name"], hit["address"]) == ("dataset", dataset.full_name, f"/datasets/{dataset}")
    whole = pages.get("/search", {"q": "today"}).content.decode()
    part = pages.get("/search", {"q": "today"}, headers={"HX-Request": "true"}).content.decode()
    for text in (whole, part):
        assert f'<a href="/datasets/{dataset}">raw.<wbr>trips_<wbr>of_<wbr>today</a>' in text
    assert ("<html" in whole, "<html" in part) == (True, False)


@pytest.mark.parametrize("text", ["", " ", "\0", "%", "_", "x" * 300, "#99999999999999999999"])
def test_a_text_that_finds_nothing_is_answered(pages: Client, text: str) -> None:
    DatasetFactory.create(name="trips", owner="ada", team="ops")
    assert pages.get("/search", {"q": text}).status_code == 200
