"""Notices: what is written of each, sent at least once under one key by every channel that reaches, and the words."""

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
from structlog.testing import capture_logs

from alerting.channels import ChannelMessage, channel, channels, is_reachable
from alerting.models import Alert, Notice
from alerting.notices import send
from alerting.notices.operators import LONGEST, MOST_LISTED, report_gap, tell_of_pull
from alerting.notices.policy import Address, Event, Hush, NoticeStep, PlannedNotice
from alerting.notices.send import retry_after, send_due
from alerting.notices.services import addressees, write_down
from alerting.services import tell
from assay import clock
from assay.clock import database_now
from assay.config import config
from assay.models import Category, Dataset, Pull, Tallied
from assay.queue.claims import UnableToFinish, totals
from test_generator.models import Gap
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, NoticeFactory
from tests.integration.alerting.receivers import Received, mail_server, webhook
from tests.integration.story import advance, new_table, settle

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
SECURITY = Path(__file__).parents[3] / "docs" / "security.md"
SECOND = timedelta(seconds=1)


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
    with webhook(302) as received:
        use(monkeypatch, webhook_url=received.url)
        say()
        settle()
    assert "redirects are not followed" in on("webhook").error
    assert (on("webhook").settled_at, on("webhook").sent_at) == (NOW, None)


def test_the_key_of_a_recipient_with_strange_characters_is_a_header_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with webhook(200) as received:
        use(monkeypatch, webhook_url=received.url)
        say(recipient="Zoë\r\nX-Evil: 1")
        settle()
    (headers,) = received.headers
    assert headers["Idempotency-Key"] == "incident:1:opened:webhook:Zo%C3%AB%0D%0AX-Evil:%201"
    assert "X-Evil" not in headers


@pytest.mark.parametrize(("status", "failures"), [(404, 1), (503, 10)])
def test_what_cannot_be_delivered_becomes_a_dead_letter(
    monkeypatch: pytest.MonkeyPatch, status: int, failures: int
) -> None:
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
    with webhook(503, 500, 200) as received:
        use(monkeypatch, webhook_url=received.url)
        say_two_things()
        settle()
        assert set(Notice.objects.filter(channel="webhook").values_list("failures", "sent_at")) == {(1, None)}
        advance(NOW + 3 * MINUTE)
    keys = [headers["Idempotency-Key"] for headers in received.headers]
    assert (len(keys), len(set(keys)), len(set(received.bodies))) == (3, 1, 1)
    assert Notice.objects.filter(channel="webhook", sent_at=NOW + 3 * MINUTE).count() == 2


def test_a_message_whose_worker_died_once_it_was_taken_comes_again_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
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
    say()
    assert send_due() == 1
    assert leases[1] - leases[0] > timedelta(seconds=0.3)


def mailed(received: Received) -> str:
    """The only mail that arrived."""
    (body,) = received.bodies
    return body.decode()


def test_an_email_reaches_its_recipient(monkeypatch: pytest.MonkeyPatch) -> None:
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
    with mail_server(code) as received:
        use(monkeypatch, email_url=received.url)
        say()
        settle()
    assert (on("email").settled_at is not None, on("email").failures) == (is_final, 1)


def test_an_owner_hears_once_a_week_of_all_that_cannot_be_tested() -> None:
    gap(new_table())
    for ago, reports in ((HOUR, 1), (timedelta(), 2)):
        advance(NOW + 7 * DAY - ago)
        assert Notice.objects.filter(event="gaps", recipient="ada").count() == reports


@pytest.fixture(autouse=True)
def now() -> Iterator[None]:
    """Noon, with the configuration of the environment."""
    clock.simulate(NOW)
    config.cache_clear()
    yield
    config.cache_clear()


def due(key: str, **more: Any) -> Notice:
    """A notice that is due on the log."""
    given = {"channel": "log", "settled_at": None, "sent_at": None, "due_at": NOW, **more}
    row: Notice = NoticeFactory.create(key=key, subject=f"{key} fails", body=f"since {key}\n", **given)
    return row


def an_alert(dataset: Dataset | None = None, **more: Any) -> Alert:
    given = {"category": "custom", "owner": "ada", "opened_at": NOW, **more}
    return Alert.objects.create(dataset=dataset or DatasetFactory.create(), **given)


@pytest.mark.parametrize(
    ("failures", "minutes"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 60), (8, 60), (40, 60)]
)
def test_a_receiver_is_left_alone_twice_as_long_after_each_failure_up_to_an_hour(failures: int, minutes: int) -> None:
    assert retry_after(failures) == minutes * MINUTE


