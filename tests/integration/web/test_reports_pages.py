"""The inbox of reports, and the form of a problem: who sees what, what is known already, and what a decision does."""

from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from alerting.models import Notice
from assay.access import Role
from assay.models import AuditEntry, Dataset
from assay.time.windows import Window
from incident_manager import services
from incident_manager.models import Incident, Report, SpoiltWindow
from incident_manager.quality.rules import QualityStatus
from incident_manager.services import look_up
from tests.factories import NOW, DatasetFactory, NoticeFactory, ReportFactory, SpoiltWindowFactory, day
from tests.integration.story import feed
from tests.integration.web.people import browser

pytestmark = pytest.mark.django_db
SATURDAY, SUNDAY, MONDAY = day("2026-03-07"), day("2026-03-08"), day("2026-03-09")
PROBLEM, REPORT = "/datasets/raw.trips/problem", "/datasets/raw.trips/report"


@pytest.fixture
def trips(user: User) -> Dataset:
    return DatasetFactory.create(name="trips")


def text_of(pages: Client, address: str, **query: str) -> str:
    answer = pages.get(address, query)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def sent(pages: Client, address: str, **given: str) -> str:
    return unescape(pages.post(address, given, follow=True).content.decode())


def reported(trips: Dataset, window: Window = MONDAY, saw: str = "rows missing", reporter: str = "bo") -> Report:
    return services.report(dataset=trips, window=window, reporter=reporter, description="Half.", saw=saw, now=NOW)


def spoilt(dataset: Dataset, window: Window = MONDAY, **more: Any) -> Incident:
    incident: Incident = SpoiltWindowFactory.create(incident__dataset=dataset, window=window, **more).incident
    return incident


def claimed(incident: Incident) -> list[tuple[str, str]]:
    """The windows that an incident still holds bad, with their severity."""
    rows = incident.spoilt_windows.filter(healed_at=None).order_by("window_start")
    return [(f"{row.window_start:%d}", row.severity) for row in rows]


def test_a_problem_is_reported_by_opening_the_form_and_sending_it(pages: Client, trips: Dataset) -> None:
    shown = text_of(pages, PROBLEM)
    assert "<option selected>2026-03-09</option>" in shown
    assert "Nothing is known of this yet: ada will be told" in shown
    said = sent(pages, REPORT, saw="something else", first="2026-03-09", last="2026-03-09", description="")
    row = Report.objects.get()
    assert f"It is incident {row.incident_id} now. No channel but the log reaches ada: tell them yourself." in said
    assert (row.window, row.reporter, row.saw) == (MONDAY, "grace", "something else")


def test_a_report_of_several_partitions_is_of_all_of_them(pages: Client, trips: Dataset) -> None:
    sent(pages, REPORT, saw="late", first="2026-03-07", last="2026-03-09")
    assert Report.objects.get().window == Window(start=SATURDAY.start, end=MONDAY.end)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"first": "2026-03-09", "last": "2026-03-07"}, "must not be before the first"),
        ({"first": "yesterday", "last": ""}, "does not have the key format"),
        ({}, "Say of which time"),
        ({"start": "2026-03-09T00:00"}, "Say from when to when"),
        ({"start": "2026-03-09T00:00", "end": "2026-03-01T00:00"}, "must end after it starts"),
        ({"first": "2026-03-09", "of": "999"}, "There is no incident 999"),
    ],
)
def test_a_report_that_cannot_be_taken_says_why_and_keeps_the_note(
    pages: Client, trips: Dataset, given: dict[str, str], why: str
) -> None:
    said = sent(pages, REPORT, description="half 'of' it", **given)
    assert (why in said, "half 'of' it</textarea>" in said, Report.objects.exists()) == (True, True, False)


def test_a_table_without_partitions_is_reported_for_a_time(pages: Client, user: User) -> None:
    DatasetFactory.create(name="trips", partition_column="", granularity="")
    assert 'value="2026-03-10T12:00"' in text_of(pages, PROBLEM)
    sent(pages, REPORT, start="2026-03-09T12:00", end="2026-03-10T12:00")
    assert Report.objects.count() == 1


