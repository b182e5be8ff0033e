"""Who works on an incident: taken up, given to somebody, who is told once, and given back."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from alerting.models import Notice
from alerting.services import silence
from alerting.state import WaiverScope
from assay.config import config
from assay.models import DataTest
from incident_manager.models import Incident
from incident_manager.services import HasEnded, acknowledge, assign, force_resolve, report
from tests.factories import DAY, HOUR, day
from tests.integration.story import advance, due, fail, new_table, new_test, result, settle, start

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
AT = due(MONDAY) + 2 * HOUR
BOB = "bob@example.org"


@pytest.fixture(autouse=True)
def _mail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A channel that reaches everybody whose name is an address; what it would send is looked at, and never sent."""
    monkeypatch.setenv("ASSAY_EMAIL_URL", "smtp://127.0.0.1:1")
    config.cache_clear()
    yield
    config.cache_clear()


def failing(**table: object) -> tuple[DataTest, Incident]:
    """A hard test that fails on Monday, after its owner was told."""
    start(due(MONDAY))
    test = new_test(dataset=new_table(owner="ada", **table), sustain=timedelta(0))
    incident = fail(test, MONDAY)
    advance(AT)
    return test, incident


def entries(incident: Incident) -> list[tuple[str, str, str]]:
    """What users did."""
    rows = incident.timeline.exclude(actor="assay")
    return [(row.event, row.actor, row.text) for row in rows]


def told(person: str) -> list[tuple[str, str, str]]:
    """What a person is told."""
    rows = Notice.objects.filter(recipient=person).order_by("pk")
    return [(row.event, row.channel, row.suppressed) for row in rows]


def standing_of(incident: Incident) -> tuple[str, str]:
    """Who is to work on it, and who does."""
    return incident.assigned_to, incident.acknowledged_by


def test_whoever_is_assigned_is_told_once_and_works_on_it_once_they_take_it_up() -> None:
    _, incident = failing()
    assign(incident, to=BOB, author="ada", now=AT)
    assert (standing_of(incident), incident.acknowledged_at) == ((BOB, ""), None)
    assign(incident, to=BOB, author="ada", now=AT + HOUR)
    assert told(BOB) == [("assigned", "log", ""), ("assigned", "email", "")]
    asked = Notice.objects.get(recipient=BOB, channel="email")
    assert asked.subject.endswith("(custom, tier 2), assigned to you")
    assert asked.body.startswith("ada asks you to work on it.\n")
    assert set(asked.facts["links"]) == {"Acknowledge", "Mute"}
    acknowledge(incident, author=BOB, now=AT + 2 * HOUR)
    assert standing_of(incident) == (BOB, BOB)
    assert entries(incident) == [("assigned", "ada", f"to {BOB}, told by email"), ("acknowledged", BOB, "")]


def test_to_assign_it_to_oneself_is_to_acknowledge_it_even_where_somebody_else_works_on_it() -> None:
    _, incident = failing()
    assign(incident, to="eve", author="eve", now=AT)
    assign(incident, to="ada", author="ada", now=AT + HOUR)
    assign(incident, to="ada", author="ada", now=AT + 2 * HOUR)
    assert (standing_of(incident), incident.acknowledged_at) == (("ada", "ada"), AT + HOUR)
    assert entries(incident) == [("acknowledged", "eve", ""), ("acknowledged", "ada", "")]
    assert Notice.objects.filter(event="assigned").count() == 0


def test_who_is_given_it_has_not_taken_it_up_though_somebody_had() -> None:
    _, incident = failing()
    acknowledge(incident, author="ada", now=AT)
    assign(incident, to=BOB, author="ada", now=AT)
    assert (standing_of(incident), incident.acknowledged_at) == ((BOB, ""), None)
    assign(incident, to="", author="eve", now=AT)
    assert standing_of(incident) == ("", "")
    assert entries(incident)[-1] == ("unassigned", "eve", f"{BOB} works on it no more")


def test_of_somebody_without_an_address_it_is_said_that_nobody_is_told() -> None:
    _, incident = failing()
    new_table(owner="bob")
    assign(incident, to="bob", author="ada", now=AT)
    assert entries(incident) == [("assigned", "ada", "to bob, not told: no address is known")]
    assert told("bob") == [("assigned", "log", ""), ("assigned", "none", "no reachable channel")]


