"""What people do, and what they hear, in the stories of this folder."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from alerting.models import Alert, Notice
from alerting.state import WaiverScope
from assay import clock
from incident_manager import services
from incident_manager.gate.rules import GateAnswer
from incident_manager.models import Incident

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def told(event: str) -> list[str]:
    """Who was told of an event, in the order of telling."""
    return [notice.recipient for notice in _logged(event) if not notice.suppressed]


def hushed(event: str) -> list[tuple[str, str]]:
    """Who was not told of an event, and why."""
    return [(notice.recipient, notice.suppressed) for notice in _logged(event) if notice.suppressed]


def told_at(event: str, recipient: str) -> list[str]:
    """When somebody was told of an event, as day and time."""
    found = (n for n in _logged(event) if n.recipient == recipient and n.sent_at)
    return [f"{notice.sent_at:%d %H:%M}" for notice in found]


def body(event: str, recipient: str) -> str:
    """What somebody read of an event, last."""
    return [notice.body for notice in _logged(event) if notice.recipient == recipient][-1]


def _logged(event: str) -> Iterator[Notice]:
    return Notice.objects.filter(event=event, channel="log").order_by("pk").iterator()


def open_incident(name: str = "", category: str = "") -> Incident:
    """The one open incident of a dataset (of all) and category (of all)."""
    found = Incident.objects.filter(resolved_at__isnull=True).select_related("dataset")
    found = found.filter(dataset__full_name=name) if name else found
    return (found.filter(category=category) if category else found).get()


def cause_of(incident: Incident) -> Incident | None:
    """The incident that explains another, as last decided."""
    alert = Alert.objects.get(incident=incident)
    return Incident.objects.get(alert=alert.cause_id) if alert.cause_id else None


def force(incident: Incident, *, scope: WaiverScope = WaiverScope.WINDOW, until: datetime | None = None) -> None:
    """The owner says that it is a false positive, now."""
    services.force_resolve(incident, scope=scope, until=until, reason="counts twins", author="ada", now=clock.now())


def accept(incident: Incident) -> None:
    """The owner says that it is real and will not be repaired, now."""
    services.accept(incident, reason="the source is gone", author="ada", now=clock.now())


def said(answer: GateAnswer) -> tuple[str, set[str]]:
    """The gate's decision and the texts of its reasons."""
    return answer.decision.value, {reason.text for reason in answer.reasons}
