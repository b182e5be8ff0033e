"""Incidents of many windows are ended in pieces, so that others may write in between."""

from datetime import timedelta
from threading import Thread

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from alerting.models import Standing, Waiver
from alerting.waivers import WaiverScope
from assay import clock
from assay.models import DataTest
from assay.queue.claims import work
from assay.time.windows import Window
from execution_engine.models import Run
from incident_manager.incidents.services import heal
from incident_manager.models import Ending, Incident, Resolution, SpoiltWindow
from incident_manager.services import UnableToResolve, accept, end_piece, force_resolve
from incident_manager.tasks import end
from tests.factories import (
    DAY,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
)

pytestmark = pytest.mark.django_db

WINDOWS, PIECE = 30, 12


@pytest.fixture
def incident() -> Incident:
    """Of a test that is broken on every one of its windows."""
    clock.simulate(NOW)
    dataset = DatasetFactory.create(name="trips")
    test = DataTestFactory.create(dataset=dataset, created_at=NOW - 1000 * DAY)
    found = IncidentFactory.create(dataset=dataset, category=test.category)
    end = NOW.replace(hour=0) - 5 * DAY
    _break(test, found, [Window(start=end - (n + 1) * DAY, end=end - n * DAY) for n in range(WINDOWS)])
    return found


def _break(test: DataTest, incident: Incident, windows: list[Window]) -> None:
    at = NOW - timedelta(hours=30)
    broken = {"data_test": test, "excess": 0.1}
    runs = Run.objects.bulk_create(
        RunFactory.build(**broken, window=window, outcome="broken", requested_at=at, accept_from=at)
        for window in windows
    )
    states = {"state": "FAIL", "last_outcome": "broken", "due_at": at, "since": at}
    Standing.objects.bulk_create(
        StandingFactory.build(**broken, **states, window=window, last_run=run)
        for window, run in zip(windows, runs, strict=True)
    )
    SpoiltWindow.objects.bulk_create(
        SpoiltWindowFactory.build(incident=incident, data_test=test, window=window, spoilt_at=at) for window in windows
    )


def test_a_request_ends_12_windows_and_the_stage_ends_the_others(incident: Incident) -> None:
    accept(incident, reason="source is lost", author="ada", now=NOW)
    assert (Waiver.objects.count(), incident.resolved_at) == (PIECE, None)
    assert work("end", end_piece, limit=1) == 1
    assert (Waiver.objects.count(), Incident.objects.get().resolved_at) == (2 * PIECE, None)
    assert end() == 1
    incident.refresh_from_db()
    assert (Waiver.objects.count(), incident.resolution) == (WINDOWS, "accepted")
    assert not SpoiltWindow.objects.filter(healed_at=None).exists()
    assert not Standing.objects.filter(waiver=None).exists()
    assert end() == 0


def test_a_window_that_is_spoilt_after_the_word_is_no_part_of_it(incident: Incident) -> None:
    accept(incident, reason="source is lost", author="ada", now=NOW)
    test = DataTest.objects.get()
    later = Window(start=NOW.replace(hour=0) - 5 * DAY, end=NOW.replace(hour=0) - 4 * DAY)
    _break(test, incident, [later])
    end()
    incident.refresh_from_db()
    assert incident.resolved_at is None
    assert [row.window for row in SpoiltWindow.objects.filter(healed_at=None)] == [later]
    assert not Ending.objects.filter(ended_at=None).exists()


def test_what_is_being_ended_is_not_ended_twice(incident: Incident) -> None:
    accept(incident, reason="source is lost", author="ada", now=NOW)
    with pytest.raises(UnableToResolve, match=r"ada is ending incident .*: 18 windows are left"):
        force_resolve(incident, scope=WaiverScope.TEST, reason="twins", author="bob", now=NOW)
    assert (Waiver.objects.count(), incident.timeline.filter(actor="bob").count()) == (PIECE, 0)


def test_windows_that_heal_by_themselves_meanwhile_need_no_waiver(incident: Incident) -> None:
    accept(incident, reason="source is lost", author="ada", now=NOW)
    heal(SpoiltWindow.objects.filter(healed_at=None), Resolution.AUTO, now=NOW)
    end()
    assert (Waiver.objects.count(), Incident.objects.get().resolved_at) == (PIECE, NOW)
    assert not Ending.objects.filter(ended_at=None).exists()


def test_waivers_reach_later_windows_of_each_test_of_the_incident(incident: Incident) -> None:
    first = DataTest.objects.get()
    second = DataTestFactory.create(dataset=first.dataset, category=first.category, name="second")
    start = NOW.replace(hour=0) - 1000 * DAY
    _break(second, incident, [Window(start=start, end=start + DAY)])
    SpoiltWindow.objects.filter(data_test=second).update(window_start=start, window_end=start + DAY)
    later = Window(start=NOW.replace(hour=0) - 3 * DAY, end=NOW.replace(hour=0) - 2 * DAY)
    _break(second, incident, [later])
    SpoiltWindow.objects.filter(data_test=second, window_start=later.start).delete()  # broken, not yet an incident
    Standing.objects.filter(data_test=second, window_start=later.start).update(state="WARN")
    force_resolve(incident, scope=WaiverScope.TEST, reason="twins", author="ada", now=NOW)
    end()
    assert Incident.objects.get().resolution == "forced"
    assert Standing.objects.get(data_test=second, window_start=later.start).waiver is not None


def test_its_timeline_counts_the_windows_that_were_ended_and_not_those_that_healed(incident: Incident) -> None:
    accept(incident, reason="source is lost", author="ada", now=NOW)
    heal(SpoiltWindow.objects.filter(healed_at=None)[:5], Resolution.AUTO, now=NOW)
    end()
    assert [row.text for row in incident.timeline.filter(actor="ada", event="healed")] == ["25 windows: accepted"]


@pytest.mark.django_db(transaction=True)
def test_between_two_pieces_every_other_writer_has_its_turn(
    incident: Incident, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(incident, reason="source is lost", author="ada", now=NOW)
    written: list[int] = []

    def write() -> None:
        try:
            written.append(DataTest.objects.update(name=F("name")))
        finally:
            connection.close()

    def meanwhile(seconds: float) -> None:
        other = Thread(target=write)
        other.start()
        other.join()

    monkeypatch.setattr("incident_manager.tasks.sleep", meanwhile)
    pieces = end()
    has_one_writer = not connection.features.has_select_for_update
    assert (pieces, written) == (2, [1, 1] if has_one_writer else [])


def test_a_window_costs_as_much_however_many_there_are(incident: Incident) -> None:
    with CaptureQueriesContext(connection) as asked:
        force_resolve(incident, scope=WaiverScope.TEST, reason="twins", author="ada", now=NOW)
        end()
    assert len(asked) <= 12 * WINDOWS + 25 * 3  # pieces
    assert incident.timeline.filter(actor="ada").count() == 3  # the word, its windows, the end
    assert Incident.objects.get().resolution == "forced"
