"""What a person follows, and their own page."""

import pytest
from django.test import Client
from rest_framework.test import APIClient

from assay.access import Role
from assay.config import config
from assay.models import AccessToken, AuditEntry, Dataset
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


def test_the_page_of_a_person_shows_their_datasets_and_each_kind_alone(fares: Dataset) -> None:
    own, of_team = DatasetFactory.create(owner="fay", team=""), DatasetFactory.create(owner="bo", team="rides")
    DatasetFactory.create(owner="bo", team="")
    reader = browser("fay", Role.OWNER, "rides")
    reader.post(f"/datasets/{fares}/follow", {"action": "follow"})
    kinds = {"": {own, of_team, fares}, "owned": {own}, "team": {of_team}, "followed": {fares}}
    for whose, datasets in kinds.items():
        page = reader.get("/me", {"whose": whose})
        assert {row["dataset"] for row in page.context["catalogue"]} == datasets
    assert {row["dataset"] for row in reader.get("/", {"whose": "followed"}).context["catalogue"]} == {fares}


def test_a_person_chooses_how_they_are_told_and_reads_whether_anything_reaches_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = browser("fay@example.org")
    assert "No channel reaches you" in reader.get("/me").content.decode()
    monkeypatch.setenv("ASSAY_EMAIL_URL", "smtp://mail.example.org")
    config.cache_clear()
    page = reader.post("/me/notices", {"hears": "at once"}, follow=True).content.decode()
    config.cache_clear()
    assert "<b>email</b>" in page
    assert 'value="at once" checked' in page
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.after) == ("member.set", {"hears_at_once": True})


def test_a_token_is_made_shown_once_and_revoked_on_the_page(fares: Dataset) -> None:
    reader = browser("fay")
    page = reader.post("/tokens/new", {"name": "etl", "scopes": ["read", "gate"], "days": "7"})
    row = AccessToken.objects.get()
    assert (row.name, row.scopes, row.user.username) == ("etl", ["gate", "read"], "fay")
    api = APIClient()
    api.credentials(HTTP_AUTHORIZATION=f"Token {page.context['token']}")
    assert api.get(f"/api/v1/datasets/{fares}").status_code == 200
    assert page.context["token"] in page.content.decode()
    assert page.context["token"] not in reader.get("/me").content.decode()
    reader.post(f"/tokens/{row.token_key}/end")
    assert api.get(f"/api/v1/datasets/{fares}").status_code == 401
    assert [*AuditEntry.objects.order_by("pk").values_list("action", flat=True)] == ["token.create", "token.revoke"]


def test_a_token_that_is_wrong_is_not_made_and_what_was_typed_stays() -> None:
    page = browser("fay").post("/tokens/new", {"name": "etl", "days": "999"}, follow=True).content.decode()
    assert "Scopes: This field is required." in page
    assert "Days: A token lives at most 366 days." in page
    assert 'value="etl"' in page
    assert not AccessToken.objects.exists()
