"""A table without rules: what is unlike its past is found and explained, and a user who calls it right is heard."""

from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from alerting.state import WaiverScope
from assay import clock
from assay.models import Dataset
from execution_engine.models import AcceptedPast
from execution_engine.novelty.past import from_bytes, to_bytes
from execution_engine.parts.state_store import keep_state, state_of
from execution_engine.services import request_all
from tests.e2e.cases.people import accept, force, open_incident, told
from tests.e2e.scenario import Scenario, custom, dataset, incidents, runs, spoilt, state, window
from tests.fakes import Row

pytestmark = pytest.mark.django_db

TRIPS, NOVELTY = "raw.trips", "raw.trips/novelty"
CITIES = ("Lisbon", "Porto", "Faro")
WEEKENDS = [f"2026-03-{day:02}" for day in (1, 7, 8, 14, 15, 21, 22, 28, 29)]


def trips(key: str, *, count: int = 400, miles: bool = False, **more: Any) -> list[Row]:
    """A day's trips, each day's a little different; in miles for kilometres where asked for."""
    chance = Random(f"trips of {key}")
    count += chance.randrange(-20, 20)
    return [
        {
            "id": f"{key}-{number}",
            "fare": round(chance.gauss(20, 4), 2),
            "distance": round(chance.gauss(8, 2) * (0.621 if miles else 1), 3),
            "city": chance.choice(CITIES),
            **more,
        }
        for number in range(count)
    ]


def days(first: int, last: int) -> list[str]:
    """The keys of days of March 2026, both included."""
    return [f"2026-03-{day:02}" for day in range(first, last + 1)]


def after(day: str, hours: int = 6) -> str:
    """So many hours after the day's end."""
    return f"2026-03-{int(day[-2:]) + 1:02} {hours:02}:00"


def watched(scenario: Scenario, *, until: str = "2026-03-18", **metadata: Any) -> None:
    """Trips land each night from 9 March on, and are judged at 06:00."""
    scenario.catalog(dataset(TRIPS, **metadata))
    for day in days(9, int(until[-2:])):
        land(scenario, day)
    scenario.until(after(until, 7))


def land(scenario: Scenario, day: str, **spoilt: Any) -> None:
    """A day's trips come right after midnight."""
    scenario.land(TRIPS, day, trips(day, **spoilt), on=after(day, 1))


def sentence(day: str) -> str:
    """What the last run said of a day."""
    return runs(NOVELTY, day)[-1].sentence


def test_a_table_without_a_rule_is_watched_from_its_ninth_partition_on(scenario: Scenario) -> None:
    watched(scenario)
    assert [state(NOVELTY, day) for day in days(9, 18)] == ["LEARNING"] * 8 + ["PASS"] * 2
    assert incidents() == []


def test_a_change_of_units_is_an_incident_that_says_which_column_moved_and_how_far(scenario: Scenario) -> None:
    watched(scenario)
    land(scenario, "2026-03-19", miles=True)
    scenario.until(after("2026-03-19", 7))
    assert (state(NOVELTY, "2026-03-19"), incidents()) == ("WARN", [])  # a hiccup so far
    scenario.until(after("2026-03-19", 12))
    incident = open_incident(TRIPS, "novelty")
    said = sentence("2026-03-19")
    assert " of distance: " in said
    assert ", usually " in said
    assert "unlike the 10 windows before: " in said
    assert told("opened") == ["trips"]
    (finding,) = runs(NOVELTY, "2026-03-19")[-1].findings["novelty"]
    cause = finding["causes"][0]
    assert cause["column"] == "distance"
    assert [window for window, _ in cause["past"]][-2:] == ["2026-03-17T00:00:00+00:00", "2026-03-18T00:00:00+00:00"]
    scenario.land(TRIPS, "2026-03-19", trips("2026-03-19"), on="2026-03-20 12:30")
    scenario.until("2026-03-20 13:00")
    incident.refresh_from_db()
    assert (incident.resolution, spoilt(TRIPS)) == ("auto", [])