def test_only_what_is_due_and_not_settled_is_sent_and_no_more_than_was_asked_for() -> None:
    rows = {
        "first": due("first", due_at=NOW - HOUR),
        "second": due("second"),
        "third": due("third", recipient="bob"),
        "later": due("later", due_at=NOW + SECOND),
        "settled": due("settled", settled_at=NOW - DAY),
    }
    assert send_due(limit=2) == 2
    sent = {name for name, row in rows.items() if Notice.objects.get(pk=row.pk).sent_at}
    assert sent == {"first", "second"}
    assert send_due() == 1
    assert send_due() == 0
    assert totals()[Tallied.NOTICES] == {"logged": 3}
    row = Notice.objects.get(key="third")
    assert (row.sent_at, row.settled_at, row.error, row.lease_until, row.attempts) == (NOW, NOW, "", None, 0)


def test_what_went_out_with_another_goes_with_it_again_and_what_was_settled_does_not() -> None:
    due("a", sent_with="a", failures=1, error="busy")
    due("b", sent_with="a")
    due("c", sent_with="a", settled_at=NOW - HOUR)
    due("d", sent_with="z")
    due("e")
    with capture_logs() as logs:
        assert send_due() == 3
    assert set(Notice.objects.filter(sent_at=NOW).values_list("key", "sent_with", "error")) == {
        ("a", "a", ""),
        ("b", "a", ""),
        ("d", "d", ""),
        ("e", "e", ""),
    }
    sent = [entry["key"].partition(":")[0] for entry in logs if entry["log_level"] == "info" and entry.get("key")]
    assert sorted(sent) == ["d", "e", "group"]


def test_a_message_holds_the_facts_of_each_notice_under_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[ChannelMessage] = []
    log = channel("log")
    assert log is not None
    monkeypatch.setattr(type(log), "send", lambda _, message: sent.append(message))
    due("a", facts={"n": 1})
    due("b", facts={"n": 2})
    assert send_due() == 1  # the first of a message leads
    (message,) = sent
    assert (message.recipient, message.subject) == ("ada", "a fails (and 1 more)")
    assert message.body == "== a fails\nsince a\n\n== b fails\nsince b\n"
    assert sorted(message.facts, key=lambda fact: fact["key"]) == [{"key": "a", "n": 1}, {"key": "b", "n": 2}]
    assert message.key.startswith("group:")
    assert set(Notice.objects.values_list("sent_with")) == {("a",)}


def test_what_another_worker_has_claimed_since_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = due("a"), due("b")
    Notice.objects.filter(pk=second.pk).update(epoch=5)
    with pytest.raises(UnableToFinish) as lost:
        send._begin([first, second])
    assert str(lost.value) == f"notice {second.pk}: claimed again since epoch 0"
    Notice.objects.filter(pk=first.pk).update(epoch=7)
    with pytest.raises(UnableToFinish) as lost:
        send._begin([first])
    assert str(lost.value) == f"notice {first.pk}: claimed again since epoch 0"
    Notice.objects.update(lease_until=None, sent_with="")
    begin = send._begin

    def too_late(rows: Any) -> None:
        Notice.objects.update(epoch=9)
        begin(rows)

    monkeypatch.setattr(send, "_begin", too_late)
    with capture_logs() as logs:
        assert send_due() == 1
    (warning,) = [entry for entry in logs if entry["log_level"] == "warning"]
    assert (warning["event"], warning["stage"]) == ("lease lost", "send")
    assert (warning["key"].startswith("group:"), warning["why"].startswith("notice ")) == (True, True)
    assert not Notice.objects.filter(sent_at__isnull=False).exists()


def test_others_of_a_message_wait_under_the_lease_of_its_first() -> None:
    leader, other = due("a", attempts=1, lease_until=NOW), due("b", attempts=1, lease_until=NOW)
    send._begin([leader, other])
    leader.refresh_from_db()
    other.refresh_from_db()
    assert (other.sent_with, other.lease_until, other.attempts) == ("a", None, 0)
    assert (leader.sent_with, leader.attempts) == ("a", 1)
    assert leader.lease_until is not None
    assert leader.lease_until > database_now()


def test_a_failure_is_noted_and_the_notice_comes_again_or_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with webhook(503) as received:
        monkeypatch.setenv("ASSAY_WEBHOOK_URL", received.url)
        monkeypatch.setenv("ASSAY_WEBHOOK_PRIVATE", "true")
        config.cache_clear()
        rows = [due("again", channel="webhook", failures=8), due("dead", channel="webhook", failures=9, recipient="b")]
        with capture_logs() as logs:
            assert send_due() == 2
    again, dead = (Notice.objects.get(pk=row.pk) for row in rows)
    assert (again.failures, again.due_at, again.settled_at) == (9, NOW + HOUR, None)
    assert "503" in again.error
    assert (dead.failures, dead.due_at, dead.settled_at, dead.sent_at) == (10, NOW, NOW, None)
    assert "503" in dead.error
    assert totals()[Tallied.NOTICES] == {"dead": 1}
    (error,) = [entry for entry in logs if entry["log_level"] == "error"]
    assert (error["event"], error["notice"], error["alert"], error["failures"]) == (
        "notice given up",
        dead.pk,
        None,
        10,
    )
    assert (error["key"], error["error"]) == ("dead", dead.error)


