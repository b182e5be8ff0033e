"""Overrides of the gate: given, shown, ended, and what the gate and look-ups say meanwhile."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from alerting.models import Notice
from assay import clock
from assay.models import AuditEntry, DataTest
from incident_manager.models import Entry, GateOverride
from tests.factories import HOUR, day
from tests.integration.story import due, fail, new_test, start

pytestmark = pytest.mark.django_db

MONDAY, TUESDAY = day("2026-03-09"), day("2026-03-10")
REASON = "The board's report can live with it."


@pytest.fixture(autouse=True)
def bad() -> DataTest:
    start(due(MONDAY))
    test = new_test(severity="hard", sustain=0 * HOUR)
    fail(test, MONDAY)
    fail(test, TUESDAY)
    return test


def asked(api: APIClient, test: DataTest, window: str = "2026-03-09", pipeline: str = "") -> Any:
    body = {"datasets": [test.dataset.full_name], "window": window, **({"pipeline": pipeline} if pipeline else {})}
    return api.post("/api/v1/gate", body, format="json").json()


def given(api: APIClient, test: DataTest, **more: Any) -> Any:
    body = {"dataset": test.dataset.full_name, "window": "2026-03-09", "reason": REASON, **more}
    return api.post("/api/v1/gate/overrides", body, format="json")


def test_an_override_lets_one_pipeline_read_one_day_until_it_ends(api: APIClient, bad: DataTest) -> None:
    made = given(api, bad, pipeline="report")
    assert made.status_code == 201, made.content
    said = [asked(api, bad, pipeline=name)["decision"] for name in ("report", "Report", "")]
    assert said == ["warn", "block", "block"]
    assert REASON in asked(api, bad, pipeline="report")["reasons"][0]["text"]
    both = asked(api, bad, f"{MONDAY.start.isoformat()}/{TUESDAY.end.isoformat()}", "report")
    assert (both["decision"], {each["decision"] for each in both["reasons"]}) == ("block", {"block", "warn"})
    looked = {"dataset": bad.dataset.full_name, "from": MONDAY.start.isoformat(), "to": MONDAY.end.isoformat()}
    assert api.get("/api/v1/quality", looked).json()["status"] == "bad"
    clock.simulate(clock.now() + timedelta(hours=24))
    assert asked(api, bad, pipeline="report")["decision"] == "block"


def test_an_override_can_be_ended_and_both_are_in_the_audit(api: APIClient, bad: DataTest, user: User) -> None:
    row = given(api, bad).json()
    assert asked(api, bad, pipeline="any")["decision"] == "warn"
    assert api.post(f"/api/v1/gate/overrides/{row['id']}/end").status_code == 200
    assert asked(api, bad)["decision"] == "block"
    again = api.post(f"/api/v1/gate/overrides/{row['id']}/end")
    assert (again.status_code, again.json()["where"]) == (409, "")
    entries = AuditEntry.objects.filter(object_kind="gate_override").order_by("pk")
    written = [(entry.action, entry.actor) for entry in entries]
    assert written == [("gate_override.create", user.username), ("gate_override.end", user.username)]
    active = {"dataset": bad.dataset.full_name, "active": "true"}
    assert api.get("/api/v1/gate/overrides", active).json()["count"] == 0


def test_the_owner_is_told_and_the_incident_remembers_it(api: APIClient, bad: DataTest, user: User) -> None:
    assert bad.dataset.owner != user.username
    given(api, bad)
    notice = Notice.objects.filter(event="overridden").first()
    assert notice is not None
    assert (notice.recipient, REASON in notice.body) == (bad.dataset.owner, True)
    assert REASON in Entry.objects.get(event="gate overridden").text


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"window": "2026-03-09T01:00:00Z/2026-03-09T02:00:00Z"}, "window"),
        ({"ends_at": "2026-06-01T00:00:00Z"}, "ends_at"),
        ({"ends_at": "2026-01-01T00:00:00Z"}, "ends_at"),
        ({"reason": " "}, "reason"),
    ],
)
def test_an_override_that_must_not_be_is_refused(
    api: APIClient, bad: DataTest, more: dict[str, str], where: str
) -> None:
    answer = given(api, bad, **more)
    assert (answer.status_code, answer.json()["where"], GateOverride.objects.exists()) == (400, where, False)


def test_the_page_of_the_dataset_gives_shows_and_ends_an_override(pages: Client, bad: DataTest) -> None:
    home = f"/datasets/{bad.dataset.full_name}"
    form = {"window": "2026-03-09", "pipeline": "<report>", "ends_at": "", "reason": REASON}
    page = pages.post(f"{home}/override", form, follow=True).content.decode()
    page += pages.get(f"{home}?tab=settings").content.decode()
    assert ("The gate only warns until" in page, "&lt;report&gt;" in page) == (True, True)
    ended = pages.post(f"{home}/overrides/{GateOverride.objects.get().pk}/end", follow=True).content.decode()
    assert ("the gate blocks again" in ended, "&lt;report&gt;" in ended) == (True, False)


def test_the_page_keeps_what_was_typed_of_an_override_that_must_not_be(pages: Client, bad: DataTest) -> None:
    form = {"window": "monday", "reason": REASON}
    page = pages.post(f"/datasets/{bad.dataset.full_name}/override", form, follow=True).content.decode()
    assert ("key format" in page, 'value="monday"' in page, GateOverride.objects.exists()) == (True, True, False)
