"""What users do to an incident: take it up, annotate it, run it again, accept it, force it to an end."""

from collections import defaultdict
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils.text import capfirst

from alerting.channels import is_addressed
from alerting.models import Standing
from alerting.notices.messages import assigned_report
from alerting.services import acknowledge_alert, ask, assign_alert, judge_what_waivers_reach, update_alert, waive
from alerting.state import WaiverKind, WaiverScope, wrong_end
from assay.config import config
from assay.models import Dataset, DataTest
from assay.models import Scope as Reach
from assay.queue.claims import finish
from assay.time.windows import Window
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome
from execution_engine.services import UnableToRequest, read_as_of, request_runs
from incident_manager.intervals import overlap, union
from incident_manager.models import Ending, EntryKind, Incident, SpoiltWindow

from .services import UnableToResolve, WrongEnd, by_incident, demand_open, heal, note

# What users do to an incident while it lasts: annotate, run again.


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
    fields = {"root_cause": root_cause, "eta": eta, "backfill": backfill}
    changes = {name: value for name, value in fields.items() if value is not None}
    if changes:
        Incident.objects.filter(pk=incident.pk).update(**changes)
        incident.refresh_from_db()
    if incident.alert is not None and (eta is not None or root_cause is not None):
        update_alert(incident.alert, eta=eta, root_cause=root_cause, now=now)
    lines = [f"{name.replace('_', ' ')}: {value}" for name, value in changes.items()]
    note(incident, "annotated", now=now, actor=author, text="; ".join([*lines, *([text] if text else [])]))
    return incident


@transaction.atomic
def rerun(incident: Incident, *, author: str, now: datetime, as_of: int | None = None) -> list[Run]:
    """Fresh runs, without their ids, of the windows that are still spoilt: of the newest 400, where there are more.

    ``as_of``: the id of a run that is done once more, on the snapshots that it has read; it judges nothing. Raises
    UnableToResolve where it is of another table, or has read none.
    """
    if as_of is not None:
        return _rerun_as_of(incident, as_of, author, now)
    live = Q(data_test__retired_at=None, data_test__revision__isnull=False)
    rows = SpoiltWindow.objects.filter(live, incident=incident, healed_at__isnull=True, data_test__isnull=False)
    total = rows.count()
    newest = rows.select_related("data_test__dataset", "data_test__revision").order_by("-window_start", "-pk")
    requests = [(row.data_test, row.window, now) for row in newest[:MOST_RERUN] if row.data_test is not None]
    runs = request_runs(requests, reason=RunReason.MANUAL, occasion=f"{author}:{now.isoformat()}", now=now)
    of_all = f", the newest of {total}: run it again for more" if total > len(requests) else ""
    note(incident, "rerun", now=now, actor=author, text=f"{len(runs)} windows{of_all}")
    return runs


def _rerun_as_of(incident: Incident, pk: int, author: str, now: datetime) -> list[Run]:
    try:
        as_of = read_as_of(str(pk), incident.dataset)
    except UnableToRequest as error:
        raise UnableToResolve(capfirst(f"{error}.")) from None
    run = Run.objects.select_related("data_test__dataset", "data_test__revision").get(pk=pk)
    place, occasion = (run.data_test, run.window, now), f"{author}:{now.isoformat()}"
    runs = request_runs([place], reason=RunReason.BACKTEST, occasion=occasion, now=now, as_of=as_of)
    note(incident, "rerun", now=now, actor=author, text=f"{run.window.text} as run {pk} has read it")
    return runs


# How a user ends an incident: force-resolve, accept. The windows end piece by piece, the first with the request.

AT_ONCE = 12  # windows that one transaction ends, each judged anew: a gate on SQLite waits for one transaction
NAMED_AT_ONCE = 400  # windows that one statement names


@transaction.atomic
def force_resolve(
    incident: Incident,
    *,
    scope: WaiverScope,
    reason: str,
    author: str,
    now: datetime,
    until: datetime | None = None,
) -> Incident:
    """The incident, ended as a false positive; waivers cover its windows and, by scope ``test``, later ones too.

    Later windows are covered ``until`` an instant; None: for as long as the tier says.
    Of more than ``AT_ONCE`` windows the first are ended here, and the others by the stage ``end``.
    """
    if until is not None:
        wrong = wrong_end(scope, made_at=now, tier=incident.dataset.tier, until=until)
        if wrong is not None:
            raise WrongEnd(wrong)
    return _end(incident, kind=WaiverKind.FORCED, scope=scope, reason=reason, author=author, now=now, until=until)


