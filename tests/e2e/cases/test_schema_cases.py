"""A declared column is dropped, comes back, or is declared otherwise."""

from datetime import timedelta
from typing import Any

import pytest

from assay.catalog.profile import Column
from assay.models import DataTest
from execution_engine.models import Run
from incident_manager.models import SpoiltWindow
from tests.e2e.cases.people import body, force, open_incident, said, told
from tests.e2e.scenario import Scenario, custom, data_test, dataset, incidents, state
from tests.fakes import Row, rows

pytestmark = pytest.mark.django_db

TRIPS, MONDAY, TUESDAY = "raw.trips", "2026-03-09", "2026-03-10"
ID, FARE = Column(name="id", type="bigint"), Column(name="fare", type="double")
TIP = Column(name="tip", type="double")
UNDECLARED = {"untested: the partition began before its columns were declared as they are"}


@pytest.fixture(autouse=True)
def midnight(scenario: Scenario) -> None:
    """The stories begin when Monday does: its columns are declared by then."""
    scenario.begin(f"{MONDAY} 00:00")


def trips(*columns: Column, **metadata: Any) -> Any:
    return dataset(TRIPS, columns=columns or (ID, FARE), **metadata)


def without(column: str, data: list[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name != column} for row in data]


def with_tip(data: list[Row]) -> list[Row]:
    return [{**row, "tip": 1.0} for row in data]


def reasons(scenario: Scenario, key: str, test: str) -> set[str]:
    return {reason.text for reason in scenario.ask(TRIPS, key).reasons if reason.test == test}


def test_a_dropped_column_warns_fails_is_told_by_its_name_and_resolves_once_it_is_back(scenario: Scenario) -> None:
    scenario.catalog(trips())
    scenario.land(TRIPS, MONDAY, without("fare", rows(100)))
    scenario.until("2026-03-10 06:30")
    assert (state("raw.trips/schema", MONDAY), incidents()) == ("WARN", [])
    scenario.until("2026-03-10 11:30")
    incident = open_incident(TRIPS)
    assert (state("raw.trips/schema", MONDAY), incident.category) == ("FAIL", "schema")
    assert told("opened") == ["trips"]
    assert "column fare, declared double, is gone in 2026-03-09" in body("opened", "trips")
    assert said(scenario.ask(TRIPS, MONDAY))[0] == "warn"  # nothing but soft tests of it
    scenario.land(TRIPS, MONDAY, 100, on="2026-03-10 12:00")
    scenario.until("2026-03-10 13:00")
    assert state("raw.trips/schema", MONDAY) == "PASS"
    assert [(row.category, row.resolution) for row in incidents(TRIPS)] == [("schema", "auto")]
    assert told("recovered") == ["trips"]
    assert said(scenario.ask(TRIPS, MONDAY)) == ("allow", set())


def test_a_key_column_that_is_dropped_blocks_as_hard_as_its_tier(scenario: Scenario) -> None:
    scenario.catalog(trips())
    scenario.land(TRIPS, MONDAY, without("id", rows(100)))
    scenario.until("2026-03-10 06:30")
    assert (state("raw.trips/schema-keys", MONDAY), state("raw.trips/schema", MONDAY)) == ("WARN", "PASS")
    assert scenario.ask(TRIPS, MONDAY).decision == "block"


def test_a_key_of_a_tier_that_is_soft_only_warns(scenario: Scenario) -> None:
    scenario.catalog(trips(tier=4))
    assert [data_test(f"raw.trips/{name}").revision.severity for name in ("schema-keys", "schema")] == ["soft", "soft"]  # type: ignore[union-attr]


def test_a_dataset_that_declares_no_columns_has_no_such_test(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, columns=()))
    assert not DataTest.objects.filter(category="schema").exists()


def test_a_window_that_began_before_its_columns_were_declared_is_untested_and_blocks_nobody(scenario: Scenario) -> None:
    scenario.begin("2026-03-09 01:00")
    scenario.catalog(trips(tier=0))
    scenario.land(TRIPS, MONDAY, without("id", rows(100)), on="2026-03-10 01:00")
    scenario.complete(TRIPS, MONDAY)
    scenario.until("2026-03-10 12:00")
    names = ("schema", "schema-keys")
    assert {state(f"raw.trips/{name}", MONDAY) for name in names} == {"UNTESTED"}
    assert [reasons(scenario, MONDAY, name) for name in names] == [set(), set()]  # its other tests speak for it
    assert not Run.objects.filter(data_test__category="schema").exists()
    scenario.land(TRIPS, TUESDAY, without("id", rows(100)), on="2026-03-11 01:00")
    scenario.until("2026-03-11 03:00")
    assert state("raw.trips/schema-keys", TUESDAY) == "FAIL"  # tier 0 has no sustain period


