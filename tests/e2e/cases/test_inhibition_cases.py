"""One cause, one page: what stays silent because something else explains it, and what must not."""

from datetime import timedelta
from typing import Any

import pytest

from assay import clock
from assay.catalog.profile import SlaProfile
from assay.time.windows import Granularity
from incident_manager.services import annotate
from tests.e2e.cases.people import HOUR, cause_of, force, hushed, open_incident, told, told_at
from tests.e2e.cases.people import body as read
from tests.e2e.scenario import Scenario, at, custom, dataset, flow, incidents, state
from tests.fakes import Row, rows

pytestmark = pytest.mark.django_db

CHAIN = ("raw.trips", "raw.clean", "raw.daily")
MONDAY = "2026-03-09"


def chain(scenario: Scenario, **metadata: Any) -> None:
    """Three tables, each made of the one before, each with an owner of its own."""
    lineage = [flow("raw.trips", "raw.clean"), flow("raw.clean", "raw.daily")]
    scenario.catalog(*(dataset(name, **metadata) for name in CHAIN), lineage=lineage)


def test_a_chain_of_three_tables_late_by_ten_hours_is_one_page(scenario: Scenario) -> None:
    chain(scenario)
    scenario.until("2026-03-10 11:00")
    assert [state(f"{name}/freshness", MONDAY) for name in CHAIN] == ["FAIL"] * 3
    assert (told("opened"), told("downstream"), told("unknown")) == (["trips"], ["clean"], [])
    assert all(f"{name} freshness" in read("opened", "trips") for name in CHAIN[1:])
    for name, instant in zip(CHAIN, ("16:00", "16:20", "16:40"), strict=True):
        scenario.land(name, MONDAY, 100, on=f"2026-03-10 {instant}")
    scenario.until("2026-03-10 22:00")
    assert {incident.resolution for incident in incidents()} == {"auto"}
    assert (told("opened"), told("downstream")) == (["trips"], ["clean"])
    assert sorted(told("recovered")) == ["clean", "trips"]


def test_whoever_is_not_told_has_an_incident_that_names_its_cause(scenario: Scenario) -> None:
    chain(scenario)
    scenario.until("2026-03-10 12:00")
    root = open_incident("raw.trips", "freshness")
    silent = [open_incident(name, "freshness") for name in CHAIN[1:]]
    assert [cause_of(incident) for incident in silent] == [root, root]
    for name in CHAIN:
        scenario.land(name, MONDAY, 100)
    scenario.until("2026-03-10 14:00")
    assert {who for who, why in hushed("opened") if why == "inhibited by its cause"} == {"clean", "daily"}


