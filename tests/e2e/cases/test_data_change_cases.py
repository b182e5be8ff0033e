"""Data that is written again: late, twice, wrongly, all the time, or never more."""

from datetime import timedelta

import pytest

from assay import clock
from assay.catalog.profile import ReplicaProfile
from assay.catalog.services import record_completion
from assay.models import Dataset
from assay.time.windows import Granularity
from execution_engine.models import Run, RunReason, Watch
from execution_engine.services import request_run
from incident_manager.reruns import follow_change
from incident_manager.services import gate
from test_generator.services import retire
from tests.e2e.scenario import (
    Scenario,
    at,
    custom,
    data_test,
    dataset,
    flow,
    incidents,
    notices,
    runs,
    spoilt,
    state,
    window,
)
from tests.factories import revised
from tests.fakes import rows

pytestmark = pytest.mark.django_db

VOLUME = "raw.trips/volume"
COMPLETENESS = "raw.trips/completeness:raw.events"
ENOUGH = custom("raw.trips", "volume", "row_count() >= 100")
PAIR = (dataset("raw.events"), dataset("raw.trips"))
ONE_TO_ONE = [flow("raw.events", "raw.trips")]


def test_a_partition_rewritten_before_it_is_due_is_not_judged_by_the_early_measurement(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"), custom=[ENOUGH])
    scenario.land("raw.trips", "2026-03-09", 100, on="2026-03-10 02:00")
    scenario.complete("raw.trips", "2026-03-09")
    scenario.land("raw.trips", "2026-03-09", 20, on="2026-03-10 05:59:59")
    scenario.until("2026-03-10 06:00")
    (due,) = runs(VOLUME, "2026-03-09", "schedule")
    early, *_ = runs(VOLUME, "2026-03-09", "trigger")
    assert [(run.outcome, run.value) for run in (early, due)] == [("held", 100), ("broken", 20)]
    assert state(VOLUME, "2026-03-09") == "WARN"


def test_each_micro_batch_of_an_hour_that_is_being_filled_is_judged_when_its_job_says_so(scenario: Scenario) -> None:
    most = custom("raw.rides", "most", "row_count() <= 50")
    scenario.catalog(dataset("raw.rides", granularity=Granularity.HOUR), custom=[most])
    for minute, count in ((10, 20), (11, 40), (12, 60), (13, 40)):
        scenario.land("raw.rides", "2026-03-09-09", count, on=f"2026-03-09 09:{minute}")
        scenario.complete("raw.rides", "2026-03-09-09")
    values = [(run.outcome, run.value) for run in runs("raw.rides/most", "2026-03-09-09", "trigger")]
    assert values == [("held", 20), ("held", 40), ("broken", 60), ("held", 40)]
    assert state("raw.rides/most", "2026-03-09-09") == "PASS"


def test_a_partition_that_holds_early_and_is_not_rewritten_is_not_read_again(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"), custom=[ENOUGH])
    scenario.land("raw.trips", "2026-03-09", 100, on="2026-03-10 02:00")
    scenario.complete("raw.trips", "2026-03-09")
    read = len(scenario.lake.scans)
    scenario.until("2026-03-10 12:00")
    due = runs(VOLUME, "2026-03-09", "schedule")
    assert [(run.outcome, run.measured_at) for run in due] == [("held", at("2026-03-10 02:00"))]
    assert [scan for scan in scenario.lake.scans[read:] if scan[1] == ("2026-03-09",)] == []


def test_a_table_without_fingerprints_is_read_again_when_it_is_due(scenario: Scenario) -> None:
    url = "sqlite:////sea/raw.trips"
    outside = ReplicaProfile(datacenter="sea", storage="sql", location=url, options={"table": "trips"})
    scenario.catalog(dataset("raw.trips", replicas=(outside,)), custom=[ENOUGH])
    scenario.until("2026-03-10 02:00")
    scenario.lake.write(url, "2026-03-09", rows(100))
    scenario.complete("raw.trips", "2026-03-09")
    scenario.until("2026-03-10 12:00")
    (due,) = runs(VOLUME, "2026-03-09", "schedule")
    assert (due.outcome, due.measured_at) == ("held", at("2026-03-10 06:00"))


def test_a_partition_backfilled_after_two_days_heals_by_itself(scenario: Scenario) -> None:
    scenario.catalog(*PAIR, lineage=ONE_TO_ONE)
    scenario.land("raw.events", "2026-03-09", 100, on="2026-03-10 03:00")
    for day in ("2026-03-10", "2026-03-11"):
        for name in ("raw.events", "raw.trips"):
            scenario.land(name, day, 100, on=f"{day} 23:59")
    scenario.until("2026-03-12 10:02")
    assert {incident.category for incident in incidents("raw.trips")} == {"freshness", "completeness"}
    scenario.land("raw.trips", "2026-03-09", 100)
    scenario.until("2026-03-12 10:30")
    assert [incident.resolution for incident in incidents()] == ["auto", "auto"]
    assert (state("raw.trips/freshness", "2026-03-09"), state(COMPLETENESS, "2026-03-09")) == ("PASS", "PASS")
    assert [notice for notice in notices("recovered") if not notice[1]] == [("trips", "")]


def test_a_partition_inserted_twice_breaks_completeness_and_duplicates(scenario: Scenario) -> None:
    scenario.catalog(*PAIR, lineage=ONE_TO_ONE)
    scenario.land("raw.events", "2026-03-09", 100, on="2026-03-10 03:00")
    scenario.land("raw.trips", "2026-03-09", rows(100) + rows(100))
    scenario.until("2026-03-10 10:00")
    assert spoilt("raw.trips") == [("completeness:raw.events", "2026-03-09", ""), ("duplicates", "2026-03-09", "")]
    assert {incident.category for incident in incidents()} == {"completeness", "duplicates"}
    assert state("raw.trips/freshness", "2026-03-09") == "PASS"


def test_a_bad_backfill_after_the_tests_had_passed_opens_one_incident_of_completeness(scenario: Scenario) -> None:
    scenario.catalog(*PAIR, lineage=ONE_TO_ONE)
    scenario.land("raw.events", "2026-03-09", 100, on="2026-03-10 03:00")
    scenario.land("raw.trips", "2026-03-09", 100)
    scenario.until("2026-03-10 12:00")
    assert {state(f"raw.trips/{name}", "2026-03-09") for name in ("freshness", "duplicates")} == {"PASS"}
    scenario.land("raw.trips", "2026-03-09", 40, on="2026-03-10 12:20")
    scenario.until("2026-03-10 13:00")
    assert state(COMPLETENESS, "2026-03-09") == "WARN"
    scenario.until("2026-03-10 20:00")
    (incident,) = incidents()
    assert (incident.category, incident.detected_at) == ("completeness", at("2026-03-10 17:00"))
    assert state("raw.trips/freshness", "2026-03-09") == "PASS"


def test_rows_that_arrive_upstream_after_the_tests_had_passed_are_missed_downstream(scenario: Scenario) -> None:
    scenario.catalog(*PAIR, lineage=ONE_TO_ONE)
    for name in ("raw.events", "raw.trips"):
        scenario.land(name, "2026-03-09", 100, on="2026-03-10 03:00")
    scenario.land("raw.events", "2026-03-09", 200, on="2026-03-10 12:20")
    scenario.until("2026-03-10 13:00")
    assert (state(COMPLETENESS, "2026-03-09"), state("raw.events/freshness", "2026-03-09")) == ("WARN", "PASS")
    scenario.land("raw.trips", "2026-03-09", 200, on="2026-03-10 13:30")
    scenario.until("2026-03-10 13:35")
    assert (state(COMPLETENESS, "2026-03-09"), incidents()) == ("PASS", [])


def test_a_partition_emptied_later_is_not_fresh_any_more_where_no_other_test_would_tell(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"))
    scenario.land("raw.trips", "2026-03-09", 100, on="2026-03-10 03:00")
    scenario.land("raw.trips", "2026-03-09", 0, on="2026-03-10 12:20")
    scenario.until("2026-03-10 18:00")
    assert [incident.category for incident in incidents()] == ["freshness"]


def test_a_table_that_is_appended_to_all_the_time_is_judged_all_the_same(scenario: Scenario) -> None:
    def append() -> None:
        scenario.lake.while_reading.append(append)
        written = len(scenario.lake.tables["/sea/raw.trips"]["2026-03-09"])
        scenario.land("raw.trips", "2026-03-09", written + 1)

    scenario.catalog(dataset("raw.trips"), custom=[ENOUGH])
    scenario.land("raw.trips", "2026-03-09", 100, on="2026-03-10 03:00")
    append()
    scenario.until("2026-03-10 12:00")
    assert (state(VOLUME, "2026-03-09"), state("raw.trips/freshness", "2026-03-09")) == ("PASS", "PASS")
    due, *later = runs(VOLUME, "2026-03-09")
    assert (due.reason, due.measured_at) == ("schedule", at("2026-03-10 06:00"))
    assert {run.reason for run in later} == {"trigger"}
    assert 1 <= len(later) <= 6 * 4


def test_a_broken_window_beyond_the_tables_retention_is_withdrawn_and_never_run_again(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips", retention=timedelta(days=1)))
    scenario.until("2026-03-10 12:00")
    assert spoilt("raw.trips") == [("freshness", "2026-03-09", "")]
    scenario.land("raw.trips", "2026-03-10", 100, on="2026-03-10 23:00")
    scenario.until("2026-03-11 06:00")
    (incident,) = incidents()
    assert (incident.resolution, spoilt("raw.trips")) == ("withdrawn", [])
    before = len(runs("raw.trips/freshness", "2026-03-09"))
    scenario.land("raw.trips", "2026-03-09", 1)
    scenario.until("2026-03-11 20:00")
    assert len(runs("raw.trips/freshness", "2026-03-09")) == before
    assert Run.objects.filter(evaluated_at=None).count() == 0


def test_what_only_a_retired_test_had_found_bad_is_watched_closely_no_more(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"), custom=[ENOUGH])
    scenario.land("raw.trips", "2026-03-09", 20, on="2026-03-10 03:00")
    scenario.until("2026-03-10 10:00")
    assert Watch.objects.filter(closely=True).count() == 1
    retire(data_test(VOLUME), now=clock.now())
    scenario.until("2026-03-10 11:00")
    assert (state(VOLUME, "2026-03-09"), incidents()[0].resolution) == ("UNTESTED", "withdrawn")
    assert not Watch.objects.filter(closely=True).exists()


def test_a_partition_that_its_tables_retention_deletes_alarms_nobody(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips", retention=timedelta(days=1)))
    scenario.land("raw.trips", "2026-03-09", 100, on="2026-03-09 23:59")
    scenario.land("raw.trips", "2026-03-10", 100, on="2026-03-10 23:59")
    scenario.until("2026-03-11 00:00")
    scenario.expire("raw.trips", "2026-03-09")
    scenario.until("2026-03-11 12:00")
    assert [run.reason for run in runs("raw.trips/freshness", "2026-03-09")] == ["schedule"]
    assert (incidents(), notices("opened"), notices("unknown")) == ([], [], [])


def test_a_withdrawn_window_no_longer_speaks_for_its_table(scenario: Scenario) -> None:
    short = timedelta(days=1)
    scenario.catalog(dataset("raw.events"), dataset("raw.trips", retention=short), lineage=ONE_TO_ONE)
    scenario.land("raw.events", "2026-03-09", 100, on="2026-03-10 03:00")
    for name in ("raw.events", "raw.trips"):
        scenario.land(name, "2026-03-10", 100, on="2026-03-10 23:00")
    scenario.until("2026-03-12 10:30")
    late = [incident for incident in incidents("raw.trips", "freshness") if incident.resolved_at is None]
    assert [incident.alert.cause for incident in late if incident.alert] == [incidents("raw.events")[0].alert]
    assert spoilt("raw.trips")[-1] == ("freshness", "2026-03-11", "")


def test_a_second_completion_of_a_window_is_judged_at_once(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips", tier=1), custom=[ENOUGH])
    scenario.land("raw.trips", "2026-03-09", 20, on="2026-03-10 02:00")
    scenario.complete("raw.trips", "2026-03-09")
    scenario.land("raw.trips", "2026-03-09", 100, on="2026-03-10 02:03")
    scenario.complete("raw.trips", "2026-03-09")
    seen = [(run.outcome, run.measured_at) for run in runs(VOLUME, "2026-03-09")]
    assert seen == [("broken", at("2026-03-10 02:00")), ("held", at("2026-03-10 02:03"))]
    assert scenario.ask("raw.trips", "2026-03-09").decision == "allow"


def test_the_gate_of_a_critical_table_blocks_what_was_completed_anew_and_is_not_judged(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips", tier=1), custom=[ENOUGH])
    scenario.land("raw.trips", "2026-03-09", 100, on="2026-03-10 02:00")
    scenario.complete("raw.trips", "2026-03-09")
    trips, monday = Dataset.objects.get(), window("raw.trips", "2026-03-09")
    change = record_completion(dataset=trips, datacenter="sea", window=monday, pipeline="load", now=clock.now())
    assert (block := gate(datasets=[trips], window=monday, now=clock.now())).decision == "block"
    assert {reason.text for reason in block.reasons} == {"not judged yet"}
    follow_change(change, clock.now())
    assert gate(datasets=[trips], window=monday, now=clock.now()).decision == "block"
    scenario.until(clock.now())
    assert gate(datasets=[trips], window=monday, now=clock.now()).decision == "allow"


@pytest.mark.parametrize("reason", ["manual", "trigger"])
def test_a_run_that_waits_while_its_test_changes_is_judged_by_the_new_revision(scenario: Scenario, reason: str) -> None:
    scenario.catalog(dataset("raw.trips"), custom=[ENOUGH])
    scenario.land("raw.trips", "2026-03-01", 100)
    test, past = data_test(VOLUME), window("raw.trips", "2026-03-01")
    request_run(data_test=test, window=past, reason=RunReason(reason), occasion="ada", now=clock.now())
    revised(test, severity="soft", author="ada", now=clock.now())
    scenario.until(clock.now())
    assert state(VOLUME, "2026-03-01") == "PASS"
