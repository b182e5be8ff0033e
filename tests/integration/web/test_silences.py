"""Silences: written, listed and ended, by the API and on the page."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from alerting.models import Notice, Silence
from assay import clock
from assay.access import Role
from assay.models import AuditEntry, Dataset
from tests.factories import DAY, HOUR, NOW, DatasetFactory, day
from tests.integration.story import advance, due, fail, new_test, result, told
from tests.integration.web.people import client

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def trips() -> Dataset:
    return DatasetFactory.create(name="trips")


def ask(api: APIClient, **given: Any) -> Any:
    """The answer to a silence of ``raw.trips`` for an hour, changed by ``given``; None leaves a field out."""
    body = {"dataset": "raw.trips", "ends_at": (NOW + HOUR).isoformat(), "reason": "Migration.", **given}
    return api.post(
        "/api/v1/silences", {name: value for name, value in body.items() if value is not None}, format="json"
    )


def test_a_silence_is_written_listed_and_audited(api: APIClient) -> None:
    made = ask(api, category="freshness")
    assert made.status_code == 201
    row = made.json()
    assert (row["dataset"], row["category"], row["owner"], row["author"]) == ("raw.trips", "freshness", "", "grace")
    assert (row["starts_at"], row["ends_at"]) == ("2026-03-10T12:00:00Z", "2026-03-10T13:00:00Z")
    assert [each["id"] for each in api.get("/api/v1/silences", {"active": "true"}).json()["results"]] == [row["id"]]
    assert AuditEntry.objects.get(action="silence.create").object_id == str(row["id"])


@pytest.mark.parametrize(
    ("given", "where", "says"),
    [
        ({"ends_at": None}, "ends_at", "required"),
        ({"reason": None}, "reason", "required"),
        ({"reason": "  "}, "reason", "blank"),
        ({"ends_at": (NOW - DAY).isoformat()}, "ends_at", "has passed"),
        ({"dataset": None}, "dataset", "a dataset, a category or an owner"),
        ({"dataset": "raw.nothing"}, "dataset", "no dataset"),
        ({"category": "taste"}, "category", "not a valid choice"),
        ({"until": "Monday"}, "until", "not known"),
    ],
)
def test_a_silence_that_nobody_could_understand_is_refused(
    api: APIClient, given: dict[str, Any], where: str, says: str
) -> None:
    answer = ask(api, **given)
    assert (answer.status_code, answer.json()["where"], says in answer.json()["error"]) == (400, where, True)
    assert not Silence.objects.exists()


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({}, 403),  # raw.trips is ada's
        ({"dataset": None, "owner": "eve"}, 201),
        ({"dataset": None, "owner": "team-eve"}, 201),
        ({"dataset": None, "owner": "ada"}, 403),
        ({"dataset": None, "category": "freshness"}, 403),  # of everybody
    ],
)
def test_owners_silence_what_is_theirs_alone(user: User, given: dict[str, Any], status: int) -> None:
    assert ask(client("eve", Role.OWNER, "team-eve"), **given).status_code == status


def test_while_it_lasts_nobody_is_told_and_once_ended_early_they_are(api: APIClient) -> None:
    test = new_test(sustain=timedelta(0))
    clock.simulate(due(MONDAY))
    made = ask(api, dataset=test.dataset.full_name, ends_at=(due(MONDAY) + 2 * DAY).isoformat())
    assert made.status_code == 201
    incident = fail(test, MONDAY)
    advance(due(MONDAY) + 8 * HOUR)
    assert told("opened") == []
    shown = api.get(f"/api/v1/incidents/{incident.pk}").json()["silences"]
    assert [(each["author"], each["reason"]) for each in shown] == [("grace", "Migration.")]
    assert api.post(f"/api/v1/silences/{made.json()['id']}/end").status_code == 200
    advance(due(MONDAY) + 8 * HOUR + MINUTE)
    assert told("opened") == ["ada"]
    again = api.post(f"/api/v1/silences/{made.json()['id']}/end")
    assert (again.status_code, again.json()["where"]) == (409, "")


def test_a_notice_that_a_silence_suppressed_says_so_on_the_page(api: APIClient, pages: Client) -> None:
    test = new_test(sustain=timedelta(0))
    clock.simulate(due(MONDAY))
    ask(api, dataset=test.dataset.full_name, ends_at=(due(MONDAY) + 2 * DAY).isoformat(), reason="We move house.")
    incident = fail(test, MONDAY)
    advance(due(MONDAY) + 2 * HOUR)
    result(test, MONDAY, "held", due(MONDAY) + 3 * HOUR)
    assert list(Notice.objects.filter(event="opened").values_list("suppressed", flat=True)) == ["silenced"]
    page = pages.get(f"/incidents/{incident.pk}").content.decode()
    assert "We move house." in page
    assert ("Not sent" in page, ">muted<" in page, "silenced" in page) == (True, True, False)


def test_the_page_writes_lists_and_ends_silences(pages: Client) -> None:
    form = {"dataset": "RAW.trips", "category": "", "owner": "", "ends_at": "2026-03-11T00:00", "reason": "Migration."}
    assert "2026-03-11 00:00 UTC</time>." in pages.post("/silences/new", form, follow=True).content.decode()
    page = pages.get("/silences").content.decode()
    assert ("Migration." in page, "End now" in page) == (True, True)
    assert "End now" not in pages.post(f"/silences/{Silence.objects.get().pk}/end", follow=True).content.decode()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"dataset": "raw.nothing"}, "No dataset is called raw.nothing."),
        ({"dataset": ""}, "Say what to mute"),
        ({"ends_at": "2026-03-01T00:00"}, "The end has passed"),
        ({"ends_at": ""}, "This field is required."),
        ({"reason": ""}, "This field is required."),
    ],
)
def test_the_page_says_what_is_wrong_with_a_silence(pages: Client, given: dict[str, str], says: str) -> None:
    form = {"dataset": "raw.trips", "ends_at": "2026-03-11T00:00", "reason": "Migration.", **given}
    assert says in pages.post("/silences/new", form, follow=True).content.decode()
    assert not Silence.objects.exists()