def test_what_is_known_of_the_chosen_partition_is_shown_while_one_chooses(pages: Client, trips: Dataset) -> None:
    incident = spoilt(trips, SUNDAY, incident__category="completeness")
    for recipient in ("ada", "bo"):
        NoticeFactory.create(alert=incident.alert, recipient=recipient, key=f"k-{recipient}")
    part = {"part": "known", "last": "2026-03-08"}
    answer = pages.get(PROBLEM, part | {"first": "2026-03-08"}, headers={"HX-Request": "true"})
    said = unescape(answer.content.decode())
    assert "<html" not in said
    assert f"Incident {incident.pk}</a>: completeness of raw.trips, open since" in said
    assert "a test found it; 2 people were told" in said
    other = pages.get(PROBLEM, {"first": "2026-03-09", "last": "2026-03-09", "part": "known"}).content.decode()
    assert "Nothing is known of this yet" in other


def test_this_is_it_joins_a_report_of_another_category_and_tells_its_owner_so(pages: Client, trips: Dataset) -> None:
    first = reported(trips, saw="rows missing")
    shown = text_of(pages, PROBLEM, saw="values wrong", first="2026-03-08", last="2026-03-09")
    assert "bo reported it; 0 people were told" in shown
    said = sent(pages, REPORT, saw="values wrong", first="2026-03-08", last="2026-03-09", of=str(first.incident_id))
    assert f"This is known already as incident {first.incident_id}" in said
    second = Report.objects.get(reporter="grace")
    assert (second.state, second.incident) == ("joined", None)
    assert first.incident is not None
    assert claimed(first.incident) == [("08", "soft"), ("09", "soft")]
    (notice,) = Notice.objects.filter(key__startswith=f"report:{second.pk}:known", channel="log")
    assert (notice.recipient, f"It was added to incident {first.incident_id}" in notice.body) == ("ada", True)


def test_this_is_it_of_what_a_test_found_still_tells_of_what_it_does_not_cover(pages: Client, trips: Dataset) -> None:
    incident = spoilt(trips)
    said = sent(pages, REPORT, saw="late", first="2026-03-08", last="2026-03-09", of=str(incident.pk))
    assert f"A part of this is known already as incident {incident.pk}" in said
    row = Report.objects.get()
    assert row.incident is not None
    assert claimed(row.incident) == [("08", "soft")]


def test_what_is_found_in_the_only_copy_is_known_of_all_of_them(pages: Client, trips: Dataset) -> None:
    incident = spoilt(trips, datacenter="sea")
    assert f"known already as incident {incident.pk}" in sent(pages, REPORT, first="2026-03-09")


def test_what_is_found_in_one_of_two_copies_is_shown_and_joined_only_by_who_says_so(pages: Client, user: User) -> None:
    incident = spoilt(DatasetFactory.create(name="trips", datacenters=("sea", "phx")), datacenter="phx")
    assert f"Incident {incident.pk}</a>" in text_of(pages, PROBLEM)
    assert f"Incident {incident.pk}</a>" not in text_of(pages, PROBLEM, datacenter="sea")
    assert "No channel but the log reaches ada" in sent(pages, REPORT, first="2026-03-09")
    said = sent(pages, REPORT, first="2026-03-09", saw="late", of=str(incident.pk))
    assert f"This is known already as incident {incident.pk}" in said


@pytest.mark.parametrize("resolved", [True, False])
def test_it_cannot_be_an_incident_that_is_over_or_of_another_table(
    pages: Client, trips: Dataset, resolved: bool
) -> None:
    other = spoilt(trips if resolved else DatasetFactory.create(name="else"))
    Incident.objects.filter(pk=other.pk).update(resolved_at=NOW if resolved else None)
    said = sent(pages, REPORT, first="2026-03-09", of=str(other.pk))
    assert f"Incident {other.pk} cannot be what is reported of raw.trips" in said
    assert not Report.objects.exists()


def test_incidents_of_data_that_one_may_not_see_are_not_told(trips: Dataset) -> None:
    secret = DatasetFactory.create(name="secret", readers="ada")
    feed(secret, trips)
    spoilt(secret)
    assert "raw.secret" not in text_of(browser("eve"), PROBLEM)
    assert "raw.secret" in text_of(browser("ada", Role.OWNER), PROBLEM)


