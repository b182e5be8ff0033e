"""An incident's timeline."""

from datetime import datetime

import structlog

from incident_manager.models import Entry, Incident

log = structlog.get_logger(__name__)

ASSAY = "assay"


def note(incident: Incident, event: str, *, now: datetime, actor: str = ASSAY, text: str = "") -> None:
    """Add one line to the timeline."""
    Entry.objects.create(incident=incident, at=now, actor=actor, event=event, text=text)
    log.info("incident", incident=incident.pk, entry=event, actor=actor)
