"""Every address, method, role and scope, on what is one's own and what is another's."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.urls import resolve
from rest_framework.test import APIClient

from assay import clock
from assay.access import Role, TokenScope
from assay.models import AccessToken, AuditEntry, Member
from tests.factories import NOW
from tests.integration.web.addresses import endpoints
from tests.integration.web.estate import Estate, body, build, form
from tests.integration.web.matrix import API, OPEN, PAGES, Line, lines
from web.pages.incident import ACTIONS

pytestmark = pytest.mark.usefixtures("db", "_quick_passwords")
# questions; those to the API are kept as a look-up or a decision of the gate
NOT_AUDITED = (
    "api/v1/gate",
    "api/v1/quality/bulk",
    "api/v1/quality/query",
    "datasets/{dataset}/tests/new/check",
    "datasets/{dataset}/tests/{test}/edit/check",
    "api/v1/onboarding/preview",
    "api/v1/templates/preview",
    "proposals/preview",
    "templates/preview",
    "incidents/act",  # which writes an entry for each incident; test_bulk_actions.py
    "admin/doctor",
    "first-runs",  # whose offer ends with the first run that there is
)
ROLES = [role.value for role in Role]
NOBODY_KNOWS = (401, 302)


@pytest.fixture
def estates() -> dict[str, Estate]:
    """What is one's own, and what is another's."""
    clock.simulate(NOW)
    for name in ("me", "somebody", "third"):
        Member.objects.create(user=User.objects.create_user(name))
    return {"own": build("me", "third"), "other": build("somebody", "third")}


@contextmanager
def undone() -> Iterator[None]:
    """As if nothing had been sent."""
    cache.clear()
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def as_role(role: str) -> User:
    Member.objects.filter(user__username="me").update(role=role)
    return User.objects.get(username="me")


def with_token(role: str, scopes: list[str]) -> APIClient:
    client = APIClient()
    token = AccessToken.objects.create(as_role(role), scopes=scopes)[1]
    client.credentials(HTTP_AUTHORIZATION=f"Token {token}")
    return client


def send(client: APIClient, line: Line, estate: Estate) -> int:
    """The status of the answer, once what it must have written down is checked."""
    before = AuditEntry.objects.count()
    given = body(line.method, line.address, estate)
    as_json = {} if line.method == "GET" else {"format": "json"}
    status = getattr(client, line.method.lower())(estate.address(line.address), given, **as_json).status_code
    is_change = line.method != "GET" and status < 300 and line.address not in NOT_AUDITED
    assert AuditEntry.objects.count() - before == is_change, (line, status)
    return int(status)


def is_let_through(status: int, line: Line, who: str) -> bool:
    """Whether it was done or refused; anything else is a fault of this test."""
    assert status in (200, 201, 202, 204, 302, 403), (line.method, line.address, who, status)
    return status != 403


def test_every_address_and_method_has_a_line(estates: dict[str, Estate]) -> None:
    known = {(line.method, resolve(estates["own"].address(line.address)).route) for line in lines(API)}
    known |= {("*", resolve(estates["own"].address(line.address)).route) for line in lines(PAGES)}
    assert set(endpoints()) == {(method, re.sub(r"[$^]", "", route)) for method, route in known} | OPEN


def test_every_form_of_an_incident_has_a_line() -> None:
    assert {
        line.address.split("/")[-1]
        for line in lines(PAGES)
        if line.method == "POST" and line.address.startswith("incidents/{incident}/")
    } == set(ACTIONS)


@pytest.mark.parametrize("line", lines(API), ids=lambda line: f"{line.method} {line.address}")
def test_each_role_may_what_the_matrix_says(estates: dict[str, Estate], line: Line) -> None:
    for whose, expected in (("own", line.own), ("other", line.other)):
        for role in ROLES:
            with undone():
                status = send(with_token(role, list(TokenScope)), line, estates[whose])
                is_hidden = "{token}" in line.address and status == 404  # others' tokens are not even told of
                got = not is_hidden and is_let_through(status, line, f"{role} {whose}")
            assert got == (role in expected), (role, whose, status)


@pytest.mark.parametrize("line", lines(API), ids=lambda line: f"{line.method} {line.address}")
def test_each_scope_narrows_what_even_an_admin_may(estates: dict[str, Estate], line: Line) -> None:
    for scope in TokenScope:
        with undone():
            status = send(with_token("admin", [scope.value]), line, estates["own"])
            got = is_let_through(status, line, scope)
        assert got == (scope in line.scopes), (scope, status)
    with undone():
        assert send(with_token("admin", []), line, estates["own"]) == 403


@pytest.mark.parametrize("line", lines(API + PAGES), ids=lambda line: f"{line.method} {line.address}")
def test_strangers_reach_nothing(estates: dict[str, Estate], line: Line) -> None:
    with undone():
        assert (send(APIClient(), line, estates["own"]) in NOBODY_KNOWS, AuditEntry.objects.count()) == (True, 0)


@pytest.mark.parametrize("line", lines(PAGES), ids=lambda line: f"{line.method} {line.address}")
def test_pages_decide_like_the_api(estates: dict[str, Estate], line: Line) -> None:
    for whose, expected in (("own", line.own), ("other", line.other)):
        for role in ROLES:
            with undone():
                client = Client()
                client.force_login(as_role(role))
                address = estates[whose].address(line.address)
                answer = (
                    client.post(address, form(line.address, estates[whose]))
                    if line.method == "POST"
                    else client.get(address)
                )
                assert is_let_through(answer.status_code, line, role) == (role in expected), (role, whose)
                is_change = line.method == "POST" and line.address not in NOT_AUDITED
                assert AuditEntry.objects.count() == (is_change and role in expected)


@pytest.mark.parametrize("role", ROLES)
def test_a_session_makes_a_token_for_oneself(estates: dict[str, Estate], role: str) -> None:
    client = APIClient()
    client.force_login(as_role(role))
    made = client.post("/api/v1/tokens", {"name": "etl", "scopes": ["gate"], "days": 7}, format="json")
    assert (made.status_code, made.json()["scopes"]) == (201, ["gate"])
    assert AuditEntry.objects.get(action="token.create").object_id == made.json()["id"]


def test_an_address_that_no_rule_knows_is_for_nobody(
    monkeypatch: pytest.MonkeyPatch, estates: dict[str, Estate]
) -> None:
    monkeypatch.setattr("web.access.who.NEEDS", {})
    answer = with_token("admin", list(TokenScope)).get("/api/v1/datasets")
    assert (answer.status_code, "no rule allows it" in answer.json()["error"]) == (403, True)