@transaction.atomic
def accept(incident: Incident, *, reason: str, author: str, now: datetime) -> Incident:
    """The incident, ended as it is real and will not be repaired; waivers cover its windows.

    Rows that are accepted as lost are not waited for any more: what the incident explains of them ends with it.
    """
    return _end(incident, kind=WaiverKind.ACCEPTED, scope=WaiverScope.WINDOW, reason=reason, author=author, now=now)


def end_piece(ending: Ending, now: datetime) -> None:
    """End the next windows of what a user has ended; with the last of them, all else that their waivers explain.

    Windows that became bad after the user spoke are not ended: the incident stays open for them.
    """
    related = ("incident", "dataset", "data_test__dataset", "data_test__revision")
    left = ending.left().select_related(*related).order_by("window_start", "pk")
    windows = list(left.filter(whole_table=False)[: AT_ONCE + 1])
    is_last = len(windows) <= AT_ONCE
    windows = windows[:AT_ONCE]
    _waive(ending, windows, now, Q())
    if is_last:
        of_tables = list(left.filter(whole_table=True))
        tests = DataTest.objects.filter(spoilt_windows__ending=ending).select_related("dataset", "revision").distinct()
        judge_what_waivers_reach(tests.order_by("pk"), scope=WaiverScope(ending.scope), now=now)
        _waive(ending, of_tables, now, Q(last_outcome=Outcome.BROKEN))
        windows += of_tables
    is_whole = is_last and ending.epoch == 0
    for incident, own in () if is_whole else by_incident(windows):  # one line in each, with the last of its own
        all_own = ending.windows.filter(incident=incident)
        if not all_own.filter(healed_at__isnull=True).exclude(pk__in=[window.pk for window in own]).exists():
            count = all_own.filter(how=ending.how).count() + len(own)
            note(incident, "healed", now=now, actor=ending.author, text=f"{count:,} windows: {ending.how.word}")
    heal(windows, ending.how, now=now, actor=ending.author, noted=is_whole)
    finish(ending, ended_at=now if is_last else None)


def _end(
    incident: Incident,
    *,
    kind: WaiverKind,
    scope: WaiverScope,
    reason: str,
    author: str,
    now: datetime,
    until: datetime | None = None,
) -> Incident:
    if not reason.strip():
        raise UnableToResolve("A reason is missing: say why, so that people who ask next month can know.")
    locked = demand_open(incident)
    if locked.kind == EntryKind.REPORTED:
        raise UnableToResolve(f"Incident {locked.pk} was reported by a user: reject or fix its report instead.")
    if (under_way := locked.endings.filter(ended_at__isnull=True).first()) is not None:
        raise UnableToResolve(
            f"{under_way.author} is ending incident {locked.pk}: {under_way.left().count()} windows are left."
        )
    ending = Ending.objects.create(
        incident=locked, kind=kind, scope=scope, until=until, reason=reason, author=author, said_at=now
    )
    own = _unhealed(locked)
    keys = [pk for pk, *_ in own]
    if kind is WaiverKind.ACCEPTED and locked.alert_id is not None:
        bad: dict[str, list[Window]] = defaultdict(list)  # by datacenter; in all of them under the empty name
        for _, place, window in own:
            bad[place].append(window)
        unions = {place: union(windows) for place, windows in bad.items()}
        # the other incidents of the dataset that are silent as this one explains them
        explained = Incident.objects.filter(alert__cause=locked.alert_id, alert__inhibited_at__isnull=False)
        for effect in explained.filter(dataset=locked.dataset_id, resolved_at__isnull=True):
            keys += [
                pk
                for pk, place, window in _unhealed(effect)
                if any(overlap(unions.get(name, ()), window) for name in {"", place})
            ]
    for start in range(0, len(keys), NAMED_AT_ONCE):
        SpoiltWindow.objects.filter(pk__in=keys[start : start + NAMED_AT_ONCE]).update(ending=ending)
    reach = f"scope {scope}" if until is None else f"scope {scope} until {until:%Y-%m-%d %H:%M} UTC"
    note(locked, kind.value, now=now, actor=author, text=f"{reason} ({reach})")
    end_piece(ending, now)
    incident.refresh_from_db()
    return incident