def test_a_channel_that_is_gone_is_named() -> None:
    row = due("a", channel="webhook")
    send_due()
    row.refresh_from_db()
    assert row.error == "channel 'webhook' is not configured any more"
    assert (row.failures, row.settled_at, row.sent_at) == (1, NOW, None)


def test_what_is_told_is_written_once_a_channel_with_all_that_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = an_alert()
    for _ in range(2):
        tell(
            event="opened", recipient="ada", subject="s" * 301, body="b", facts={"n": 1}, key="k", now=NOW, alert=found
        )
    row = Notice.objects.get()
    assert (row.key, row.alert, row.event, row.channel) == ("k:opened:log:ada", found, "opened", "log")
    assert (row.recipient, row.subject, row.body, row.facts) == ("ada", "s" * 300, "b", {"n": 1})
    assert (row.created_at, row.due_at, row.settled_at, row.suppressed) == (NOW, NOW, None, "")


@pytest.mark.parametrize(
    ("step", "reason", "settled_at", "suppressed"),
    [(NoticeStep.SEND, None, None, ""), (NoticeStep.SUPPRESS, Hush.ALREADY_TOLD, NOW, "already told")],
)
def test_a_planned_notice_is_written_once_and_a_suppressed_one_is_settled_and_counted(
    step: NoticeStep, reason: Hush | None, settled_at: datetime | None, suppressed: str
) -> None:
    found = an_alert()
    planned = PlannedNotice(
        key="k", event=Event.OPENED, recipient="ada", channel="log", due_at=NOW - HOUR, step=step, reason=reason
    )
    for body in ("first", "second"):
        write_down(planned, alert=found, subject="s" * 301, body=body, facts={"n": 1}, now=NOW)
    row = Notice.objects.get()
    assert (row.key, row.alert, row.event, row.channel, row.recipient) == ("k", found, "opened", "log", "ada")
    assert (row.subject, row.body, row.facts) == ("s" * 300, "first", {"n": 1})
    assert (row.created_at, row.due_at, row.settled_at, row.suppressed) == (NOW, NOW, settled_at, suppressed)
    assert totals()[Tallied.NOTICES] == ({"suppressed": 1} if suppressed else {})


def test_who_was_told_of_an_alert_are_those_whose_notice_of_these_events_was_not_suppressed() -> None:
    found = an_alert()
    others: dict[str, dict[str, Any]] = {
        "ada": {},
        "bob": {"event": "downstream", "channel": "log"},
        "eve": {"event": "updated"},
        "joe": {"suppressed": "already told"},
        "kim": {"alert": an_alert()},
        "lee": {"alert": None},
    }
    for who, more in others.items():
        NoticeFactory.create(recipient=who, **{"alert": found, **more})
    wanted = {Address(recipient="ada", channel="email"), Address(recipient="bob", channel="log")}
    assert addressees(found, ["opened", "downstream"]) == wanted


def gap(dataset: Dataset, category: str = Category.DUPLICATES, **more: Any) -> Gap:
    given = {"reason": "no primary key", "since": NOW, "next_report_at": NOW, **more}
    return Gap.objects.create(dataset=dataset, category=category, **given)


