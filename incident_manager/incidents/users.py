"""What users do to an incident while it lasts: annotate, run again."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from alerting.services import update_alert
from execution_engine.models import Run, RunReason
from execution_engine.services import request_runs
from incident_manager.models import Incident, SpoiltWindow

from .services import UnableToResolve
from .timeline import note


class WrongTime(UnableToResolve):
    """An instant that cannot be meant."""


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
    """The incident with what its owner says of it; what is None stays as it is. Raises WrongTime."""
    if eta is not None and eta <= now and eta != incident.eta:
        raise WrongTime(f"The expected repair has passed: it is {now:%Y-%m-%d %H:%M} UTC. Name a later time.")
    given = {"root_cause": root_cause, "eta": eta, "backfill": backfill}
    changes = {name: value for name, value in given.items() if value is not None}
    if changes:
        Incident.objects.filter(pk=incident.pk).update(**changes)
        incident.refresh_from_db()
    if incident.alert is not None and (eta is not None or root_cause is not None):
        update_alert(incident.alert, eta=eta, root_cause=root_cause, now=now)
    said = [f"{name.replace('_', ' ')}: {value}" for name, value in changes.items()]
    note(incident, "annotated", now=now, actor=author, text="; ".join([*said, *([text] if text else [])]))
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
