"""What users do to an incident: annotate, acknowledge, run again, force-resolve, accept."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import Q, QuerySet

from alerting.models import Standing, Waiver, WaiverKind
from alerting.services import update_alert, waive
from alerting.waivers import Scope
from assay.models import DataTest
from assay.models import Scope as Reach
from assay.windows import Window
from execution_engine.models import Run, RunReason
from execution_engine.services import request_runs
from incident_manager.intervals import Intervals, overlap, union
from incident_manager.models import Incident, Kind, Resolution, SpoiltWindow
from incident_manager.services.incidents import UnableToResolve, demand_open
from incident_manager.services.spoilt import MOST_NOTED, heal
from incident_manager.services.timeline import note

AT_ONCE = 100  # windows that one transaction ends, each judged anew: the others write in between
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
    """End an incident as a false positive; the waivers of its windows and, by scope ``test``, of later ones too.

    Of more than ``AT_ONCE`` windows those of the first; the others follow as soon as the transaction has ended.
    """
    forced = Ending(
        kind=WaiverKind.FORCED, how=Resolution.FORCED, scope=scope, reason=reason, author=author, now=now
    )  # fmt: skip
    return _end(incident, forced)


@transaction.atomic
def accept(incident: Incident, *, reason: str, author: str, now: datetime) -> list[Waiver]:
    """End an incident that is real and will not be repaired; the waivers of its windows, of many the first.

    Rows that are accepted as lost are not waited for any more: what the incident explains of them ends with it.
    """
    accepted = Ending(
        kind=WaiverKind.ACCEPTED, how=Resolution.ACCEPTED, scope=Scope.WINDOW, reason=reason, author=author, now=now
    )  # fmt: skip
    return _end(incident, accepted)


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a user ends an incident."""

    kind: WaiverKind
    how: Resolution
    scope: Scope
    reason: str
    author: str
    now: datetime


def _end(incident: Incident, ending: Ending) -> list[Waiver]:
    if not ending.reason.strip():
        raise UnableToResolve("A reason is missing: say why, so that whoever is asked next month can know.")
    locked = demand_open(incident)
    if locked.kind == Kind.REPORTED:
        raise UnableToResolve(f"Incident {locked.pk} was reported by a user: reject or fix its report instead.")
    keys = _to_end(locked, ending.kind)
    note(locked, ending.kind.value, now=ending.now, actor=ending.author, text=f"{ending.reason} (scope {ending.scope})")
    waivers = _end_piece(keys[:AT_ONCE], ending, is_last=len(keys) <= AT_ONCE)
    transaction.on_commit(partial(_end_rest, keys[AT_ONCE:], ending))
    incident.refresh_from_db()
    return waivers


def _end_rest(keys: Sequence[int], ending: Ending) -> None:
    """The windows beyond the first piece, each piece in a transaction of its own, so that others write in between.

    Where this stops half way, the incident stays open with what is left of it, and may be ended again.
    """
    for start in range(0, len(keys), AT_ONCE):
        with transaction.atomic():
            _end_piece(keys[start : start + AT_ONCE], ending, is_last=start + AT_ONCE >= len(keys), noted=0)


def _end_piece(keys: Sequence[int], ending: Ending, *, is_last: bool, noted: int = MOST_NOTED) -> list[Waiver]:
    rows = SpoiltWindow.objects.filter(pk__in=keys, healed_at__isnull=True)
    windows = list(rows.select_related("incident", "dataset", "data_test__dataset", "data_test__revision"))
    waivers = waive(
        _standings(windows), kind=ending.kind, scope=ending.scope, reason=ending.reason, author=ending.author,
        now=ending.now, is_last=is_last,
    )  # fmt: skip
    heal(windows, ending.how, now=ending.now, actor=ending.author, noted=noted)
    return waivers


def _to_end(incident: Incident, kind: WaiverKind) -> list[int]:
    """The windows that end with an incident, by their ids; those of whole tables last."""
    own = _unhealed(incident)
    ended = {pk: whole for pk, whole, *_ in own}
    if kind is WaiverKind.ACCEPTED and incident.alert_id is not None:
        bad = _bad(own)
        for effect in _silent(incident):
            ended |= {pk: whole for pk, whole, place, window in _unhealed(effect) if _is_bad(bad, place, window)}
    return sorted(ended, key=lambda pk: ended[pk])


def _unhealed(incident: Incident) -> list[tuple[int, bool, str, Window]]:
    """The windows of an incident: their ids, whether of a whole table, the datacenter and the window."""
    rows = SpoiltWindow.objects.filter(incident=incident, healed_at__isnull=True).order_by("window_start", "pk")
    columns = rows.values_list("pk", "whole_table", "datacenter", "window_start", "window_end")
    return [(pk, whole, place, Window(start=start, end=end)) for pk, whole, place, start, end in columns]


def _silent(incident: Incident) -> QuerySet[Incident]:
    """The other incidents of the dataset that are silent as this one explains them."""
    return Incident.objects.filter(
        dataset=incident.dataset_id,
        resolved_at__isnull=True,
        alert__cause=incident.alert_id,
        alert__inhibited_at__isnull=False,
    )


def _bad(windows: Iterable[tuple[int, bool, str, Window]]) -> Mapping[str, Intervals]:
    """What is bad in each datacenter; in all of them under the empty name."""
    found: dict[str, list[Window]] = defaultdict(list)
    for _, _, place, window in windows:
        found[place].append(window)
    return {place: union(own) for place, own in found.items()}


def _is_bad(bad: Mapping[str, Intervals], place: str, window: Window) -> bool:
    return any(overlap(bad.get(name, ()), window) for name in {"", place})


def _standings(windows: list[SpoiltWindow]) -> list[Standing]:
    wanted = {_key(window.data_test, window.window) for window in windows if window.data_test is not None}
    rows = Standing.objects.filter(
        Q(window_key__in={key for _, key in wanted}) | Q(data_test__scope=Reach.TABLE),
        data_test__in={test for test, _ in wanted},
    )
    related = rows.select_related("data_test__dataset", "data_test__revision")
    return [row for row in related if _key(row.data_test, row.window) in wanted]


def _key(test: DataTest, window: Window) -> tuple[int, str]:
    return test.pk, "" if test.scope == Reach.TABLE else window.text
