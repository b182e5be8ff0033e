"""A schema that nobody wrote: what breaks it is an incident, and what a user calls right widens it."""

import pytest

from alerting.state import WaiverScope
from tests.e2e.cases.people import force, open_incident, told
from tests.e2e.cases.test_novelty_cases import NOVELTY, TRIPS, after, days, land, trips
from tests.e2e.scenario import Scenario, dataset, incidents, runs, state
from tests.fakes import Row

pytestmark = pytest.mark.django_db

INFERRED = f"{TRIPS}/schema-inferred"


def watched(scenario: Scenario, *, novelty: bool = False) -> None:
    """Trips of ten days, held to an inferred schema; nothing else looks at their values, unless novelty does."""
    scenario.catalog(dataset(TRIPS, columns=(), inferred_schema=True, novelty=novelty))
    for day in days(9, 18):
        land(scenario, day)
    scenario.until(after("2026-03-18", 7))


def sentence(day: str) -> str:
    return runs(INFERRED, day)[-1].sentence


def test_sound_days_are_learned_from_and_then_held(scenario: Scenario) -> None:
    watched(scenario)
    assert [state(INFERRED, day) for day in days(9, 18)] == ["LEARNING"] * 8 + ["PASS"] * 2
    assert incidents() == []


def test_a_value_never_allowed_is_an_incident_until_a_user_allows_it(scenario: Scenario) -> None:
    watched(scenario)
    land(scenario, "2026-03-19", city="Braga")
    scenario.until(after("2026-03-19", 7))
    assert (state(INFERRED, "2026-03-19"), incidents()) == ("WARN", [])
    assert " rows outside the 3 known values of city: " in sentence("2026-03-19")
    assert "never seen before: Braga" in sentence("2026-03-19")
    scenario.until(after("2026-03-19", 12))
    incident = open_incident(TRIPS, "schema")
    assert told("opened") == ["trips"]
    land(scenario, "2026-03-20", city="Braga")  # what lies under an open incident widens nothing
    scenario.until(after("2026-03-20", 12))
    assert state(INFERRED, "2026-03-20") == "FAIL"
    force(incident, scope=WaiverScope.WINDOW)
    for day in days(21, 22):
        land(scenario, day, city="Braga")
        scenario.until(after(day, 12))
    assert [state(INFERRED, day) for day in days(21, 22)] == ["PASS"] * 2
    land(scenario, "2026-03-23", city="Evora")
    scenario.until(after("2026-03-23", 7))
    assert "outside the 4 known values of city" in sentence("2026-03-23")


def test_what_breaks_the_schema_is_told_once_though_it_is_unusual_as_well(scenario: Scenario) -> None:
    watched(scenario, novelty=True)
    land(scenario, "2026-03-19", city="Braga")
    scenario.until(after("2026-03-19", 12))
    assert [state(each, "2026-03-19") for each in (INFERRED, NOVELTY)] == ["FAIL"] * 2
    assert {incident.category for incident in incidents()} == {"schema", "novelty"}
    assert told("opened") == ["trips"]
    effect, cause = open_incident(TRIPS, "novelty").alert, open_incident(TRIPS, "schema").alert
    assert effect is not None
    assert effect.cause == cause


def test_a_column_that_is_gone_or_of_another_type_breaks_the_schema(scenario: Scenario) -> None:
    watched(scenario)
    rows: list[Row] = [
        {**{name: value for name, value in row.items() if name != "distance"}, "fare": f"{row['fare']} EUR"}
        for row in trips("2026-03-19")
    ]
    scenario.land(TRIPS, "2026-03-19", rows, on=after("2026-03-19", 1))
    scenario.until(after("2026-03-19", 12))
    assert open_incident(TRIPS, "schema")
    said = sentence("2026-03-19")
    assert "column of distance: missing, usually there" in said
    assert "kind of the values of fare: text, usually number" in said
