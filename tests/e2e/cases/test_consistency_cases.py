"""Copies of one table in two datacenters that are not alike."""

import pytest

from tests.e2e.scenario import Scenario, data_test, dataset, incidents, notices, runs, spoilt, state

pytestmark = pytest.mark.django_db

HERE, THERE = "raw.trips/consistency-count:sea>phx", "raw.trips/consistency-count:phx>sea"
DAY = "2026-03-09"


def both(scenario: Scenario, here: int, there: int) -> None:
    """So many rows at home in sea, and so many in phx, in time; then to the end of the sustain period."""
    scenario.land("raw.trips", DAY, here, on="2026-03-10 03:00")
    scenario.land("raw.trips", DAY, there, place="phx")
    scenario.until("2026-03-10 10:00")


def test_rows_that_one_side_lacks_spoil_the_window_there_and_nowhere_else(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips", "sea", "phx"))
    both(scenario, 900, 1000)
    assert (state(HERE, DAY), state(THERE, DAY)) == ("PASS", "FAIL")
    assert spoilt("raw.trips") == [
        ("consistency-bloom:phx>sea", DAY, "sea"),
        ("consistency-count:phx>sea", DAY, "sea"),
    ]
    assert [incident.category for incident in incidents()] == ["consistency"]
    assert (scenario.ask("raw.trips", DAY).decision, scenario.ask("raw.trips", DAY, place="phx").decision) == (
        "block",
        "allow",
    )


def test_a_replica_that_lacks_rows_spoils_the_window_in_its_datacenter(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips", "sea", "phx"))
    both(scenario, 1000, 900)
    assert (state(HERE, DAY), state(THERE, DAY)) == ("FAIL", "PASS")
    assert {place for _, _, place in spoilt("raw.trips")} == {"phx"}
    assert (scenario.ask("raw.trips", DAY).decision, scenario.ask("raw.trips", DAY, place="phx").decision) == (
        "allow",
        "block",
    )


def test_nothing_here_against_ten_thousand_rows_there_breaks_only_the_pair_that_sees_the_loss(
    scenario: Scenario,
) -> None:
    scenario.catalog(dataset("raw.trips", "sea", "phx"))
    both(scenario, 0, 10_000)
    (empty,) = runs(HERE, DAY, "schedule")
    assert (empty.outcome, empty.error_reason) == ("error", "no data")
    assert (state(HERE, DAY), state(THERE, DAY)) == ("UNKNOWN", "FAIL")
    assert ("consistency-count:phx>sea", DAY, "sea") in spoilt("raw.trips")
    assert ("consistency-count:sea>phx", DAY, "phx") not in spoilt("raw.trips")
    assert notices("unknown") == []  # what is missing is freshness's to tell


def test_two_empty_sides_are_no_data_and_where_the_dataset_may_be_empty_they_agree(scenario: Scenario) -> None:
    scenario.begin(f"{DAY} 00:00")  # its columns are declared by then
    scenario.catalog(
        dataset("raw.trips", "sea", "phx"),
        dataset("raw.holidays", "sea", "phx", allow_empty=True),
    )
    for name in ("raw.trips", "raw.holidays"):
        for place in ("sea", "phx"):
            scenario.land(name, DAY, 0, on="2026-03-10 03:00", place=place)
    scenario.until("2026-03-10 12:00")
    rules = data_test("raw.holidays/freshness").dataset.data_tests.filter(scope="partition").exclude(name="novelty")
    names = [test.name for test in rules]
    assert {state(f"raw.holidays/{name}", DAY) for name in names} == {"PASS"}
    assert (state(HERE, DAY), state(THERE, DAY), state("raw.trips/duplicates", DAY)) == ("UNKNOWN",) * 3
    assert [incident.category for incident in incidents()] == ["freshness"]
