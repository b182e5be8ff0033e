"""The page of all incidents."""

from datetime import timedelta

import pytest

from incident_manager.models import Incident
from tests.factories import NOW, IncidentFactory
from web.pages.selectors.incident import newest_incidents

pytestmark = pytest.mark.django_db


def incident(*, detected: int, resolved: int | None = None) -> Incident:
    """One that was detected, and perhaps resolved, so many hours ago."""
    ended = None if resolved is None else NOW - timedelta(hours=resolved)
    key = None if ended else f"{detected}"
    return IncidentFactory.create(detected_at=NOW - timedelta(hours=detected), resolved_at=ended, open_key=key)


def test_open_incidents_come_first_then_those_resolved_last() -> None:
    old_open, early = incident(detected=90), incident(detected=3, resolved=2)
    new_open, late = incident(detected=5), incident(detected=80, resolved=1)
    assert newest_incidents(10) == [new_open, old_open, late, early]
    assert newest_incidents(3) == [new_open, old_open, late]
    assert newest_incidents(1) == [new_open]