def test_the_route_of_everybody_else_is_no_address_of_a_person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    routes = tmp_path / "routes.yaml"
    routes.write_text("default: {channels: {email: all@example.org}}\nowners: {bob: {channels: {email: b@x.org}}}\n")
    monkeypatch.setenv("ASSAY_ROUTES", str(routes))
    config.cache_clear()
    _, incident = failing(team="rides")
    new_table(owner="eve")
    for who in ("eve", "bob", "eve@example.org"):
        assign(incident, to=who, author="ada", now=AT)
    sent = Notice.objects.filter(event="assigned", channel="email").order_by("pk")
    assert [(row.recipient, row.address) for row in sent] == [("bob", "b@x.org"), ("eve@example.org", "")]
    assert Notice.objects.filter(recipient="eve", suppressed="no reachable channel").count() == 1


def test_who_was_asked_hears_how_it_ended_and_nobody_hears_it_twice() -> None:
    test, incident = failing()
    assign(incident, to=BOB, author="ada", now=AT)
    settle()
    result(test, MONDAY, "held", AT + HOUR)
    settle()
    assert [row for row in told(BOB) if row[1] == "email"] == [("assigned", "email", ""), ("recovered", "email", "")]
    with pytest.raises(HasEnded, match=f"Incident {incident.pk} has ended at"):
        assign(incident, to="eve", author="ada", now=AT + 2 * HOUR)
    with pytest.raises(HasEnded):
        acknowledge(incident, author="ada", now=AT + 2 * HOUR)


@pytest.mark.parametrize(
    ("then", "why"), [("reassigned", "given to somebody else before"), ("ended", "resolved before it could be sent")]
)
def test_what_waits_for_the_end_of_quiet_hours_is_taken_back_where_it_is_over_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, then: str, why: str
) -> None:
    routes = tmp_path / "routes.yaml"
    quiet = '{zone: UTC, from: "00:00", to: "23:00"}'
    routes.write_text(f"owners: {{bob: {{channels: {{email: b@x.org}}, quiet_hours: {quiet}}}}}\n")
    monkeypatch.setenv("ASSAY_ROUTES", str(routes))
    config.cache_clear()
    start(due(MONDAY))
    test = new_test(dataset=new_table(owner="ada"), sustain=timedelta(0), severity="soft")
    incident = fail(test, MONDAY)
    advance(AT)
    assign(incident, to="bob", author="ada", now=AT)
    asked = Notice.objects.get(recipient="bob", channel="email")
    assert (asked.due_at, asked.settled_at) == (AT.replace(hour=23, minute=0), None)
    if then == "ended":
        force_resolve(incident, scope=WaiverScope.WINDOW, reason="twins", author="ada", now=AT)
        settle()
    else:
        new_table(owner="eve")
        assign(incident, to="eve", author="ada", now=AT)
    asked.refresh_from_db()
    assert (asked.suppressed, asked.settled_at) == (why, AT)


def test_a_mute_does_not_hold_back_what_one_person_asks_another() -> None:
    start(due(MONDAY))
    test = new_test(dataset=new_table(owner="ada"), sustain=timedelta(0))
    silence(dataset=test.dataset, ends_at=AT + DAY, reason="a move", author="ada", now=due(MONDAY))
    incident = fail(test, MONDAY)
    advance(AT)
    assign(incident, to=BOB, author="ada", now=AT)
    assert told("ada") == []
    assert ("assigned", "email", "") in told(BOB)


def test_what_a_user_has_reported_can_be_assigned_as_well() -> None:
    start(due(MONDAY))
    claim = report(
        dataset=new_table(owner="ada"), window=MONDAY, reporter="eve", description="Fares doubled.", now=due(MONDAY)
    )
    assert claim.incident is not None
    assign(claim.incident, to=BOB, author="ada", now=AT)
    asked = Notice.objects.get(recipient=BOB, channel="email")
    assert asked.subject == f"[tier {claim.incident.tier}] {claim.dataset.full_name}: reported as bad, assigned to you"
    assert asked.body.startswith(f"ada asks you to work on it: a user says that {claim.dataset.full_name} is bad.")
