"""Badges: the status of a dataset as a picture, for whoever may read it, with or without a header."""

import xml.etree.ElementTree as ET
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from assay import clock
from assay.models import AccessToken
from incident_manager.quality.rules import QualityStatus
from tests.factories import NOW, DatasetFactory, DataTestFactory, StandingFactory
from tests.integration.web.people import member
from web.access.tokens import address_key
from web.api.feeds import COLOURS, badge

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def reader(db: None) -> User:
    clock.simulate(NOW)
    return member("ann")


def light(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("status", list(QualityStatus))
def test_a_badge_tells_the_name_and_the_status_to_eyes_and_ears(status: QualityStatus) -> None:
    tree = ET.fromstring(badge('eu/<"fares">&é', status))
    assert (tree.tag, tree.get("role")) == (f"{SVG}svg", "img")
    title = f'eu/<"fares">&é: data quality is {status} (all partitions in all datacenters)'
    assert tree.findtext(f"{SVG}title") == tree.get("aria-label") == title
    assert [text.text for text in tree.iter(f"{SVG}text")] == ["data quality", status.value]
    assert 1.05 / (light(COLOURS[status]) + 0.05) >= 4.5


def test_the_badge_says_what_the_look_up_says(api: APIClient) -> None:
    bad, good = (DatasetFactory.create(name=name) for name in ("bad", "good"))
    StandingFactory.create(data_test=DataTestFactory.create(dataset=bad), state="FAIL", last_outcome="broken")
    StandingFactory.create(data_test=DataTestFactory.create(dataset=good))
    for dataset in (bad, good):
        span = {"from": "2026-03-09T00:00:00Z", "to": "2026-03-10T00:00:00Z"}
        said = api.get("/api/v1/quality", {"dataset": dataset.full_name, **span}).json()["status"]
        picture = api.get(f"/api/v1/badges/{dataset.full_name}.svg", headers={"Accept": "image/avif,image/*"})
        assert (picture.status_code, picture.headers["Content-Type"]) == (200, "image/svg+xml")
        title = str(ET.fromstring(picture.content).findtext(f"{SVG}title"))
        assert title.startswith(f"{dataset.full_name}: data quality is {said} (")


def test_a_badge_that_has_not_changed_is_not_sent_again(api: APIClient) -> None:
    dataset = DatasetFactory.create()
    address = f"/api/v1/badges/{dataset.full_name}.svg"
    first = api.get(address)
    assert first.headers["Cache-Control"] == "private, max-age=60"
    again = api.get(address, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    StandingFactory.create(data_test=DataTestFactory.create(dataset=dataset), state="FAIL", last_outcome="broken")
    assert api.get(address, headers={"If-None-Match": first.headers["ETag"]}).status_code == 200


def of_key(user: User, *scopes: str) -> tuple[AccessToken, str]:
    token = AccessToken.objects.create(user, scopes=list(scopes))[0]
    return token, address_key(token)


def test_a_key_in_the_address_stands_for_its_token_and_ends_with_it(reader: User, client: Client) -> None:
    address = f"/api/v1/badges/{DatasetFactory.create().full_name}.svg"
    token, key = of_key(reader, "gate")
    assert (client.get(address).status_code, client.get(address, {"key": key}).status_code) == (401, 200)
    assert client.get(address, {"key": key[:-1] + ("a" if key[-1] != "a" else "b")}).status_code == 401
    assert client.get(address, {"key": token.token_key}).status_code == 401
    User.objects.update(is_active=False)
    assert client.get(address, {"key": key}).status_code == 401
    User.objects.update(is_active=True)
    AccessToken.objects.update(expiry=NOW - timedelta(days=1))
    assert client.get(address, {"key": key}).status_code == 401
    token.delete()
    assert client.get(address, {"key": key}).status_code == 401


def test_a_key_opens_no_more_than_its_token_may_and_nothing_but_feeds(reader: User, client: Client) -> None:
    hidden, shown = DatasetFactory.create(name="pay", readers="team:hr"), DatasetFactory.create(name="trips")
    _, key = of_key(reader, "gate")
    assert client.get(f"/api/v1/badges/{hidden.full_name}.svg", {"key": key}).status_code == 403
    assert client.get("/api/v1/badges/raw.nothing.svg", {"key": key}).status_code == 404
    assert client.get("/api/v1/datasets", {"key": key}).status_code == 401
    _, acting = of_key(reader, "act")
    assert client.get(f"/api/v1/badges/{shown.full_name}.svg", {"key": acting}).status_code == 403


def test_who_makes_a_token_gets_its_key_once(reader: User, client: Client) -> None:
    dataset = DatasetFactory.create()
    client.force_login(reader)
    body: dict[str, Any] = {"name": "readme", "scopes": ["gate"], "days": 30}
    made = client.post("/api/v1/tokens", body, content_type="application/json").json()
    stranger = Client()
    address = f"/api/v1/badges/{dataset.full_name}.svg"
    assert stranger.get(address, {"key": made["address_key"]}).status_code == 200
    assert "address_key" not in client.get("/api/v1/tokens").json()["results"][0]
    assert client.delete(f"/api/v1/tokens/{made['id']}").status_code == 204
    assert stranger.get(address, {"key": made["address_key"]}).status_code == 401


def test_the_dataset_page_shows_its_badge_and_the_markdown(reader: User, client: Client) -> None:
    dataset = DatasetFactory.create(name="eu/fares x")
    client.force_login(reader)
    page = client.get(f"/datasets/{dataset.full_name}?tab=settings").content.decode()
    assert 'src="/api/v1/badges/raw.eu/fares%20x.svg"' in page
    assert "[![data quality](http://127.0.0.1:8000/api/v1/badges/raw.eu/fares%20x.svg)]" in page
