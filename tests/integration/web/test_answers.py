"""Links in messages: they lead to a page that asks, and a link alone neither acts nor tells."""

import re
from datetime import timedelta
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from django.test import Client

from alerting.alerts.texts import LIFE, LinkAction, UnableToFollow, followed, token
from alerting.models import Alert, Notice, Silence
from assay import clock
from assay.access import Role
from assay.models import AuditEntry, Dataset
from incident_manager.models import Incident
from tests.factories import DAY, HOUR, NOW, DatasetFactory, IncidentFactory, day
from tests.integration.story import advance, due, fail, new_test, start
from tests.integration.web.people import browser

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")


@pytest.fixture
def incident() -> Incident:
    """An open incident of ``raw.trips``, of ada's, at its time."""
    clock.simulate(NOW)
    return IncidentFactory.create(dataset=DatasetFactory.create(name="trips"))


def link(incident: Incident, answer: LinkAction = LinkAction.ACKNOWLEDGE) -> str:
    return f"/answer/{token(incident.alert_id or 0, answer, now=NOW)}"


class Form(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.action, self.fields = "", dict[str, str]()
        self.feed(re.sub(r"(?s)^.*<main|</main.*$", "", page))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.action = given.get("action") or ""
        elif tag == "input" and (name := given.get("name")):
            self.fields[name] = given.get("value") or ""


def test_a_link_shows_a_page_with_a_button_and_changes_nothing(incident: Incident) -> None:
    page = browser("ada", Role.OWNER).get(link(incident))
    assert (page.status_code, "Acknowledge custom of raw.trips?" in page.content.decode()) == (200, True)
    incident.refresh_from_db()
    assert (incident.acknowledged_at, AuditEntry.objects.count()) == (None, 0)


def test_the_button_acknowledges(incident: Incident) -> None:
    client = browser("ada", Role.OWNER)
    form = Form(client.get(link(incident)).content.decode())
    client.post(form.action, form.fields)
    incident.refresh_from_db()
    assert (incident.acknowledged_by, "ada works on it" in client.get(link(incident)).content.decode()) == ("ada", True)


def test_the_other_link_mutes_this_dataset_and_category_for_a_day(incident: Incident) -> None:
    client = browser("ada", Role.OWNER)
    form = Form(client.get(link(incident, LinkAction.MUTE)).content.decode())
    client.post(form.action, {**form.fields, "reason": "We repair it."})
    row = Silence.objects.get()
    assert (row.dataset, row.category, row.author, row.ends_at) == (incident.dataset, "custom", "ada", NOW + DAY)


@pytest.mark.parametrize("answer", LinkAction)
def test_who_is_not_signed_in_learns_nothing(incident: Incident, answer: LinkAction) -> None:
    true, made_up = (Client().get(address) for address in (link(incident, answer), "/answer/made-up"))
    assert [page.status_code for page in (true, made_up)] == [302, 302]
    for page in (true, made_up):
        assert page.headers["Location"].startswith("/login?next=/answer/")
        assert b"trips" not in page.content


def test_a_link_gives_no_right(incident: Incident) -> None:
    client = browser("eve")
    assert "You may see this incident, and not acknowledge it." in client.get(link(incident)).content.decode()
    assert client.post(f"/incidents/{incident.pk}/acknowledge").status_code == 403


def test_a_link_does_not_show_a_dataset_to_who_may_not_read_it(incident: Incident) -> None:
    Dataset.objects.filter(pk=incident.dataset_id).update(readers="ada")
    page = browser("eve", Role.OWNER).get(link(incident))
    assert (page.status_code, "Detected" in page.content.decode()) == (403, False)


@pytest.mark.parametrize("text", ["", "x", "a.b.c", "eyJhIjoxfQ", "%00", "ü" * 50, "x" * 5000])
def test_a_link_that_is_not_ours_leads_nowhere(incident: Incident, text: str) -> None:
    page = browser("ada", Role.OWNER).get(f"/answer/{text}")
    assert (page.status_code in (404, 410), "trips" in page.content.decode()) == (True, False)


def test_a_link_that_somebody_changed_leads_nowhere(incident: Incident) -> None:
    whole = token(incident.alert_id or 0, LinkAction.ACKNOWLEDGE, now=NOW)
    for place in range(len(whole)):
        changed = whole[:place] + ("A" if whole[place] != "A" else "B") + whole[place + 1 :]
        with pytest.raises(UnableToFollow):
            followed(changed, now=NOW)


def test_a_link_is_good_for_a_week(incident: Incident) -> None:
    client = browser("ada", Role.OWNER)
    clock.simulate(NOW + LIFE)
    assert client.get(link(incident)).status_code == 200
    clock.simulate(NOW + LIFE + timedelta(seconds=1))
    page = client.get(link(incident))
    assert (page.status_code, "older than 7 days" in page.content.decode()) == (410, True)


def test_an_incident_that_has_ended_has_no_button(incident: Incident) -> None:
    Incident.objects.update(resolved_at=NOW, resolution="auto")
    for answer in LinkAction:
        assert "This incident has ended" in browser(answer, Role.OWNER).get(link(incident, answer)).content.decode()


def test_an_incident_that_is_not_kept_any_more_is_told_so(incident: Incident) -> None:
    address = link(incident)
    Alert.objects.all().delete()
    page = browser("ada", Role.OWNER).get(address)
    assert (page.status_code, "no longer kept" in page.content.decode()) == (410, True)


def test_the_links_of_a_notice_lead_here() -> None:
    test = new_test(sustain=timedelta())
    start(due(MONDAY))
    fail(test, MONDAY)
    advance(due(MONDAY) + HOUR)
    links = Notice.objects.get(event="opened").facts["links"]
    client = browser("ada", Role.OWNER)
    for name, url in links.items():
        assert f"{name} custom of {test.dataset.full_name}?" in client.get(urlsplit(url).path).content.decode()