def test_the_navigation_counts_what_waits_for_me(trips: Dataset) -> None:
    reported(trips)
    reported(DatasetFactory.create(name="teams", owner="zoe", team="fares"))
    reported(DatasetFactory.create(name="others", owner="zoe", team=""))
    for client, count in (
        (browser("ada", Role.OWNER), "1"),
        (browser("tim", Role.OWNER, "fares", ""), "1"),
        (browser("zoe", Role.OWNER, "fares"), "2"),
        (browser("eve"), None),
    ):
        shown = text_of(client, "/reports")
        assert ("wait for you" in shown) == (count is not None)
        assert count is None or f'title="reports that wait for you">{count}<' in shown


def test_filters_find_reports_and_pages_hold_fifty(pages: Client, trips: Dataset) -> None:
    ReportFactory.create_batch(51, dataset=trips)
    ReportFactory.create(dataset=DatasetFactory.create(name="fares", owner="zoe"), state="fixed", reporter="zoe")
    first = text_of(pages, "/reports")
    assert (first.count('<li class="card"'), "1 to 50 of 51" in first) == (50, True)
    fares = {"state": "all", "dataset": "FARES"}, {"state": "all", "owner": "ZOE"}, {"state": "fixed"}
    for query, count in (*((query, 1) for query in ({"page": "2"}, *fares)), ({"mine": "sent"}, 50)):
        assert text_of(pages, "/reports", **query).count('<li class="card"') == count, query
    assert "No report is like that" in text_of(pages, "/reports", mine="owned")


def test_the_inbox_hides_reports_of_data_that_one_may_not_see(trips: Dataset) -> None:
    reported(DatasetFactory.create(name="secret", readers="ada"))
    assert "raw.secret" not in text_of(browser("eve"), "/reports")


def test_a_viewer_reads_and_decides_nothing(trips: Dataset) -> None:
    row = reported(trips)
    viewer = browser("eve")
    assert "Confirm" not in text_of(viewer, "/reports")
    assert viewer.post(f"/reports/{row.pk}/confirm").status_code == 403


def test_a_confirmed_report_blocks_offers_the_missing_test_and_is_fixed(pages: Client, trips: Dataset) -> None:
    row = reported(trips)
    said = sent(pages, f"/reports/{row.pk}/confirm")
    assert f"Report {row.pk} is confirmed" in said
    assert f"/datasets/raw.trips/tests/new?report={row.pk}" in said
    assert look_up(dataset=trips, window=MONDAY, now=NOW).quality.status is QualityStatus.BAD
    said = sent(pages, f"/reports/{row.pk}/fix")
    assert f"Report {row.pk} is fixed; bo is told" in said
    assert AuditEntry.objects.filter(action__in=("report.confirm", "report.fix")).count() == 2
    assert f"Report {row.pk} is fixed: this needs one" in sent(pages, f"/reports/{row.pk}/fix")


def test_an_incident_that_no_test_has_a_word_on_names_its_dataset_once(pages: Client, trips: Dataset) -> None:
    incident = reported(trips).incident
    assert incident is not None
    head = text_of(pages, f"/incidents/{incident.pk}").partition('id="head"')[2].partition("<dl")[0]
    assert head.count("</a>") == head.count("raw.<wbr>trips") == 1


def test_a_rejection_needs_its_reason(pages: Client, trips: Dataset) -> None:
    row = reported(trips)
    assert "Reason: This field is required" in sent(pages, f"/reports/{row.pk}/reject")
    assert f"Report {row.pk} is rejected" in sent(pages, f"/reports/{row.pk}/reject", reason="It was a holiday.")
    assert row.incident is not None
    assert row.incident.timeline.filter(text="rejected: It was a holiday.").exists()