def test_a_batch_under_an_incident_does_not_poison_the_past(scenario: Scenario) -> None:
    watched(scenario)
    for day in days(19, 21):
        land(scenario, day, miles=True)
        scenario.until(after(day, 12))
    assert [state(NOVELTY, day) for day in days(19, 21)] == ["FAIL"] * 3
    assert "unlike the 10 windows before" in sentence("2026-03-21")
    (incident,) = incidents(TRIPS, "novelty")
    assert incident.resolved_at is None


def test_a_table_that_has_changed_is_no_news_after_three_further_days_without_an_answer(scenario: Scenario) -> None:
    watched(scenario)
    for day in days(19, 24):
        land(scenario, day, miles=True)
        scenario.until(after(day, 12))
    assert [state(NOVELTY, day) for day in days(19, 24)] == ["FAIL"] * 4 + ["PASS"] * 2
    assert sentence("2026-03-22").endswith("; 4 novel windows in a row: has the table changed?")
    assert open_incident(TRIPS, "novelty")  # until somebody answers
    AcceptedPast.objects.all().delete()
    land(scenario, "2026-03-25", miles=True)
    scenario.until(after("2026-03-25", 7))
    assert state(NOVELTY, "2026-03-25") == "PASS"


def test_what_a_user_accepts_as_bad_data_never_joins_the_past(scenario: Scenario) -> None:
    watched(scenario)
    land(scenario, "2026-03-19", miles=True)
    scenario.until(after("2026-03-19", 12))
    accept(open_incident(TRIPS, "novelty"))
    for day in days(20, 23):
        land(scenario, day)
        scenario.until(after(day, 7))
    land(scenario, "2026-03-24", miles=True)
    scenario.until(after("2026-03-24", 12))
    assert state(NOVELTY, "2026-03-24") == "FAIL"


def test_a_batch_that_another_test_found_bad_is_no_past_either(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, columns=()), custom=[custom(TRIPS, "short", "max(distance) <= 100")])
    for day in days(9, 18):
        far: dict[str, Any] = {"distance": 1000.0} if day == "2026-03-17" else {}
        land(scenario, day, **far)
    scenario.until(after("2026-03-18", 12))
    assert [incident.category for incident in incidents() if incident.resolved_at is None] == ["custom", "novelty"]
    land(scenario, "2026-03-19", distance=1000.0)
    scenario.until(after("2026-03-19", 7))
    assert " of distance: " in sentence("2026-03-19")
    assert "unlike the 9 windows before" in sentence("2026-03-19")


def test_a_false_alarm_is_accepted_once_and_does_not_come_back(scenario: Scenario) -> None:
    watched(scenario)
    land(scenario, "2026-03-19", miles=True)
    scenario.until(after("2026-03-19", 12))
    force(open_incident(TRIPS, "novelty"), scope=WaiverScope.WINDOW)
    for day in days(20, 22):
        land(scenario, day, miles=True)
        scenario.until(after(day, 12))
    assert [state(NOVELTY, day) for day in days(20, 22)] == ["PASS"] * 3
    assert [incident.resolution for incident in incidents(TRIPS, "novelty")] == ["forced"]
    land(scenario, "2026-03-23", city=None)  # other news is news
    scenario.until(after("2026-03-23", 12))
    assert "share of complete values of city" in sentence("2026-03-23")
    assert open_incident(TRIPS, "novelty")


def test_what_is_right_until_a_day_is_news_again_after_it(scenario: Scenario) -> None:
    watched(scenario)
    land(scenario, "2026-03-19", miles=True)
    scenario.until(after("2026-03-19", 12))
    force(open_incident(TRIPS, "novelty"), scope=WaiverScope.TEST)  # of tier 2: for a fortnight
    land(scenario, "2026-03-20", miles=True)
    scenario.until(after("2026-03-20", 12))
    assert state(NOVELTY, "2026-03-20") == "PASS"
    for day in days(21, 30):
        land(scenario, day)
    scenario.until("2026-04-03 12:00")
    scenario.land(TRIPS, "2026-04-03", trips("2026-04-03", miles=True), on="2026-04-04 01:00")
    scenario.until("2026-04-04 12:00")
    assert state(NOVELTY, "2026-04-03") == "FAIL"


