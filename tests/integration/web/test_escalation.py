"""Ways to more than one's role: fields not offered, others' rows in bodies and lists, sessions without CSRF."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from assay import clock
from assay.access import Role
from assay.models import AccessToken, AuditEntry, DataTest, Member
from incident_manager.models import Incident
from tests.factories import NOW, DatasetFactory, DataTestFactory, IncidentFactory, ReportFactory, SpoiltWindowFactory

pytestmark = pytest.mark.usefixtures("db")
HIDDEN = ({"is_staff": True}, {"owner": "mallory"}, {"role": "admin"}, {"author": "ada"}, {"reporter": "ada"})


def as_role(role: Role, name: str = "mallory") -> APIClient:
    """A client of a user in a role."""
    clock.simulate(NOW)
    user, _ = User.objects.get_or_create(username=name)
    Member.objects.update_or_create(user=user, defaults={"role": role})
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {AccessToken.objects.create(user)[1]}")
    return client


@pytest.mark.parametrize("extra", HIDDEN, ids=str)
def test_a_field_that_is_not_offered_is_an_error_and_changes_nothing(extra: dict[str, Any]) -> None:
    dataset = DatasetFactory.create(owner="mallory")
    test, incident = DataTestFactory.create(dataset=dataset), IncidentFactory.create(dataset=dataset)
    client = as_role(Role.OPERATOR)
    report = {"dataset": dataset.full_name, "window": "2026-03-09T00:00Z/2026-03-10T00:00Z", "description": "x"}
    answers = [
        client.patch(f"/api/v1/data-tests/{test.pk}", {"assertion": "row_count() > 1", **extra}, format="json"),
        client.post(f"/api/v1/incidents/{incident.pk}/annotations", {"text": "x", **extra}, format="json"),
        client.post("/api/v1/reports", {**report, **extra}, format="json"),
    ]
    assert ([answer.status_code for answer in answers], AuditEntry.objects.exists()) == ([400] * 3, False)


def test_a_viewer_cannot_force_resolve_and_is_told_who_can() -> None:
    incident = SpoiltWindowFactory.create().incident
    address = f"/api/v1/incidents/{incident.pk}/force-resolve"
    answer = as_role(Role.VIEWER).post(address, {"reason": "go away"}, format="json")
    assert answer.status_code == 403
    assert answer.json()["error"].endswith("Who may: owner (of their own datasets), operator, admin.")
    assert Incident.objects.get().resolved_at is None


def test_a_producer_who_names_itself_the_owner_gains_nothing() -> None:
    incident = SpoiltWindowFactory.create().incident
    client = as_role(Role.PRODUCER)
    incident.dataset.owner = "mallory"
    incident.dataset.save()
    assert client.post(f"/api/v1/incidents/{incident.pk}/accept", {"reason": "x"}, format="json").status_code == 403


def test_a_report_cannot_be_answered_with_a_test_of_somebody_else() -> None:
    report = ReportFactory.create(dataset=DatasetFactory.create(owner="mallory"))
    foreign = DataTestFactory.create()
    client = as_role(Role.OWNER)
    address = f"/api/v1/reports/{report.pk}/confirm"
    assert client.post(address, {"offered": foreign.pk}, format="json").status_code == 403
    assert client.post(address, {}, format="json").status_code in (200, 409)


def test_a_new_test_lands_on_no_dataset_but_ones_own() -> None:
    body = {"name": "t", "assertion": "row_count() > 0", "severity": "soft", "sustain": "1h"}
    client, theirs, mine = as_role(Role.OWNER), DatasetFactory.create(), DatasetFactory.create(owner="mallory")
    answers = [
        client.post("/api/v1/data-tests", {**body, "dataset": each.full_name}, format="json") for each in (theirs, mine)
    ]
    assert ([answer.status_code for answer in answers], DataTest.objects.get().dataset) == ([403, 201], mine)


def test_a_teams_member_acts_on_what_the_team_owns() -> None:
    incident = IncidentFactory.create(dataset=DatasetFactory.create(team="trips"))
    client, address = as_role(Role.OWNER), f"/api/v1/incidents/{incident.pk}/acknowledge"
    assert client.post(address).status_code == 403
    Member.objects.update(teams=["trips"])
    assert client.post(address).status_code == 200


@pytest.mark.parametrize("address", ["api/v1/incidents/{0}/acknowledge", "incidents/{0}/acknowledge"])
def test_a_session_without_the_csrf_token_changes_nothing(address: str) -> None:
    incident = IncidentFactory.create()
    client: Any = APIClient(enforce_csrf_checks=True) if address.startswith("api") else Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root"))
    assert client.post("/" + address.format(incident.pk)).status_code == 403
    assert Incident.objects.get().acknowledged_at is None


@pytest.mark.parametrize(("role", "is_shown"), [(Role.VIEWER, False), (Role.OPERATOR, True)])
def test_a_button_that_one_may_not_use_is_not_shown(role: Role, is_shown: bool) -> None:
    incident = IncidentFactory.create()
    as_role(role)
    client = Client()
    client.force_login(User.objects.get(username="mallory"))
    assert (b"Resolve as a false positive" in client.get(f"/incidents/{incident.pk}").content) is is_shown
    answer = client.post(f"/incidents/{incident.pk}/accept", {"reason": "x"})
    assert answer.status_code == (302 if is_shown else 403)
    assert (b"operator, admin" in answer.content) is not is_shown
