"""What users do to an incident: annotate, acknowledge, run again, force-resolve, accept."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from alerting.models import Standing, Waiver, WaiverKind
from alerting.services import update_alert, waive
from alerting.waivers import Scope
from assay.models import DataTest
from assay.models import Scope as Reach
from assay.windows import Window
from execution_engine.models import Run, RunReason
from execution_engine.services import request_runs
from incident_manager.models import Incident, Kind, Resolution, SpoiltWindow
from incident_manager.services.incidents import UnableToResolve, demand_open
from incident_manager.services.spoilt import heal
from incident_manager.services.timeline import note

MOST_RERUN = 400  # windows of one request, in one statement


@transaction.atomic
def annotate(
    incident: Incident,
    *,
    author: str,
    now: datetime,
    root_cause: str | None = None,
    eta: datetime | None = None,
    backfill: str | None = None,
    text: str = "",
) -> Incident:
    """The incident with what its owner says of it; what is None stays as it is."""
    given = {"root_cause": root_cause, "eta": eta, "backfill": backfill}
    changes = {name: value for name, value in given.items() if value is not None}
    if changes:
        Incident.objects.filter(pk=incident.pk).update(**changes)
        incident.refresh_from_db()
    if eta is not None and incident.alert is not None:
        update_alert(incident.alert, eta=eta, now=now)
    said = [f"{name.replace('_', ' ')}: {value}" for name, value in changes.items()]
    note(incident, "annotated", now=now, actor=author, text="; ".join([*said, *([text] if text else [])]))
    return incident


@transaction.atomic
def acknowledge(incident: Incident, *, author: str, now: datetime) -> Incident:
    """The incident, taken up by ``author``; the first to do so stays named."""
    first = Incident.objects.filter(pk=incident.pk, acknowledged_at__isnull=True)
    if first.update(acknowledged_at=now, acknowledged_by=author):
        note(incident, "acknowledged", now=now, actor=author)
    incident.refresh_from_db()
    return incident


@transaction.atomic
def rerun(incident: Incident, *, author: str, now: datetime) -> list[Run]:
    """Fresh runs, without their ids, of the windows that are still spoilt: of the newest 400, where there are more."""
    live = Q(data_test__retired_at=None, data_test__revision__isnull=False)
    rows = SpoiltWindow.objects.filter(live, incident=incident, healed_at__isnull=True, data_test__isnull=False)
    total = rows.count()
    newest = rows.select_related("data_test__dataset", "data_test__revision").order_by("-window_start", "-pk")
    wanted = [(row.data_test, row.window, now) for row in newest[:MOST_RERUN] if row.data_test is not None]
    runs = request_runs(wanted, reason=RunReason.MANUAL, occasion=f"{author}:{now.isoformat()}", now=now)
    of_all = f", the newest of {total}: run it again for more" if total > len(wanted) else ""
    note(incident, "rerun", now=now, actor=author, text=f"{len(runs)} windows{of_all}")
    return runs


@transaction.atomic
def force_resolve(incident: Incident, *, scope: Scope, reason: str, author: str, now: datetime) -> list[Waiver]:
    """End an incident as a false positive; the waivers of its windows and, by scope ``test``, of later ones too."""
    return _end(incident, WaiverKind.FORCED, Resolution.FORCED, scope, reason, author, now)


@transaction.atomic
def accept(incident: Incident, *, reason: str, author: str, now: datetime) -> list[Waiver]:
    """End an incident that is real and will not be repaired; the waivers of its windows.

    Rows that are accepted as lost are not waited for any more: what the incident explains of them ends with it.
    """
    return _end(incident, WaiverKind.ACCEPTED, Resolution.ACCEPTED, Scope.WINDOW, reason, author, now)


def _end(
    incident: Incident,
    kind: WaiverKind,
    how: Resolution,
    scope: Scope,
    reason: str,
    author: str,
    now: datetime,
) -> list[Waiver]:
    if not reason.strip():
        raise UnableToResolve("A reason is missing: say why, so that whoever is asked next month can know.")
    locked = demand_open(incident)
    if locked.kind == Kind.REPORTED:
        raise UnableToResolve(f"Incident {locked.pk} was reported by a user: reject or fix its report instead.")
    windows = _unhealed(locked)
    if kind is WaiverKind.ACCEPTED:
        windows += _of_the_same_rows(locked, windows)
    note(locked, kind.value, now=now, actor=author, text=f"{reason} (scope {scope.value})")
    waivers = waive(_standings(windows), kind=kind, scope=scope, reason=reason, author=author, now=now)
    heal(windows, how, now=now, actor=author)
    incident.refresh_from_db()
    return waivers


def _unhealed(incident: Incident) -> list[SpoiltWindow]:
    rows = SpoiltWindow.objects.filter(incident=incident, healed_at__isnull=True)
    return list(rows.select_related("incident", "dataset", "data_test__dataset", "data_test__revision"))


def _of_the_same_rows(incident: Incident, windows: list[SpoiltWindow]) -> list[SpoiltWindow]:
    """What other incidents of the dataset call bad on these windows, silent as this one explains it."""
    if incident.alert_id is None:
        return []
    silent = Incident.objects.filter(
        dataset=incident.dataset_id,
        resolved_at__isnull=True,
        alert__cause=incident.alert_id,
        alert__inhibited_at__isnull=False,
    )
    return [each for effect in silent for each in _unhealed(effect) if any(_covers(own, each) for own in windows)]


def _covers(own: SpoiltWindow, other: SpoiltWindow) -> bool:
    return own.datacenter in ("", other.datacenter) and own.window.overlaps(other.window)


def _standings(windows: list[SpoiltWindow]) -> list[Standing]:
    wanted = {_key(window.data_test, window.window) for window in windows if window.data_test is not None}
    rows = Standing.objects.filter(data_test__in={test for test, _ in wanted})
    related = rows.select_related("data_test__dataset", "data_test__revision")
    return [row for row in related if _key(row.data_test, row.window) in wanted]


def _key(test: DataTest, window: Window) -> tuple[int, str]:
    return test.pk, "" if test.scope == Reach.TABLE else window.text
