"""Incidents and reports over REST."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from alerting.models import Waiver
from execution_engine.models import Run
from incident_manager.models import Incident
from tests.factories import NOW, DatasetFactory, SpoiltWindowFactory, StandingFactory, day


@pytest.fixture
def incident(db: None) -> Incident:
    test = StandingFactory.create(state="FAIL", last_outcome="broken", value=90.0, excess=10.0).data_test
    incident: Incident = SpoiltWindowFactory.create(incident__dataset=test.dataset, data_test=test).incident
    return incident


def test_an_incident_shows_its_windows_and_its_timeline(api: APIClient, incident: Incident) -> None:
    body = api.get(f"/api/v1/incidents/{incident.pk}").json()
    assert [row["window"] for row in body["spoilt_windows"]] == [day("2026-03-09").text]
    assert body["timeline"][0]["event"] == "opened"
    assert api.get("/api/v1/incidents", {"open": "true"}).json()["count"] == 1
    assert api.get("/api/v1/incidents", {"open": "false"}).json()["count"] == 0
    assert api.get("/api/v1/incidents").json()["count"] == 1


def test_users_annotate_acknowledge_and_run_again(api: APIClient, incident: Incident) -> None:
    said = {"root_cause": "disk full", "eta": "2026-03-10T18:00:00Z"}
    assert api.post(f"/api/v1/incidents/{incident.pk}/annotations", said, format="json").status_code == 200
    assert api.post(f"/api/v1/incidents/{incident.pk}/acknowledge").json()["acknowledged_by"] == "grace"
    assert api.post(f"/api/v1/incidents/{incident.pk}/rerun").status_code == 200
    incident.refresh_from_db()
    assert (incident.root_cause, Run.objects.get().reason) == ("disk full", "manual")


def test_an_incident_is_given_to_somebody_by_name(api: APIClient, incident: Incident) -> None:
    address = f"/api/v1/incidents/{incident.pk}/assign"
    assert api.post(address, {}, format="json").json()["where"] == "to"
    unknown = api.post(address, {"to": "bob"}, format="json")
    assert (unknown.status_code, unknown.json()["where"]) == (400, "to")
    User.objects.create_user("bob")
    given = api.post(address, {"to": "bob"}, format="json").json()
    assert (given["assigned_to"], given["acknowledged_by"]) == ("bob", "")
    assert given["timeline"][-1]["text"] == "to bob, not told: no address is known"
    found = [api.get("/api/v1/incidents", {"assigned_to": who}).json()["count"] for who in ("bob", "", "grace")]
    assert found == [1, 0, 0]
    taken = api.post(address, {"to": "grace"}, format="json").json()
    assert (taken["assigned_to"], taken["acknowledged_by"]) == ("grace", "grace")
    api.post(f"/api/v1/incidents/{incident.pk}/accept", {"reason": "known"}, format="json")
    refused = api.post(address, {"to": "bob"}, format="json")
    assert (refused.status_code, "GET /api/v1/incidents?" in refused.json()["mend"]) == (409, True)


@pytest.mark.parametrize(("action", "how"), [("force-resolve", "forced"), ("accept", "accepted")])
def test_users_end_an_incident_once_and_say_why(api: APIClient, incident: Incident, action: str, how: str) -> None:
    address = f"/api/v1/incidents/{incident.pk}/{action}"
    assert api.post(address, {}, format="json").json()["where"] == "reason"
    assert api.post(address, {"reason": "known"}, format="json").json()["resolution"] == how
    assert (Waiver.objects.get().kind, api.post(address, {"reason": "known"}, format="json").status_code) == (how, 409)


def test_a_wrong_scope_is_refused(api: APIClient, incident: Incident) -> None:
    body = {"reason": "wrong test", "scope": "galaxy"}
    answer = api.post(f"/api/v1/incidents/{incident.pk}/force-resolve", body, format="json")
    assert (answer.status_code, answer.json()["where"]) == (400, "scope")


def test_a_user_says_until_when_later_windows_are_right(api: APIClient, incident: Incident) -> None:
    address, until = f"/api/v1/incidents/{incident.pk}/force-resolve", NOW + timedelta(days=40)
    body = {"reason": "fares are in cents till May", "scope": "test", "until": f"{until:%Y-%m-%dT%H:%M:%SZ}"}
    for wrong in ({"scope": "window"}, {"until": "2026-01-01T00:00:00Z"}, {"until": "2027-01-01T00:00:00Z"}):
        refused = api.post(address, body | wrong, format="json")
        assert (refused.status_code, refused.json()["where"]) == (400, "until")
    assert Waiver.objects.count() == 0
    said = [entry["text"] for entry in api.post(address, body, format="json").json()["timeline"]]
    assert said[1] == f"fares are in cents till May (scope test until {until:%Y-%m-%d %H:%M} UTC)"
    assert Waiver.objects.get().ends_at == until


def test_a_report_on_a_place_without_a_replica_is_refused(api: APIClient) -> None:
    dataset = DatasetFactory.create()
    body = {"dataset": dataset.full_name, "window": day("2026-03-09").text, "description": "x", "datacenter": "moon"}
    answer = api.post("/api/v1/reports", body, format="json")
    assert (answer.status_code, answer.json()["where"]) == (400, "datacenter")
