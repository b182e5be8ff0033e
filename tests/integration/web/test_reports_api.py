"""Users who report the same fault, and what each of them is told."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from alerting.models import Notice
from assay.models import Dataset
from assay.time.windows import Window
from incident_manager.models import Incident
from tests.factories import DatasetFactory, IncidentFactory, SpoiltWindowFactory, day
from tests.integration.web.people import browser, client

pytestmark = pytest.mark.django_db

UNHEARD = "No channel but the log reaches ada: tell them yourself."

NOTHING_MORE: Mapping[str, str] = {}
SUNDAY, MONDAY, TUESDAY = day("2026-03-08"), day("2026-03-09"), day("2026-03-10")
WEEKEND_ON = Window(start=SUNDAY.start, end=MONDAY.end)
LATER = Window(start=MONDAY.start, end=TUESDAY.end)


@pytest.fixture(autouse=True)
def trips() -> Dataset:
    return DatasetFactory.create(name="trips", datacenters=("sea", "phx"))


@pytest.fixture
def eve(user: User) -> APIClient:
    return client("eve")


def claim(client: APIClient, window: Window = MONDAY, more: Mapping[str, str] = NOTHING_MORE) -> Any:
    body = {"dataset": "raw.trips", "window": window.text, "description": "Half of it is missing.", **more}
    answer = client.post("/api/v1/reports", body, format="json")
    assert answer.status_code == 201, answer.content
    return answer.json()


def reported() -> list[Incident]:
    return list(Incident.objects.filter(kind="reported").order_by("pk"))


def heard(recipient: str) -> int:
    return Notice.objects.filter(recipient=recipient, event="reported", channel="log").count()


def test_two_users_who_report_one_fault_are_one_incident_whose_owner_hears_of_both(
    api: APIClient, eve: APIClient
) -> None:
    first, second = claim(api), claim(eve)
    assert (len(reported()), heard("ada")) == (1, 2)
    (incident,) = reported()
    assert (second["state"], second["incident"], second["joined"]) == ("joined", None, [incident.pk])
    assert first["message"] == f"It is incident {incident.pk} now. {UNHEARD}"
    assert second["message"] == (
        f"This is known already as incident {incident.pk}, which grace reported; "
        "your report was added to it. No channel but the log reaches ada: tell them yourself."
    )


def test_both_reports_of_one_fault_are_shown(api: APIClient, eve: APIClient, pages: Client) -> None:
    claim(api), claim(eve, more={"description": "I miss a third."})
    page = pages.get(f"/incidents/{reported()[0].pk}").content.decode()
    assert ("Half of it is missing." in page, "I miss a third." in page) == (True, True)
    answer = api.get(f"/api/v1/incidents/{reported()[0].pk}").json()
    assert [report["reporter"] for report in answer["reports"]] == ["grace", "eve"]


def test_the_second_reporter_is_told_on_the_page_too(api: APIClient) -> None:
    claim(api)
    form = {"start": "2026-03-09T00:00", "end": "2026-03-10T00:00", "description": "Bad.", "datacenter": "", "saw": ""}
    page = browser("eve").post("/datasets/raw.trips/report", form, follow=True).content.decode()
    assert ("which grace reported" in page, len(reported())) == (True, 1)


def test_the_second_reporter_hears_what_the_owner_decides(api: APIClient, eve: APIClient) -> None:
    first, _ = claim(api), claim(eve)
    assert api.post(f"/api/v1/reports/{first['id']}/confirm", {}, format="json").status_code == 200
    assert (heard("grace"), heard("eve")) == (1, 1)


def test_an_open_claim_grows_by_what_the_second_adds(api: APIClient, eve: APIClient) -> None:
    first, second = claim(api), claim(eve, LATER)
    assert [second["joined"], second["incident"]] == [[first["incident"]], None]
    (incident,) = reported()
    assert [spoilt.window for spoilt in incident.spoilt_windows.order_by("window_start")] == [MONDAY, TUESDAY]
    asked = {"dataset": "raw.trips", "from": TUESDAY.start.isoformat(), "to": TUESDAY.end.isoformat()}
    assert api.get("/api/v1/quality", asked).json()["status"] == "reported"
    api.post(f"/api/v1/reports/{first['id']}/confirm", {}, format="json")
    assert api.get("/api/v1/quality", asked).json()["status"] == "bad"


def test_a_confirmed_claim_does_not_grow_and_the_owner_hears_of_the_rest(api: APIClient, eve: APIClient) -> None:
    first = claim(api)
    api.post(f"/api/v1/reports/{first['id']}/confirm", {}, format="json")
    second = claim(eve, LATER)
    assert (second["state"], second["joined"]) == ("open", [first["incident"]])
    assert [row.window for row in reported()[1].spoilt_windows.all()] == [TUESDAY]
    assert second["message"].startswith(f"A part of this is known already as incident {first['incident']}, which grace")
    assert heard("ada") == 2


@pytest.mark.parametrize(
    ("first", "second", "incidents"),
    [
        ({"saw": "late"}, {"saw": "late"}, 1),
        ({"saw": "values wrong"}, {"saw": "something else"}, 1),  # both are custom
        ({"saw": "late"}, {"saw": "rows missing"}, 2),
        ({"datacenter": "phx"}, {"datacenter": "phx"}, 1),
        ({}, {"datacenter": "phx"}, 1),  # the first one speaks of every copy
        ({"datacenter": "phx"}, {}, 2),
        ({"datacenter": "phx"}, {"datacenter": "sea"}, 2),
    ],
)
def test_one_fault_is_of_one_category_and_one_datacenter(
    api: APIClient, eve: APIClient, first: dict[str, str], second: dict[str, str], incidents: int
) -> None:
    claim(api, more=first), claim(eve, more=second)
    assert len(reported()) == incidents


@pytest.mark.parametrize("decision", ["reject", "fix"])
def test_a_settled_report_does_not_swallow_a_new_one(api: APIClient, eve: APIClient, decision: str) -> None:
    first = claim(api)
    assert api.post(f"/api/v1/reports/{first['id']}/{decision}", {}, format="json").status_code == 200
    second = claim(eve)
    assert (second["state"], second["joined"]) == ("open", [])
    assert second["incident"] != first["incident"]


def spoil(dataset: Dataset, **more: Any) -> Incident:
    incident: Incident = SpoiltWindowFactory.create(incident__dataset=dataset, window=MONDAY, **more).incident
    return incident


def test_a_report_of_another_category_joins_by_its_reporters_word_alone(api: APIClient, trips: Dataset) -> None:
    incident = spoil(trips)
    answer = claim(api, more={"saw": "late"})
    assert (answer["state"], answer["joined"]) == ("open", [])
    assert f"It may be one of these open incidents: {incident.pk} (custom of raw.trips)." in answer["message"]
    named = claim(api, more={"saw": "late", "of": str(incident.pk)})
    assert (named["state"], named["joined"]) == ("joined", [incident.pk])


def test_an_incident_that_it_cannot_be_is_refused(api: APIClient) -> None:
    other = IncidentFactory.create(dataset=DatasetFactory.create(name="else"))
    body = {"dataset": "raw.trips", "window": MONDAY.text, "description": "Bad.", "of": other.pk}
    answer = api.post("/api/v1/reports", body, format="json")
    assert (answer.status_code, "cannot be what is reported" in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize(
    ("spoilt", "claimed", "state"),
    [
        ("", "", "joined"),
        ("", "phx", "joined"),
        ("phx", "phx", "joined"),
        ("phx", "sea", "open"),
        ("phx", "", "open"),  # a report of every copy is not explained by what one of them lacks
    ],
)
def test_what_another_datacenter_lacks_does_not_swallow_a_report(
    api: APIClient, trips: Dataset, spoilt: str, claimed: str, state: str
) -> None:
    incident = spoil(trips, datacenter=spoilt)
    answer = claim(api, more={"datacenter": claimed} if claimed else {})
    assert (answer["state"], answer["joined"]) == (state, [incident.pk] if state == "joined" else [])


def test_a_second_report_of_the_rest_of_a_known_fault_joins_the_first(
    api: APIClient, eve: APIClient, trips: Dataset
) -> None:
    incident = spoil(trips)
    first, second = claim(api, WEEKEND_ON), claim(eve, WEEKEND_ON)
    assert first["joined"] == [incident.pk]
    assert (second["state"], sorted(second["joined"])) == ("joined", [incident.pk, first["incident"]])
    assert [row.window for row in reported()[0].spoilt_windows.all()] == [SUNDAY]


def test_a_report_names_a_partition_by_its_key_as_runs_and_the_gate_do(api: APIClient) -> None:
    body = {"dataset": "raw.trips", "window": "2026-03-09", "description": "Half of it is missing."}
    answer = api.post("/api/v1/reports", body, format="json")
    assert (answer.status_code, answer.json()["window"]) == (201, MONDAY.text)
    wrong = api.post("/api/v1/reports", {**body, "window": "yesterday"}, format="json")
    assert (wrong.status_code, wrong.json()["where"]) == (400, "window")
