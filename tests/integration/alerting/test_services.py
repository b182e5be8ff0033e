"""Slack, PagerDuty, Teams and apprise, asked through servers that answer as their documentation says."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from alerting.channels import Channel, TransportError, channel
from alerting.models import Alert, Notice, Post
from alerting.notices.send import send_due
from alerting.services import tell
from alerting.state import WaiverScope
from assay.config import config
from assay.models import Category, DataTest
from incident_manager.models import Incident
from incident_manager.services import acknowledge, annotate, assign, force_resolve
from tests.factories import DAY, HOUR, NOW, day
from tests.integration.alerting.services import KEY, TOKEN, Anything, PagerDuty, SlackWorkspace, listening, refused
from tests.integration.story import advance, due, fail, feed, new_table, new_test, result, settle, start

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
MINUTE = timedelta(minutes=1)
GRACE = timedelta(hours=1)  # of tier 2
TOLD_AT = due(MONDAY) + GRACE


@pytest.fixture(autouse=True)
def _fresh_configuration() -> Iterator[None]:
    """What a test sets in the environment is read, and forgotten after."""
    config.cache_clear()
    yield
    config.cache_clear()


def use(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """Configure channels through the environment; the services are on this machine."""
    for name, value in {"webhook_private": "true", **variables}.items():
        monkeypatch.setenv(f"ASSAY_{name.upper()}", value)
    config.cache_clear()


@pytest.fixture
def slack(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlackWorkspace]:
    """A workspace that Assay may post to."""
    workspace = SlackWorkspace()
    with listening(workspace) as url:
        use(monkeypatch, slack_token=TOKEN, slack_url=url)
        yield workspace


@pytest.fixture
def pager(monkeypatch: pytest.MonkeyPatch) -> Iterator[PagerDuty]:
    """A service of PagerDuty that has the name of the tables' owner."""
    service = PagerDuty()
    with listening(service) as url:
        use(monkeypatch, pagerduty_keys=json.dumps({"#trips": KEY}), pagerduty_url=f"{url}enqueue")
        yield service


def broken(**more: Any) -> tuple[Any, Incident]:
    """A test without a sustain period that fails on Monday; the owner was told."""
    test = new_test(dataset=new_table(owner="#trips", **more), sustain=timedelta())
    start(due(MONDAY))
    incident = fail(test, MONDAY)
    advance(TOLD_AT)
    return test, incident


def three_fail() -> list[DataTest]:
    """Tests of three tables of one owner, who is told of all at once."""
    tests = [new_test(dataset=new_table(owner="#trips"), sustain=timedelta()) for _ in range(3)]
    start(due(MONDAY))
    for test in tests:
        fail(test, MONDAY)
    advance(TOLD_AT)
    return tests


def through(name: str) -> Channel:
    found = channel(name)
    assert found is not None
    return found


def header(message: dict[str, Any]) -> str:
    """The first header of a message."""
    return str(message["blocks"][0]["text"]["text"])


def on(name: str, event: str = "opened") -> Notice:
    """The notice of a channel."""
    return Notice.objects.get(channel=name, event=event)


def test_one_message_follows_an_incident_from_its_opening_to_its_end(slack: SlackWorkspace) -> None:
    test, incident = broken()
    (message,) = slack.messages.values()
    assert header(message).startswith(f"{test.name} fails for 2026-03-09")
    annotate(incident, author="ada", eta=TOLD_AT + 2 * HOUR, now=TOLD_AT)
    acknowledge(incident, author="ada", now=TOLD_AT)
    annotate(incident, author="ada", root_cause="a full disk", now=TOLD_AT + MINUTE)
    advance(TOLD_AT + MINUTE)
    assert "ada works on it." in json.dumps(message["blocks"])
    assert "Root cause: a full disk" in json.dumps(message["blocks"])
    assert "Expected repair: 2026-03-10 09:00 UTC" in json.dumps(message["blocks"])
    result(test, MONDAY, "held", TOLD_AT + HOUR)
    assert header(message).startswith(f"{test.name} holds again for 2026-03-09")
    (first, reply) = slack.posts
    assert first is message
    assert (reply["thread_ts"], reply["text"]) == ("1710000000.000000", header(message))
    assert Post.objects.get().place == "C0TRIPS01/1710000000.000000"