def test_an_owner_reads_of_each_gap_what_stands_in_the_way_and_how_much_is_tested() -> None:
    trips, fares = DatasetFactory.create(name="trips"), DatasetFactory.create(name="fares")
    DataTestFactory.create(dataset=trips, origin="generated")
    DataTestFactory.create(dataset=DatasetFactory.create(owner="bob", tier=4), origin="generated")
    due_gap = gap(trips)
    rows = {
        "category": gap(trips, Category.COMPLETENESS, reason="no upstream"),
        "dataset": gap(fares),
        "closed": gap(fares, closed_at=NOW),
        "later": gap(fares, Category.CONSISTENCY, next_report_at=NOW + SECOND),
        "other owner": gap(DatasetFactory.create(owner="bob")),
        "template": gap(fares, Category.CUSTOM, template="rows", next_report_at=None, mendable=False),
    }
    report_gap(due_gap, NOW)
    row = Notice.objects.get()
    assert row.key == "gaps:2026w11:gaps:log:ada"
    assert (row.event, row.recipient, row.created_at) == ("gaps", "ada", NOW)
    assert row.subject == "4 standard tests cannot be written for your datasets"
    assert row.facts == {"owner": "ada", "gaps": 4}
    assert row.body == (
        "Assay cannot write these standard tests; each line gives the reason:\n"
        "\n"
        "- raw.fares, consistency: no primary key\n"
        "- raw.fares, duplicates: no primary key\n"
        "- raw.trips, completeness: no upstream\n"
        "- raw.trips, duplicates: no primary key\n"
        "\n"
        "Coverage of your datasets:\n"
        "\n"
        "- tier 2: 1 of 5 standard tests are live (20%); the target is 90%\n"
        "No channel but the log reaches ada: no notice can reach them.\n"
    )
    next_reports = {name: Gap.objects.get(pk=row.pk).next_report_at for name, row in rows.items()}
    week = NOW + 7 * DAY
    assert next_reports == {
        "category": week, "dataset": week, "closed": NOW, "later": NOW + SECOND, "other owner": NOW, "template": None
    }  # fmt: skip
    assert Gap.objects.get(pk=due_gap.pk).next_report_at == week


def test_a_gap_that_was_closed_is_reported_no_more() -> None:
    gap(trips := DatasetFactory.create())
    row = gap(trips, closed_at=NOW)
    report_gap(row, NOW)
    assert Gap.objects.get(pk=row.pk).next_report_at is None
    assert not Notice.objects.exists()


@pytest.mark.parametrize(("gaps", "more"), [(MOST_LISTED, ""), (MOST_LISTED + 2, "- and 2 more\n")])
def test_of_many_gaps_the_first_fifty_are_listed(gaps: int, more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMAIL_URL", "smtp://127.0.0.1:9")
    config.cache_clear()
    trips = DatasetFactory.create(owner="ada@example.org")
    row = [gap(trips, reason=f"reason {n}") for n in range(gaps)][-1]
    report_gap(row, datetime.fromisoformat("2027-01-01T00:00:00+00:00"))
    found = Notice.objects.get(channel="email")
    assert found.key.startswith("gaps:2026w53:")
    assert found.body.count(": reason ") == 50
    assert f"{more}\nCoverage" in found.body
    assert "No channel" not in found.body


def pull(**more: Any) -> Pull:
    given = {"due_at": NOW + HOUR, "tell_at": NOW, **more}
    return Pull.objects.create(**given)


def test_on_call_is_told_that_the_catalog_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CATALOG_PATH", "/srv/catalog")
    config.cache_clear()
    row = pull(failing_since=NOW - HOUR, told_since=NOW - DAY, fault="line 3: no name")
    tell_of_pull(row, NOW)
    said = Notice.objects.get()
    assert said.key == "pull:20260310T110000:failing:platform:log:platform-on-call"
    assert (said.event, said.recipient, said.created_at) == ("platform", "platform-on-call", NOW)
    assert said.subject == "Assay cannot read the catalog"
    assert said.body == (
        "Assay reads /srv/catalog on a schedule, and refused it:\n\nline 3: no name\n\n"
        "What is known of its tables stays as it was. Assay reads it again at 2026-03-10 13:00 UTC.\n"
    )
    assert said.facts == {"fault": "catalog unreadable", "since": "2026-03-10T11:00:00+00:00", "is_over": False}
    row.refresh_from_db()
    assert (row.tell_at, row.told_since) == (None, NOW - HOUR)


def test_on_call_is_told_that_the_catalog_can_be_read_again_if_it_was_told_that_it_could_not() -> None:
    row = pull(told_since=NOW - DAY)
    tell_of_pull(row, NOW)
    said = Notice.objects.get()
    assert said.key == "pull:20260309T120000:over:platform:log:platform-on-call"
    assert said.subject == "Assay reads the catalog again"
    assert said.body == "The fault that began at 2026-03-09 12:00 UTC is over.\n"
    assert said.facts == {"fault": "catalog unreadable", "since": "2026-03-09T12:00:00+00:00", "is_over": True}
    row.refresh_from_db()
    assert (row.tell_at, row.told_since) == (None, None)
    Pull.objects.all().delete()
    unheard = pull()
    tell_of_pull(unheard, NOW)
    unheard.refresh_from_db()
    assert unheard.tell_at is None
    assert Notice.objects.count() == 1


@pytest.mark.parametrize(("length", "said"), [(LONGEST, "x" * LONGEST), (LONGEST + 1, "x" * LONGEST + " …")])
def test_a_long_fault_is_cut(length: int, said: str) -> None:
    tell_of_pull(pull(failing_since=NOW, fault="x" * length), NOW)
    assert f"refused it:\n\n{said}\n\n" in Notice.objects.get().body
