"""Notices by routes: which channels they take, and how long soft ones wait."""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from alerting.channels import is_reachable, reached_by
from alerting.models import Notice
from alerting.notices.vigil import refuse_wrong_routes
from alerting.selectors import coverage_by_tier
from alerting.services import tell
from assay.config import config
from assay.models import Dataset, DataTest, Severity
from tests.factories import DAY, HOUR, NOW, day
from tests.integration.alerting.receivers import mail_server, webhook
from tests.integration.alerting.services import TOKEN, SlackWorkspace, listening
from tests.integration.story import advance, due, fail, feed, hushed, new_table, new_test, result, settle, start
from web.doctor import routes as looked_at

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")  # due on Tuesday at 06:00 UTC
TOLD_AT = due(MONDAY) + HOUR
ROUTES = """
default:
  channels: {email: rest@example.org}
teams:
  trips:
    channels: {slack: "#trips", email: trips@example.org}
    quiet_hours: {zone: America/Los_Angeles, from: "19:00", to: "08:00", days_off: [saturday, sunday]}
owners:
  eve: {channels: {email: eve@example.org}}
"""


@pytest.fixture(autouse=True)
def routed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A route file in force; Slack and a mail server are on this machine."""
    path = tmp_path / "routes.yaml"
    path.write_text(ROUTES)
    slack = SlackWorkspace()
    with listening(slack) as url, mail_server(250) as mail, webhook(200) as hook:
        settings = {"routes": str(path), "slack_token": TOKEN, "slack_url": url, "email_url": mail.url}
        settings |= {"webhook_private": "true", "webhook_url": hook.url}
        for name, value in settings.items():
            monkeypatch.setenv(f"ASSAY_{name.upper()}", value)
        config.cache_clear()
        yield path
    config.cache_clear()


def rewrite(path: Path, text: str) -> None:
    """The file with another text, of another time."""
    path.write_text(text)
    os.utime(path, ns=(1, hash(text) % 10**9 + 10**18))


def reached(recipient: str, team: str = "", **channels: str) -> dict[str, str]:
    """Addresses by channel, of the owner of a table of a team, whose catalog states ``channels``."""
    ways = reached_by(recipient, Dataset(team=team, channels=channels))
    return {reach.channel.name: reach.address for reach in ways}


def broken(severity: str) -> DataTest:
    """A test that fails when its window is due."""
    test = new_test(dataset=new_table(owner="ada", team="trips"), severity=severity, sustain=timedelta())
    start(due(MONDAY))
    fail(test, MONDAY)
    return test


def test_two_owners_behind_one_address_are_one_message_and_one_end() -> None:
    test = broken(Severity.HARD)
    feed(test.dataset, new_table(owner="bob", team="trips"))
    advance(TOLD_AT + DAY)
    result(test, MONDAY, "held", TOLD_AT + DAY)
    settle()
    for channel in ("slack", "email"):
        sent = Notice.objects.filter(channel=channel, sent_at__isnull=False).order_by("pk")
        assert list(sent.values_list("event", "recipient")) == [("opened", "ada"), ("recovered", "ada")]
    others = Notice.objects.filter(channel="slack", recipient="bob").order_by("pk")
    assert list(others.values_list("event", "suppressed")) == [
        ("downstream", "already told"),
        ("recovered", "never told of the incident"),
    ]


def test_an_owner_is_reached_by_the_channels_of_their_route_and_the_log_alone() -> None:
    assert reached("ada", "trips") == {"log": "", "slack": "#trips", "email": "trips@example.org"}
    assert reached("eve", "trips") == {"log": "", "email": "eve@example.org"}
    assert reached("joe@example.org", "rides") == {"log": "", "email": "rest@example.org"}


def test_the_address_that_a_catalog_states_of_a_table_comes_behind_the_routes_of_its_owner_and_team() -> None:
    assert reached("joe", "rides", slack="#rides") == {"log": "", "slack": "#rides"}
    assert reached("eve", "rides", slack="#rides") == {"log": "", "email": "eve@example.org"}
    assert reached("ada", "trips", slack="#rides")["slack"] == "#trips"


def test_a_stated_address_that_no_channel_reaches_is_passed_over() -> None:
    assert reached("joe", "rides", pagerduty="rides", email="joe") == {"log": "", "email": "rest@example.org"}
    assert reached("joe", "rides", pagerduty="rides", slack="#rides") == {"log": "", "slack": "#rides"}


def test_a_hard_test_and_its_recovery_are_told_in_the_night() -> None:
    test = broken(Severity.HARD)
    advance(TOLD_AT)
    sent = Notice.objects.filter(event="opened").values_list("channel", "address", "sent_at")
    assert set(sent) == {("log", "", TOLD_AT), ("slack", "#trips", TOLD_AT), ("email", "trips@example.org", TOLD_AT)}
    result(test, MONDAY, "held", TOLD_AT + HOUR)
    assert set(Notice.objects.filter(event="recovered").values_list("sent_at", flat=True)) == {TOLD_AT + HOUR}


def test_a_soft_test_waits_until_the_quiet_hours_end() -> None:
    broken(Severity.SOFT)
    morning = due(MONDAY) + 9 * HOUR  # 08:00 in Los Angeles
    advance(morning - timedelta(minutes=1))
    assert not Notice.objects.exists()
    advance(morning)
    assert set(Notice.objects.values_list("sent_at", flat=True)) == {morning}


def test_what_is_over_before_the_quiet_hours_are_is_told_to_nobody() -> None:
    test = broken(Severity.SOFT)
    result(test, MONDAY, "held", TOLD_AT + HOUR)
    advance(due(MONDAY) + DAY)
    assert hushed("opened") == [("ada", "within quiet hours")]
    assert hushed("recovered") == [("ada", "never told of the incident")]


def test_recovery_of_a_soft_test_waits_as_well() -> None:
    test = broken(Severity.SOFT)
    evening = due(MONDAY) + 24 * HOUR  # Tuesday 23:00 in Los Angeles
    result(test, MONDAY, "held", evening)
    advance(evening + DAY)
    assert set(Notice.objects.filter(event="recovered").values_list("sent_at", flat=True)) == {evening + 9 * HOUR}


def test_one_hard_test_that_fails_beside_soft_ones_is_enough() -> None:
    test = broken(Severity.SOFT)
    hard = new_test(dataset=test.dataset, severity=Severity.HARD, sustain=timedelta())
    fail(hard, MONDAY)
    advance(TOLD_AT)
    assert Notice.objects.filter(event="opened", sent_at=TOLD_AT).count() == 3


def test_a_changed_file_counts_from_the_next_notice_on_and_the_end_is_told_to_whom_was_told(routed: Path) -> None:
    test = broken(Severity.HARD)
    advance(TOLD_AT)
    rewrite(routed, "default: {channels: {email: new@example.org}}")
    result(test, MONDAY, "held", TOLD_AT + HOUR)
    told = Notice.objects.filter(event="recovered", suppressed="").values_list("channel", "address")
    assert set(told) == {("log", ""), ("slack", "#trips"), ("email", "new@example.org")}


@pytest.mark.logs_a_failure
def test_a_file_that_is_spoilt_later_leaves_the_last_good_one_in_force(routed: Path) -> None:
    assert reached("eve") == {"log": "", "email": "eve@example.org"}
    rewrite(routed, "owner: {}")
    assert reached("eve") == {"log": "", "email": "eve@example.org"}
    with pytest.raises(SystemExit, match=r"routes\.yaml:1: owner: found the unknown key"):
        refuse_wrong_routes()
    assert "routes.yaml:1: owner: found the unknown key" in looked_at().found


def test_the_doctor_finds_an_address_that_its_channel_cannot_reach(routed: Path) -> None:
    assert looked_at().is_well
    rewrite(routed, "teams:\n  a:\n    channels:\n      email: nobody\n      teams: trips\n      fax: x\n")
    found = looked_at().found.splitlines()
    assert [line.partition("routes.yaml")[2] for line in found] == [
        ":4: teams.a.channels.email: found 'nobody': write an address with an @.",
        ":5: teams.a.channels.teams: found the channel 'teams', which is not set up: set ASSAY_TEAMS_URLS.",
        ":6: teams.a.channels.fax: found the unknown channel 'fax': Known here: "
        "email, slack, pagerduty, teams, apprise, webhook.",
    ]


def test_coverage_counts_owners_whom_a_route_reaches(routed: Path) -> None:
    new_table(owner="ada", team="trips", tier=2)
    start()
    (tier,) = [tier for tier in coverage_by_tier(now=NOW) if tier.datasets]
    assert tier.reachable == 1
    rewrite(routed, "owners: {eve: {channels: {email: eve@example.org}}}")
    assert not is_reachable("nobody") or "webhook" in reached("nobody")


def test_on_call_has_a_route_too_and_never_waits() -> None:
    start(due(MONDAY))
    tell(event="platform", recipient="trips", subject="s", body="b", facts={}, key="k", now=due(MONDAY))
    settle()
    assert Notice.objects.filter(sent_at=due(MONDAY)).count() == 3
