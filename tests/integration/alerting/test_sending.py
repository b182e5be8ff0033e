"""Sending: at least once, under one key, by every channel that reaches; and when it cannot be."""

import hashlib
import hmac
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from alerting.channels import channels, is_reachable
from alerting.models import Notice
from alerting.notices.send import send_due
from alerting.services import tell
from assay.config import config
from assay.models import Category
from test_generator.models import Gap
from tests.factories import DAY, HOUR, NOW
from tests.integration.alerting.receivers import Received, mail_server, webhook
from tests.integration.story import advance, new_table, settle, start

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
SECURITY = Path(__file__).parents[3] / "docs" / "security.md"


@pytest.fixture(autouse=True)
def _fresh_configuration() -> Iterator[None]:
    """What a test sets in the environment is read, and forgotten after."""
    config.cache_clear()
    yield
    config.cache_clear()


def use(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """Configure channels through the environment; the receivers are on this machine."""
    monkeypatch.setenv("ASSAY_WEBHOOK_PRIVATE", "true")
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
    at = headers["X-Assay-Timestamp"]
    assert abs(time.time() - int(at)) < 60
    assert headers["Idempotency-Key"] == on("webhook").key == "incident:1:opened:webhook:ada@example.org"
    signed = hmac.new(b"s3cret", f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    assert headers["X-Assay-Signature"] == f"sha256={signed}"
    assert json.loads(body)["notices"] == [{"key": on("webhook").key, "n": 1}]


def test_a_receiver_tells_our_messages_as_the_docs_say(monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    with webhook(200) as received:
        use(monkeypatch, webhook_url=received.url, webhook_secret="s3cret")
        say()
        settle()
    said: dict[str, Any] = {}
    exec(SECURITY.read_text().partition("```python\n")[2].partition("```")[0], said)
    (body,), (headers,) = received.bodies, received.headers
    is_ours, late = said["is_ours"], str(int(headers["X-Assay-Timestamp"]) - 301)
    assert is_ours(body, headers, b"s3cret")
    assert not is_ours(body, headers, b"another")
    assert not is_ours(body.replace(b"fails", b"holds"), headers, b"s3cret")
    assert not is_ours(body, headers | {"X-Assay-Timestamp": late}, b"s3cret")
    resigned = hmac.new(b"s3cret", f"{late}.".encode() + body, hashlib.sha256).hexdigest()
    old = {"X-Assay-Timestamp": late, "X-Assay-Signature": f"sha256={resigned}"}
    assert not is_ours(body, old, b"s3cret")


def test_a_receiver_at_a_private_address_is_refused_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    with webhook(200) as received:
        use(monkeypatch, webhook_url=received.url, webhook_private="false")
        say()
        settle()
        assert (on("webhook").failures, on("webhook").settled_at, received.bodies) == (1, None, [])
        assert "use https" in on("webhook").error
        use(monkeypatch, webhook_url=received.url)
        advance(NOW + 3 * MINUTE)
    assert on("webhook").sent_at == NOW + MINUTE


def test_a_redirect_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    with webhook(302) as received:
        use(monkeypatch, webhook_url=received.url)
        say()
        settle()
    assert "redirects are not followed" in on("webhook").error
    assert (on("webhook").settled_at, on("webhook").sent_at) == (NOW, None)


def test_the_key_of_a_recipient_with_strange_characters_is_a_header_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start()
    with webhook(200) as received:
        use(monkeypatch, webhook_url=received.url)
        say(recipient="Zoë\r\nX-Evil: 1")
        settle()
    (headers,) = received.headers
    assert headers["Idempotency-Key"] == "incident:1:opened:webhook:Zo%C3%AB%0D%0AX-Evil:%201"
    assert "X-Evil" not in headers


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


def say_two_things() -> None:
    """What one recipient gets in one message."""
    for key in ("incident:1", "incident:2"):
        say(key)


def test_a_message_that_was_refused_comes_again_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    with webhook(503, 200) as received:
        use(monkeypatch, webhook_url=received.url)
        say_two_things()
        settle()
        advance(NOW + MINUTE)
    keys = [headers["Idempotency-Key"] for headers in received.headers]
    assert (len(keys), len(set(keys)), len(set(received.bodies))) == (2, 1, 1)
    assert Notice.objects.filter(channel="webhook", sent_at=NOW + MINUTE).count() == 2


def test_a_message_whose_worker_died_once_it_was_taken_comes_again_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    with webhook(200) as received:
        use(monkeypatch, webhook_url=received.url)
        say_two_things()
        Notice.objects.filter(channel="log").delete()
        with monkeypatch.context() as dying:
            dying.setattr("alerting.notices.send._settle", lambda *_: sys.exit())
            with pytest.raises(SystemExit):
                send_due()
        assert send_due() == 0
        Notice.objects.filter(lease_until__isnull=False).update(lease_until=NOW - DAY)
        say("incident:3")
        settle()
    keys = [headers["Idempotency-Key"] for headers in received.headers]
    assert sorted(Counter(keys).values()) == [1, 2]
    assert len(set(received.bodies)) == 2
    assert Notice.objects.filter(channel="webhook", sent_at=NOW).count() == 3


@pytest.mark.django_db(transaction=True)
def test_a_receiver_that_takes_its_time_does_not_cost_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.queue.claims.INTERVAL", timedelta(seconds=0.1))
    leases: list[datetime] = []

    def deliver_slowly(*_: object) -> None:
        for wait in (0, 1):
            time.sleep(wait)
            leases.append(Notice.objects.get(lease_until__isnull=False).lease_until or NOW)

    monkeypatch.setattr("alerting.notices.send.deliver", deliver_slowly)
    start()
    say()
    assert send_due() == 1
    assert leases[1] - leases[0] > timedelta(seconds=0.3)


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