def test_a_message_names_what_it_silences_though_that_began_to_fail_after_it_was_sent(slack: SlackWorkspace) -> None:
    table, below = new_table(owner="#trips"), new_table(owner="rita")
    feed(table, below)
    root, effect = (
        new_test(dataset=each, category=Category.DUPLICATES, sustain=timedelta()) for each in (table, below)
    )
    start(due(MONDAY))
    fail(root, MONDAY)
    advance(TOLD_AT)
    (message,) = slack.messages.values()
    fail(effect, MONDAY)
    advance(TOLD_AT + HOUR)
    assert f"{below.full_name} duplicates: {effect.name}: " in json.dumps(message["blocks"])
    assert Alert.objects.get(dataset=below).told_at is None


def test_whoever_is_asked_hears_it_though_their_message_is_only_changed(slack: SlackWorkspace) -> None:
    _, incident = broken()
    assign(incident, to="#trips", author="ada", now=TOLD_AT)
    settle()
    message = slack.posts[0]
    assert header(message).endswith("(custom, tier 2), assigned to you")
    assert [post["text"].endswith("assigned to you") for post in slack.posts[1:]] == [True]
    assign(incident, to="#fares", author="ada", now=TOLD_AT + MINUTE)
    advance(TOLD_AT + MINUTE)
    assert "#fares is asked to work on it." in json.dumps(message["blocks"])


def test_an_incident_that_a_user_ends_changes_the_message_as_well(slack: SlackWorkspace) -> None:
    _, incident = broken()
    force_resolve(incident, scope=WaiverScope.WINDOW, reason="the test is wrong", author="ada", now=TOLD_AT)
    settle()
    assert header(slack.posts[0]).partition(":")[0].endswith("for 2026-03-09 ended (false positive)")


def test_incidents_told_together_share_a_message_that_shows_where_each_stands(slack: SlackWorkspace) -> None:
    tests = three_fail()
    assert len(slack.posts) == 1
    result(tests[1], MONDAY, "held", TOLD_AT + HOUR)
    heads = [block["text"]["text"] for block in slack.posts[0]["blocks"] if block["type"] == "header"]
    assert [head.split()[1] for head in heads] == ["fails", "holds", "fails"]
    assert Post.objects.values("place").distinct().count() == 1


