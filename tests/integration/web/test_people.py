"""What a person follows, and their own page."""

import pytest
from django.test import Client
from rest_framework.test import APIClient

from assay.access import Role
from assay.models import AuditEntry, Dataset
from tests.factories import DatasetFactory
from tests.integration.web.people import browser, client

pytestmark = pytest.mark.django_db


@pytest.fixture
def fares() -> Dataset:
    row: Dataset = DatasetFactory.create(name="fares", owner="bo")
    return row


def press(reader: Client, dataset: Dataset, word: str) -> None:
    """Press the button of the dataset's page, which says what it does."""
    page = reader.get(f"/datasets/{dataset}").content.decode()
    assert f">{word}</button>" in page
    answer = reader.post(f"/datasets/{dataset}/follow", {"action": word.lower()})
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/datasets/{dataset}")


def test_the_button_follows_a_dataset_and_ends_that_and_mine_shows_it_meanwhile(fares: Dataset) -> None:
    reader = browser("fay")
    press(reader, fares, "Follow")
    press(reader, fares, "Unfollow")
    press(reader, fares, "Follow")
    assert [row["dataset"] for row in reader.get("/").context["catalogue"]] == [fares]
    assert reader.get("/").context["wanted"]["whose"] == "mine"
    assert [*AuditEntry.objects.order_by("pk").values_list("actor", "action", "object_id")] == [
        ("fay", f"dataset.{action}", str(fares)) for action in ("follow", "unfollow", "follow")
    ]


def test_the_api_follows_once_however_often_it_is_asked(fares: Dataset) -> None:
    api: APIClient = client("fay")
    for _ in range(2):
        assert api.put(f"/api/v1/datasets/{fares}/follow").status_code == 204
    assert [member.user.username for member in fares.followers.all()] == ["fay"]
    for _ in range(2):
        assert api.delete(f"/api/v1/datasets/{fares}/follow").status_code == 204
    assert not fares.followers.exists()


def test_nobody_follows_what_they_may_not_see(fares: Dataset) -> None:
    fares.readers = f"role:{Role.ADMIN}"
    fares.save()
    assert browser("fay").post(f"/datasets/{fares}/follow", {"action": "follow"}).status_code == 403
    assert client("gus").put(f"/api/v1/datasets/{fares}/follow").status_code == 404
    assert not fares.followers.exists()
