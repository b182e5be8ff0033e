"""What each step of a report leaves in the rows: its own, its incident's, the timeline and the notices."""

from datetime import datetime

import pytest

from alerting.models import Notice
from assay.time.windows import Window
from incident_manager.models import Entry, Episode, Incident, Report, Resolution, SpoiltWindow
from incident_manager.reports import remind_report
from incident_manager.services import UnableToDecide, confirm_report, fix_report, reject_report, report
from tests.factories import DAY, HOUR, NOW, DatasetFactory, IncidentFactory, SpoiltWindowFactory, day

pytestmark = pytest.mark.django_db

MONDAY, TUESDAY, WEDNESDAY = day("2026-03-09"), day("2026-03-10"), day("2026-03-11")


@pytest.fixture
def row() -> Report:
    """Of ``raw.trips``, ada's of the team trips, by eve, now."""
    trips = DatasetFactory.create(name="trips")
    return report(dataset=trips, window=MONDAY, reporter="eve", description="fares are zero", now=NOW)


def notices(row: Report, step: str) -> list[tuple[str, str]]:
    found = Notice.objects.filter(key__contains=f"report:{row.pk}:{step}").order_by("pk")
    return [(notice.recipient, notice.body.splitlines()[-1]) for notice in found]


def entries(incident: Incident | None) -> list[tuple[str, str, str, datetime]]:
    rows = Entry.objects.filter(incident=incident).order_by("pk")
    return [(each.event, each.actor, each.text, each.at) for each in rows]


def test_a_new_report_is_an_incident_of_its_owner_that_is_softly_spoilt(row: Report) -> None:
    incident = Incident.objects.get()
    saved = Report.objects.get()
    assert (saved.state, saved.incident, saved.created_at, saved.closed_at) == ("open", incident, NOW, None)
    assert (saved.next_step_at, saved.window, saved.datacenter) == (NOW + 7 * DAY, MONDAY, "")
    assert (incident.kind, incident.open_key, incident.owner, incident.team) == (
        *("reported", f"report:{row.pk}", "ada", "trips"),
    )
    assert (incident.tier, incident.detected_at, incident.category) == (2, NOW, "custom")
    spoilt = SpoiltWindow.objects.get()
    assert (spoilt.window, spoilt.severity, spoilt.spoilt_at, spoilt.healed_at) == (MONDAY, "soft", NOW, None)
    assert [(each.opened_at, each.closed_at) for each in Episode.objects.all()] == [(NOW, None)]
    assert entries(incident) == [("reported", "eve", f"{row.saw}: fares are zero", NOW)]
    assert notices(row, "new") == [("ada", "Please confirm, reject or fix it.")]


def test_a_confirmed_report_is_hard_and_whoever_reported_it_hears(row: Report) -> None:
    confirm_report(row, author="ada", now=NOW + HOUR)
    saved = Report.objects.get()
    assert (saved.state, saved.decided_at, saved.decided_by) == ("confirmed", NOW + HOUR, "ada")
    assert (saved.next_step_at, saved.closed_at) == (None, None)
    assert SpoiltWindow.objects.get().severity == "hard"
    assert entries(saved.incident)[1:] == [("confirmed", "ada", "", NOW + HOUR)]
    assert [recipient for recipient, _ in notices(row, "confirmed")] == ["eve"]
    with pytest.raises(UnableToDecide, match=f"Report {row.pk} is confirmed: this needs one that is open."):
        confirm_report(row, author="ada", now=NOW + HOUR)


@pytest.mark.parametrize("how", ["rejected", "fixed"])
def test_a_decided_report_is_closed_with_its_incident_and_its_windows(row: Report, how: str) -> None:
    other = SpoiltWindowFactory.create(window=TUESDAY)
    at = NOW + HOUR
    if how == "rejected":
        reject_report(row, author="ada", now=at, reason="as planned")
    else:
        fix_report(row, author="ada", now=at)
    saved = Report.objects.get()
    assert (saved.state, saved.closed_at, saved.decided_by, saved.next_step_at) == (how, at, "ada", None)
    spoilt = SpoiltWindow.objects.get(incident=saved.incident)
    assert (spoilt.healed_at, spoilt.how) == (at, how)
    assert saved.incident is not None
    assert (saved.incident.resolved_at, saved.incident.resolution, saved.incident.open_key) == (at, how, None)
    assert [each.closed_at for each in Episode.objects.filter(incident=saved.incident)] == [at]
    other.refresh_from_db()
    assert other.healed_at is None
    said = Resolution(how).label.lower() + (": as planned" if how == "rejected" else "")
    assert entries(saved.incident)[1:] == [(how, "ada", "", at), ("resolved", "ada", said, at)]


def test_after_a_week_the_team_hears_and_after_thirty_days_the_report_is_withdrawn(row: Report) -> None:
    week = NOW + 7 * DAY
    remind_report(Report.objects.get(), week)
    assert Report.objects.get().next_step_at == NOW + 30 * DAY
    assert notices(row, "team") == [("trips", "Nobody has answered this report for a week.")]
    remind_report(Report.objects.get(), NOW + 30 * DAY)
    saved = Report.objects.get()
    assert (saved.state, saved.closed_at, saved.next_step_at) == ("withdrawn", NOW + 30 * DAY, None)
    assert saved.incident is not None
    assert (saved.incident.resolution, saved.incident.resolved_at) == ("withdrawn", NOW + 30 * DAY)
    assert entries(saved.incident)[-1][1:3] == ("assay", "withdrawn: nobody confirmed it")


@pytest.mark.parametrize(
    ("place", "healed", "kind", "window", "joins"),
    [
        ("", False, "detected", MONDAY, True),
        ("sea", False, "detected", MONDAY, True),
        ("phx", False, "detected", MONDAY, False),
        ("", True, "detected", MONDAY, False),
        ("", False, "reported", MONDAY, False),
        ("", False, "detected", TUESDAY, False),
    ],
)
def test_a_report_joins_only_what_tests_found_unhealed_on_its_windows_and_copies(
    place: str, healed: bool, kind: str, window: Window, joins: bool
) -> None:
    trips = DatasetFactory.create()
    incident = IncidentFactory.create(dataset=trips, kind=kind)
    SpoiltWindowFactory.create(
        incident=incident, dataset=trips, datacenter=place, window=window, healed_at=NOW if healed else None
    )
    made = report(dataset=trips, window=MONDAY, reporter="eve", description="bad", now=NOW, datacenter="sea")
    assert (list(made.joined.all()) == [incident], made.state) == (joins, "joined" if joins else "open")
    assert (made.closed_at, made.incident is None) == (NOW if joins else None, joins)


def test_a_second_report_of_the_same_fault_joins_the_first_which_grows_by_what_is_new(row: Report) -> None:
    wide = Window(start=MONDAY.start, end=TUESDAY.end)
    second = report(dataset=row.dataset, window=wide, reporter="bob", description="too", now=NOW + HOUR)
    assert (second.state, second.incident, list(second.joined.all())) == ("joined", None, [row.incident])
    assert [each.window for each in SpoiltWindow.objects.order_by("pk")] == [MONDAY, TUESDAY]
    assert entries(row.incident)[1:] == [("report joined", "bob", f"{second.saw}: too", NOW + HOUR)]
    elsewhere = report(dataset=row.dataset, window=WEDNESDAY, reporter="bob", description="new", now=NOW + HOUR)
    assert (elsewhere.state, elsewhere.joined.count()) == ("open", 0)
    confirm_report(row, author="ada", now=NOW + 2 * HOUR)
    assert [recipient for recipient, _ in notices(row, "confirmed")] == ["eve", "bob"]
