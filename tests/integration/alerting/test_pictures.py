"""Charts in messages: a mail brings its own, services fetch theirs, and no notice fails or waits for one."""

import email
import json
from collections.abc import Iterator
from datetime import timedelta
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from structlog.testing import capture_logs

from alerting.models import Alert, Notice
from alerting.notices import send
from assay.config import config
from assay.models import Dataset
from tests.factories import DAY, day
from tests.integration.alerting.receivers import Received, mail_server
from tests.integration.alerting.services import KEY, TOKEN, Anything, PagerDuty, SlackWorkspace, listening
from tests.integration.story import advance, due, new_table, new_test, result, start
from web.pages import incident_chart
from web.pages.incident_chart import picture_for

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
PUBLIC = "https://assay.example.org"


@pytest.fixture(autouse=True)
def _fresh_configuration() -> Iterator[None]:
    config.cache_clear()
    yield
    config.cache_clear()


def use(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """Configure channels through the environment; the services are on this machine."""
    for name, value in {"webhook_private": "true", "public_url": PUBLIC, **variables}.items():
        monkeypatch.setenv(f"ASSAY_{name.upper()}", value)
    config.cache_clear()


def broken(owner: str, **more: Any) -> Alert:
    """An alert of a test that fails on Monday; the owner was told."""
    table = new_table(name="trips", owner=owner, **more)
    test = new_test(dataset=table, name="paid", assertion="completeness(fare) >= 0.98", sustain=timedelta())
    start(due(MONDAY))
    result(test, MONDAY, "broken", due(MONDAY), reason="schedule", value=0.2, excess=0.78)
    advance(due(MONDAY) + DAY)
    return Alert.objects.get()


def mail_in(received: Received) -> EmailMessage:
    """The only mail that arrived."""
    (body,) = received.bodies
    mail = email.message_from_bytes(body, policy=default)
    assert isinstance(mail, EmailMessage)
    return mail


def image_of(message: dict[str, Any]) -> dict[str, Any]:
    """The only image among the blocks of a message in Slack."""
    (image,) = [block for block in message["blocks"] if block["type"] == "image"]
    return dict(image)


def path_of(address: str) -> str:
    assert address.startswith(f"{PUBLIC}/charts/")
    return address.removeprefix(PUBLIC)


@pytest.fixture
def slack(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlackWorkspace]:
    """A workspace that Assay may post to."""
    workspace = SlackWorkspace()
    with listening(workspace) as url:
        use(monkeypatch, slack_token=TOKEN, slack_url=url)
        yield workspace


def test_a_mail_brings_its_chart_with_words_for_who_sees_none_and_its_plain_text_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with mail_server(250) as received:
        use(monkeypatch, email_url=received.url)
        broken("ada@example.org")
    mail = mail_in(received)
    assert [part.get_content_type() for part in mail.walk()] == [
        *("multipart/related", "multipart/alternative", "text/plain", "text/html", "image/png")
    ]
    plain, page, image = [part for part in mail.walk() if not part.is_multipart()]
    assert plain.get_content().replace("\r\n", "\n") == Notice.objects.get(channel="email").body
    assert image.get_content()[:4] == b"\x89PNG"
    assert f'src="cid:{image["Content-ID"][1:-1]}" alt="raw.trips: custom #' in page.get_content()
    assert "Broken: 2026-03-09: 20 % (wanted at least 98 %)." in page.get_content()


def test_slack_shows_a_chart_that_it_fetches_without_a_login_at_an_address_that_only_we_make(
    slack: SlackWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as slow:
        slow.delattr(incident_chart, "png_of")  # the address alone is sent: nothing is drawn for it
        alert = broken("#trips")
    image = image_of(*slack.messages.values())
    assert "Broken: 2026-03-09: 20 % (wanted at least 98 %)." in image["alt_text"]
    address, stranger = path_of(image["image_url"]), Client()
    answer = stranger.get(address)
    assert (answer.headers["Content-Type"], answer.content[:4]) == ("image/png", b"\x89PNG")
    assert stranger.get(address.replace("/charts/", "/charts/x")).status_code == 404
    user = User.objects.create(username="#trips", is_active=False)  # who was shut out sees nothing from then on
    assert stranger.get(address).status_code == 404
    user.delete()
    Dataset.objects.filter(pk=alert.dataset_id).update(readers="team:money", owner="eve")
    assert stranger.get(address).status_code == 404
    monkeypatch.setattr(incident_chart, "LIFE", -DAY)
    Dataset.objects.filter(pk=alert.dataset_id).update(readers="")
    assert stranger.get(address).status_code == 404


def test_a_chart_that_slack_cannot_fetch_is_left_out(slack: SlackWorkspace) -> None:
    slack.fetches = False
    broken("#trips")
    (message,) = slack.messages.values()
    assert {block["type"] for block in message["blocks"]} == {"header", "rich_text", "actions"}
    assert Notice.objects.get(channel="slack").failures == 0


def test_without_a_public_address_the_text_stays_alone(slack: SlackWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, public_url="http://127.0.0.1:8000")
    broken("#trips")
    (message,) = slack.messages.values()
    assert "image" not in {block["type"] for block in message["blocks"]}


def test_pagerduty_and_teams_are_told_where_the_chart_is(monkeypatch: pytest.MonkeyPatch) -> None:
    pager, teams = PagerDuty(), Anything()
    with listening(pager) as url, listening(teams) as hook:
        use(monkeypatch, pagerduty_keys=json.dumps({"#trips": KEY}), pagerduty_url=f"{url}enqueue")
        use(monkeypatch, teams_urls=json.dumps({"#trips": f"{hook}workflows/1"}))
        broken("#trips")
    (event,), (card,) = pager.events, teams.got
    items = card["attachments"][0]["content"]["body"][0]["items"]
    (image,) = [item for item in items if item["type"] == "Image"]
    for address in (event["images"][0]["src"], image["url"]):
        assert Client().get(path_of(address)).status_code == 200


@pytest.mark.logs_a_failure
def test_a_chart_that_cannot_be_drawn_holds_no_notice_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(send, "CHART", "web.pages.incident_chart.gone")
    with mail_server(250) as received, capture_logs() as logs:
        use(monkeypatch, email_url=received.url)
        broken("ada@example.org")
    assert mail_in(received).get_content_type() == "multipart/alternative"
    assert "chart cannot be drawn" in {entry["event"] for entry in logs}


def test_who_may_not_read_the_values_gets_no_chart() -> None:
    alert = broken("#trips", readers="team:money")
    assert picture_for(alert.pk, "#trips") is not None
    assert picture_for(alert.pk, "eve") is None
