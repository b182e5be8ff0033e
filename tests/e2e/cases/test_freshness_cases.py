"""Whether a partition came in time."""

from datetime import timedelta

import pytest

from assay.catalog.profile import SlaProfile
from assay.time.windows import Granularity
from tests.e2e.scenario import Scenario, at, custom, dataset, flow, incidents, notices, runs, spoilt, standing, state

pytestmark = pytest.mark.django_db

FRESHNESS = "raw.trips/freshness"
VOLUME = "raw.trips/volume"
HOURLY = dataset("raw.trips", granularity=Granularity.HOUR, slas=SlaProfile(freshness=timedelta(minutes=30)))
ENOUGH = custom("raw.trips", "volume", "row_count() >= 100")


def test_an_on_time_table_whose_run_is_evaluated_20_seconds_after_it_was_due_is_fresh(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"))
    scenario.land("raw.trips", "2026-03-09", 100, on="2026-03-10 05:59:50")
    scenario.stall("2026-03-10 06:00:20")
    scenario.until("2026-03-10 12:00")
    (run,) = runs(FRESHNESS, "2026-03-09", "schedule")
    assert (run.outcome, run.measured_at) == ("held", at("2026-03-10 06:00:20"))
    assert state(FRESHNESS, "2026-03-09") == "PASS"


def test_a_partition_missing_when_it_is_due_warns_and_after_the_sustain_period_fails(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"))
    scenario.until("2026-03-10 05:59:59")
    assert state(FRESHNESS, "2026-03-09") == "UNTESTED"
    scenario.until("2026-03-10 06:00")
    assert state(FRESHNESS, "2026-03-09") == "WARN"
    scenario.until("2026-03-10 09:59:59")
    assert (state(FRESHNESS, "2026-03-09"), incidents()) == ("WARN", [])
    scenario.until("2026-03-10 10:00")
    assert state(FRESHNESS, "2026-03-09") == "FAIL"
    (incident,) = incidents("raw.trips", "freshness")
    assert incident.detected_at == at("2026-03-10 10:00")
    assert spoilt("raw.trips") == [("freshness", "2026-03-09", "")]


def test_one_bad_hour_of_an_hourly_table_is_no_incident(scenario: Scenario) -> None:
    scenario.catalog(HOURLY, custom=[ENOUGH])
    for hour in range(9, 14):
        scenario.land("raw.trips", f"2026-03-09-{hour:02}", 20 if hour == 10 else 100, on=f"2026-03-09 {hour + 1}:10")
    scenario.until("2026-03-09 14:00")
    assert [state(VOLUME, f"2026-03-09-{hour:02}") for hour in (9, 10, 11)] == ["PASS", "WARN", "PASS"]
    scenario.land("raw.trips", "2026-03-09-10", 100)
    scenario.until("2026-03-09 16:00")
    assert (state(VOLUME, "2026-03-09-10"), incidents(), notices("opened")) == ("PASS", [], [])


def test_an_hourly_table_whose_every_hour_begins_bad_fails_though_each_hour_is_mended(scenario: Scenario) -> None:
    scenario.catalog(HOURLY, custom=[ENOUGH])
    for hour in range(9, 15):
        scenario.land("raw.trips", f"2026-03-09-{hour:02}", 20, on=f"2026-03-09 {hour + 1}:10")
        scenario.land("raw.trips", f"2026-03-09-{hour - 2:02}", 100)
    scenario.until("2026-03-09 15:30")
    assert [state(VOLUME, f"2026-03-09-{hour:02}") for hour in (9, 12, 13, 14)] == ["PASS", "PASS", "FAIL", "FAIL"]
    (incident,) = incidents()
    assert (incident.category, incident.detected_at) == ("custom", at("2026-03-09 14:30"))
    for hour in (13, 14, 15, 16):
        scenario.land("raw.trips", f"2026-03-09-{hour:02}", 100, on=f"2026-03-09 {max(hour, 15) + 1}:10")
    scenario.until("2026-03-09 18:00")
    (incident,) = incidents()
    assert incident.resolution == "auto"


def test_a_good_tuesday_does_not_heal_a_bad_monday(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"), custom=[ENOUGH])
    scenario.land("raw.trips", "2026-03-09", 20, on="2026-03-10 03:00")
    scenario.land("raw.trips", "2026-03-10", 100, on="2026-03-11 03:00")
    scenario.until("2026-03-11 12:00")
    assert (state(VOLUME, "2026-03-09"), state(VOLUME, "2026-03-10")) == ("FAIL", "PASS")
    (incident,) = incidents()
    assert (incident.resolution, spoilt("raw.trips")) == ("", [("volume", "2026-03-09", "")])


def test_an_early_trigger_on_part_of_the_data_gives_no_verdict_but_stops_the_gate(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.events"), dataset("raw.trips"), lineage=[flow("raw.events", "raw.trips")])
    scenario.land("raw.events", "2026-03-09", 100, on="2026-03-10 00:30")
    scenario.land("raw.trips", "2026-03-09", 40, on="2026-03-10 01:00")
    scenario.complete("raw.trips", "2026-03-09")
    (early,) = runs(FRESHNESS, "2026-03-09")
    assert (early.outcome, early.error_reason) == ("error", "not due")
    answer = scenario.ask("raw.trips", "2026-03-09")
    assert answer.decision == "block"
    assert {"not there yet", "completeness is broken (PENDING): no incident yet"} <= {
        reason.text for reason in answer.reasons
    }
    scenario.land("raw.trips", "2026-03-09", 100, on="2026-03-10 05:00")
    scenario.until("2026-03-10 12:00")
    assert (state(FRESHNESS, "2026-03-09"), state("raw.trips/completeness:raw.events", "2026-03-09")) == (
        "PASS",
        "PASS",
    )
    assert (incidents(), notices("opened"), notices("unknown")) == ([], [], [])


def test_a_broken_early_result_starts_its_sustain_period_when_the_window_is_due(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"), custom=[ENOUGH])
    scenario.land("raw.trips", "2026-03-09", 40, on="2026-03-10 01:00")
    scenario.complete("raw.trips", "2026-03-09")
    assert state(VOLUME, "2026-03-09") == "PENDING"
    scenario.until("2026-03-10 09:59")
    row = standing(VOLUME, "2026-03-09")
    assert row is not None
    assert (row.state, row.broken_since) == ("WARN", at("2026-03-10 06:00"))
    scenario.until("2026-03-10 10:00")
    assert state(VOLUME, "2026-03-09") == "FAIL"