def test_a_report_joined_to_what_a_test_found_later_is_known_by_it(pages: Client, trips: Dataset) -> None:
    row = reported(trips)
    follower = reported(trips, reporter="zed")
    incident = spoilt(trips, incident__category="completeness")
    assert f'<option value="{incident.pk}">' in text_of(pages, "/reports")
    said = sent(pages, f"/reports/{row.pk}/join", incident=str(incident.pk))
    assert f"Report {row.pk} joined incident {incident.pk}" in said
    row = Report.objects.get(pk=row.pk)
    assert row.incident is not None
    assert (row.state, row.decided_by, row.incident.resolution) == ("joined", "grace", "withdrawn")
    assert (row.closed_at, row.next_step_at, claimed(row.incident)) == (NOW, None, [])
    assert incident in follower.joined.all()
    told = Notice.objects.filter(key__startswith=f"report:{row.pk}:joined", channel="log")
    assert sorted(told.values_list("recipient", flat=True)) == ["bo", "zed"]


def test_a_report_is_joined_to_what_a_test_found_upstream_where_it_has_a_bad_window_in_common(
    pages: Client, trips: Dataset
) -> None:
    row, source = reported(trips), DatasetFactory.create(name="source")
    feed(source, trips)
    found = spoilt(source, incident__category="duplicates")
    other = spoilt(source, SATURDAY, incident__category="freshness")
    shown = text_of(pages, "/reports")
    assert (f'<option value="{found.pk}">' in shown, f'<option value="{other.pk}">' in shown) == (True, False)
    assert f"Report {row.pk} joined incident {found.pk}" in sent(
        pages, f"/reports/{row.pk}/join", incident=str(found.pk)
    )


def test_what_a_test_has_not_found_still_waits_for_the_owner(pages: Client, trips: Dataset) -> None:
    row = reported(trips, Window(start=SATURDAY.start, end=MONDAY.end))
    incident = spoilt(trips, SUNDAY)
    assert "the rest still waits for you" in sent(pages, f"/reports/{row.pk}/join", incident=str(incident.pk))
    row = Report.objects.get(pk=row.pk)
    assert row.incident is not None
    assert (row.state, row.incident.resolved_at) == ("open", None)
    assert claimed(row.incident) == [("07", "soft"), ("09", "soft")]


def test_a_report_without_a_window_in_common_is_not_joined_to_what_a_test_found(pages: Client, trips: Dataset) -> None:
    row, incident = reported(trips), spoilt(trips, SATURDAY)
    assert "no bad window in common" in sent(pages, f"/reports/{row.pk}/join", incident=str(incident.pk))
    assert Report.objects.get(pk=row.pk).state == "open"


@pytest.mark.parametrize(("confirmed", "severity"), [(False, "soft"), (True, "hard")])
def test_a_claim_goes_over_to_the_report_that_it_joins(
    api: APIClient, trips: Dataset, confirmed: bool, severity: str
) -> None:
    first, second = reported(trips, SUNDAY), reported(trips, MONDAY, saw="values wrong", reporter="zed")
    if confirmed:
        services.confirm_report(first, author="ada", now=NOW)
    answer = api.post(f"/api/v1/reports/{second.pk}/join", {"incident": first.incident_id}, format="json")
    assert answer.status_code == 200, answer.content
    assert (answer.json()["state"], answer.json()["joined"]) == ("joined", [first.incident_id])
    assert first.incident is not None
    assert claimed(first.incident) == [("08", severity), ("09", severity)]
    services.fix_report(Report.objects.get(pk=first.pk), author="ada", now=NOW)
    assert not SpoiltWindow.objects.filter(healed_at=None).exists()
    assert Notice.objects.filter(recipient="zed", key__startswith=f"report:{first.pk}:fixed").exists()


def test_a_join_that_cannot_be_is_refused(api: APIClient, trips: Dataset) -> None:
    row = reported(trips)
    for incident in (row.incident_id, spoilt(DatasetFactory.create(name="else")).pk):
        answer = api.post(f"/api/v1/reports/{row.pk}/join", {"incident": incident}, format="json")
        assert (answer.status_code, "cannot be what is reported" in answer.json()["error"]) == (409, True)
    assert api.post(f"/api/v1/reports/{row.pk}/join", {"incident": 999}, format="json").status_code == 400
    services.confirm_report(row, author="ada", now=NOW)
    answer = api.post(f"/api/v1/reports/{row.pk}/join", {"incident": spoilt(trips).pk}, format="json")
    assert (answer.status_code, "needs one that is open" in answer.json()["error"]) == (409, True)
