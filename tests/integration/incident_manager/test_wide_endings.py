"""Incidents of many windows are ended in pieces, so that others may write in between."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoCaptureOnCommitCallbacks

from alerting.models import Standing, Waiver
from alerting.waivers import Scope
from assay import clock
from assay.models import DataTest
from assay.windows import Window
from execution_engine.models import Run
from incident_manager.models import Incident, SpoiltWindow
from incident_manager.services import accept, force_resolve
from tests.factories import DAY, NOW, DatasetFactory, DataTestFactory, IncidentFactory

pytestmark = pytest.mark.django_db

WINDOWS, PIECE = 250, 100


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
    measured_at = NOW - timedelta(hours=30)
    runs = Run.objects.bulk_create(
        Run(
            data_test=test, revision=test.revision, reason="schedule", slot=f"s{number}", window_start=window.start,
            window_end=window.end, requested_at=measured_at, due_at=measured_at, accept_from=measured_at,
            evaluated_at=measured_at, measured_at=measured_at, judged_at=measured_at, planned_at=measured_at,
            outcome="broken", excess=0.1,
        )
        for number, window in enumerate(windows)
    )  # fmt: skip
    Standing.objects.bulk_create(
        Standing(
            data_test=test, revision=test.revision, window_key=window.text, window_start=window.start,
            window_end=window.end, state="FAIL", last_outcome="broken", excess=0.1, due_at=measured_at,
            since=measured_at, last_run=run,
        )
        for window, run in zip(windows, runs, strict=True)
    )  # fmt: skip
    SpoiltWindow.objects.bulk_create(
        SpoiltWindow(
            incident=incident, dataset=test.dataset, data_test=test, severity="hard", spoilt_at=measured_at,
            window_start=window.start, window_end=window.end,
        )
        for window in windows
    )  # fmt: skip


def test_one_transaction_ends_at_most_100_windows(
    incident: Incident, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks() as after:
        accept(incident, reason="source is lost", author="ada", now=NOW)
    assert (Waiver.objects.count(), incident.resolved_at) == (PIECE, None)
    for rest in after:
        rest()
    incident.refresh_from_db()
    assert (Waiver.objects.count(), incident.resolution) == (WINDOWS, "accepted")
    assert not SpoiltWindow.objects.filter(healed_at=None).exists()
    assert not Standing.objects.filter(waiver=None).exists()


def test_a_window_costs_as_much_however_many_there_are(
    incident: Incident, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with (
        CaptureQueriesContext(connection) as asked,
        django_capture_on_commit_callbacks(execute=True),
    ):
        force_resolve(incident, scope=Scope.TEST, reason="twins", author="ada", now=NOW)
    assert len(asked) <= 12 * WINDOWS
    assert incident.timeline.count() <= 60
    assert Incident.objects.get().resolution == "forced"
