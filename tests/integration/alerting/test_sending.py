"""Sending: at least once, under one key, by every channel that reaches; and when it cannot be."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import timedelta

import pytest

from alerting.channels import channels
from alerting.models import Notice
from alerting.selectors import is_reachable
from alerting.services import tell
from assay.config import config
from assay.models import Category
from test_generator.models import Gap
from tests.factories import DAY, HOUR, NOW
from tests.integration.alerting.receivers import Received, mail_server, webhook
from tests.integration.story import advance, new_table, settle, start

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def _fresh_configuration() -> Iterator[None]:
    """What a test sets in the environment is read, and forgotten after."""
    config.cache_clear()
    yield
    config.cache_clear()


def use(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """Configure channels through the environment."""
    for name, value in variables.items():
        monkeypatch.setenv(f"ASSAY_{name.upper()}", value)
    config.cache_clear()


def say(key: str = "incident:1", recipient: str = "ada@example.org") -> None:
    """Tell one thing now."""
    tell(
        event="opened",
        recipient=recipient,
        subject=f"{key} fails",
        body="since noon\n",
        facts={"n": 1},
        key=key,
        now=NOW,
    )


def on(channel: str) -> Notice:
    """The one notice of a channel."""
    return Notice.objects.get(channel=channel)


def test_every_configured_channel_that_reaches_gets_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, email_url="smtp://127.0.0.1:9", webhook_url="http://127.0.0.1:9/")
    say(recipient="ada@example.org")
    say(recipient="team-trips")
    rows = set(Notice.objects.values_list("recipient", "channel"))
    assert [channel.name for channel in channels()] == ["log", "email", "webhook"]
    assert rows == {
        ("ada@example.org", "log"),
        ("ada@example.org", "email"),
        ("ada@example.org", "webhook"),
        ("team-trips", "log"),
        ("team-trips", "webhook"),
    }


def test_only_the_log_reaches_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_reachable("ada@example.org")
    use(monkeypatch, email_url="smtp://127.0.0.1:9")
    assert (is_reachable("ada@example.org"), is_reachable("ada")) == (True, False)


def test_a_webhook_is_signed_and_bears_the_key_of_its_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    with webhook(200) as received:
        use(monkeypatch, webhook_url=received.url, webhook_secret="s3cret")
        say()
        settle()
    (body,), (headers,) = received.bodies, received.headers
    assert headers["Idempotency-Key"] == on("webhook").key == "incident:1:opened:webhook:ada@example.org"
    assert headers["X-Assay-Signature"] == "sha256=" + hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    assert json.loads(body)["notices"] == [{"key": on("webhook").key, "n": 1}]


def test_a_receiver_that_is_down_is_tried_again_under_the_same_key(monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    with webhook(503, 500, 200) as received:
        use(monkeypatch, webhook_url=received.url)
        say()
        settle()
        assert (on("webhook").sent_at, on("webhook").failures) == (None, 1)
        advance(NOW + 3 * MINUTE)
    assert on("webhook").sent_at == NOW + 3 * MINUTE
    assert len({headers["Idempotency-Key"] for headers in received.headers}) == 1


@pytest.mark.parametrize(("status", "failures"), [(404, 1), (503, 10)])
def test_what_cannot_be_delivered_becomes_a_dead_letter(
    monkeypatch: pytest.MonkeyPatch, status: int, failures: int
) -> None:
    start()
    with webhook(status) as received:
        use(monkeypatch, webhook_url=received.url)
        say()
        advance(NOW + DAY)
    row = on("webhook")
    assert (len(received.bodies), row.failures) == (failures, failures)
    assert (row.sent_at, row.settled_at is None) == (None, False)
    assert str(status) in row.error
    assert on("log").sent_at == NOW


def test_what_one_recipient_is_told_at_one_instant_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    with webhook(200) as received:
        use(monkeypatch, webhook_url=received.url)
        for key, recipient in (("incident:1", "ada"), ("incident:2", "ada"), ("incident:3", "bob")):
            say(key, recipient)
        settle()
    subjects = sorted(json.loads(body)["subject"] for body in received.bodies)
    assert subjects == ["incident:1 fails (and 1 more)", "incident:3 fails"]
    assert Notice.objects.filter(sent_at=NOW).count() == 6


def test_the_same_thing_is_told_once() -> None:
    start()
    say()
    settle()
    say()
    settle()
    assert Notice.objects.count() == 1


def mailed(received: Received) -> str:
    """The only mail that arrived."""
    (body,) = received.bodies
    return body.decode()


def test_an_email_reaches_its_recipient(monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    with mail_server(250) as received:
        use(monkeypatch, email_url=received.url, email_from="assay@example.org")
        say()
        settle()
    assert "To: ada@example.org" in mailed(received)
    assert "Subject: incident:1 fails" in mailed(received)
    assert on("email").sent_at == NOW


@pytest.mark.parametrize(("code", "is_final"), [(550, True), (451, False)])
def test_a_mail_server_that_refuses_for_good_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, code: int, is_final: bool
) -> None:
    start()
    with mail_server(code) as received:
        use(monkeypatch, email_url=received.url)
        say()
        settle()
    assert (on("email").settled_at is not None, on("email").failures) == (is_final, 1)


def test_a_channel_that_is_not_configured_any_more_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    use(monkeypatch, webhook_url="http://127.0.0.1:9/")
    say()
    monkeypatch.delenv("ASSAY_WEBHOOK_URL")
    config.cache_clear()
    settle()
    assert "not configured" in on("webhook").error


def test_an_owner_hears_once_a_week_of_all_that_cannot_be_tested() -> None:
    start()
    for name in ("trips", "fares"):
        table = new_table(name=name)
        Gap.objects.create(
            dataset=table, category=Category.DUPLICATES, reason="no primary key", since=NOW, next_report_at=NOW
        )
    advance(NOW + 7 * DAY - HOUR)
    row = Notice.objects.get(event="gaps")
    assert row.recipient == "ada"
    assert "raw.fares" in row.body
    assert "raw.trips" in row.body
    advance(NOW + 7 * DAY)
    assert Notice.objects.filter(event="gaps").count() == 2
