"""CI posts a deploy; the incidents after it show it."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from assay import clock
from assay.access import Role
from assay.catalog import deploys
from assay.models import AuditEntry, Deploy
from tests.factories import (
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
)
from tests.integration.web.people import client

pytestmark = pytest.mark.django_db
COMMIT = {"version": "4f9c2d1", "url": "https://git.example.com/4f9c2d1", "at": (NOW - HOUR).isoformat()}


def posted(**fields: Any) -> Any:
    clock.simulate(NOW)
    return client("ci", Role.PRODUCER).post("/api/v1/deploys", fields, format="json")


@pytest.mark.parametrize(
    ("scope", "count"),
    [
        ({"dataset": "raw.Trips"}, 1),
        ({"pattern": "raw.*"}, 2),
        ({"owner": "fares"}, 2),
        ({"pattern": "mart.*"}, 0),
    ],
)
def test_it_says_how_many_datasets_it_touches(scope: dict[str, str], count: int) -> None:
    for name in ("trips", "fares"):
        DatasetFactory.create(name=name, team="fares")
    answer = posted(**scope, **COMMIT)
    assert (answer.status_code, answer.json()["datasets"]) == (201, count)
    assert AuditEntry.objects.filter(action="deploy.create", actor="ci").count() == 1


def test_what_is_sent_twice_is_kept_once() -> None:
    ci = client("ci", Role.PRODUCER)
    for _ in range(2):
        assert ci.post("/api/v1/deploys", {"pattern": "raw.*", **COMMIT}, format="json").status_code == 201
    assert Deploy.objects.count() == 1


def test_however_many_deploys_of_others_do_not_crowd_out_those_of_a_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = DatasetFactory.create()
    monkeypatch.setattr(deploys, "MOST_LISTED", 2)
    for pattern, hours in ("raw.*", 3), *(("mart.*", at) for at in range(2)):
        Deploy.objects.create(pattern=pattern, author="ci", version="1", at=NOW - hours * HOUR)
    assert [row.pattern for row in deploys.deploys_of(dataset, NOW - 9 * HOUR, NOW)] == ["raw.*"]


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({}, "dataset"),
        ({"owner": "ada", "pattern": "raw.*"}, "dataset"),
        ({"owner": "ada", "url": "javascript:alert(1)"}, "url"),
        ({"owner": "ada", "at": (NOW + HOUR).isoformat()}, "at"),
        ({"owner": "ada", "version": ""}, "version"),
    ],
)
def test_a_wrong_one_is_refused_with_its_place(fields: dict[str, str], where: str) -> None:
    answer = posted(**(COMMIT | fields))
    assert (answer.status_code, answer.json()["where"]) == (400, where)
    assert not Deploy.objects.exists()


def test_the_incident_after_it_lists_it_and_marks_it_in_its_chart(client: Client, user: User) -> None:
    clock.simulate(NOW)
    test = DataTestFactory.create()
    run = RunFactory.create(data_test=test, outcome="broken", value=3.0, excess=1.0)
    StandingFactory.create(data_test=test, state="FAIL", last_run=run, last_outcome="broken", value=3.0)
    incident = IncidentFactory.create(dataset=test.dataset, detected_at=NOW)
    SpoiltWindowFactory.create(incident=incident, data_test=test)
    Deploy.objects.create(dataset=test.dataset, author="ci", **COMMIT)
    client.force_login(user)
    page = client.get(f"/incidents/{incident.pk}").content.decode()
    assert 'ci deployed <a href="https://git.example.com/4f9c2d1" rel="noreferrer">4f9c2d1</a>' in page
    assert "deploy 4f9c2d1" in page
