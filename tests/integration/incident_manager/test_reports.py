"""Users' reports: joined, confirmed, rejected, fixed, forgotten."""

from datetime import timedelta
from typing import Any

import pytest

from alerting.models import Notice
from assay.time.windows import Window
from incident_manager.models import EntryKind, Incident, Report, ReportState
from incident_manager.services import (
    UnableToDecide,
    confirm_report,
    fix_report,
    gate,
    look_up,
    reject_report,
    reply,
    report,
)
from tests.factories import DAY, HOUR, day
from tests.integration.story import (
    advance,
    due,
    fail,
    feed,
    new_table,
    new_test,
    open_incidents,
    result,
    settle,
    start,
    told,
)

pytestmark = pytest.mark.django_db

MONDAY, TUESDAY = day("2026-03-09"), day("2026-03-10")
BOTH = Window(start=MONDAY.start, end=TUESDAY.end)


def reported(window: Window = MONDAY) -> Report:
    """A report on a table that nothing is known to be wrong with."""
    start(due(MONDAY))
    return report(dataset=new_table(), window=window, reporter="eve", description="fares are zero", now=due(MONDAY))


def test_the_known_half_of_a_report_joins_its_incident_and_the_rest_is_a_new_one() -> None:
    start(due(MONDAY))
    test = new_test(sustain=timedelta(0))
    incident = fail(test, MONDAY)
    row = report(dataset=test.dataset, window=BOTH, reporter="eve", description="bad", now=due(MONDAY))
    assert list(row.joined.all()) == [incident]
    assert row.incident is not None
    assert [spoilt.window for spoilt in row.incident.spoilt_windows.all()] == [TUESDAY]
    assert [each.kind for each in open_incidents()] == [EntryKind.DETECTED, EntryKind.REPORTED]


def test_an_upstream_incident_is_offered_and_swallows_no_report() -> None:
    start(due(MONDAY))
    test = new_test(sustain=timedelta(0))
    known = fail(test, MONDAY)
    consumer = new_table()
    feed(test.dataset, consumer)
    row = report(dataset=consumer, window=MONDAY, reporter="eve", description="city is always null", now=due(MONDAY))
    assert (row.state, list(row.joined.all())) == (ReportState.OPEN, [])
    assert gate(datasets=[consumer], window=MONDAY, now=due(MONDAY)).decision == "warn"
    settle()
    (notice,) = Notice.objects.filter(event="reported", channel="log")
    assert f"- incident {known.pk}: custom of {test.dataset}" in notice.body
    assert f"It may be one of these open incidents: {known.pk} (custom of {test.dataset})." in reply(row)


def test_an_incident_of_another_category_swallows_no_report() -> None:
    start(due(MONDAY))
    test = new_test(sustain=timedelta(0))
    fail(test, MONDAY)
    row = report(dataset=test.dataset, window=MONDAY, reporter="eve", description="late", saw="late", now=due(MONDAY))
    assert (row.state, list(row.joined.all())) == (ReportState.OPEN, [])


def test_the_owner_hears_of_a_report_that_is_known_already() -> None:
    start(due(MONDAY))
    test = new_test(sustain=timedelta(0))
    known = fail(test, MONDAY)
    report(dataset=test.dataset, window=MONDAY, reporter="eve", description="fares are zero", now=due(MONDAY))
    settle()
    assert told("reported") == ["ada"]
    (notice,) = Notice.objects.filter(event="reported", channel="log")
    assert f"It was added to incident {known.pk}, which a test found." in notice.body


def test_an_unconfirmed_report_warns_at_the_gate_and_spoils_nothing() -> None:
    row = reported()
    answer = gate(datasets=[row.dataset], window=MONDAY, now=due(MONDAY))
    found = look_up(dataset=row.dataset, window=MONDAY, now=due(MONDAY))
    assert (answer.decision, found.failed, found.quality.status) == ("warn", False, "reported")


def test_a_confirmed_report_blocks_until_it_is_fixed() -> None:
    row = reported()
    confirm_report(row, author="ada", now=due(MONDAY) + HOUR)
    ask: dict[str, Any] = {"datasets": [row.dataset], "window": MONDAY, "now": due(MONDAY) + HOUR}
    assert gate(**ask).decision == "block"
    fix_report(row, author="ada", now=due(MONDAY) + 2 * HOUR)
    assert gate(**ask).decision == "allow"
    assert Incident.objects.get().resolution == "fixed"


def test_a_rejected_report_is_over_and_its_reporter_hears() -> None:
    row = reported()
    reject_report(row, author="ada", reason="holiday", now=due(MONDAY) + HOUR)
    settle()
    assert open_incidents() == []
    assert told("reported") == ["ada", "eve"]
    with pytest.raises(UnableToDecide, match="rejected"):
        confirm_report(row, author="ada", now=due(MONDAY) + 2 * HOUR)


def test_a_report_is_fixed_once_its_missing_test_holds_on_all_that_it_claims() -> None:
    row = reported(BOTH)
    test = new_test(dataset=row.dataset)
    confirm_report(row, author="ada", offered=test, now=due(MONDAY) + HOUR)
    assert test.runs.filter(reason="manual").count() == 2
    result(test, MONDAY, "held", due(TUESDAY), reason="manual")
    row.refresh_from_db()
    assert row.state == ReportState.CONFIRMED
    result(test, TUESDAY, "held", due(TUESDAY) + HOUR, reason="manual")
    advance(due(TUESDAY) + 2 * HOUR)
    row.refresh_from_db()
    assert row.state == ReportState.FIXED


def test_the_team_hears_after_a_week_and_after_thirty_days_the_report_is_withdrawn() -> None:
    row = reported()
    advance(due(MONDAY) + 7 * DAY)
    assert told("reported") == ["ada", "trips"]
    advance(due(MONDAY) + 30 * DAY)
    row.refresh_from_db()
    assert (row.state, Incident.objects.get().resolution) == (ReportState.WITHDRAWN, "withdrawn")
