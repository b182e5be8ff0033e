"""Pages of admins: members, tokens, the audit, channels and the doctor; nobody else opens them."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from assay import accounts
from assay.access import Role
from assay.config import config
from assay.models import AccessToken, AuditEntry
from tests.integration.alerting.receivers import webhook
from tests.integration.web.people import browser, member
from web.doctor import examine

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    return browser("root", Role.ADMIN)


def page_of(reader: Client, address: str, **query: str) -> str:
    return reader.get(f"/{address}", query).content.decode()


def test_only_an_admin_sees_the_link_and_the_others_read_why_not(admin: Client) -> None:
    viewer = browser("fay")
    assert ('href="/admin"' in page_of(admin, "me"), 'href="/admin"' in page_of(viewer, "me")) == (True, False)
    answer = viewer.get("/admin")
    assert answer.status_code == 403
    assert "fay has the role viewer, and may not manage members" in answer.content.decode()


def test_a_member_gets_a_role_and_teams_and_is_shut_out(admin: Client) -> None:
    user = member("ann@example.org")
    admin.post(
        "/admin/members/ann@example.org",
        {"role": "owner", "teams": " trips\r\nrides, by night\r\n\r\n", "active": "on"},
    )
    is_now = accounts.member_as_json(User.objects.get(pk=user.pk))
    assert (is_now["role"], is_now["teams"], is_now["active"]) == ("owner", ["rides, by night", "trips"], True)
    answer = admin.post("/admin/members/ann@example.org?q=ann&page=2", {"role": "owner", "teams": "rides"})
    assert answer["Location"] == "/admin?q=ann&page=2"
    assert "Shut out" in page_of(admin, "admin", q="ann")
    entry = AuditEntry.objects.latest("pk")
    assert (entry.actor, entry.action) == ("root", "member.set")
    assert (entry.before, entry.after) == (
        {"teams": ["rides, by night", "trips"], "active": True},
        {"teams": ["rides"], "active": False},
    )


def test_a_superuser_stays_an_admin_and_an_unknown_role_is_refused(admin: Client) -> None:
    User.objects.create_superuser("sue")
    page = admin.post("/admin/members/sue", {"role": "viewer"}, follow=True).content.decode()
    assert "sue is a superuser, and so an admin: change that where Assay runs." in page
    page = admin.post("/admin/members/root", {"role": "king", "teams": "a\x07b"}, follow=True).content.decode()
    assert "Role: Select a valid choice." in page
    assert "Teams: " in page
    assert not AuditEntry.objects.exists()


def test_tokens_of_all_are_listed_and_revoked(admin: Client) -> None:
    for name in ("ann", "bob"):
        AccessToken.objects.create(member(name), name=f"of {name}")
    assert "of ann" not in page_of(admin, "admin/tokens", q="bob")
    row = AccessToken.objects.get(user__username="bob")
    answer = admin.post(f"/tokens/{row.token_key}/end")
    assert answer.headers["Location"] == "/admin/tokens"
    assert [token.name for token in AccessToken.objects.all()] == ["of ann"]


def test_the_audit_is_narrowed_and_goes_on_to_older_entries(admin: Client) -> None:
    member("ann")
    for number in range(60):
        origin = accounts.RequestOrigin(actor="bo" if number % 2 else "root", via="session")
        accounts.set_member(User.objects.get(username="ann"), teams=[f"team-{number}"], origin=origin)
    first = admin.get("/admin/audit")
    assert "team-58&quot;] → [&quot;team-59" in first.content.decode()
    older = admin.get(f"/admin/audit?{first.context['older']}")
    assert (len(first.context["rows"]), len(older.context["rows"]), older.context["older"]) == (50, 10, "")
    assert {entry.actor for entry, _ in admin.get("/admin/audit?actor=bo").context["rows"]} == {"bo"}
    for query in ("action=member.get", "kind=dataset", "key=bob"):
        assert "No entry is like that." in admin.get(f"/admin/audit?{query}").content.decode()


def test_a_test_message_really_goes_out_and_a_refusal_is_shown(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "<code>ASSAY_WEBHOOK_URL</code> sets it up" in page_of(admin, "admin/channels")
    pages = []
    for status in (200, 503):
        with webhook(status) as receiver:
            monkeypatch.setenv("ASSAY_WEBHOOK_URL", receiver.url)
            monkeypatch.setenv("ASSAY_WEBHOOK_PRIVATE", "true")
            config.cache_clear()
            answer = admin.post("/admin/channels/webhook/test", {"address": "trips"}, follow=True)
            pages.append(answer.content.decode())
            (body,) = receiver.bodies
    config.cache_clear()
    assert json.loads(body)["subject"] == "A test message of Assay"
    assert "webhook took the test message to trips." in pages[0]
    assert "The webhook answered 503" in pages[1]
    assert [entry.after for entry in AuditEntry.objects.order_by("pk")] == [
        {"address": "trips", "error": ""},
        {"address": "trips", "error": "the webhook answered 503"},
    ]


def test_a_message_to_no_address_or_over_no_channel_is_refused(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMAIL_URL", "smtp://mail.example.org")
    config.cache_clear()
    email = admin.post("/admin/channels/email/test", {"address": "ann"}, follow=True).content.decode()
    config.cache_clear()
    assert "write an address with an @" in email
    assert (
        "which is not set up: set ASSAY_SLACK_TOKEN"
        in admin.post("/admin/channels/slack/test", {"address": "#x"}, follow=True).content.decode()
    )


def test_the_doctor_answers_as_its_command_does_and_only_when_asked(admin: Client) -> None:
    assert admin.get("/admin/doctor").context["findings"] == []
    page = admin.post("/admin/doctor")
    assert [finding.check for finding in page.context["findings"]] == [finding.check for finding in examine()]
    assert "Run <code>assay sync FILE</code>" in page.content.decode()