def test_a_column_counts_from_its_own_declaration_on_and_the_others_go_on_counting(scenario: Scenario) -> None:
    scenario.catalog(trips())
    scenario.land(TRIPS, MONDAY, 100)
    scenario.until("2026-03-10 08:00")
    scenario.catalog(trips(ID, FARE, TIP))
    scenario.land(TRIPS, MONDAY, 101, on="2026-03-10 09:00")  # Monday is written again, still without a tip
    scenario.until("2026-03-10 12:00")
    assert state("raw.trips/schema", MONDAY) == "PASS"
    scenario.land(TRIPS, MONDAY, without("fare", rows(100)))
    scenario.until("2026-03-10 14:00")
    assert state("raw.trips/schema", MONDAY) == "WARN"  # fare was declared before
    scenario.land(TRIPS, TUESDAY, 100, on="2026-03-11 01:00")
    scenario.until("2026-03-11 07:00")
    assert state("raw.trips/schema", TUESDAY) == "PASS"  # it began before the tip was declared
    scenario.land(TRIPS, "2026-03-11", 100, on="2026-03-12 01:00")
    scenario.until("2026-03-12 07:00")
    assert state("raw.trips/schema", "2026-03-11") == "WARN"


def test_a_column_that_was_dropped_on_purpose_leaves_the_declaration_and_its_incident_ends_as_redefined(
    scenario: Scenario,
) -> None:
    scenario.catalog(trips(ID, FARE, TIP))
    scenario.land(TRIPS, MONDAY, without("fare", with_tip(rows(100))))
    scenario.until("2026-03-10 12:00")
    assert open_incident(TRIPS).category == "schema"
    scenario.catalog(trips(ID, TIP))
    scenario.until("2026-03-10 12:30")
    assert state("raw.trips/schema", MONDAY) == "PASS"
    assert [(row.category, bool(row.resolved_at)) for row in incidents(TRIPS)] == [("schema", True)]
    assert set(SpoiltWindow.objects.values_list("how", flat=True)) == {"redefined"}


def test_where_every_column_is_declared_anew_what_was_broken_before_is_untested(scenario: Scenario) -> None:
    scenario.catalog(trips())
    scenario.land(TRIPS, MONDAY, without("fare", rows(100)))
    scenario.until("2026-03-10 12:00")
    assert open_incident(TRIPS).category == "schema"
    scenario.catalog(trips(ID, Column(name="fare", type="decimal(10,2)")))
    scenario.until("2026-03-10 12:30")
    assert state("raw.trips/schema", MONDAY) == "UNTESTED"
    assert reasons(scenario, MONDAY, "schema") == UNDECLARED
    assert not SpoiltWindow.objects.filter(healed_at__isnull=True).exists()


def test_a_schema_incident_is_forced_like_any_other(scenario: Scenario) -> None:
    scenario.catalog(trips())
    scenario.land(TRIPS, MONDAY, without("fare", rows(100)))
    scenario.until("2026-03-10 12:00")
    force(open_incident(TRIPS))
    scenario.until("2026-03-10 13:00")
    assert reasons(scenario, MONDAY, "schema") == {"waived: counts twins"}
    assert scenario.ask(TRIPS, MONDAY).decision == "allow"


def test_a_users_own_test_of_the_schema_follows_what_is_declared(scenario: Scenario) -> None:
    scenario.begin("2026-03-09 01:00")
    scenario.catalog(trips(), custom=[custom(TRIPS, "columns", "schema_drift() = 0", sustain=timedelta(0))])
    scenario.land(TRIPS, MONDAY, without("fare", rows(100)))
    scenario.land(TRIPS, TUESDAY, without("fare", rows(100)), on="2026-03-11 01:00")
    scenario.until("2026-03-11 07:00")
    assert [state("raw.trips/columns", key) for key in (MONDAY, TUESDAY)] == ["UNTESTED", "FAIL"]


def test_an_empty_partition_is_no_data_and_where_the_dataset_may_be_empty_it_has_no_drift(scenario: Scenario) -> None:
    scenario.catalog(trips(), dataset("raw.stops", allow_empty=True))
    scenario.until("2026-03-10 06:30")
    assert state("raw.trips/schema", MONDAY) == "PENDING"
    assert state("raw.stops/schema", MONDAY) == "PASS"


def test_the_schema_of_a_table_without_partitions_is_tested_weekly_from_the_first_on(scenario: Scenario) -> None:
    scenario.catalog(trips(partition=None))
    scenario.lake.write("/sea/raw.trips", "", without("fare", rows(10)))
    scenario.until("2026-03-09 07:00")
    assert state("raw.trips/schema:whole") == "WARN"
    assert state("raw.trips/schema-keys:whole") == "PASS"
