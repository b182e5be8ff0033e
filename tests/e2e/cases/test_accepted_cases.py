"""What somebody has accepted or forced of some days does not come back by the weekly test of the whole table."""

import pytest

from alerting.state import WaiverScope
from assay import clock
from incident_manager.models import Saw
from incident_manager.services import report
from tests.e2e.cases.people import accept, force, open_incident, said, told
from tests.e2e.scenario import Scenario, data_test, dataset, flow, incidents, standing, state, window

pytestmark = pytest.mark.django_db

EVENTS, TRIPS, MART = "raw.events", "raw.trips", "mart.trips"
WHOLE = f"{TRIPS}/completeness:{EVENTS}:whole"
DAYS = [f"2026-03-{day:02}" for day in range(9, 16)]
WEDNESDAY, THURSDAY, SUNDAY = DAYS[2], DAYS[3], DAYS[6]


def week(scenario: Scenario, *, lacking: dict[str, int], until: str) -> None:
    """Events and trips of a week, a hundred a day but for some days; each lands when it is over."""
    tables = [dataset(name, primary_key=(), first=DAYS[0]) for name in (EVENTS, TRIPS, MART)]
    scenario.catalog(*tables, lineage=[flow(EVENTS, TRIPS), flow(TRIPS, MART, one_to_one=False)])
    for number, day in enumerate(DAYS):
        on = f"2026-03-{10 + number:02} 01:00"
        if on > until:
            break
        scenario.land(EVENTS, day, 100, on=on)
        scenario.land(TRIPS, day, lacking.get(day, 100))
        scenario.land(MART, day, 100)
    scenario.until(until)


def accepted_week(scenario: Scenario) -> None:
    """A fifth of Wednesday's trips are lost, and accepted on Thursday noon; on Monday the whole table is tested."""
    week(scenario, lacking={WEDNESDAY: 80}, until="2026-03-12 12:00")
    accept(open_incident(TRIPS, "completeness"))
    for number, day in enumerate(DAYS[3:]):
        for table in (EVENTS, TRIPS, MART):
            scenario.land(table, day, 100, on=f"2026-03-{13 + number} 01:00")


def test_accepted_rows_are_not_told_of_again_by_the_test_of_the_whole_table(scenario: Scenario) -> None:
    accepted_week(scenario)
    scenario.until("2026-03-16 12:00")
    assert (state(WHOLE), [each.resolution for each in incidents(TRIPS, "completeness")]) == ("PASS", ["accepted"])
    row = standing(WHOLE)
    assert row is not None
    assert row.sentence == (
        "row_count() / row_count(dataset='raw.events') = 0.971429, wanted between 0.995 and 1.005; "
        "without 1 window that was accepted or called a false positive: "
        "row_count() / row_count(dataset='raw.events') = 1, wanted between 0.995 and 1.005"
    )
    assert told("opened") == ["trips"]
    assert said(scenario.ask(TRIPS, SUNDAY))[0] == "allow"
    assert said(scenario.ask(TRIPS, WEDNESDAY))[0] == "warn"


def test_a_report_on_what_reads_accepted_rows_is_news_to_its_owner(scenario: Scenario) -> None:
    accepted_week(scenario)
    scenario.until("2026-03-16 12:00")
    claim = report(
        dataset=data_test(f"{MART}/freshness").dataset,
        window=window(MART, SUNDAY),
        reporter="eve",
        description="half of the trips cost nothing",
        saw=Saw.VALUES_WRONG,
        now=clock.now(),
    )
    assert (claim.state, list(claim.joined.all()), told("reported")) == ("open", [], ["trips"])


def test_rows_that_nobody_accepted_still_break_the_whole_table(scenario: Scenario) -> None:
    accepted_week(scenario)
    scenario.land(TRIPS, SUNDAY, 90, on="2026-03-16 01:30")
    scenario.until("2026-03-16 12:00")
    assert state(WHOLE) == "FAIL"
    assert [each.resolution for each in incidents(TRIPS, "completeness")] == ["accepted", ""]


def test_a_whole_table_that_was_found_broken_with_its_part_is_accepted_with_it_and_other_days_are_good(
    scenario: Scenario,
) -> None:
    week(scenario, lacking={SUNDAY: 80}, until="2026-03-16 11:00")
    assert state(WHOLE) == "FAIL"
    accept(open_incident(TRIPS, "completeness"))
    scenario.until("2026-03-16 11:05")
    assert state(WHOLE) == "PASS"
    assert said(scenario.ask(TRIPS, WEDNESDAY))[0] == "allow"
    assert said(scenario.ask(TRIPS, SUNDAY))[0] == "warn"
    assert [each.resolution for each in incidents(TRIPS, "completeness")] == ["accepted"]


def test_a_day_that_was_forced_as_a_false_positive_is_left_out_too(scenario: Scenario) -> None:
    week(scenario, lacking={WEDNESDAY: 80}, until="2026-03-12 12:00")
    force(open_incident(TRIPS, "completeness"), scope=WaiverScope.WINDOW)
    for number, day in enumerate(DAYS[3:]):
        for table in (EVENTS, TRIPS, MART):
            scenario.land(table, day, 100, on=f"2026-03-{13 + number} 01:00")
    scenario.until("2026-03-16 12:00")
    assert [each.resolution for each in incidents(TRIPS, "completeness")] == ["forced"]


def test_accepted_rows_that_come_after_all_leave_nothing_broken(scenario: Scenario) -> None:
    accepted_week(scenario)
    scenario.land(TRIPS, WEDNESDAY, 100, on="2026-03-16 04:00")
    scenario.until("2026-03-16 12:00")
    assert [each.resolution for each in incidents(TRIPS, "completeness")] == ["accepted"]
    assert said(scenario.ask(TRIPS, WEDNESDAY))[0] == "allow"


def test_a_part_of_accepted_rows_that_comes_unseen_is_counted_before_the_whole_table_fails(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenario.lake, "fingerprint", lambda table, part: None)  # as of a database
    accepted_week(scenario)
    scenario.land(TRIPS, WEDNESDAY, 90, on="2026-03-16 05:58")
    scenario.until("2026-03-16 06:30")
    assert state(WHOLE) == "PASS"
    scenario.until("2026-03-16 11:00")
    assert state(WHOLE) == "PASS"
    assert [each.resolution for each in incidents(TRIPS, "completeness")] == ["accepted"]
    assert said(scenario.ask(TRIPS, SUNDAY))[0] == "allow"


def test_rows_that_are_lost_beside_accepted_ones_that_come_break_the_whole_table(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenario.lake, "fingerprint", lambda table, part: None)
    accepted_week(scenario)
    scenario.land(TRIPS, WEDNESDAY, 90, on="2026-03-16 05:58")
    scenario.land(TRIPS, THURSDAY, 70)
    scenario.until("2026-03-16 11:00")
    assert state(WHOLE) == "FAIL"


def test_accepted_rows_that_come_when_the_whole_table_was_accepted_with_them_leave_nothing_worse(
    scenario: Scenario,
) -> None:
    week(scenario, lacking={SUNDAY: 80}, until="2026-03-16 11:00")
    accept(open_incident(TRIPS, "completeness"))
    scenario.land(TRIPS, SUNDAY, 100, on="2026-03-17 05:58")
    for hour in ("06:01", "07:30", "12:00"):
        scenario.until(f"2026-03-17 {hour}")
        assert (state(WHOLE), said(scenario.ask(TRIPS, SUNDAY))[0]) == ("PASS", "allow")
    assert [each.resolution for each in incidents(TRIPS, "completeness")] == ["accepted"]