def test_completeness_that_still_fails_once_freshness_is_resolved_is_told_then(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"), dataset("raw.clean"), lineage=[flow("raw.trips", "raw.clean")])
    scenario.land("raw.trips", MONDAY, 100)
    scenario.until("2026-03-10 11:00")
    assert (state("raw.clean/completeness:raw.trips", MONDAY), told("opened")) == ("FAIL", ["clean"])
    scenario.land("raw.clean", MONDAY, 200, on="2026-03-10 12:00")  # late, and inserted twice
    scenario.until("2026-03-10 12:59")
    assert [incident.category for incident in incidents() if incident.resolved_at is None] == ["completeness"]
    assert told_at("opened", "clean") == ["10 11:00"]
    scenario.until("2026-03-10 18:00")
    assert len(told_at("opened", "clean")) == 2


def test_an_upstream_that_is_late_for_one_window_does_not_silence_another(scenario: Scenario) -> None:
    """Nothing has the hour of nine; trips alone have the hour of ten."""
    chain(scenario, granularity=Granularity.HOUR, slas=SlaProfile(freshness=HOUR), sustain=HOUR / 2, grace=0 * HOUR)
    scenario.land("raw.trips", "2026-03-09-10", 100, on="2026-03-09 11:40")
    assert [state(f"{name}/freshness", "2026-03-09-09") for name in CHAIN] == ["FAIL"] * 3
    scenario.until("2026-03-09 12:29")
    assert [state(f"{name}/freshness", "2026-03-09-10") for name in CHAIN] == ["PASS", "WARN", "WARN"]
    assert told("opened") == ["trips"]
    scenario.until("2026-03-09 12:45")
    assert told("opened") == ["trips", "clean"]
    assert cause_of(open_incident("raw.daily", "freshness")) is not None


def test_silence_ends_with_the_repair_that_was_promised_and_whoever_knows_is_not_told_twice(scenario: Scenario) -> None:
    chain(scenario)
    scenario.until("2026-03-10 11:30")
    root = open_incident("raw.trips", "freshness")
    annotate(root, author="ada", now=clock.now(), eta=at("2026-03-10 13:00"))
    scenario.until("2026-03-10 12:59")
    assert (told("opened"), told("updated")) == (["trips"], [])
    scenario.until("2026-03-10 13:30")
    assert told("opened") == ["trips", "daily"]
    assert ("clean", "already told") in hushed("opened")
    assert set(told("updated")) == {"trips", "clean"}


def test_an_effect_speaks_once_its_cause_is_called_a_false_positive(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"), dataset("raw.clean"), lineage=[flow("raw.trips", "raw.clean")])
    scenario.until("2026-03-10 12:00")
    force(open_incident("raw.trips", "freshness"))
    scenario.until("2026-03-10 12:59")
    assert told("opened") == ["trips"]
    scenario.until("2026-03-10 13:00")
    assert told("opened") == ["trips", "clean"]


@pytest.mark.parametrize(("sustain", "who"), [(1, ["clean", "trips"]), (3, ["trips"])])
def test_an_effect_waits_for_a_cause_that_only_warns_no_longer_than_its_own_sustain_period(
    scenario: Scenario, sustain: int, who: list[str]
) -> None:
    hasty = dataset("raw.clean", sustain=sustain * HOUR, grace=timedelta(0))
    scenario.catalog(dataset("raw.trips"), hasty, lineage=[flow("raw.trips", "raw.clean")])
    scenario.until(at("2026-03-10 05:59") + 2 * sustain * HOUR)
    assert told("opened") == ([] if sustain == 1 else ["trips"])
    scenario.until("2026-03-10 12:30")
    assert told("opened") == who


def test_duplicates_upstream_do_not_silence_the_downstreams_own_completeness(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"), dataset("raw.clean"), lineage=[flow("raw.trips", "raw.clean")])
    scenario.land("raw.trips", MONDAY, rows(100) + rows(100))
    scenario.land("raw.clean", MONDAY, 250)
    scenario.until("2026-03-10 12:00")
    assert {(i.dataset.name, i.category) for i in incidents()} == {("trips", "duplicates"), ("clean", "completeness")}
    assert sorted(told("opened")) == ["clean", "trips"]


def test_duplicates_upstream_explain_the_same_duplicates_downstream(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"), dataset("raw.clean"), lineage=[flow("raw.trips", "raw.clean")])
    for name in ("raw.trips", "raw.clean"):
        scenario.land(name, MONDAY, rows(100) + rows(100))
    scenario.until("2026-03-10 12:00")
    assert [i.category for i in incidents()] == ["duplicates"] * 2
    assert (told("opened"), told("downstream")) == (["trips"], ["clean"])


def fares(count: int, fare: float) -> list[Row]:
    """So many rows with this fare."""
    return [{"id": number, "fare": fare} for number in range(count)]


def test_a_few_duplicates_upstream_silence_no_value_that_moved_further_than_they_can_move_it(
    scenario: Scenario,
) -> None:
    scenario.catalog(
        dataset("raw.trips"),
        dataset("raw.clean"),
        lineage=[flow("raw.trips", "raw.clean", one_to_one=False)],
        custom=[custom("raw.clean", "fares", "mean(fare) <= 12")],
    )
    scenario.land("raw.trips", MONDAY, fares(978, 10) + fares(20, 10))
    scenario.land("raw.clean", MONDAY, fares(998, 15.9))
    scenario.until("2026-03-10 12:00")
    assert {(i.dataset.name, i.category) for i in incidents()} == {("trips", "duplicates"), ("clean", "custom")}
    assert sorted(told("opened")) == ["clean", "trips"]
    assert cause_of(open_incident("raw.clean")) is None
    assert (
        "It is told apart from what else fails:\n- duplicates of raw.trips: 2 % of its rows are wrong or missing, "
        "and it takes 24.5 % to move the value so far\n" in read("opened", "clean")
    )


def test_an_upstream_that_is_half_empty_silences_a_halved_count_and_its_notice_names_the_test(
    scenario: Scenario,
) -> None:
    scenario.catalog(
        dataset("raw.events"),
        dataset("raw.trips"),
        dataset("raw.clean"),
        lineage=[flow("raw.events", "raw.trips"), flow("raw.trips", "raw.clean", one_to_one=False)],
        custom=[custom("raw.clean", "enough", "row_count() >= 90")],
    )
    for name, count in (("raw.events", 100), ("raw.trips", 50), ("raw.clean", 50)):
        scenario.land(name, MONDAY, count)
        scenario.complete(name, MONDAY, on="2026-03-10 01:00")
    scenario.until("2026-03-10 14:00")
    assert cause_of(open_incident("raw.clean")) == open_incident("raw.trips", "completeness")
    assert told("opened") == ["trips"]
    assert "- raw.clean custom: enough: row_count() = 50" in read("opened", "trips")


def test_of_two_tables_that_feed_each_other_one_is_told(scenario: Scenario) -> None:
    both = ("raw.stock", "raw.orders")
    scenario.catalog(*map(dataset, both), lineage=[flow(*both), flow(*reversed(both))])
    scenario.until("2026-03-10 12:00")
    assert [state(f"{name}/freshness", MONDAY) for name in both] == ["FAIL"] * 2
    assert (told("opened"), told("downstream")) == (["stock"], ["orders"])
    for name in both:
        scenario.land(name, MONDAY, 100)
    scenario.until("2026-03-10 13:00")
    assert {incident.resolution for incident in incidents()} == {"auto"}


def test_an_alert_shows_at_once_and_its_notice_waits_for_the_grace(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"))
    scenario.until("2026-03-10 10:00")
    alert = open_incident("raw.trips").alert
    assert alert is not None
    assert (alert.opened_at, told("opened")) == (at("2026-03-10 10:00"), [])
    scenario.until("2026-03-10 10:59:59")
    assert told("opened") == []
    scenario.until("2026-03-10 11:00")
    assert told("opened") == ["trips"]


def test_what_is_resolved_within_the_grace_is_told_to_nobody(scenario: Scenario) -> None:
    scenario.catalog(dataset("raw.trips"), dataset("raw.clean"), lineage=[flow("raw.trips", "raw.clean")])
    for name in ("raw.trips", "raw.clean"):
        scenario.land(name, MONDAY, 100, on="2026-03-10 10:30")
    scenario.until("2026-03-10 14:00")
    assert {incident.resolution for incident in incidents()} == {"auto"}
    assert (told("opened"), told("downstream"), told("recovered")) == ([], [], [])
    assert ("trips", "resolved within grace") in hushed("opened")
    assert ("trips", "never told of the incident") in hushed("recovered")


def test_all_who_were_told_of_an_incident_are_told_that_it_is_over(scenario: Scenario) -> None:
    scenario.catalog(
        dataset("raw.trips"),
        dataset("raw.clean"),
        dataset("raw.late", owner="grace", grace=timedelta(0)),
        lineage=[flow("raw.trips", "raw.clean"), flow("raw.trips", "raw.late")],
    )
    scenario.until("2026-03-10 11:30")
    for name in ("raw.trips", "raw.clean", "raw.late"):
        scenario.land(name, MONDAY, 100)
    scenario.until("2026-03-10 14:00")
    assert (told("opened"), told("downstream")) == (["trips"], ["clean", "grace"])
    assert sorted(told("recovered")) == ["clean", "grace", "trips"]
