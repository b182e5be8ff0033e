"""Suggestions are read beside the data, offered to people, accepted as tests or rejected, and never offered twice."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from rest_framework.test import APIClient

from assay.models import AuditEntry, Dataset, DataTest
from assay.queue.claims import claim
from assay.queue.flow import stage
from test_generator.models import Offer, PastReading
from test_generator.services import reconcile_datasets
from test_generator.tasks import suggest
from tests.factories import NOW, DatasetFactory, day

pytestmark = pytest.mark.django_db
PAGE = "/datasets/raw.orders/suggestions"
COLUMNS = [{"name": "id", "type": "bigint"}, {"name": "city", "type": "string"}, {"name": "price", "type": "double"}]


@pytest.fixture(autouse=True)
def orders(user: User, tmp_path: Path) -> Dataset:
    """Nine daily partitions of a hundred orders each; in the last of them a city is new."""
    for number in range(1, 10):
        folder = tmp_path / f"datestr=2026-03-{number:02d}"
        folder.mkdir()
        cities = [("Rome", "Oslo", "Bonn", "Lima" if number == 9 else "Rome")[at % 4] for at in range(100)]
        rows = {"id": range(number * 100, number * 100 + 100), "city": cities, "price": [1.0 + at for at in range(100)]}
        pq.write_table(pa.table(rows), folder / "part-0.parquet")
    dataset = DatasetFactory.create(name="orders", columns=COLUMNS)
    dataset.replicas.update(location=str(tmp_path))
    return dataset


def ask(api: APIClient) -> None:
    answer = api.post("/api/v1/suggestions", {"dataset": "raw.orders"}, format="json")
    assert answer.status_code == 202, answer.content
    while suggest():
        pass


def listed(api: APIClient, **query: Any) -> dict[str, dict[str, Any]]:
    answer = api.get("/api/v1/suggestions", {"dataset": "raw.orders", "limit": 1000, **query})
    assert answer.status_code == 200, answer.content
    return {row["assertion"]: row for row in answer.json()["results"]}


def decide(api: APIClient, assertion: str, decision: str, **given: Any) -> Any:
    row = Offer.objects.get(assertion=assertion)
    return api.post(f"/api/v1/suggestions/{row.pk}/{decision}", given, format="json")


UNIQUE, CITIES = "uniqueness(id) = 1", """compliance("city is null or city in ('Bonn', 'Oslo', 'Rome')") = 1"""


def test_what_was_asked_for_is_read_by_a_worker_and_offered(api: APIClient) -> None:
    assert api.get("/api/v1/suggestions/reading", {"dataset": "raw.orders"}).status_code == 404
    api.post("/api/v1/suggestions", {"dataset": "raw.orders"}, format="json")
    waiting = api.get("/api/v1/suggestions/reading", {"dataset": "raw.orders"}).json()
    assert (waiting["ended_at"], waiting["asked_by"], suggest(datacenter="phx")) == (None, "grace", 0)
    assert suggest(datacenter="sea") == 1
    read = api.get("/api/v1/suggestions/reading", {"dataset": "raw.orders"}).json()
    assert (read["windows"], read["first_window"], read["last_window"]) == (9, "2026-03-01", "2026-03-09")
    found = listed(api)
    assert (found[UNIQUE]["held"], found[UNIQUE]["tried"], found[UNIQUE]["held_share"]) == (1, 1, 1.0)
    assert (found[CITIES]["held"], found[CITIES]["held_share"], UNIQUE in listed(api, least_held=1)) == (0, 0.0, True)
    assert (CITIES in listed(api, least_held=1), "severity: soft" in found[UNIQUE]["yaml"]) == (False, True)


def test_an_accepted_suggestion_is_a_soft_test_and_is_offered_no_more(api: APIClient) -> None:
    ask(api)
    test = DataTest.objects.get(pk=decide(api, UNIQUE, "accept").json()["data_test"])
    assert test.revision is not None
    assert (test.origin, test.category) == ("user", "duplicates")
    assert (test.revision.severity, test.revision.author) == ("soft", "grace")
    entry = AuditEntry.objects.get(action="suggestion.accept")
    assert entry.after is not None
    assert (entry.actor, entry.after["state"], entry.after["data_test"]) == ("grace", "accepted", test.pk)
    assert decide(api, UNIQUE, "accept").status_code == 409
    ask(api)
    assert listed(api)[UNIQUE]["state"] == "accepted"
    test.retired_at = NOW
    test.save()
    ask(api)
    assert {row["state"] for row in listed(api).values() if row["assertion"] == UNIQUE} >= {"offered"}


def test_a_rejected_suggestion_stays_away_until_the_rejection_is_taken_back(
    api: APIClient, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(api)
    assert decide(api, CITIES, "reject", reason="We open more of them.").json()["state"] == "rejected"
    ask(api)
    assert CITIES not in listed(api, state="offered")
    with pytest.raises(SystemExit):
        call_command("suggest", "raw.orders", "--keep")
    printed = capsys.readouterr().out
    assert ("city in" in printed, "left out 1 that" in printed) == (False, True)
    assert CITIES not in listed(api, state="offered")
    assert decide(api, CITIES, "take-back").json()["state"] == "offered"
    assert decide(api, CITIES, "take-back").status_code == 409
    ask(api)
    assert listed(api)[CITIES]["state"] == "offered"


def test_the_same_rule_on_the_same_column_is_not_offered_with_another_bound(api: APIClient, tmp_path: Path) -> None:
    ask(api)
    decide(api, "max(price) <= 100", "reject")
    for number in range(1, 10):
        file = tmp_path / f"datestr=2026-03-{number:02d}" / "part-0.parquet"
        rows = pq.read_table(file).to_pydict()
        pq.write_table(pa.table({**rows, "price": [2 * price for price in rows["price"]]}), file)
    ask(api)
    rules = {row["rule"] for row in listed(api, state="offered").values() if row["columns"] == ["price"]}
    assert rules == {"CompleteIfComplete", "NonNegativeNumbers", "UniqueIfApproximatelyUnique", "HasMin"}


def test_what_is_kept_of_a_column_that_becomes_sensitive_is_neither_shown_nor_stored(
    api: APIClient, pages: Client, orders: Dataset
) -> None:
    ask(api)
    offer = Offer.objects.get(assertion=CITIES)
    Dataset.objects.filter(pk=orders.pk).update(
        columns=[{**column, "sensitive": column["name"] == "city"} for column in COLUMNS]
    )
    assert ("Oslo" in pages.get(PAGE).content.decode(), CITIES in listed(api)) == (False, False)
    assert api.get(f"/api/v1/suggestions/{offer.pk}").status_code == 404
    assert api.post(f"/api/v1/suggestions/{offer.pk}/accept").status_code == 404
    orders.refresh_from_db()
    reconcile_datasets([orders], NOW)
    assert not Offer.objects.filter(pk=offer.pk).exists()


def test_the_page_asks_shows_that_it_is_read_and_decides(pages: Client) -> None:
    assert "Suggest tests" in pages.get("/datasets/raw.orders?tab=tests").content.decode()
    pages.post("/datasets/raw.orders/suggest")
    assert "The past is being read" in pages.get(PAGE).content.decode()
    assert pages.get(PAGE, headers={"HX-Request": "true"}).status_code == 204
    suggest()
    assert pages.get(PAGE, headers={"HX-Request": "true"})["HX-Refresh"] == "true"
    shown = pages.get(PAGE).content.decode()
    assert ("did not always hold" in shown, "9 partitions, 2026-03-01 to 2026-03-09" in shown) == (True, True)
    offer = Offer.objects.get(assertion=UNIQUE)
    told = pages.post(f"{PAGE}/{offer.pk}/accept", follow=True).content.decode()
    assert "the soft test unique-if-approximately-unique-id runs" in told
    told = pages.post(f"{PAGE}/{offer.pk}/reject", follow=True).content.decode()
    assert "This suggestion is accepted by grace, and not offered." in told
    gone = Offer.objects.get(assertion=CITIES)
    Offer.objects.filter(pk=gone.pk).delete()
    assert "is offered no more" in pages.post(f"{PAGE}/{gone.pk}/accept", follow=True).content.decode()


@pytest.mark.parametrize(("readers", "is_offered"), [("", True), ("team:secret", False)])
def test_a_dataset_that_not_all_may_see_is_named_in_no_suggestion(
    api: APIClient, tmp_path_factory: pytest.TempPathFactory, readers: str, is_offered: bool
) -> None:
    place = tmp_path_factory.mktemp("cities")
    pq.write_table(pa.table({"name": ["Bonn", "Lima", "Oslo", "Rome"]}), place / "part-0.parquet")
    cities = DatasetFactory.create(name="cities", partition_column="", granularity="", columns=[], readers=readers)
    cities.replicas.update(location=str(place))
    ask(api)
    assert ("referential_integrity(city, 'raw.cities', to='name') = 1" in listed(api)) is is_offered


def test_a_past_that_cannot_be_read_says_why(
    api: APIClient, pages: Client, orders: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def problem() -> str:
        ask(api)
        return PastReading.objects.get(dataset=orders).problem

    monkeypatch.setattr("test_generator.offers.MOST_BYTES", 10)
    assert "MB in files: `assay suggest raw.orders --keep` reads it" in problem()
    assert "The past could not be read:" in pages.get(PAGE).content.decode()
    monkeypatch.undo()
    orders.replicas.update(location="/nowhere/at/all")
    assert "no rows" in problem() or "cannot" in problem()
    orders.replicas.update(storage="sql", location="sqlite://", options={"table": "x"})
    assert "kept as sql" in problem()
    Dataset.objects.filter(pk=orders.pk).update(partition_column="")
    refused = api.post("/api/v1/suggestions", {"dataset": "raw.orders"}, format="json")
    assert (refused.status_code, "has no partitions" in refused.json()["error"]) == (400, True)


def test_a_reading_that_ends_its_worker_is_given_up(api: APIClient, orders: Dataset) -> None:
    api.post("/api/v1/suggestions", {"dataset": "raw.orders"}, format="json")
    for _ in range(2):
        assert claim(stage("suggest"), now=NOW, limit=1)
        PastReading.objects.update(lease_until=None)
    suggest()
    assert "ended 2 times" in PastReading.objects.get(dataset=orders).problem


def test_two_who_ask_at_once_are_answered_by_one_reading(api: APIClient) -> None:
    for _ in range(2):
        api.post("/api/v1/suggestions", {"dataset": "raw.orders"}, format="json")
    assert (suggest(), suggest()) == (1, 0)


def test_names_that_are_taken_get_a_number(api: APIClient) -> None:
    ask(api)
    body = {"dataset": "raw.orders", "name": "Unique-If-Approximately-Unique-id", "assertion": "row_count() > 0"}
    api.post("/api/v1/data-tests", body, format="json")
    test = DataTest.objects.get(pk=decide(api, UNIQUE, "accept").json()["data_test"])
    assert test.name == "unique-if-approximately-unique-id-2"
    assert test.next_window_start == day("2026-03-10").start
