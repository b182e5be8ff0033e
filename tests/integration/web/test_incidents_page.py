"""The page of all incidents, and that of one."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from alerting.alerts.texts import text_of
from assay.access import Role
from assay.config import config
from assay.time.windows import Window
from execution_engine.runs.shown_results import Veil
from incident_manager.models import Incident
from incident_manager.tasks import end
from tests.factories import (
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    NoticeFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
)
from tests.integration.web.people import browser, member
from web.pages.incident import IncidentState, listed_incidents
from web.pages.incident_chart import GOOD_WINDOWS, series_of

pytestmark = pytest.mark.django_db


def incident(*, detected: int, resolved: int | None = None) -> Incident:
    """One that was detected, and perhaps resolved, so many hours ago."""
    ended = None if resolved is None else NOW - resolved * HOUR
    key = None if ended else f"{detected}"
    return IncidentFactory.create(detected_at=NOW - detected * HOUR, resolved_at=ended, open_key=key)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_incident_is_on_one_page_open_ones_first_then_those_resolved_last(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr("web.pages.incident.PAGE_SIZE", size)
    still_open = [incident(detected=5), incident(detected=90)]
    over = [incident(detected=80, resolved=1), incident(detected=3, resolved=2)]
    rows: list[Incident] = []
    for number in range(1, 5):
        page = listed_incidents(page=number)
        rows += page["rows"]
        assert (page["has_next"], page["open"]) == (len(rows) < 4, 2)
    assert rows == [*still_open, *over]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({"q": "trips"}, ["open", "taken", "healed"]),
        ({"q": "TRIPS ada"}, ["open", "taken", "healed"]),
        ({"q": "trips joan"}, []),
        ({"state": IncidentState.OPEN}, ["open", "other", "taken"]),
        ({"state": IncidentState.UNTAKEN}, ["open", "other"]),
        ({"state": IncidentState.MINE, "reader": "eve"}, ["taken"]),
        ({"state": IncidentState.MINE, "reader": "joan"}, []),
        ({"state": IncidentState.RESOLVED}, ["healed"]),
        ({"category": "freshness"}, ["other"]),
        ({"tier": 1}, ["open", "taken", "healed"]),
        ({"tier": 1, "state": IncidentState.OPEN, "q": "raw"}, ["open", "taken"]),
        ({"tier": 5}, []),
    ],
)
def test_incidents_are_found_by_what_they_are_of_and_how_they_stand(wanted: dict[str, Any], names: list[str]) -> None:
    trips = DatasetFactory.create(name="trips", tier=1)
    fares = DatasetFactory.create(name="fares", owner="joan", team="money")
    kinds: dict[str, dict[str, Any]] = {
        "open": {"dataset": trips, "detected_at": NOW - HOUR},
        "other": {"dataset": fares, "category": "freshness", "detected_at": NOW - 2 * HOUR},
        "taken": {"dataset": trips, "category": "schema", "detected_at": NOW - 3 * HOUR, "assigned_to": "eve"},
        "healed": {"dataset": trips, "open_key": None, "resolved_at": NOW, "resolution": "auto"},
    }
    rows = {name: IncidentFactory.create(**of) for name, of in kinds.items()}
    assert listed_incidents(**wanted)["rows"] == [rows[name] for name in names]


def test_the_filters_are_on_the_page_and_an_empty_list_says_why(pages: Client) -> None:
    assert "No incident so far." in pages.get("/incidents").content.decode()
    IncidentFactory.create(dataset=DatasetFactory.create(name="trips"))
    assert "raw.trips" in pages.get("/incidents?q=trips&state=open").content.decode()
    page = pages.get("/incidents?q=%3Cb%3Enothing&tier=x&state=odd").content.decode()
    assert ("No incident matches." in page, 'value="&lt;b&gt;nothing"' in page) == (True, True)
    part = pages.get("/incidents?q=trips", headers={"HX-Request": "true"}).content.decode()
    assert part.lstrip().startswith('<p id="found"')  # and the list


def test_a_wrong_end_of_a_waiver_is_told_and_what_was_typed_stays(pages: Client) -> None:
    address = reverse("incident-action", args=[SpoiltWindowFactory.create().incident.pk, "force-resolve"])
    typed = {"reason": "fares are in cents", "scope": "test", "until": "2020-01-01T00:00"}
    page = pages.post(address, typed, follow=True).content.decode()
    assert ("The end has passed" in page, "fares are in cents" in page) == (True, True)
    assert 'value="2020-01-01T00:00"' in page
    done = pages.post(address, {**typed, "until": ""}, follow=True).content.decode()
    assert "Resolved as a false positive." in done


def test_a_form_offers_whom_it_can_be_given_to_and_says_whether_they_are_told() -> None:
    incident = IncidentFactory.create(dataset=DatasetFactory.create(owner="joan", team="rides"))
    DatasetFactory.create(owner='o"neil')
    client = browser("ada", Role.ADMIN)
    for name, role, team in (("eve", Role.OWNER, "rides"), ("mia", Role.OWNER, "money"), ("vic", Role.VIEWER, "rides")):
        member(name, role, team)
    DatasetFactory.create(owner="<b>bob", missing_since=NOW)
    page = client.get(reverse("incident", args=[incident.pk])).content.decode()
    offered = page.partition('<datalist id="people">')[2].partition("</datalist>")[0]
    assert re.findall('value="(.*?)"', offered) == ["ada", "eve", "joan", "o&quot;neil"]
    address = reverse("incident-action", args=[incident.pk, "assign"])
    given = client.post(address, {"to": "<b>bob"}, follow=True).content.decode()
    assert "Saved: assigned to &lt;b&gt;bob, not told: no address is known." in given
    assert "<dd>&lt;b&gt;bob is asked, and has not taken it up yet</dd>" in given
    assert "is asked to work on it" in client.get("/incidents?state=open").content.decode()
    unknown = client.post(address, {"to": "Mr X"}, follow=True).content.decode()
    assert "Nobody is called &#x27;Mr X&#x27;: name a user" in unknown
    assert "Nothing to change" in client.post(address, {"to": "<b>bob"}, follow=True).content.decode()
    client.post(address, {"to": "ada"})
    assert f"#{incident.pk}" in client.get("/incidents?state=open, mine").content.decode()
    Incident.objects.filter(pk=incident.pk).update(resolved_at=NOW, open_key=None)
    assert "has ended at" in client.post(address, {"to": "eve"}, follow=True).content.decode()


def test_an_incident_of_many_windows_says_how_many_are_still_to_be_ended(pages: Client) -> None:
    incident = IncidentFactory.create()
    SpoiltWindowFactory.create_batch(30, incident=incident)
    accept = reverse("incident-action", args=[incident.pk, "accept"])
    page = pages.post(accept, {"reason": "lost"}, follow=True).content.decode()
    assert "It has many windows: the first are closed, and the others follow." in page
    assert "Accepted by grace: Assay is closing its windows one after the other; 18 are left." in page
    again = pages.post(accept, {"reason": "lost"}, follow=True)
    assert f"grace is ending incident {incident.pk}: 18 windows are left." in again.content.decode()
    told = pages.get(f"/api/v1/incidents/{incident.pk}").json()["ending"]
    assert (told["kind"], told["author"], told["windows_left"]) == ("accepted", "grace", 18)
    end()
    page = pages.get(reverse("incident", args=[incident.pk])).content.decode()
    assert ("Accepted by grace" in page, "Resolved" in page) == (False, True)
    assert pages.get(f"/api/v1/incidents/{incident.pk}").json()["ending"] is None


def words(page: str) -> str:
    """A page with one space wherever it has several or a line break."""
    return " ".join(page.split())


def logged(**more: Any) -> Incident:
    """An incident of which the log alone was told, and the page of ada, who may do all."""
    incident: Incident = IncidentFactory.create(dataset=DatasetFactory.create(name="trips", owner="joan"))
    NoticeFactory.create(alert=incident.alert, channel="log", recipient="joan", sent_at=NOW, settled_at=NOW, **more)
    return incident


def test_a_message_to_the_log_is_shown_as_one_that_reached_nobody(pages: Client) -> None:
    incident = logged()
    page = pages.get(reverse("incident", args=[incident.pk])).content.decode()
    assert "In the log alone" in page
    assert "No message has reached anybody." in page
    assert "Not reached: <b>joan</b> (in the log alone)" in words(page)
    NoticeFactory.create(alert=incident.alert, channel="email", recipient="joan", sent_at=NOW, key="k")
    page = pages.get(reverse("incident", args=[incident.pk])).content.decode()
    assert "No message has reached anybody" not in page
    assert ("Told: <b>joan</b> (email)." in words(page), "Not reached" in page) == (True, False)


def test_the_api_says_what_became_of_each_notice(api: APIClient) -> None:
    incident = logged()
    NoticeFactory.create(alert=incident.alert, channel="email", recipient="joan", sent_at=NOW, key="k")
    notices = api.get(f"/api/v1/incidents/{incident.pk}").json()["notices"]
    assert [(row["channel"], row["delivery"]) for row in notices] == [("log", "logged"), ("email", "sent")]


def test_a_link_of_an_incident_fills_the_form_of_a_mute(pages: Client) -> None:
    incident = logged()
    assert f"/silences?incident={incident.pk}#new-title" in pages.get(f"/incidents/{incident.pk}").content.decode()
    page = pages.get(f"/silences?incident={incident.pk}").content.decode()
    for filled in ('value="raw.trips"', 'value="2026-03-11T12:00"', f"Incident {incident.pk} is known."):
        assert filled in page
    assert '<option selected value="custom">' in page.replace(
        "<option selected>custom", '<option selected value="custom">'
    )
    assert '<option value="joan">' in page  # no name need be known by heart


def test_a_link_of_an_incident_opens_and_fills_the_form_of_an_override(pages: Client) -> None:
    incident = logged()
    SpoiltWindowFactory.create(incident=incident, window=day("2026-03-09"), dataset=incident.dataset)
    page = pages.get(f"/incidents/{incident.pk}").content.decode()
    address = f"/datasets/raw.trips?override=2026-03-09&amp;incident={incident.pk}#override"
    assert address in page
    form = pages.get(address.replace("&amp;", "&")).content.decode().partition('id="override"')[2]
    assert ('<details class="card below" open>' in form, 'value="2026-03-09"' in form) == (True, True)
    assert f"Incident {incident.pk} is known." in form
    of_no_window = pages.get(f"/datasets/raw.trips?override=&incident={incident.pk}").content.decode()
    assert f"Incident {incident.pk} is known." in of_no_window


def test_an_expected_repair_that_has_passed_is_refused(pages: Client) -> None:
    incident = logged()
    address = reverse("incident-action", args=[incident.pk, "annotate"])
    page = pages.post(address, {"eta": "2020-01-01T00:00", "root_cause": "a full disk"}, follow=True).content.decode()
    assert "2026-03-10 12:00 UTC</time>. Name a later time." in page
    assert "a full disk</textarea>" in page
    incident.refresh_from_db()
    assert (incident.eta, incident.root_cause) == (None, "")


def test_the_end_of_a_rerun_is_told_on_the_page(pages: Client, user: User) -> None:
    incident = logged()
    test = DataTestFactory.create(dataset=incident.dataset)
    SpoiltWindowFactory.create(incident=incident, window=day("2026-03-09"), dataset=incident.dataset, data_test=test)
    pages.post(reverse("incident-action", args=[incident.pk, "rerun"]))
    assert "0 of 1 run done" in pages.get(f"/incidents/{incident.pk}").content.decode()
    test.runs.update(judged_at=NOW, outcome="broken", value=0.91)
    page = words(pages.get(f"/incidents/{incident.pk}").content.decode())
    assert f"Run again by {user.username}: 0 of 1 hold since <time" in page
    assert "</time>; 2026-03-09 does not: 0.91.</p>" in page


def test_an_incident_its_line_in_the_list_and_its_notice_say_the_same_in_plain_words(pages: Client) -> None:
    incident, monday = logged(), day("2026-03-09")
    assertion = "completeness(fare) >= 0.98"
    test = DataTestFactory.create(dataset=incident.dataset, name="paid", assertion=assertion)
    found = {"sea": {"rows": 5, "newest_file": None}}
    said = "completeness(fare) = 0.2, wanted >= 0.98"
    run = RunFactory.create(data_test=test, window=monday, outcome="broken", findings=found, sentence=said, value=0.2)
    StandingFactory.create(data_test=test, window=monday, state="FAIL", last_run=run, sentence=said, value=0.2)
    SpoiltWindowFactory.create(incident=incident, window=monday, dataset=incident.dataset, data_test=test)
    title = "80 % of fare are empty on 2026-03-09 (at most 2 % may be)."
    page = pages.get(f"/incidents/{incident.pk}").content.decode()
    assert f"<h1>{title} <span" in page
    assert "<tr><td>rows</td><td>5</td></tr><tr><td>newest file</td><td>unknown</td></tr>" in page
    assert title in pages.get("/incidents").content.decode()
    assert title in pages.get(f"/datasets/{incident.dataset.full_name}?tab=days").content.decode()
    assert incident.alert is not None
    assert text_of(incident.alert).headline == title


def test_a_resolved_incident_asks_once_for_its_root_cause(pages: Client) -> None:
    incident = IncidentFactory.create(resolved_at=NOW, open_key=None, resolution="auto")
    address = f"/incidents/{incident.pk}"
    assert "What was its root cause?" in pages.get(address).content.decode()
    page = pages.post(f"{address}/annotate", {"root_cause": "nobody knows"}, follow=True).content.decode()
    assert ("What was its root cause?" in page, "<dd>nobody knows</dd>" in page) == (False, True)


def test_what_one_may_do_stands_before_all_else_and_not_where_nothing_can_be_done(pages: Client) -> None:
    incident = logged()
    page = pages.get(f"/incidents/{incident.pk}").content.decode()
    assert 0 < page.index("Run again now") < page.index("<h1>")
    Incident.objects.filter(pk=incident.pk).update(resolved_at=NOW, open_key=None)
    assert "Run again now" not in pages.get(f"/incidents/{incident.pk}").content.decode()


def drawn(*, hours_open: int = 5, **more: Any) -> Incident:
    """An incident of a test with two good windows and a bad one."""
    incident: Incident = IncidentFactory.create(
        dataset=DatasetFactory.create(name="trips", **more), detected_at=NOW - hours_open * HOUR
    )
    test = DataTestFactory.create(dataset=incident.dataset, name="paid", assertion="completeness(fare) >= 0.98")
    for key, outcome, value in (
        ("2026-03-07", "held", 1.0),
        ("2026-03-08", "held", 0.99),
        ("2026-03-09", "broken", 0.2),
    ):
        run = RunFactory.create(data_test=test, window=day(key), outcome=outcome, value=value)
    StandingFactory.create(data_test=test, window=day("2026-03-09"), state="FAIL", last_run=run, value=0.2)
    SpoiltWindowFactory.create(incident=incident, window=day("2026-03-09"), dataset=incident.dataset, data_test=test)
    return incident


def test_the_chart_of_an_incident_is_on_its_page_and_unfolds_with_a_link(pages: Client) -> None:
    incident = drawn()
    page = pages.get(f"/incidents/{incident.pk}").content.decode()
    assert ('<svg xmlns="http://www.w3.org/2000/svg" class="chart"' in page, ">opened</text>" in page) == (True, True)
    assert f'<meta property="og:image" content="{config().public_url}/incidents/{incident.pk}/chart.png">' in page
    assert '<meta property="og:title" content="80 % of fare are empty on 2026-03-09 (at most 2 % may be).">' in page


@pytest.mark.parametrize(
    ("form", "media_type", "begin"), [("svg", "image/svg+xml", b"<svg "), ("png", "image/png", b"\x89PNG")]
)
def test_the_chart_is_a_file_that_is_sent_once(pages: Client, form: str, media_type: str, begin: bytes) -> None:
    address = f"/incidents/{drawn().pk}/chart.{form}"
    answer = pages.get(address)
    assert (answer.headers["Content-Type"], answer.content[: len(begin)]) == (media_type, begin)
    again = pages.get(address, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_chart_begins_with_the_last_windows_before_the_first_bad_one() -> None:
    incident, monday = IncidentFactory.create(), day("2026-03-09")
    test = DataTestFactory.create(dataset=incident.dataset)
    SpoiltWindowFactory.create(incident=incident, window=monday, data_test=test)
    for age in range(GOOD_WINDOWS + 6):
        window = Window(start=monday.start - age * monday.duration, end=monday.end - age * monday.duration)
        for _ in range(2):  # runs of each
            RunFactory.create(data_test=test, window=window, outcome="held" if age else "broken")
    series = series_of(incident, Veil(NOW), NOW)
    assert series is not None
    assert [result.outcome for result in series.results] == ["held"] * GOOD_WINDOWS + ["broken"]


def test_who_may_not_read_the_page_gets_no_chart_and_what_no_test_found_has_none(pages: Client) -> None:
    hidden = drawn(readers="team:money")
    assert browser("vic", Role.VIEWER, "rides").get(f"/incidents/{hidden.pk}/chart.svg").status_code in (403, 404)
    assert pages.get(f"/incidents/{IncidentFactory.create().pk}/chart.svg").status_code == 404


def test_an_incident_of_the_past_says_so_on_pages_and_in_the_api(pages: Client, api: APIClient) -> None:
    past, current = IncidentFactory.create(is_past=True), IncidentFactory.create()
    words = "Found by a back-fill of the past: nobody was paged"
    shown = [words in pages.get(f"/incidents/{row.pk}").content.decode() for row in (past, current)]
    assert (shown, pages.get("/incidents").content.decode().count(words)) == ([True, False], 1)
    answer = api.get("/api/v1/incidents", {"is_past": "true"}).json()
    assert [(row["id"], row["is_past"]) for row in answer["results"]] == [(past.pk, True)]
    assert [row.pk for row in listed_incidents(state=IncidentState.OPENED_LATELY, since=NOW - 24 * HOUR)["rows"]] == [
        current.pk
    ]