def _waive(ending: Ending, windows: list[SpoiltWindow], now: datetime, which: Q) -> None:
    keys = {_key(window.data_test, window.window) for window in windows if window.data_test is not None}
    rows = Standing.objects.filter(
        Q(window_key__in={key for _, key in keys}) | Q(data_test__scope=Reach.TABLE),
        which,
        data_test__in={test for test, _ in keys},
    )
    related = rows.select_related("data_test__dataset", "data_test__revision")
    waive(
        [row for row in related if _key(row.data_test, row.window) in keys],
        kind=WaiverKind(ending.kind),
        scope=WaiverScope(ending.scope),
        until=ending.until,
        reason=ending.reason,
        author=ending.author,
        now=now,
    )


def _unhealed(incident: Incident) -> list[tuple[int, str, Window]]:
    """The windows of an incident: their ids, the datacenter and the window."""
    rows = SpoiltWindow.objects.filter(incident=incident, healed_at__isnull=True).order_by("window_start", "pk")
    return [(row.pk, row.datacenter, row.window) for row in rows.only("datacenter", "window_start", "window_end")]


def _key(test: DataTest, window: Window) -> tuple[int, str]:
    return test.pk, "" if test.scope == Reach.TABLE else window.text


# Who works on an incident: it is taken up, given to somebody, or given back.


class UnknownPerson(UnableToResolve):
    """A name that is nobody's."""


@transaction.atomic
def acknowledge(incident: Incident, *, author: str, now: datetime) -> Incident:
    """The incident, taken up by ``author``; the first to do so stays named. Raises HasEnded."""
    if demand_open(incident).acknowledged_at is None:
        _take_up(incident, author, now)
    incident.refresh_from_db()
    return incident


@transaction.atomic
def assign(incident: Incident, *, to: str, author: str, now: datetime) -> Incident:
    """The incident, given to somebody by name, who is told once; to ``author`` is to take it up, "" to give it back.

    Whoever has it already keeps it, and is not told again. Raises HasEnded, and UnknownPerson.
    """
    locked = demand_open(incident)
    is_known = (
        to in ("", author, locked.assigned_to)
        or User.objects.filter(username=to, is_active=True).exists()
        or Dataset.objects.filter(Q(owner=to) | Q(team=to)).exists()
        or is_addressed(to)
    )
    if not is_known:
        raise UnknownPerson(
            f"Nobody is called {to!r}: name a user, an owner or team of datasets, or an address that a channel reaches."
        )
    if to == author:
        if locked.acknowledged_by != author:
            _take_up(incident, author, now)
    elif to != locked.assigned_to:  # whoever is given it has not taken it up yet, even if somebody had
        Incident.objects.filter(pk=incident.pk).update(assigned_to=to, acknowledged_by="", acknowledged_at=None)
        channels: tuple[str, ...] = ()
        if locked.alert is not None:
            channels = assign_alert(locked.alert, to=to, author=author, now=now)
        elif to:
            url = f"{config().public_url}/incidents/{incident.pk}"
            message = assigned_report(locked.dataset.full_name, author=author, tier=locked.tier, url=url)
            channels = ask(
                to,
                subject=message.title,
                body=message.body,
                facts={"incident": incident.pk, "dataset": locked.dataset.full_name, "url": url},
                key=f"incident:{incident.pk}:{now:%Y%m%dT%H%M%S%f}",
                now=now,
            )
        how = f"told by {', '.join(channels)}" if channels else "not told: no address is known"
        if to:
            note(locked, "assigned", now=now, actor=author, text=f"to {to}, {how}")
        else:
            note(locked, "unassigned", now=now, actor=author, text=f"{locked.assigned_to} works on it no more")
    incident.refresh_from_db()
    return incident


def _take_up(incident: Incident, author: str, now: datetime) -> None:
    Incident.objects.filter(pk=incident.pk).update(assigned_to=author, acknowledged_by=author, acknowledged_at=now)
    note(incident, "acknowledged", now=now, actor=author)
    if incident.alert is not None:
        acknowledge_alert(incident.alert, author=author, now=now)
