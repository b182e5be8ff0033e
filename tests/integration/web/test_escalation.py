"""Ways to more than one's role: fields not offered, others' rows in bodies and lists, sessions without CSRF."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from assay.access import Role
from assay.models import AuditEntry, DataTest, Member
from incident_manager.models import Incident
from tests.factories import DatasetFactory, DataTestFactory, IncidentFactory, ReportFactory, SpoiltWindowFactory
from tests.integration.web.people import browser, client

pytestmark = pytest.mark.usefixtures("user")
HIDDEN = ({"is_staff": True}, {"owner": "mallory"}, {"role": "admin"}, {"author": "ada"}, {"reporter": "ada"})


@pytest.mark.parametrize("extra", HIDDEN, ids=str)
def test_a_field_that_is_not_offered_is_an_error_and_changes_nothing(extra: dict[str, Any]) -> None:
    dataset = DatasetFactory.create(owner="mallory")
    test, incident = DataTestFactory.create(dataset=dataset), IncidentFactory.create(dataset=dataset)
    mallory = client("mallory", Role.OPERATOR)
    report = {"dataset": dataset.full_name, "window": "2026-03-09T00:00Z/2026-03-10T00:00Z", "description": "x"}
    answers = [
        mallory.patch(f"/api/v1/data-tests/{test.pk}", {"assertion": "row_count() > 1", **extra}, format="json"),
        mallory.post(f"/api/v1/incidents/{incident.pk}/annotations", {"text": "x", **extra}, format="json"),
        mallory.post("/api/v1/reports", {**report, **extra}, format="json"),
    ]
    assert ([answer.status_code for answer in answers], AuditEntry.objects.exists()) == ([400] * 3, False)


def test_a_viewer_cannot_force_resolve_and_is_told_who_can() -> None:
    incident = SpoiltWindowFactory.create().incident
    address = f"/api/v1/incidents/{incident.pk}/force-resolve"
    answer = client("mallory").post(address, {"reason": "go away"}, format="json")
    assert answer.status_code == 403
    assert answer.json()["error"].endswith("Who may: owner (of their own datasets), operator, admin.")
    assert Incident.objects.get().resolved_at is None


def test_a_producer_who_names_itself_the_owner_gains_nothing() -> None:
    incident = SpoiltWindowFactory.create().incident
    mallory = client("mallory", Role.PRODUCER)
    incident.dataset.owner = "mallory"
    incident.dataset.save()
    assert mallory.post(f"/api/v1/incidents/{incident.pk}/accept", {"reason": "x"}, format="json").status_code == 403


def test_a_report_cannot_be_answered_with_a_test_of_somebody_else() -> None:
    report = ReportFactory.create(dataset=DatasetFactory.create(owner="mallory"))
    foreign = DataTestFactory.create()
    mallory = client("mallory", Role.OWNER)
    address = f"/api/v1/reports/{report.pk}/confirm"
    assert mallory.post(address, {"offered": foreign.pk}, format="json").status_code == 403
    assert mallory.post(address, {}, format="json").status_code in (200, 409)


def test_a_new_test_lands_on_no_dataset_but_ones_own() -> None:
    body = {"name": "t", "assertion": "row_count() > 0", "severity": "soft", "sustain": "1h"}
    mallory, mine = client("mallory", Role.OWNER), DatasetFactory.create(owner="mallory")
    for dataset, status in ((DatasetFactory.create(), 403), (mine, 201)):
        answer = mallory.post("/api/v1/data-tests", {**body, "dataset": dataset.full_name}, format="json")
        assert answer.status_code == status
    assert DataTest.objects.get().dataset == mine


def test_a_teams_member_acts_on_what_the_team_owns() -> None:
    incident = IncidentFactory.create(dataset=DatasetFactory.create(team="trips"))
    mallory, address = client("mallory", Role.OWNER), f"/api/v1/incidents/{incident.pk}/acknowledge"
    assert mallory.post(address).status_code == 403
    Member.objects.update(teams=["trips"])
    assert mallory.post(address).status_code == 200


@pytest.mark.parametrize("address", ["api/v1/incidents/{0}/acknowledge", "incidents/{0}/acknowledge"])
def test_a_session_without_the_csrf_token_changes_nothing(address: str) -> None:
    incident = IncidentFactory.create()
    root: Any = (APIClient if address.startswith("api") else Client)(enforce_csrf_checks=True)
    root.force_login(User.objects.create_superuser("root"))
    assert root.post("/" + address.format(incident.pk)).status_code == 403
    assert Incident.objects.get().acknowledged_at is None


@pytest.mark.parametrize(("role", "is_shown"), [(Role.VIEWER, False), (Role.OPERATOR, True)])
def test_a_button_that_one_may_not_use_is_not_shown(role: Role, is_shown: bool) -> None:
    incident = IncidentFactory.create()
    mallory = browser("mallory", role)
    assert (b"Resolve as a false positive" in mallory.get(f"/incidents/{incident.pk}").content) is is_shown
    answer = mallory.post(f"/incidents/{incident.pk}/accept", {"reason": "x"})
    assert answer.status_code == (302 if is_shown else 403)
    assert (b"operator, admin" in answer.content) is not is_shown
