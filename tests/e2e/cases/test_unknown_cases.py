"""What could not be judged: who hears of it, and how it is judged after all."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from alerting.models import Notice, Standing
from assay import clock
from assay.catalog.profile import SlaProfile
from execution_engine.outcome import Failure, Reason
from test_generator.data_tests import retire
from tests.e2e.cases.people import body, told
from tests.e2e.scenario import Scenario, data_test, dataset, runs, standing, state

pytestmark = pytest.mark.django_db

TRIPS, MONDAY = "raw.trips", "2026-03-09"
NO_COLUMN = Failure(reason=Reason.UNKNOWN_COLUMN, detail="There is no column 'id': known are ride, fare.")


@pytest.mark.logs_a_failure
def test_an_engine_that_cannot_be_reached_is_told_to_the_platforms_on_call(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS))
    scenario.land(TRIPS, MONDAY, 100)
    scenario.lake.crashes.add("/sea/raw.trips")
    scenario.until("2026-03-10 09:59")
    assert (state("raw.trips/freshness", MONDAY), told("unknown")) == ("PENDING", [])
    scenario.until("2026-03-10 10:00")
    assert state("raw.trips/freshness", MONDAY) == "UNKNOWN"
    assert (set(told("unknown")), told("opened")) == ({"platform-on-call"}, [])
    scenario.lake.crashes.clear()
    scenario.until("2026-03-10 16:30")
    assert told("known again") == told("unknown")


def test_a_test_that_can_never_be_evaluated_is_told_to_its_owner_and_not_tried_in_vain(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS))
    scenario.land(TRIPS, MONDAY, 100)
    scenario.lake.failures["/sea/raw.trips"] = NO_COLUMN
    scenario.until("2026-03-10 12:00")
    assert state("raw.trips/duplicates", MONDAY) == "UNKNOWN"
    assert set(told("unknown")) == {"trips"}
    assert [run.reason for run in runs("raw.trips/duplicates", MONDAY)] == ["schedule"]


def test_what_could_never_be_evaluated_is_judged_once_its_data_is_mended(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, novelty=False))
    scenario.land(TRIPS, MONDAY, 100)
    scenario.lake.failures["/sea/raw.trips"] = NO_COLUMN
    scenario.until("2026-03-10 12:00")
    assert "Cause: unknown column: There is no column 'id': known are ride, fare. This" in body("unknown", "trips")
    assert told("known again") == []
    del scenario.lake.failures["/sea/raw.trips"]
    scenario.land(TRIPS, MONDAY, 100)
    scenario.until("2026-03-10 12:10")
    assert state("raw.trips/duplicates", MONDAY) == "PASS"
    assert Counter(told("known again")) == Counter(told("unknown"))
    assert body("known again", "trips") == (
        "Since 2026-03-10 12:05 UTC the test duplicates of raw.trips holds again for 2026-03-09.\n"
    )


@pytest.mark.logs_a_failure
def test_an_engines_first_success_makes_all_that_waited_for_it_due_at_once(scenario: Scenario) -> None:
    names = ("raw.rides", "raw.trips", "raw.tips")
    scenario.catalog(*(dataset(name, tier=tier, primary_key=()) for tier, name in enumerate(names, start=1)))
    for name in names:
        scenario.land(name, MONDAY, 100)
        scenario.lake.crashes.add(f"/sea/{name}")
    scenario.until("2026-03-10 20:00")
    scenario.lake.crashes.clear()
    scenario.until("2026-03-11 02:00")
    held = [runs(f"{name}/freshness", MONDAY, "check")[-1] for name in names]
    assert {run.outcome for run in held} == {"held"}
    first = min(run.measured_at for run in held if run.measured_at)
    waits = [(run.measured_at - first).total_seconds() for run in held if run.measured_at]
    assert max(waits) <= 5  # by tier, a second apart
    assert {row.state for name in names if (row := standing(f"{name}/freshness", MONDAY))} == {"PASS"}


def test_data_that_vanished_after_it_held_is_unknown_within_a_look_and_its_owner_hears(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.catalog(dataset(TRIPS, unknown_policy="closed"))
    scenario.land(TRIPS, MONDAY, 100)
    scenario.until("2026-03-10 07:30")
    assert (state("raw.trips/duplicates", MONDAY), scenario.ask(TRIPS, MONDAY).decision) == ("PASS", "allow")
    with monkeypatch.context() as removed:
        removed.setattr(scenario.lake, "fingerprint", lambda table, part: None)
        scenario.lake.failures["/sea/raw.trips"] = Failure(reason=Reason.UNREADABLE, detail="There is no such folder.")
        scenario.until("2026-03-10 08:01")
        assert state("raw.trips/duplicates", MONDAY) == "UNKNOWN"
        assert set(told("unknown")) == {"trips"}
        assert "Cause: table cannot be read: There is no such folder. This" in body(
            "unknown", "trips"
        )  # and not what held before
        scenario.until("2026-03-11 02:00")
        assert scenario.ask(TRIPS, MONDAY).decision == "block"
        assert len(runs("raw.trips/duplicates", MONDAY)) == 2  # it is not tried in vain
    del scenario.lake.failures["/sea/raw.trips"]
    scenario.until("2026-03-11 02:10")
    assert (state("raw.trips/duplicates", MONDAY), scenario.ask(TRIPS, MONDAY).decision) == ("PASS", "allow")


def test_a_folder_that_is_missing_when_its_run_is_due_is_read_as_soon_as_it_is_there(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.catalog(dataset(TRIPS))
    with no_folder(scenario, monkeypatch):
        scenario.until("2026-03-10 06:02")
        assert state("raw.trips/duplicates", MONDAY) == "PENDING"
    scenario.land(TRIPS, MONDAY, 100)
    scenario.until("2026-03-10 06:10")
    assert state("raw.trips/duplicates", MONDAY) == "PASS"
    assert state("raw.trips/freshness", MONDAY) == "PASS"
    scenario.until("2026-03-10 20:00")
    assert told("unknown") == []


def test_a_whole_table_that_could_not_be_read_is_tested_again_once_it_is_back(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.catalog(dataset(TRIPS))
    for day in range(9, 16):
        scenario.land(TRIPS, f"2026-03-{day:02}", 100, on=f"2026-03-{day + 1:02} 03:00")
    scenario.until("2026-03-16 05:30")
    with no_folder(scenario, monkeypatch):
        scenario.until("2026-03-16 12:00")
        assert whole_table() == "UNKNOWN"
    scenario.until("2026-03-16 12:20")
    assert whole_table() == "WARN"  # a verdict: each day has the same ids


def test_whoever_was_told_hears_the_end_once_when_the_test_is_retired(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS))
    scenario.land(TRIPS, MONDAY, 100)
    scenario.lake.failures["/sea/raw.trips"] = NO_COLUMN
    scenario.until("2026-03-10 12:00")
    assert (state("raw.trips/duplicates", MONDAY), told("known again")) == ("UNKNOWN", [])
    of_duplicates = sum("test duplicates of" in text for text in bodies("unknown"))
    retire(data_test("raw.trips/duplicates"), now=clock.now())
    scenario.until("2026-03-10 12:01")
    scenario.until("2026-03-10 14:00")
    ended = [text for text in bodies("known again") if "test duplicates of" in text]
    assert (state("raw.trips/duplicates", MONDAY), len(ended)) == ("UNTESTED", of_duplicates)
    assert ended[0].startswith("Since 2026-03-10 12:00 UTC the test duplicates of raw.trips needs no verdict any more ")


def test_whoever_was_told_hears_the_end_once_when_the_test_is_put_off(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS))
    scenario.land(TRIPS, MONDAY, 100)
    scenario.lake.failures["/sea/raw.trips"] = NO_COLUMN
    scenario.until("2026-03-10 12:00")
    of_freshness = sum("test freshness of" in text for text in bodies("unknown"))
    assert (state("raw.trips/freshness", MONDAY), of_freshness > 0) == ("UNKNOWN", True)
    scenario.catalog(dataset(TRIPS, slas=SlaProfile(freshness=timedelta(hours=20))))
    scenario.until("2026-03-10 19:00")
    ended = [text for text in bodies("known again") if "test freshness of" in text]
    assert (state("raw.trips/freshness", MONDAY), len(ended)) == ("PENDING", of_freshness)
    assert ended[0].startswith("Since 2026-03-10 12:00 UTC the test freshness of raw.trips needs no verdict yet for ")


@contextmanager
def no_folder(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Meanwhile the folder of the trips is not there."""
    with monkeypatch.context() as removed:
        removed.setattr(scenario.lake, "fingerprint", lambda table, part: None)
        scenario.lake.failures["/sea/raw.trips"] = Failure(reason=Reason.UNREADABLE, detail="There is no such folder.")
        yield
    del scenario.lake.failures["/sea/raw.trips"]


def bodies(event: str) -> list[str]:
    """What was told of an event, in the order of telling."""
    return list(Notice.objects.filter(event=event, channel="log").order_by("pk").values_list("body", flat=True))


def whole_table() -> str:
    """Where the weekly test of the trips stands."""
    return Standing.objects.get(data_test__name="duplicates:whole").state
