"""A session that ends while somebody types: the text is there after the login, and nobody meets a bare 405 page."""

import re
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, get_resolver

from alerting.alerts.texts import LinkAction, token
from incident_manager.models import Incident, Report
from tests.factories import NOW, DatasetFactory, DataTestFactory, IncidentFactory, new_business_metric
from web.access.logins import MOST, unseal
from web.pages.urls import urlpatterns

pytestmark = pytest.mark.usefixtures("db")
NAME = {"username": "grace", "password": "hopper"}
REPORT = {"start": "2026-03-09T00:00", "end": "2026-03-10T00:00", "saw": "rows missing", "description": "half 'of' it"}


@pytest.fixture
def incident() -> Incident:
    return IncidentFactory.create(dataset=DatasetFactory.create(name="trips"), root_cause="not known")


def hidden(page: str) -> dict[str, str]:
    fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page)
    return {name: unescape(value) for name, value in fields}


def logged_in(client: Client, page: str) -> str:
    answer = client.post("/login", hidden(page) | NAME, follow=True)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def test_what_was_typed_is_in_its_form_after_the_login_and_nothing_was_saved(
    client: Client, user: User, incident: Incident
) -> None:
    given = {"root_cause": "a </textarea> in the feed", "eta": "2026-03-11T09:00", "backfill": "", "text": "more soon"}
    login = client.post(f"/incidents/{incident.pk}/annotate", given)
    assert (login.status_code, "Log in, and you will find your text again" in login.content.decode()) == (401, True)
    page = logged_in(client, login.content.decode())
    assert "nothing was done: check your text below" in page
    for text in ("a </textarea> in the feed</textarea>", 'value="2026-03-11T09:00"', ">more soon</textarea>"):
        assert text in page
    incident.refresh_from_db()
    assert incident.root_cause == "not known"
    assert "in the feed" not in client.get(f"/incidents/{incident.pk}").content.decode()


@pytest.mark.parametrize(
    ("form", "given", "shown"),
    [
        ("accept", {"reason": "as it is"}, ['<details class="card" open><summary>Accept', "as it is</textarea>"]),
        (
            "force-resolve",
            {"reason": "wrong test", "scope": "test"},
            ["open><summary>False", "wrong test</textarea>", 'value="test" checked'],
        ),
        ("rerun", {}, ["press the button again"]),
        ("assign", {"to": 'o"neil'}, ['name="to"', 'value="o"neil"']),
    ],
)
def test_each_form_of_an_incident_is_shown_as_it_was_left(
    client: Client, user: User, incident: Incident, form: str, given: dict[str, str], shown: list[str]
) -> None:
    page = logged_in(client, client.post(f"/incidents/{incident.pk}/{form}", given).content.decode())
    assert [text for text in shown if text not in page] == []


def test_a_report_survives_a_wrong_password_too(client: Client, user: User, incident: Incident) -> None:
    login = client.post("/datasets/raw.trips/report", REPORT).content.decode()
    again = client.post("/login", hidden(login) | NAME | {"password": "wrong"}).content.decode()
    assert "do not match" in again
    page = logged_in(client, again)
    assert [text for text in REPORT.values() if text not in page] == []
    assert ("<option selected>rows missing" in page, Report.objects.exists()) == (True, False)


def test_a_silence_is_shown_as_it_was_left(client: Client, user: User) -> None:
    given = {"dataset": "raw.trips", "category": "freshness", "ends_at": "2026-03-12T00:00", "reason": "we move"}
    page = logged_in(client, client.post("/silences/new", given).content.decode())
    assert ([text for text in given.values() if text not in page], "<option selected>freshness" in page) == ([], True)


def test_a_form_that_is_refused_is_shown_as_it_was_left(pages: Client, incident: Incident) -> None:
    page = pages.post("/datasets/raw.trips/report", REPORT | {"end": "2026-03-01T00:00"}, follow=True)
    text = unescape(page.content.decode())
    assert ("must end after it starts" in text, "half 'of' it</textarea>" in text) == (True, True)


def test_no_secret_and_nothing_endless_lies_in_the_login_form(client: Client, user: User, incident: Incident) -> None:
    given = {"text": "kept", "api_token": "hush-hush", "password": "hush-hush", "csrfmiddlewaretoken": "hush"}
    sealed = unseal(hidden(client.post(f"/incidents/{incident.pk}/annotate", given).content.decode())["typed"])
    assert (sealed is not None and sealed["fields"]) == {"text": "kept"}
    long = client.post(f"/incidents/{incident.pk}/annotate", {"text": "x" * (MOST + 1)}).content.decode()
    assert len(long) < 5000
    assert "press the button again" in logged_in(client, long)


@pytest.mark.parametrize("sealed", ["", "nonsense", "eyJob21lIjoiLyJ9:1w0000:forged"])
def test_what_we_did_not_seal_is_not_shown(client: Client, user: User, incident: Incident, sealed: str) -> None:
    answer = client.post("/login", NAME | {"next": f"/incidents/{incident.pk}", "typed": sealed}, follow=True)
    assert (answer.status_code, "You were logged out" in answer.content.decode()) == (200, False)


def address(pattern: URLPattern, incident: Incident) -> str:
    known: dict[str, object] = {"name": "raw.trips", "pk": incident.pk, "action": "accept", "team": incident.team}
    known["token"] = token(incident.alert_id or 0, LinkAction.MUTE, now=NOW)
    if str(pattern.name) == "report-action":
        known["action"] = "confirm"
    if str(pattern.name) == "business-metric":
        known["name"] = new_business_metric(incident.dataset).full_name
    if "/tests/" in str(pattern.pattern):
        known["pk"] = (incident.dataset.data_tests.first() or DataTestFactory.create(dataset=incident.dataset)).pk
    given = {name: known[name] for name in pattern.pattern.regex.groupindex}
    return str(get_resolver().reverse(str(pattern.name), **given))


PAGES = [pattern for pattern in urlpatterns if pattern.name not in ("incident-chart", "sent-chart")]  # they are files


@pytest.mark.parametrize("pattern", PAGES, ids=lambda pattern: pattern.name)
@pytest.mark.parametrize("known", [True, False])
def test_no_address_of_the_pages_ends_at_a_bare_405(
    client: Client, user: User, incident: Incident, pattern: URLPattern, known: bool
) -> None:
    if known:
        client.force_login(user)
    answer = client.get(f"/{address(pattern, incident)}".replace("//", "/"), follow=True)
    assert (answer.status_code, "<main" in answer.content.decode()) == (200, True)


def test_a_form_of_before_the_last_login_is_refused_by_a_page_that_says_what_to_do(
    user: User, incident: Incident
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    answer = client.post(f"/incidents/{incident.pk}/annotate", {"text": "mine", "csrfmiddlewaretoken": "old"})
    assert (answer.status_code, "Nothing was saved" in answer.content.decode()) == (403, True)
