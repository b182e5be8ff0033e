"""Who is let in, and by tokens: made for oneself, narrow, mortal, and refused once their user is."""

from base64 import b64encode
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from assay.access import Role, TokenScope
from assay.models import AccessToken
from tests.integration.web.people import browser, client, client_of, member
from web.access.tokens import MARKED_EVERY

NEW = {"name": "nightly", "scopes": ["gate"], "days": 30}


@pytest.fixture
def session(user: User) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


def test_a_token_is_shown_once_and_kept_as_a_hash(session: APIClient) -> None:
    made = session.post("/api/v1/tokens", NEW, format="json").json()
    (listed,) = session.get("/api/v1/tokens").json()["results"]
    assert {**listed, "token": made["token"], "address_key": made["address_key"]} == made
    assert made["token"] not in str(AccessToken.objects.values())
    assert (listed["name"], listed["scopes"], listed["last_used_at"]) == ("nightly", ["gate"], None)


@pytest.mark.parametrize("change", [{"days": 367}, {"days": 0}, {"scopes": []}, {"scopes": ["all"]}, {"user": "ada"}])
def test_a_token_that_would_be_too_much_is_not_made(session: APIClient, change: dict[str, Any]) -> None:
    answer = session.post("/api/v1/tokens", {**NEW, **change}, format="json")
    assert (answer.status_code, answer.json()["where"].split("[")[0].split(".")[0]) == (400, next(iter(change)))
    assert not AccessToken.objects.exists()


def test_a_token_makes_no_token(api: APIClient) -> None:
    answer = api.post("/api/v1/tokens", NEW, format="json")
    assert (answer.status_code, "sign in with your password" in answer.json()["error"]) == (403, True)


@pytest.mark.parametrize("how", ["removed", "shut out", "ended", "revoked"])
def test_a_token_is_refused_once_it_or_its_user_has_gone(session: APIClient, how: str) -> None:
    user = member("ada")
    api, row = client_of(user), AccessToken.objects.get()
    assert api.get("/api/v1/datasets").status_code == 200
    match how:
        case "removed":
            user.delete()
        case "shut out":
            session.put("/api/v1/members/ada", {"active": False}, format="json")
        case "ended":
            AccessToken.objects.filter(pk=row.pk).update(expiry=timezone.now() - timedelta(seconds=1))
        case "revoked":
            assert session.delete(f"/api/v1/tokens/{row.token_key}").status_code == 204
    assert api.get("/api/v1/datasets").status_code == 401


def test_a_session_ends_when_its_user_is_shut_out(session: APIClient) -> None:
    ada = browser("ada")
    assert ada.get("/api/v1/datasets").status_code == 200
    session.put("/api/v1/members/ada", {"active": False}, format="json")
    assert ada.get("/api/v1/datasets").status_code == 401


def test_a_role_that_was_taken_away_narrows_the_tokens_that_are_out(session: APIClient) -> None:
    ada = client("ada", Role.OPERATOR)
    assert ada.get("/api/v1/audit").status_code == 200
    session.put("/api/v1/members/ada", {"role": "viewer"}, format="json")
    assert ada.get("/api/v1/audit").status_code == 403


def test_others_tokens_are_seen_and_revoked_by_admins_only(session: APIClient) -> None:
    row, ada = AccessToken.objects.create(member("bob"))[0], client("ada")
    assert {each["user"] for each in ada.get("/api/v1/tokens").json()["results"]} == {"ada"}
    assert ada.get("/api/v1/tokens", {"user": "bob"}).json()["results"] == []
    assert ada.delete(f"/api/v1/tokens/{row.token_key}").status_code == 404
    assert [each["id"] for each in session.get("/api/v1/tokens", {"user": "bob"}).json()["results"]] == [row.token_key]


def test_last_use_is_marked_once_a_minute(db: None) -> None:
    ada = client("ada")
    ada.get("/api/v1/datasets")
    first = AccessToken.objects.get().last_used_at
    ada.get("/api/v1/datasets")
    assert AccessToken.objects.get().last_used_at == first
    AccessToken.objects.update(last_used_at=first - MARKED_EVERY)
    ada.get("/api/v1/datasets")
    assert AccessToken.objects.get().last_used_at > first


def test_to_know_who_asks_takes_one_statement(db: None) -> None:
    ada = client("ada")
    ada.get("/api/v1/members")
    with CaptureQueriesContext(connection) as seen:
        assert ada.get("/api/v1/members").status_code == 403
    assert len(seen) == 1


@pytest.mark.parametrize("token", ["ä", "\x00", "a" * 10_000, "'; drop table users --"])
def test_what_is_no_token_is_refused(db: None, token: str) -> None:
    client = APIClient(raise_request_exception=False)
    assert client.get("/api/v1/datasets", headers={"Authorization": f"Token {token}"}).status_code == 401


@pytest.mark.parametrize("change", [{"is_staff": True}, {"is_superuser": True}, {"owner": "ada"}, {"username": "x"}])
def test_a_member_cannot_be_given_what_is_no_role(session: APIClient, change: dict[str, Any]) -> None:
    member("ada")
    assert session.put("/api/v1/members/ada", change, format="json").status_code == 400
    user = User.objects.get(username="ada")
    assert (user.is_staff, user.is_superuser) == (False, False)


def test_a_superuser_is_an_admin_whatever_members_say(session: APIClient) -> None:
    User.objects.create_superuser("root")
    assert session.put("/api/v1/members/root", {"role": "viewer"}, format="json").status_code == 409
    assert session.get("/api/v1/members/root").json()["role"] == Role.ADMIN


def test_everything_that_a_scope_could_be_is_a_scope() -> None:
    assert AccessToken._meta.get_field("scopes").get_default() == [scope.value for scope in TokenScope]


@pytest.mark.parametrize("address", ["/", "/incidents", "/scores", "/datasets/raw.trips", "/incidents/1"])
def test_strangers_are_sent_to_the_login_page(client: Client, db: None, address: str) -> None:
    answer = client.get(address)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/login?next={address}")


@pytest.mark.parametrize("scheme", ["Token", "Bearer"])
def test_a_password_becomes_a_token_that_opens_the_api(user: User, scheme: str) -> None:
    client = APIClient()
    basic = b64encode(b"grace:hopper").decode()
    token = client.post("/api/v1/auth/login", HTTP_AUTHORIZATION=f"Basic {basic}").json()["token"]
    client.credentials(HTTP_AUTHORIZATION=f"{scheme} {token}")
    assert (client.get("/api/v1/datasets").status_code, client.post("/api/v1/auth/logout").status_code) == (200, 204)
    assert client.get("/api/v1/datasets").status_code == 401


def test_probes_answer_anyone(client: Client, db: None) -> None:
    assert (client.get("/healthz").json(), client.get("/readyz").json()) == ({"status": "ok"}, {"status": "ok"})
    assert client.get("/metrics").status_code == 200


@pytest.mark.parametrize("name", ["assay.css", "icons.svg", "charts.js", "vendor/htmx.min.js"])
def test_static_files_are_served_without_being_collected_first(client: Client, db: None, name: str) -> None:
    answer = client.get(f"/static/web/{name}")
    assert answer.status_code == 200
    assert len(b"".join(answer)) > 100
