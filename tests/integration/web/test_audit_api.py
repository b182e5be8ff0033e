"""What the audit says of changes through the API and the pages, and whence they came."""

from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from assay.models import AuditEntry
from incident_manager.models import Incident
from tests.factories import DatasetFactory, SpoiltWindowFactory
from web.access.throttles import address


@pytest.fixture
def incident(db: None) -> Incident:
    return SpoiltWindowFactory.create().incident  # type: ignore[no-any-return]


def test_a_change_tells_what_was_who_did_it_and_what_was_given(api: APIClient, incident: Incident) -> None:
    headers: dict[str, Any] = {"HTTP_X_REQUEST_ID": "nightly-2026.1"}
    body = {"reason": "wrong bound", "scope": "test"}
    api.post(f"/api/v1/incidents/{incident.pk}/force-resolve", body, format="json", **headers)
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.object_kind) == ("grace", "incident.force_resolve", "incident")
    assert (entry.object_id, entry.request_id, entry.via[:6]) == (str(incident.pk), "nightly-2026.1", "token ")
    assert entry.before is not None
    assert entry.after is not None
    assert (entry.before["resolution"], entry.after["resolution"]) == ("", "forced")
    assert (entry.given, "owner" in entry.after) == ({"scope": "test", "reason": "wrong bound"}, False)


def test_a_page_calls_a_thing_what_the_api_calls_it(pages: Client, incident: Incident) -> None:
    pages.post(f"/incidents/{incident.pk}/annotate", {"root_cause": "disk full"})
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.via, entry.after) == ("incident.annotations", "session", {"root_cause": "disk full"})


def test_what_fails_is_not_there(api: APIClient, incident: Incident) -> None:
    address = f"/api/v1/incidents/{incident.pk}/accept"
    assert [api.post(address, {"reason": "known"}, format="json").status_code for _ in range(2)] == [200, 409]
    assert AuditEntry.objects.count() == 1


def test_the_audit_is_read_by_actor_object_and_time(api: APIClient, incident: Incident) -> None:
    api.post(f"/api/v1/incidents/{incident.pk}/acknowledge")
    dataset = DatasetFactory.create(name="trips")
    report = {"dataset": dataset.full_name, "window": "2026-03-09T00:00Z/2026-03-10T00:00Z", "description": "x"}
    api.post("/api/v1/reports", report, format="json")

    def actions(**query: str) -> list[str]:
        return [row["action"] for row in api.get("/api/v1/audit", query).json()["results"]]

    assert actions() == actions(actor="grace") == ["report.create", "incident.acknowledge"]
    assert actions(kind="incident", key=str(incident.pk)) == ["incident.acknowledge"]
    assert actions(actor="ada") == actions(**{"to": "2020-01-01T00:00:00Z"}) == []
    assert api.get("/api/v1/audit", {"who": "grace"}).status_code == 400
    assert api.delete("/api/v1/audit").status_code == 405


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        (0, "6.6.6.6", "10.0.0.1"),
        (1, "6.6.6.6, 8.8.8.8", "8.8.8.8"),
        (2, "6.6.6.6, 8.8.8.8, 10.0.0.9", "8.8.8.8"),
        (1, "", "10.0.0.1"),
        (1, "6.6.6.6\nINFO all is well", "10.0.0.1"),
        (1, "2001:db8::1", "2001:db8::1"),
    ],
)
def test_a_forged_address_is_not_believed(
    api: APIClient, incident: Incident, settings: Settings, proxies: int, forwarded: str, expected: str
) -> None:
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": proxies}
    headers: dict[str, Any] = {"HTTP_X_FORWARDED_FOR": forwarded, "REMOTE_ADDR": "10.0.0.1"}
    api.post(f"/api/v1/incidents/{incident.pk}/acknowledge", **headers)
    assert AuditEntry.objects.get().ip == expected


def test_a_caller_without_an_address_has_none() -> None:
    assert address("", "", proxies=0) == ""


@pytest.mark.parametrize("bad", ["short", "a" * 65, "with space", "line\nbreak", "semi;colon", "ünïcödé-id"])
def test_a_request_id_that_is_no_plain_word_is_made_anew(client: Client, db: None, bad: str) -> None:
    told = client.get("/healthz", headers={"X-Request-ID": bad}).headers["X-Request-ID"]
    assert told != bad
    assert len(told) == 32


def test_a_plain_request_id_is_returned(client: Client, db: None) -> None:
    assert client.get("/healthz", headers={"X-Request-ID": "abc-123.DEF_4"}).headers["X-Request-ID"] == "abc-123.DEF_4"
