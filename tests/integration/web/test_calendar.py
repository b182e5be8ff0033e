"""The calendar of incidents and mutes, as a calendar program gets it."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from icalendar import Calendar
from rest_framework.test import APIClient

from alerting.models import Silence
from assay import clock
from assay.models import AccessToken
from tests.factories import DAY, HOUR, NOW, DatasetFactory, IncidentFactory
from tests.integration.web.people import member
from web.access.tokens import address_key
from web.api.feeds import calendar, calendar_event

ADDRESS = "/api/v1/calendar.ics"
REQUIRED = ("UID", "DTSTAMP", "DTSTART")


def events(client: Any, **asked: Any) -> dict[str, Any]:
    answer = client.get(ADDRESS, asked)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/calendar; charset=utf-8")
    found: list[Any] = Calendar.from_ical(answer.content).walk("VEVENT")
    return {str(event["summary"]): event for event in found}


def test_the_text_keeps_the_rules_of_rfc_5545() -> None:
    summary = "raw.é🚕; " + "long, " * 40 + "end"
    event = calendar_event(
        uid="incident-1@assay.example.com",
        start=NOW,
        end=NOW,
        now=NOW,
        summary=summary,
        description="two\nlines; a \\ and a comma,\r\nBEGIN:VEVENT",
        url="https://assay.example.com/incidents/1",
        categories=["Incident", "custom"],
    )
    body = calendar("Data quality: rides", [event])
    lines = body.split(b"\r\n")
    assert body.endswith(b"END:VCALENDAR\r\n")
    assert b"\n" not in body.replace(b"\r\n", b"")
    assert max(len(line) for line in lines) <= 75
    assert lines.count(b"BEGIN:VEVENT") == lines.count(b"END:VEVENT") == 1
    names = [line.split(b":")[0].split(b";")[0].decode() for line in lines]
    for name in (*REQUIRED, "VERSION", "PRODID"):
        assert names.count(name) == 1
    found: list[Any] = Calendar.from_ical(body).walk("VEVENT")
    (event,) = found
    assert str(event["summary"]) == summary
    assert event["dtend"].dt - event["dtstart"].dt == timedelta(minutes=1)


def test_an_incident_lasts_until_it_is_resolved_or_expected_to_be(api: APIClient) -> None:
    def made(name: str, **given: Any) -> None:
        IncidentFactory.create(dataset=DatasetFactory.create(name=name), detected_at=NOW - 2 * DAY, **given)

    made("resolved", resolved_at=NOW - DAY, resolution="forced", open_key=None)
    made("expected", eta=NOW + HOUR)
    made("overdue", eta=NOW - HOUR)
    made("open", root_cause="a disk was full")
    made("old", resolved_at=NOW - 91 * DAY, resolution="auto", open_key=None)
    found = events(api)
    ends = {name.split(":")[0]: event["dtend"].dt for name, event in found.items()}
    assert ends == {"raw.resolved": NOW - DAY, "raw.expected": NOW + HOUR, "raw.overdue": NOW, "raw.open": NOW}
    assert {event["dtstart"].dt for event in found.values()} == {NOW - 2 * DAY}
    assert any("resolved (false positive)" in name for name in found)
    assert "a disk was full" in str(next(event for name, event in found.items() if "raw.open" in name)["description"])
    assert len({str(event["uid"]) for event in found.values()}) == 4


def test_mutes_are_in_it_and_each_asks_for_their_own(api: APIClient) -> None:
    trips = DatasetFactory.create(name="trips", owner="ada", team="rides")
    for dataset in (trips, DatasetFactory.create(name="fares", owner="bob", team="money")):
        IncidentFactory.create(dataset=dataset, owner=dataset.owner, team=dataset.team)
    given = {"starts_at": NOW, "ends_at": NOW + DAY, "author": "ada", "reason": "Migration."}
    Silence.objects.create(dataset=trips, **given)
    Silence.objects.create(owner="bob", **given)
    Silence.objects.create(category="freshness", **given)
    assert len(events(api)) == 5

    def of(**asked: str) -> set[str]:
        return {name.partition(",")[0] for name in events(api, **asked)}

    assert of(team="rides") == {"raw.trips: custom", "Muted: raw.trips"}
    assert of(owner="bob") == {"raw.fares: custom", "Muted: for bob"}
    assert of(dataset="raw.fares") == {"raw.fares: custom", "Muted: for bob", "Muted: freshness"}
    assert api.get(ADDRESS, {"teams": "rides"}).status_code == 400


@pytest.fixture
def reader(db: None) -> User:
    clock.simulate(NOW)
    return member("ann")


def test_a_calendar_program_asks_by_a_key_and_sees_what_its_user_may_see(reader: User, client: Client) -> None:
    for name, readers in (("trips", ""), ("pay", "team:hr")):
        dataset = DatasetFactory.create(name=name, readers=readers)
        IncidentFactory.create(dataset=dataset)
        Silence.objects.create(dataset=dataset, starts_at=NOW, ends_at=NOW + DAY, author="ada", reason="x")
    token = AccessToken.objects.create(reader, scopes=["read"])[0]
    assert client.get(ADDRESS).status_code == 401
    names = {name.partition(",")[0] for name in events(client, key=address_key(token))}
    assert names == {"raw.trips: custom", "Muted: raw.trips"}
    assert client.get(ADDRESS, {"key": address_key(token), "dataset": "raw.pay"}).status_code == 403
    token.delete()
    assert client.get(ADDRESS, {"key": address_key(token)}).status_code == 401
    gate_only = AccessToken.objects.create(reader, scopes=["gate"])[0]
    assert client.get(ADDRESS, {"key": address_key(gate_only)}).status_code == 403
