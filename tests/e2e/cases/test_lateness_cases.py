"""Rows that are late, and rows that are lost: who has the say, and what the owner hears."""

import pytest

from tests.e2e.cases.people import accept, body, cause_of, open_incident, told, told_at
from tests.e2e.scenario import Scenario, dataset, flow, incidents, state

pytestmark = pytest.mark.django_db

MONDAY = "2026-03-09"
FRESHNESS, COMPLETENESS = "raw.clean/freshness", "raw.clean/completeness:raw.trips"


def resolutions() -> list[str]:
    """How the incidents ended, the oldest first; empty: not yet."""
    return [incident.resolution for incident in incidents()]


def company(scenario: Scenario, *places: str) -> None:
    """Clean trips are made of trips, which have a hundred rows on Monday."""
    clean = dataset("raw.clean", *(places or ("sea",)))
    scenario.catalog(dataset("raw.trips"), clean, lineage=[flow("raw.trips", "raw.clean")])
    scenario.land("raw.trips", MONDAY, 100, on="2026-03-10 02:00")


def test_rows_that_a_completion_says_do_not_come_any_more_are_told_as_missing(scenario: Scenario) -> None:
    company(scenario)
    scenario.land("raw.clean", MONDAY, 95, on="2026-03-10 03:00")
    scenario.complete("raw.clean", MONDAY)
    scenario.until("2026-03-10 09:59")
    assert (state(FRESHNESS, MONDAY), state(COMPLETENESS, MONDAY)) == ("WARN", "WARN")
    scenario.until("2026-03-10 12:00")
    assert told("opened") == ["clean"]
    assert "has failed completeness" in body("opened", "clean")
    assert cause_of(open_incident("raw.clean", "freshness")) == open_incident("raw.clean", "completeness")


def test_rows_are_late_while_files_come_and_lost_once_these_stand_still(scenario: Scenario) -> None:
    company(scenario)
    scenario.land("raw.clean", MONDAY, 40, on="2026-03-10 03:00")
    scenario.land("raw.clean", MONDAY, 95, on="2026-03-10 09:28")
    scenario.until("2026-03-10 13:00")
    assert told("opened") == ["clean"]
    assert "has failed freshness" in body("opened", "clean")
    assert cause_of(open_incident("raw.clean", "completeness")) == open_incident("raw.clean", "freshness")
    scenario.until("2026-03-10 14:00")
    assert (told("opened"), told("updated")) == (["clean"], ["clean"])
    assert told_at("updated", "clean") == ["10 13:30"]
    assert "The rows of raw.clean are not late; they are missing: 95 % are there." in body("updated", "clean")
    assert cause_of(open_incident("raw.clean", "freshness")) == open_incident("raw.clean", "completeness")


def test_a_completion_turns_late_rows_into_lost_ones_at_once(scenario: Scenario) -> None:
    company(scenario)
    scenario.until("2026-03-10 11:30")
    assert told("opened") == ["clean"]
    scenario.land("raw.clean", MONDAY, 95, on="2026-03-10 12:00")
    scenario.complete("raw.clean", MONDAY)
    scenario.until("2026-03-10 18:00")
    assert (told("opened"), told_at("updated", "clean")) == (["clean"], ["10 12:00"])
    scenario.land("raw.clean", MONDAY, 100, on="2026-03-10 19:00")
    scenario.complete("raw.clean", MONDAY)
    scenario.until("2026-03-10 23:00")
    assert told("recovered") == ["clean"]


def test_a_window_without_a_file_is_late_whatever_a_completion_says(scenario: Scenario) -> None:
    company(scenario)
    scenario.complete("raw.clean", MONDAY, on="2026-03-10 03:00")
    scenario.until("2026-03-11 05:00")
    assert told("opened") == ["clean"]
    assert "has failed freshness" in body("opened", "clean")
    assert told("updated") == []


def test_rows_that_come_after_all_are_told_as_an_update_too(scenario: Scenario) -> None:
    company(scenario)
    scenario.land("raw.clean", MONDAY, 40, on="2026-03-10 03:00")
    scenario.until("2026-03-10 12:00")
    assert "has failed completeness" in body("opened", "clean")
    scenario.land("raw.clean", MONDAY, 95, on="2026-03-10 13:00")
    scenario.until("2026-03-10 23:00")  # by now they are missing again
    assert told("opened") == ["clean"]
    assert told("updated") == ["clean"]
    assert "are not missing; they are late, and more of them have come" in body("updated", "clean")


def test_a_loss_that_was_told_as_an_update_speaks_for_itself_once_the_lateness_has_ended(scenario: Scenario) -> None:
    company(scenario)
    scenario.land("raw.clean", MONDAY, 95, on="2026-03-10 12:00")
    scenario.complete("raw.clean", MONDAY)
    assert (told("opened"), told("updated")) == (["clean"], ["clean"])
    scenario.land("raw.clean", MONDAY, 250, on="2026-03-10 14:00")  # all of them now, and many twice
    scenario.complete("raw.clean", MONDAY)
    scenario.until("2026-03-10 18:00")
    assert told("recovered") == ["clean"]
    assert told("opened") == ["clean", "clean"]
    assert "has failed completeness" in body("opened", "clean")


def test_rows_that_are_accepted_as_lost_are_not_told_of_as_late(scenario: Scenario) -> None:
    company(scenario)
    scenario.land("raw.clean", MONDAY, 95, on="2026-03-10 03:00")
    scenario.complete("raw.clean", MONDAY)
    scenario.until("2026-03-10 12:00")
    accept(open_incident("raw.clean", "completeness"))
    scenario.until("2026-03-11 05:00")
    assert told("opened") == ["clean"]
    assert resolutions() == ["accepted", "accepted"]
    assert scenario.ask("raw.clean", MONDAY).decision == "warn"
    scenario.land("raw.clean", MONDAY, 96, on="2026-03-11 06:30")  # a little comes after all: it is later, and no worse
    scenario.until("2026-03-11 08:30")
    assert (told("opened"), resolutions()) == (["clean"], ["accepted", "accepted"])


def test_a_copy_that_lost_rows_itself_is_told_while_home_is_late(scenario: Scenario) -> None:
    company(scenario, "sea", "phx")
    scenario.land("raw.clean", MONDAY, 40, on="2026-03-10 03:00")
    scenario.land("raw.clean", MONDAY, 20, place="phx")
    scenario.complete("raw.clean", MONDAY, place="phx")
    scenario.land("raw.clean", MONDAY, 60, on="2026-03-10 09:28")  # home is still being written
    scenario.until("2026-03-10 13:00")
    assert told("opened") == ["clean", "clean"]
    assert cause_of(open_incident("raw.clean", "freshness")) is None
    assert cause_of(open_incident("raw.clean", "consistency")) is None
    assert cause_of(open_incident("raw.clean", "completeness")) == open_incident("raw.clean", "freshness")


def test_a_copy_that_has_all_that_late_home_has_is_not_told_apart(scenario: Scenario) -> None:
    company(scenario, "sea", "phx")
    for place in ("sea", "phx"):
        scenario.land("raw.clean", MONDAY, 95, on="2026-03-10 03:00" if place == "sea" else None, place=place)
        scenario.complete("raw.clean", MONDAY, place=place)
    scenario.until("2026-03-10 14:00")
    assert told("opened") == ["clean"]
    assert "has failed completeness" in body("opened", "clean")
