"""Incidents of a test with their spoilt windows, and what their timelines say."""

from datetime import datetime
from typing import Any

from assay.models import DataTest, Scope
from assay.time.windows import Window
from incident_manager.models import Entry, Incident, SpoiltWindow
from tests.factories import IncidentFactory, RunFactory, SpoiltWindowFactory, StandingFactory, day

MONDAY = day("2026-03-09")


def incident_of(test: DataTest, **more: Any) -> Incident:
    row: Incident = IncidentFactory.create(**{"dataset": test.dataset, "category": test.category, **more})
    return row


def spoils(incident: Incident, test: DataTest | None, window: Window = MONDAY, **more: Any) -> SpoiltWindow:
    row: SpoiltWindow = SpoiltWindowFactory.create(incident=incident, data_test=test, window=window, **more)
    return row


def fails(incident: Incident, test: DataTest, window: Window = MONDAY, **more: Any) -> SpoiltWindow:
    """A window that has failed and is spoilt."""
    run = RunFactory.create(data_test=test, window=window, outcome="broken", excess=0.5)
    whole = {"window_key": "table"} if test.scope == Scope.TABLE else {}
    broken = {"state": "FAIL", "last_outcome": "broken", "excess": 0.5, "last_run": run}
    StandingFactory.create(data_test=test, window=window, **broken, **whole)
    return spoils(incident, test, window, **{"whole_table": bool(whole), **more})


def entries(incident: Incident | None) -> list[tuple[str, str, str, datetime]]:
    """The timeline after the incident's first line."""
    rows = Entry.objects.filter(incident=incident).order_by("pk")
    return [(row.event, row.actor, row.text, row.at) for row in rows][1:]
