"""Incidents: one open per dataset and category, opened by a FAIL, resolved when nothing of it is spoilt any more."""

from datetime import datetime

from django.db import IntegrityError, transaction

from alerting.models import Alert
from alerting.services import close_alert, open_alert, release_after, wake
from assay.models import DataTest, Severity
from execution_engine.models import RunReason
from execution_engine.selectors import period
from execution_engine.services import request_run
from incident_manager.models import EntryKind, Episode, Incident, Resolution, SpoiltWindow

from .lifecycle import Closed, How, Opening, on_fail, resolution
from .timeline import ASSAY, note


class UnableToResolve(ValueError):
    """An incident that cannot be ended this way."""


class HasEnded(UnableToResolve):
    """Nothing can be done to an incident that has ended."""


class WrongEnd(UnableToResolve):
    """The end that a user wants of a waiver cannot be."""


def incident_for(test: DataTest, *, failed_at: datetime, now: datetime) -> Incident:
    """The open incident that a FAIL belongs to: joined, re-opened or new."""
    key = f"{test.dataset_id}:{test.category}"
    joined = _open(key)
    last = None if joined else _last_ended(test)
    opening = on_fail(
        failed_at=failed_at,
        period=period(test),
        waived=False,
        is_open=joined is not None,
        last_closed=Closed(how=How(last.resolution), resolved_at=last.resolved_at)
        if last and last.resolved_at
        else None,
    )
    if joined is not None:
        if joined.alert is not None and test.revision is not None:
            wake(joined.alert, now, hard=test.revision.severity == Severity.HARD)
        return joined
    reopened = last if opening is Opening.REOPEN else None
    try:
        with transaction.atomic():
            return _begin(test, key, reopened, failed_at, now)
    except IntegrityError:  # another worker was first
        raced = _open(key)
        if raced is None:
            raise
        return raced


def _open(key: str) -> Incident | None:
    return Incident.objects.select_for_update().filter(open_key=key).first()


def _last_ended(test: DataTest) -> Incident | None:
    ended = Incident.objects.filter(
        dataset=test.dataset_id, category=test.category, kind=EntryKind.DETECTED, resolved_at__isnull=False
    )
    return ended.order_by("-resolved_at", "-pk").first()


def _begin(test: DataTest, key: str, reopened: Incident | None, failed_at: datetime, now: datetime) -> Incident:
    dataset = test.dataset
    if reopened is not None:
        incident = reopened
        incident.open_key, incident.resolved_at, incident.resolution = key, None, ""
    else:
        incident = Incident(
            dataset=dataset,
            category=test.category,
            open_key=key,
            tier=dataset.tier,
            owner=dataset.owner,
            team=dataset.team,
            detected_at=failed_at,
        )
    incident.alert = open_alert(dataset=dataset, category=test.category, owner=dataset.owner, now=now)
    incident.save()
    Episode.objects.create(incident=incident, opened_at=failed_at)
    note(incident, "reopened" if reopened else "opened", now=now, text=f"{test.name} fails")
    return incident


def resolve_healed(incident: Incident, now: datetime, *, actor: str = ASSAY, text: str = "") -> bool:
    """Resolve an incident once none of its windows is spoilt; whether it is."""
    Incident.objects.select_for_update().get(pk=incident.pk)  # two that heal its last windows at once must not miss it
    windows = SpoiltWindow.objects.filter(incident=incident).values_list("healed_at", "how")
    how = resolution([How(how) if healed_at else None for healed_at, how in windows])
    if how is not None:
        resolve(incident, Resolution(how.value), now=now, actor=actor, text=text)
    return how is not None


def resolve(incident: Incident, how: Resolution, *, now: datetime, actor: str = ASSAY, text: str = "") -> None:
    """End an incident: its episode and alert too, and what its alert kept silent is looked at again."""
    ended = Incident.objects.filter(pk=incident.pk, resolved_at__isnull=True)
    if not ended.update(resolved_at=now, resolution=how, open_key=None):
        return
    incident.refresh_from_db()
    Episode.objects.filter(incident=incident, closed_at__isnull=True).update(closed_at=now)
    note(incident, "resolved", now=now, actor=actor, text=f"{how.said}: {text}" if text else how.said)
    if incident.alert is not None:
        close_alert(incident.alert, how=how, now=now)
        for effect in Alert.objects.filter(cause=incident.alert, closed_at__isnull=True, inhibited_at__isnull=False):
            release_after(effect, now)
            rerun_effect(effect, incident, now)


def rerun_effect(effect: Alert, cause: Incident, now: datetime) -> None:
    """Run what an ended cause explained again: only a result from now on can say whether it is still broken."""
    spoilt = SpoiltWindow.objects.filter(incident__alert=effect, healed_at__isnull=True, data_test__isnull=False)
    for window in spoilt.select_related("data_test__dataset", "data_test__revision", "incident"):
        assert window.data_test is not None
        occasion = f"resolved:{cause.pk}:{now.isoformat()}"
        request_run(
            data_test=window.data_test, window=window.window, reason=RunReason.TRIGGER, occasion=occasion, now=now
        )
    for incident in Incident.objects.filter(alert=effect):
        note(incident, "cause resolved", now=now, text=f"incident {cause.pk} has ended")


def demand_open(incident: Incident) -> Incident:
    """The incident, locked; raises HasEnded."""
    locked = Incident.objects.select_for_update().get(pk=incident.pk)
    if locked.resolved_at is not None:
        raise HasEnded(f"Incident {incident.pk} has ended at {locked.resolved_at:%Y-%m-%d %H:%M} UTC already.")
    return locked