def test_what_a_user_calls_right_until_a_day_of_their_own_is_news_again_from_then_on(scenario: Scenario) -> None:
    watched(scenario)
    land(scenario, "2026-03-19", miles=True)
    scenario.until(after("2026-03-19", 12))
    until = datetime(2026, 3, 23, tzinfo=UTC)
    force(open_incident(TRIPS, "novelty"), scope=WaiverScope.TEST, until=until)
    for day in days(20, 22):
        land(scenario, day, miles=True)
        scenario.until(after(day, 12))
    assert [state(NOVELTY, day) for day in days(20, 22)] == ["PASS", "PASS", "FAIL"]


def test_what_is_kept_of_the_past_is_made_anew_where_it_is_lost_and_judges_alike(scenario: Scenario) -> None:
    watched(scenario)
    AcceptedPast.objects.all().delete()
    land(scenario, "2026-03-19", miles=True)
    scenario.until(after("2026-03-19", 7))
    before = sentence("2026-03-19")
    assert "unlike the 10 windows before" in before
    (kept,) = AcceptedPast.objects.all()
    kept.state, kept.state_path = b"damaged", ""
    kept.save()
    scenario.until(after("2026-03-19", 9))
    assert sentence("2026-03-19") == before


@pytest.mark.parametrize(("may_be_empty", "is_found"), [(True, False), (False, True)])
def test_a_day_without_rows_is_news_unless_the_dataset_may_be_empty(
    scenario: Scenario, may_be_empty: bool, is_found: bool
) -> None:
    watched(scenario, allow_empty=may_be_empty)
    scenario.land(TRIPS, "2026-03-19", [], on=after("2026-03-19", 1))
    scenario.until(after("2026-03-19", 7))
    assert (state(NOVELTY, "2026-03-19") == "WARN") is is_found
    land(scenario, "2026-03-20")
    scenario.until(after("2026-03-20", 7))
    assert state(NOVELTY, "2026-03-20") == "PASS"


def test_a_user_watches_distributions_alone(scenario: Scenario) -> None:
    drift = f"{TRIPS}/drift"
    test = custom(TRIPS, "drift", "novelty(method='drift') <= 1", category="novelty")
    scenario.catalog(dataset(TRIPS, novelty=False), custom=[test])
    for day in days(9, 19):
        land(scenario, day, miles=day == "2026-03-19")
    scenario.until(after("2026-03-19", 7))
    assert [state(drift, day) for day in days(9, 19)] == ["LEARNING"] * 8 + ["PASS"] * 2 + ["WARN"]
    said = runs(drift, "2026-03-19")[-1].sentence
    assert "population stability index of distance: " in said
    assert "fare" not in said


def test_a_sunday_is_compared_with_sundays_of_its_zone_even_by_a_past_that_knew_no_days(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, time_zone="Asia/Tokyo"))  # the windows start on the day before, in UTC
    for day in days(1, 28):
        land(scenario, day, count=80 if day in WEEKENDS else 400)
    scenario.until(after("2026-03-28", 7))
    (kept,) = AcceptedPast.objects.all()
    keep_state(kept, to_bytes(from_bytes(state_of(kept)).dated(())))  # as one that was kept before there were days
    kept.save()
    land(scenario, "2026-03-29")
    scenario.until(after("2026-03-29", 7))
    assert state(NOVELTY, "2026-03-29") == "FAIL"
    assert " on Sundays" in sentence("2026-03-29")


def test_the_oldest_window_is_not_compared_with_those_after_it(scenario: Scenario) -> None:
    watched(scenario)
    request_all(Dataset.objects.get(), window(TRIPS, "2026-03-09"), occasion="ada", now=clock.now())
    scenario.until(after("2026-03-18", 7))
    latest = max(runs(NOVELTY, "2026-03-09"), key=lambda run: run.pk)
    assert (latest.reason, "has 0 of the 8 accepted windows" in latest.sentence) == ("manual", True)