def test_a_worker_that_dies_before_it_knows_where_its_message_lives_posts_twice_at_most(
    slack: SlackWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = new_test(dataset=new_table(owner="#trips"), sustain=timedelta())
    start(due(MONDAY))
    fail(test, MONDAY)
    with monkeypatch.context() as dying:
        dying.setattr("alerting.notices.send.remember", lambda *_: sys.exit())
        with pytest.raises(SystemExit):
            advance(TOLD_AT)
    Notice.objects.filter(lease_until__isnull=False).update(lease_until=NOW - DAY)
    settle()
    assert [header(post) for post in slack.posts] == [header(slack.posts[0])] * 2
    Notice.objects.filter(channel="slack").update(settled_at=None, sent_at=None)  # as if it had died once more, later
    send_due()
    assert (len(slack.posts), len(slack.updates)) == (2, 1)
    assert Post.objects.get().place == "C0TRIPS01/1710000000.000001"


def test_a_message_that_somebody_deleted_is_posted_anew_with_all_that_it_held(slack: SlackWorkspace) -> None:
    test, _ = broken()
    slack.messages.clear()
    result(test, MONDAY, "held", TOLD_AT + HOUR)
    assert [header(post).split()[1] for post in slack.posts] == ["fails", "holds"]
    assert Post.objects.get().place == "C0TRIPS01/1710000000.000001"


def test_where_messages_may_not_be_changed_any_more_the_end_is_told_in_the_thread(slack: SlackWorkspace) -> None:
    test, _ = broken()
    slack.next_answers = [refused("edit_window_closed")]
    result(test, MONDAY, "held", TOLD_AT + HOUR)
    assert " holds again for 2026-03-09: " in header(slack.posts[1])
    assert slack.posts[1]["thread_ts"] == "1710000000.000000"
    assert on("slack", "recovered").sent_at == TOLD_AT + HOUR


def test_slack_asks_for_patience_and_gets_it(slack: SlackWorkspace) -> None:
    slack.next_answers = [(429, {"ok": False, "error": "ratelimited"}, {"Retry-After": "1800"})]
    broken()
    assert on("slack").due_at == TOLD_AT + 30 * MINUTE
    advance(TOLD_AT + 30 * MINUTE)
    assert on("slack").sent_at == TOLD_AT + 30 * MINUTE


@pytest.mark.parametrize(
    ("answer", "is_final"),
    [
        (refused("channel_not_found"), True),
        (refused("is_archived"), True),
        (refused("invalid_auth"), True),
        (refused("internal_error"), False),
        (refused("ratelimited"), False),
        ((503, {}, {}), False),
        ((200, {"ok": "what"}, {}), True),
    ],
)
def test_what_slack_says_decides_whether_to_try_again(slack: SlackWorkspace, answer: Any, is_final: bool) -> None:
    slack.next_answers = [answer]
    broken()
    assert (on("slack").settled_at is not None, on("slack").failures) == (is_final, 1)


def test_a_channel_that_slack_does_not_know_is_named_with_how_to_mend_it(slack: SlackWorkspace) -> None:
    slack.channels = frozenset()
    broken()
    assert "channel_not_found: correct the channel in the routes" in on("slack").error


def test_the_doctor_asks_slack_who_we_are_and_posts_nothing(
    slack: SlackWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    through("slack").try_out()
    use(monkeypatch, slack_token="xoxb-another")
    with pytest.raises(TransportError, match="invalid_auth: correct ASSAY_SLACK_TOKEN"):
        through("slack").try_out()
    assert slack.posts == []


def test_a_token_is_in_no_error(slack: SlackWorkspace) -> None:
    assert TOKEN not in repr(config())
    slack.next_answers = [(500, {}, {})]
    broken()
    assert TOKEN not in on("slack").error


def tell_trips(event: str, body: str, facts: dict[str, str]) -> None:
    tell(event=event, recipient="#trips", subject=HOSTILE, body=body, facts=facts, key="k", now=NOW)


HOSTILE = "<!channel> <@U012345> *bold* _x_ <https://evil.example|click> <img src=x onerror=alert(1)>"


def test_nothing_that_data_says_is_markup_in_slack(slack: SlackWorkspace) -> None:
    start()
    tell_trips("reported", f"{HOSTILE}\n" * 200, {"url": "javascript:alert(1)"})
    settle()
    (post,) = slack.posts
    assert "<" not in post["text"]
    assert (post["parse"], post["link_names"]) == ("none", False)
    types = {block["type"] for block in post["blocks"]}
    assert types == {"header", "rich_text"}  # the button of a URL that is none was left out
    assert post["blocks"][0]["text"]["type"] == "plain_text"


def test_pagerduty_triggers_acknowledges_and_resolves_under_one_key(pager: PagerDuty) -> None:
    test, incident = broken(tier=1)
    advance(TOLD_AT)
    acknowledge(incident, author="ada", now=TOLD_AT)
    settle()
    assert list(pager.alerts.values()) == ["acknowledged"]
    result(test, MONDAY, "held", TOLD_AT + HOUR)
    assert [event["event_action"] for event in pager.events] == ["trigger", "acknowledge", "resolve"]
    assert list(pager.alerts.values()) == ["resolved"]
    payload = pager.events[0]["payload"]
    assert (payload["severity"], payload["class"], payload["source"]) == ("error", "custom", test.dataset.full_name)
    assert [link["text"] for link in pager.events[0]["links"]] == ["Details", "Acknowledge", "Mute"]


@pytest.mark.parametrize(("tier", "severity"), [(0, "critical"), (2, "warning"), (5, "info")])
def test_the_severity_of_a_page_is_by_tier(pager: PagerDuty, tier: int, severity: str) -> None:
    test = new_test(dataset=new_table(owner="#trips", tier=tier), sustain=timedelta())
    start(due(MONDAY))
    fail(test, MONDAY)
    advance(due(MONDAY) + DAY)
    assert pager.events[0]["payload"]["severity"] == severity


def test_incidents_told_together_are_alerts_of_their_own_and_sent_again_no_others(pager: PagerDuty) -> None:
    three_fail()
    assert len(pager.alerts) == 3
    Notice.objects.filter(channel="pagerduty").update(settled_at=None, sent_at=None)
    send_due()
    assert (len(pager.events), len(pager.alerts)) == (6, 3)


def test_no_weekly_report_and_no_word_of_an_upstream_pages_anybody(pager: PagerDuty) -> None:
    start()
    for event in ("gaps", "downstream", "digest", "reported", "unknown"):
        tell_trips(event, "b", {})
    settle()
    assert pager.events == []


@pytest.mark.parametrize(
    ("answer", "is_final"), [((400, {"errors": ["no"]}, {}), True), ((429, {}, {}), False), ((500, {}, {}), False)]
)
def test_what_pagerduty_says_decides_whether_to_try_again(pager: PagerDuty, answer: Any, is_final: bool) -> None:
    pager.next_answers = [answer]
    broken()
    assert (on("pagerduty").settled_at is not None, on("pagerduty").failures) == (is_final, 1)


def test_the_doctor_finds_a_key_of_pagerduty_that_is_too_short(
    pager: PagerDuty, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, pagerduty_keys='{"trips": "short"}')
    with pytest.raises(TransportError, match="the key trips in ASSAY_PAGERDUTY_KEYS has not 32 characters"):
        through("pagerduty").try_out()
    assert pager.events == []


@contextmanager
def receiver(monkeypatch: pytest.MonkeyPatch, setting: str, path: str, scheme: str = "http") -> Iterator[Anything]:
    """A receiver of all that is sent to #trips by a setting of URLs."""
    service = Anything()
    with listening(service) as url:
        use(monkeypatch, **{setting: json.dumps({"#trips": url.replace("http", scheme, 1) + path})})
        yield service


def test_teams_gets_a_card_in_which_nothing_that_data_says_is_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    with receiver(monkeypatch, "teams_urls", "workflows/1?sig=s3cret") as teams:
        tell_trips(
            "opened", f"{HOSTILE} [x](https://evil.example)\n" * 900, {"url": "https://assay.example/datasets/a"}
        )
        settle()
    (message,) = teams.got
    assert len(json.dumps(message)) < 28_000
    (attachment,) = message["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    kinds = {item["type"] for container in card["body"] for item in container["items"]}
    assert (card["type"], card["version"], kinds) == ("AdaptiveCard", "1.4", {"RichTextBlock", "ActionSet"})


def test_a_workflow_of_teams_that_is_gone_is_a_dead_letter_without_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(monkeypatch, "teams_urls", "workflows/1?sig=s3cret") as teams:
        teams.status = 404
        broken()
    assert on("teams").settled_at is not None
    assert on("teams").error == "teams answered 404: is the workflow still there?"


def test_apprise_carries_a_notice_to_one_more_service(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(monkeypatch, "apprise_urls", "hook", "json") as service:
        broken()
    (got,) = service.got
    assert got["title"].endswith(" fails for 2026-03-09: " + on("apprise").facts["dataset"] + " (custom, tier 2)")
    assert on("apprise").sent_at == TOLD_AT


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("json://127.0.0.1/hook", "http is not permitted: use https"),
        ("jsons://127.0.0.1/hook", "not an address of the public Internet"),
        ("jsons://169.254.169.254/hook", "not an address of the public Internet"),
        ("syslog://", "take another service"),
        ("nothing of apprise", "none of its own"),
    ],
)
def test_apprise_may_not_go_where_no_channel_may(monkeypatch: pytest.MonkeyPatch, url: str, why: str) -> None:
    use(monkeypatch, webhook_private="false", apprise_urls=json.dumps({"#trips": url}))
    broken()
    assert why in on("apprise").error
    with pytest.raises(TransportError, match="apprise"):
        through("apprise").try_out()
