"""Errors are problems of RFC 9457, whichever part of the service finds them; pages say them in plain words."""

import json
from typing import Any

import html5lib
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client, RequestFactory
from pytest_django import Settings
from rest_framework.test import APIClient

from assay.config import merged
from tests.factories import DatasetFactory, IncidentFactory
from web.access.throttles import ByCost
from web.api.problems import KINDS, fault

MEMBERS = {"type", "title", "status", "detail", "instance", "where", "mend", "error"}
REQUEST_ID = "0123456789abcdef"


def demand_problem(answer: Any, status: int) -> dict[str, Any]:
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/problem+json"), answer.content
    said: dict[str, Any] = json.loads(answer.content)
    assert set(said) == MEMBERS
    assert (said["status"], said["type"], said["title"]) == (status, KINDS[status].url, KINDS[status].title)
    assert said["error"] == said["detail"] != ""
    assert said["mend"]
    return said


def test_each_kind_of_problem_has_an_explanation_of_its_own() -> None:
    assert len({kind.slug for kind in KINDS.values()}) == len(KINDS)


def test_what_is_wrong_in_a_request_is_told_with_its_place(api: APIClient) -> None:
    answer = api.get("/api/v1/incidents?tier=9", headers={"X-Request-ID": REQUEST_ID})
    said = demand_problem(answer, 400)
    assert (said["where"], said["instance"]) == ("tier", f"/api/v1/incidents#{REQUEST_ID}")
    assert answer.headers["X-Request-ID"] == REQUEST_ID


def test_a_body_that_is_no_json_is_a_problem(api: APIClient) -> None:
    DatasetFactory.create()
    demand_problem(api.post("/api/v1/gate", b"{", content_type="application/json"), 400)
    demand_problem(api.post("/api/v1/gate", b"<a/>", content_type="text/xml"), 415)


def test_a_body_that_is_too_large_is_a_problem(api: APIClient, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    demand_problem(api.post("/api/v1/gate", {"datasets": ["raw.trips"]}, format="json"), 413)


@pytest.mark.parametrize("address", ["/api/", "/api/nowhere", "/api/v1/incidents/one", "/api/v1/incidents/1"])
def test_what_is_not_there_is_a_problem(api: APIClient, address: str) -> None:
    demand_problem(api.get(address), 404)


def test_strangers_are_told_how_to_get_a_token_without_one(client: Client, db: None) -> None:
    answer = client.get("/api/v1/datasets")
    mend = demand_problem(answer, 401)["mend"]
    assert ("without a token" in mend, "/api/v1/auth/login" in mend) == (True, True)
    assert answer.headers["WWW-Authenticate"] == "Token"


def test_a_session_without_its_csrf_token_is_a_problem(user: User) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(user)
    assert "CSRF" in demand_problem(client.post("/api/v1/reports", {}, format="json"), 403)["detail"]


def test_a_method_that_an_address_does_not_take_is_a_problem(api: APIClient) -> None:
    answer = api.put("/api/v1/gate", {}, format="json")
    demand_problem(answer, 405)
    assert answer.headers["Allow"] == "POST, OPTIONS"


def test_what_the_state_forbids_is_a_problem(api: APIClient) -> None:
    ended = IncidentFactory.create(open_key=None, resolved_at="2026-03-10T00:00:00Z", resolution="auto")
    demand_problem(api.post(f"/api/v1/incidents/{ended.pk}/accept", {"reason": "known"}, format="json"), 409)


def test_who_asks_too_often_is_told_when_to_come_back(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr(ByCost, "THROTTLE_RATES", merged({"gate": "1/h"}))
    first, second = (api.post("/api/v1/gate", {}, format="json") for _ in range(2))
    demand_problem(first, 400)
    demand_problem(second, 429)
    assert int(second.headers["Retry-After"]) > 0
    cache.clear()


@pytest.mark.logs_a_failure
def test_a_fault_of_ours_is_a_problem_that_tells_no_secret(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("password=hopper")

    monkeypatch.setattr("web.api.gate.gate_of", broken)
    dataset = DatasetFactory.create()
    answer = api.post("/api/v1/gate", {"datasets": [dataset.full_name], "window": "2026-03-09"}, format="json")
    demand_problem(answer, 500)
    assert "hopper" not in answer.content.decode()


def test_a_host_that_is_not_ours_is_a_problem_below_the_api_and_a_page_elsewhere(api: APIClient) -> None:
    demand_problem(api.get("/api/v1/gate", headers={"Host": "evil.example.com"}), 400)
    assert api.get("/", headers={"Host": "evil.example.com"}).headers["Content-Type"].startswith("text/html")


def test_errors_of_pages_stay_pages(pages: Client) -> None:
    answer = pages.get("/incidents/1")
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8")


@pytest.mark.parametrize(
    "address", ["/nothing", "/datasets/no.such", "/incidents/999999", "/teams/nobody", "/datasets/%3Cb%3E"]
)
def test_an_address_without_a_page_says_so_and_offers_a_search(pages: Client, address: str) -> None:
    answer = pages.get(address)
    page = answer.content.decode()
    assert answer.status_code == 404
    html5lib.HTMLParser(strict=True).parse(page)
    assert ("There is nothing at this address" in page, "Find a dataset" in page) == (True, True)
    assert ("Resolver404" in page, "query" in page) == (False, False)


def test_what_is_gone_is_named(pages: Client) -> None:
    assert "There is no incident 999999." in pages.get("/incidents/999999").content.decode()


def test_who_is_not_logged_in_is_offered_the_login(client: Client, db: None) -> None:
    page = client.get("/nothing").content.decode()
    assert ('href="/login"' in page, "Find a dataset" in page) == (True, False)


def test_a_fault_is_told_without_the_database(rf: RequestFactory, db: None) -> None:
    answer = fault(rf.get("/incidents"))
    page = answer.content.decode()  # type: ignore[attr-defined]
    assert answer.status_code == 500
    html5lib.HTMLParser(strict=True).parse(page)
    assert "Assay has failed to show this page" in page
