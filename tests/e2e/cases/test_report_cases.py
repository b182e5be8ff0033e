"""What users claim, and what becomes of it."""

from datetime import timedelta

import pytest

from alerting.models import Notice
from assay import clock
from assay.catalog.profile import PartitionProfile
from assay.models import Dataset
from assay.time.windows import Granularity, Window
from incident_manager import services
from incident_manager.models import Incident, Report
from test_generator.services import write_data_test
from tests.e2e.cases.people import DAY, body, open_incident, said
from tests.e2e.scenario import Scenario, custom, dataset, flow, incidents, window
from tests.fakes import Row, rows

pytestmark = pytest.mark.django_db

TRIPS = "raw.trips"
MONDAY, TUESDAY = "2026-03-09", "2026-03-10"
FREE: list[Row] = [{**row, "fare": 0.0} for row in rows(100)]


def claim(asked: Window, name: str = TRIPS) -> Report:
    """A user says, now, that the data of a window is bad."""
    about = Dataset.objects.get(full_name=name)
    return services.report(
        dataset=about, window=asked, reporter="grace", description="Fares are zero.", now=clock.now()
    )


def both_days() -> Window:
    """Monday and Tuesday."""
    return Window(start=window(TRIPS, MONDAY).start, end=window(TRIPS, TUESDAY).end)


def heard(recipient: str) -> list[str]:
    """The last line of what somebody was told of reports, in the order of telling."""
    bodies = Notice.objects.filter(event="reported", channel="log", recipient=recipient).order_by("pk")
    return [body.strip().splitlines()[-1] for body in bodies.values_list("body", flat=True)]


def test_a_notice_of_a_report_says_its_window_as_all_notices_do(scenario: Scenario) -> None:
    two_days(scenario)
    claim(both_days())
    assert "about raw.trips, 2026-03-09 – 2026-03-10:\n" in body("reported", "trips")


def two_days(scenario: Scenario) -> Incident:
    """Monday has too few rows, Tuesday has rides for nothing: nobody tests that."""
    scenario.catalog(dataset(TRIPS), custom=[custom(TRIPS, "enough", "row_count() >= 100")])
    scenario.land(TRIPS, MONDAY, 50)
    scenario.land(TRIPS, TUESDAY, FREE, on="2026-03-11 00:00")
    scenario.until("2026-03-11 07:00")
    return open_incident(TRIPS)


def test_a_report_that_half_overlaps_an_incident_joins_it_and_opens_one_for_the_rest(scenario: Scenario) -> None:
    known = two_days(scenario)
    report = claim(both_days())
    assert list(report.joined.all()) == [known]
    assert report.incident is not None
    assert [row.window for row in report.incident.spoilt_windows.all()] == [window(TRIPS, TUESDAY)]
    assert (report.incident.kind, report.incident.owner) == ("reported", "trips")
    scenario.until("2026-03-11 07:01")
    assert heard("trips") == ["Please confirm, reject or fix it."]


def test_a_report_of_what_is_known_joins_that_and_opens_nothing(scenario: Scenario) -> None:
    two_days(scenario)
    report = claim(window(TRIPS, MONDAY))
    assert (report.state, report.incident, len(incidents())) == ("joined", None, 1)


def test_a_confirmed_report_blocks_until_the_test_that_was_missing_holds(scenario: Scenario) -> None:
    two_days(scenario)
    report = claim(window(TRIPS, TUESDAY))
    assert said(scenario.ask(TRIPS, TUESDAY)) == ("warn", {f"report {report.pk} is not confirmed yet"})
    table = Dataset.objects.get(full_name=TRIPS)
    missing = write_data_test(dataset=table, name="paid", assertion="mean(fare) > 0", author="ada", now=clock.now())
    services.confirm_report(report, author="ada", now=clock.now(), offered=missing)
    assert scenario.ask(TRIPS, TUESDAY).decision == "block"
    scenario.land(TRIPS, TUESDAY, 100, on="2026-03-11 09:00")
    scenario.until("2026-03-11 09:30")
    report.refresh_from_db()
    assert (report.state, incidents()[-1].resolution) == ("fixed", "fixed")
    assert scenario.ask(TRIPS, TUESDAY).decision == "allow"
    assert heard("grace") == ["ada says: confirmed.", "assay says: fixed."]


def test_a_report_of_two_days_is_not_fixed_while_one_of_them_is_bad(scenario: Scenario) -> None:
    two_days(scenario)
    scenario.land(TRIPS, MONDAY, 100, on="2026-03-11 08:00")
    scenario.until("2026-03-11 08:10")
    report = claim(both_days())
    missing = write_data_test(
        dataset=report.dataset, name="paid", assertion="mean(fare) > 0", author="ada", now=clock.now()
    )
    services.confirm_report(report, author="ada", now=clock.now(), offered=missing)
    scenario.until("2026-03-11 10:00")
    report.refresh_from_db()
    assert (report.state, scenario.ask(TRIPS, MONDAY).decision) == ("confirmed", "block")


def test_a_rejected_report_is_over_and_its_author_hears_so(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS))
    scenario.land(TRIPS, MONDAY, 100)
    scenario.until("2026-03-10 07:00")
    report = claim(window(TRIPS, MONDAY))
    services.reject_report(report, author="ada", now=clock.now(), reason="they were free indeed")
    scenario.until("2026-03-10 07:01")
    assert said(scenario.ask(TRIPS, MONDAY)) == ("allow", set())
    assert [incident.resolution for incident in incidents()] == ["rejected"]
    assert heard("grace") == ["ada says: rejected."]


def test_a_report_that_nobody_confirms_is_told_to_the_team_and_withdrawn_after_thirty_days(scenario: Scenario) -> None:
    monthly = PartitionProfile(column="month", granularity=Granularity.MONTH)
    scenario.catalog(dataset(TRIPS, partition=monthly, primary_key=(), team="riders"))
    scenario.land(TRIPS, "2026-03", 100)
    report, made_at = claim(window(TRIPS, "2026-03")), clock.now()
    scenario.until(made_at + 7 * DAY)
    assert heard("riders") == ["Nobody has answered this report for a week."]
    scenario.until(made_at + 30 * DAY - timedelta(minutes=1))
    assert (Report.objects.get().state, incidents()[0].resolution) == ("open", "")
    scenario.until(made_at + 30 * DAY)
    report.refresh_from_db()
    assert (report.state, incidents()[0].resolution) == ("withdrawn", "withdrawn")


def test_a_report_of_what_came_from_a_bad_upstream_waits_for_a_word_on_it(scenario: Scenario) -> None:
    enough = custom(TRIPS, "enough", "row_count() >= 100")
    scenario.catalog(dataset(TRIPS), dataset("raw.clean"), lineage=[flow(TRIPS, "raw.clean")], custom=[enough])
    for name in (TRIPS, "raw.clean"):
        scenario.land(name, MONDAY, 50)
    scenario.until("2026-03-10 10:00")
    report, known = claim(window(TRIPS, MONDAY), "raw.clean"), open_incident(TRIPS)
    assert (report.state, list(report.joined.all())) == ("open", [])
    services.join_report(report, known, author="ada", now=clock.now())
    report.refresh_from_db()
    assert (report.state, list(report.joined.all())) == ("joined", [known])
