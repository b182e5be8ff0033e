"""Where the values of a dataset come from, on its page, and the form there that corrects one and undoes it."""

from re import findall

import pytest
from django.test import Client

from assay.access import Role
from assay.catalog.corrections import POLICY, correct
from assay.models import AuditEntry, Dataset
from tests.factories import NOW, DatasetFactory, OfferFactory
from tests.integration.web.people import browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def trips() -> Dataset:
    row: Dataset = DatasetFactory.create(name="trips", owner="ada")
    return row


@pytest.fixture
def ada() -> Client:
    return browser("ada", Role.OWNER)


def send(client: Client, field: str, value: str = "", **more: str) -> str:
    """The page after the form was sent."""
    answer = client.post("/datasets/raw.trips/correct", {"field": field, "value": value, **more}, follow=True)
    return str(answer.content.decode())


def test_an_owner_corrects_a_value_sees_what_the_source_says_and_undoes_it(ada: Client, trips: Dataset) -> None:
    page = send(ada, "primary_key", "id, fare")
    trips.refresh_from_db()
    assert trips.primary_key == ["id", "fare"]
    for text in ("primary_key is corrected", "a person", "yaml:catalog.yaml: <code>[id]</code>"):
        assert text in page
    assert "primary_key is again what its sources say" in send(ada, "primary_key", undo="on")
    trips.refresh_from_db()
    assert trips.primary_key == ["id"]
    assert AuditEntry.objects.filter(action="dataset.correct", actor="ada").count() == 2


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("tier", "9", "less than or equal to 5"),
        ("slas.freshness", "soon", "number and s, m, h, d or w"),
        ("partition", "{column: [", "no YAML"),
        ("owner", "", "Write a value"),
    ],
)
def test_a_wrong_value_is_said_and_stays_in_its_form(
    ada: Client, trips: Dataset, field: str, value: str, sentence: str
) -> None:
    page = send(ada, field, value)
    assert sentence in page
    assert f'value="{value}"' in page
    trips.refresh_from_db()
    assert (trips.tier, trips.owner) == (2, "ada")


def test_a_proposed_key_is_accepted_by_one_click_and_then_no_longer_missing(ada: Client, trips: Dataset) -> None:
    trips.primary_key = []
    trips.save()
    OfferFactory.create(dataset=trips, rule="Key", columns=["id"], assertion="uniqueness(id) = 1")
    page = ada.get("/datasets/raw.trips?tab=settings").content.decode()
    form = page[page.index('id="missing"') :].split("</form>")[0]
    assert "no two rows of the last 30 partitions" in form
    fields = dict(findall(r'name="(field|value)" value="([^"]*)"', form))
    assert 'id="missing"' not in send(ada, **fields)
    trips.refresh_from_db()
    assert trips.primary_key == ["id"]


def test_a_person_says_that_there_is_no_partition_and_a_policy_is_named(ada: Client, trips: Dataset) -> None:
    given = {"field": "primary_key", "policy": "ASSAY_ACCEPT_PROPOSALS", "since": NOW.isoformat()}
    correct("raw.trips", {"primary_key": ["fare"]}, now=NOW)
    entry = {"object_kind": "dataset", "object_id": "raw.trips", "action": "dataset.correct", "given": given}
    AuditEntry.objects.create(at=NOW, actor="assay", via=POLICY, **entry)
    page = ada.get("/datasets/raw.trips?tab=settings").content.decode()
    assert ("the policy <code>ASSAY_ACCEPT_PROPOSALS</code>" in page, "a person" in page) == (True, False)
    page = send(ada, "partition", "none")
    trips.refresh_from_db()
    assert (trips.partitioning, "<code>none</code>" in page, "a person" in page) == (None, True, True)


def test_nobody_is_offered_what_they_may_not_correct(ada: Client, trips: Dataset) -> None:
    address = "/datasets/raw.trips?tab=settings"
    own, other = (client.get(address).content.decode() for client in (ada, browser("bob", Role.OPERATOR)))
    assert ('value="tier"' in own, 'value="readers"' in own, 'value="tier"' in other) == (True, False, False)
    assert ada.post("/datasets/raw.trips/correct", {"field": "readers", "value": "user:ada"}).status_code == 403
