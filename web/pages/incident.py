"""The pages of incidents: all of them, and one with what is spoilt and why, who was told, and what its forms do."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import F, Max, Prefetch, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy, ngettext

from alerting.alerts.texts import badness, result_of, result_of_test
from alerting.models import Alert, Notice, Standing
from alerting.services import evidence_of, silences_of
from alerting.state import Delivery, WaiverScope, waiver_end
from alerting.titles import headline, operand_titles
from alerting.verdicts.evidence import sentence_of
from assay import clock
from assay.access import Action, AllowedOn, Role, reach_of, refusal
from assay.accounts import person_of
from assay.catalog.selectors import owned
from assay.config import config
from assay.models import Category, Dataset, LineageEdge
from assay.time.windows import keys_of
from execution_engine.language.past import EXPECTED, NOVEL
from execution_engine.language.serialise import from_json
from execution_engine.models import BlastRadius, Run, RunReason
from execution_engine.outcome import Outcome
from execution_engine.runs.rows_samples import rows_samples
from execution_engine.runs.shown_results import Veil
from incident_manager import services
from incident_manager.incidents.earlier_changes import earlier_changes
from incident_manager.models import Ending, EntryKind, Incident, SpoiltWindow
from incident_manager.scores.metric_reporter import USUAL_RANGE, Counted, Group, incidents_counted
from incident_manager.scores.response_times import Step
from web.access.logins import typed_before
from web.access.throttles import costs
from web.access.who import hidden_datasets, may, readable
from web.api.incidents import LONGEST_NAME, MOST_WINDOWS, Incidents
from web.rendering.findings import OF_GROUPS, FindingTable, GroupSummary, MovedStatistic, groups_of, moved, tables_of
from web.rendering.headline import timeline_of
from web.rendering.lineage import lineage
from web.rendering.search import matching_datasets
from web.rendering.status import plain

from .explanations import explanation_with_plots
from .incident_chart import series_of
from .lineage import drawing_of
from .page_policy import (
    TIERS,
    FilterForm,
    NameField,
    PageMessage,
    UtcField,
    changing,
    choice_field,
    complain,
    demand,
    form_of,
    override_address,
    page,
    zoom_of,
)

PAGE_SIZE = 50
LATELY = timedelta(days=1)
MOST_OF_MANY = 20  # windows of each, where many incidents are shown
MOST_PEOPLE = 500
MOST_COLUMNS = 3  # that a title names
MOST_IN_FULL = 3  # windows whose groups and tables the page lists: of each they may take 15 kB
MOST_READERS = 5
MOST_UNHELD = 3  # windows that the end of a re-run names
MOST_CARDS = 6
MOST_AFFECTED = 3  # of affected datasets that a card names
ACTING = [role.value for role in Role if reach_of(role, Action.ACT) is not AllowedOn.NONE]


class IncidentState(StrEnum):
    """Which incidents a reader wants by how they stand."""

    OPEN = "open"
    MINE = "open, mine"
    UNTAKEN = "open, nobody works on it"
    RESOLVED = "resolved"
    OPENED_LATELY = "opened lately"
    RESOLVED_LATELY = "resolved lately"


COUNTED: Mapping[str, Counted | Step] = {value.value: value for value in (*Counted, *Step)}


class IncidentsForm(FilterForm):
    """The filters of the page of incidents; figures of the scores lead here by ``counts``, ``by`` and ``of`` it."""

    q = forms.CharField(required=False, max_length=200)
    state = choice_field(IncidentState, [state.value for state in IncidentState])
    category = forms.ChoiceField(required=False, choices=Category.choices)
    tier = choice_field(int, TIERS)
    counts = choice_field(COUNTED.__getitem__, COUNTED)
    by = choice_field(Group, [group.value for group in Group])
    of = forms.CharField(required=False, max_length=200)


@page
def incidents_page(request: HttpRequest) -> HttpResponse:
    """The incidents of all datasets, open ones first; of a filter's request only the list."""
    filters, now = IncidentsForm(request.GET).values(), clock.now()
    counts, by, of = (filters.pop(name) for name in ("counts", "by", "of"))
    narrowed = {**filters, "reader": request.user.get_username(), "since": now - LATELY}
    counted_range = zoom_of(request)
    start, end = counted_range.start or now - USUAL_RANGE, counted_range.end or now
    if counts:
        keys = incidents_counted(counts, start=start, end=end, now=now, by=by, name=of or "")
        listed = listed_by_count(keys, start, **narrowed)
    else:
        listed = listed_incidents(**narrowed)
    context = {
        "here": "incidents",
        "now": now,
        "wanted": filters,
        "found": listed,
        "incidents": (rows := readable(request, listed["rows"])),
        "may_act": may(request, Action.ACT),
        "actable": (actable := {row.pk for row in rows if may(request, Action.ACT, row)}),
        "chosen": {pk for pk in actable if not {"all", str(pk)}.isdisjoint(request.GET.getlist("choose"))},
        "typed": typed_before(request).get("act", {}),
        "headlines": headlines_of(rows, Veil(now)),
        "states": [state.value for state in IncidentState],
        "categories": Category.values,
        "tiers": TIERS,
        "is_filtered": bool(counts) or any(filters[name] not in ("", None) for name in filters if name != "page"),
        "counts": counts,
        "counted_by": [
            (name, request.GET[name]) for name in ("counts", "from", "to", "by", "of") if name in request.GET
        ],
        "by": by,
        "of": of,
        "start": start,
        "end": end,
        "range_fault": counted_range.wrong,
    }
    if request.headers.get("HX-Request"):
        return render(request, "web/_incident_list.html", context | {"is_part": True})
    return render(request, "web/incidents.html", context)


def listed_incidents(*, page: int = 1, **narrowed: Any) -> dict[str, Any]:
    """The ``rows`` of a page, what turns the pages, and how many of all that match are ``open``.

    The open ones come first, the newest first, then those that were resolved last: each along an index, never sorted
    all. In three statements, and one more where names are sought.
    """
    still_open, resolved = matching_incidents(**narrowed)
    start = (page - 1) * PAGE_SIZE
    end = start + PAGE_SIZE + 1  # one more than is shown says that there is another page
    count = still_open.count()
    listed = [*still_open[start:end], *resolved[max(0, start - count) : max(0, end - count)]]
    return {"rows": listed[:PAGE_SIZE], "open": count, **turning(page, has_next=len(listed) > PAGE_SIZE)}


def listed_by_count(keys: Sequence[int], since: datetime, /, page: int = 1, **narrowed: Any) -> dict[str, Any]:
    """The same of these incidents, in their order; all of them were open after an instant."""
    still_open, resolved = matching_incidents(**narrowed)
    opened = set(still_open.values_list("pk", flat=True))
    present = opened.union(resolved.filter(resolved_at__gt=since).values_list("pk", flat=True))
    keys = [pk for pk in keys if pk in present]
    last = page * PAGE_SIZE
    rows = Incident.objects.select_related(*OF_A_ROW).in_bulk(keys[last - PAGE_SIZE : last])
    listed = [rows[pk] for pk in keys[last - PAGE_SIZE : last]]
    return {"rows": listed, "open": len(opened.intersection(keys)), **turning(page, has_next=len(keys) > last)}


def turning(page: int, *, has_next: bool) -> dict[str, Any]:
    """What turns the pages of a list that nobody counts."""
    neighbours = {"previous_page_number": page - 1, "next_page_number": page + 1}
    return {"number": page, "has_previous": page > 1, "has_next": has_next, **neighbours}


OF_A_ROW = ("dataset", "alert__cause__dataset")


def matching_incidents(
    *,
    q: str | None = "",
    state: IncidentState | None = None,
    category: str | None = "",
    tier: int | None = None,
    reader: str = "",
    since: datetime | None = None,
) -> tuple[QuerySet[Incident], QuerySet[Incident]]:
    """Those that are open, the newest first, and those that are resolved, the last first."""
    rows = Incident.objects.select_related(*OF_A_ROW)
    if q:
        rows = rows.filter(dataset__in=list(matching_datasets(q).values_list("pk", flat=True)))
    if category:
        rows = rows.filter(category=category)
    if tier is not None:
        rows = rows.filter(tier=tier)
    still_open = rows.filter(resolved_at__isnull=True).order_by("-detected_at", "-pk")
    resolved = rows.filter(resolved_at__isnull=False).order_by("-resolved_at", "-pk")
    match state:
        case IncidentState.RESOLVED | IncidentState.RESOLVED_LATELY:
            still_open = still_open.none()
        case IncidentState.OPEN | IncidentState.MINE | IncidentState.UNTAKEN:
            resolved = resolved.none()
    if state is IncidentState.OPENED_LATELY:
        still_open, resolved = (part.filter(detected_at__gte=since, is_past=False) for part in (still_open, resolved))
    if state is IncidentState.RESOLVED_LATELY:
        resolved = resolved.filter(resolved_at__gte=since)
    if state in (IncidentState.MINE, IncidentState.UNTAKEN):
        still_open = still_open.filter(assigned_to=reader if state is IncidentState.MINE else "")
    return still_open, resolved


@page
def incident_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One incident: what is spoilt, why, who was told, and what can be done."""
    effects = Prefetch("alert__effects", Alert.objects.select_related("dataset", "incident"))
    under_way = Prefetch("endings", Ending.objects.filter(ended_at__isnull=True))
    rows = Incident.objects.select_related("dataset", "alert__cause__dataset", "alert__cause__incident")
    incident = rows.prefetch_related("timeline", "episodes", effects, under_way).filter(pk=pk).first()
    if incident is None:
        raise Http404(PageMessage(gettext("There is no incident %(id)s.") % {"id": pk}))
    demand(request, Action.READ, incident)
    now, typed = clock.now(), typed_before(request)
    veil = Veil(now)
    spoilt_rows = SpoiltWindow.objects.filter(incident=incident).order_by("healed_at", "-window_start")
    windows = _spoilt_windows(spoilt_rows[:MOST_WINDOWS], veil)
    bad = [spoilt.row.window for spoilt in windows if spoilt.row.healed_at is None]  # the newest first
    notice_rows = Notice.objects.filter(alert=incident.alert_id).order_by("created_at", "pk")
    notices = list(notice_rows) if incident.alert_id else []
    eta = f"{incident.eta:%Y-%m-%dT%H:%M}" if incident.eta else ""
    annotation = {"root_cause": incident.root_cause, "eta": eta, "backfill": incident.backfill, "text": ""}
    context = {
        "here": "incidents",
        "incident": incident,
        "now": now,
        "windows": windows,
        "in_full": MOST_IN_FULL,
        "timeline": timeline_of(incident, veil),
        "unhealed": incident.spoilt_windows.filter(healed_at=None).count(),
        "may_act": may(request, Action.ACT, incident),
        "waived_until": waiver_end(WaiverScope.TEST, made_at=now, tier=incident.dataset.tier),
        "typed": typed,
        "annotation": typed.get("annotate") or annotation,
        "assigned_to": typed.get("assign", {}).get("to", incident.assigned_to),
        "people": people_for(incident) if may(request, Action.ACT, incident) else [],
        "headline": headline_of(incident, windows, veil),
        **graph_of(request, incident, notices, now),
        "evidence": evidence_of(incident.alert, veil) if incident.alert else [],
        "explanation": explanation_with_plots(incident, veil),
        "outlook": outlook(incident, windows, veil),
        "earlier": earlier_changes(incident, hidden=hidden_datasets(request)),
        "reports": incident.all_reports(),
        "failing_rows": rows_samples({(shown.row.data_test_id or 0, shown.row.window) for shown in windows}, veil),
        "notices": notices,
        "silences": silences_of(incident.alert) if incident.alert else [],
        "reach": reach_of_notices(notices),
        "plot": series.plot() if (series := series_of(incident, veil, now)) else None,
        "url": f"{config().public_url.rstrip('/')}{request.path}",
        "may_silence": may(request, Action.SILENCE, incident.dataset),
        "override_address": override_address(incident.dataset, bad[0] if bad else None, incident.pk),
    }
    return render(request, "web/incident.html", context)


@dataclass(frozen=True, kw_only=True)
class SpoiltShown:
    """One spoilt window, under the key of its partition, with the newest result of its test."""

    row: SpoiltWindow
    key: str
    standing: Standing | None
    sentence: str = ""
    findings: Mapping[str, Any] = field(default_factory=dict)  # of the newest result, as far as they may be told

    @property
    def moved_columns(self) -> tuple[str, ...]:
        """Those that a title names."""
        causes = (cause for finding in self.findings.get(NOVEL, ()) for cause in finding.get("causes", ()))
        return tuple(dict.fromkeys(str(cause["column"]) for cause in causes if cause.get("column")))[:MOST_COLUMNS]

    @cached_property
    def moved(self) -> Sequence[MovedStatistic]:
        """In what it is unlike the windows before it."""
        return moved(self.findings.get(NOVEL, ()))

    @cached_property
    def groups(self) -> GroupSummary | None:
        """Its groups, where its test is by columns."""
        return groups_of(self.findings)

    @cached_property
    def tables(self) -> Sequence[FindingTable]:
        """What else was found, such as lost keys."""
        others = {name: found for name, found in self.findings.items() if name not in {EXPECTED, NOVEL, *OF_GROUPS}}
        if not others or self.standing is None:
            return ()
        titles = operand_titles(from_json(self.standing.revision.tree), self.standing.data_test.name)
        return tables_of(others, titles)


def _newest_bad(incidents: Sequence[Incident], veil: Veil) -> dict[int, list[SpoiltShown]]:
    """The newest windows of each of these incidents that are still bad, by the incident's id; in two statements."""
    bad = SpoiltWindow.objects.filter(incident__in=incidents, healed_at__isnull=True)
    newest = Window(RowNumber(), partition_by=[F("incident")], order_by=[F("window_start").desc()])
    by_incident = defaultdict[int, list[SpoiltShown]](list)
    for spoilt in _spoilt_windows(bad.annotate(nth=newest).filter(nth__lte=MOST_OF_MANY), veil):
        by_incident[spoilt.row.incident_id].append(spoilt)
    return by_incident


def _spoilt_windows(spoilt_rows: QuerySet[SpoiltWindow], veil: Veil) -> list[SpoiltShown]:
    rows = list(spoilt_rows.select_related("data_test__revision", "dataset"))
    places = {row.pk: (row.data_test_id or 0, "table" if row.whole_table else row.window.text) for row in rows}
    joined = ("data_test__dataset", "revision", "last_run__revision", "last_run__data_test__dataset")
    standings = Standing.objects.select_related(*joined).filter(
        data_test__in={test for test, _ in places.values() if test},
        window_key__in={window_key for _, window_key in places.values()},
    )
    by_place = {(standing.data_test_id, standing.window_key): standing for standing in standings}
    windows = []
    for row in rows:
        standing = by_place.get(places[row.pk])
        window = SpoiltShown(
            row=row,
            key=keys_of(row.window, None if row.whole_table else row.dataset.partitioning),
            standing=standing,
            sentence=sentence_of(standing, veil) if standing else "",
            findings=veil.findings(standing.last_run) if standing and standing.last_run else {},
        )
        windows.append(window)
    return windows


def headline_of(incident: Incident, windows: Sequence[SpoiltShown], veil: Veil) -> str:
    """What is wrong, by the worst of the newest results that are bad; of one that is over, by the worst there was.

    Nothing where a user has found it, as no test has a word on it.
    """
    bad = [spoilt for spoilt in windows if spoilt.row.healed_at is None and spoilt.standing]
    others = len({spoilt.key for spoilt in (bad or windows) if spoilt.row.data_test_id}) - 1
    is_over = not bad or incident.resolved_at is not None
    if is_over:
        by_place = {(spoilt.row.data_test_id, spoilt.row.window_start): spoilt for spoilt in reversed(windows)}
        tests, starts = {test for test, _ in by_place if test}, {start for _, start in by_place}
        broken = Run.objects.filter(data_test__in=tests, window_start__in=starts, outcome=Outcome.BROKEN)
        runs = broken.exclude(reason=RunReason.BACKTEST).select_related("revision", "data_test__dataset")
        farthest_first = runs.order_by(F("excess").desc(nulls_last=True), "-measured_at")[:MOST_WINDOWS]
        run = next((run for run in farthest_first if (run.data_test_id, run.window_start) in by_place), None)
        if run is None:
            return ""
        worst = by_place[run.data_test_id, run.window_start]
        hidden = veil.hides_run(run)
        result = result_of_test(
            run.data_test,
            keys="" if worst.row.whole_table else worst.key,
            value=None if hidden else run.value,
            tree=None if hidden else run.revision.tree,
            run=None if hidden else run,
            columns=worst.moved_columns,
        )
    else:
        worst = max(
            bad, key=lambda spoilt: badness(spoilt.standing) if spoilt.standing else (0.0, spoilt.row.window_start)
        )
        assert worst.standing is not None
        keys = "" if worst.row.whole_table else worst.key
        result = result_of(worst.standing, veil, keys=keys, columns=worst.moved_columns)
    return headline(result, others=others, is_over=is_over)


def headlines_of(incidents: Sequence[Incident], veil: Veil) -> dict[int, str]:
    """What is wrong in each of these that is open and that a test found, by its id; in two statements."""
    bad = _newest_bad([incident for incident in incidents if incident.resolved_at is None], veil)
    test_incidents = [incident for incident in incidents if any(spoilt.standing for spoilt in bad[incident.pk])]
    return {incident.pk: headline_of(incident, bad[incident.pk], veil) for incident in test_incidents}


def people_for(incident: Incident) -> list[str]:
    """Whom a form offers: the users who may act on it, and all owners, as an upstream's may have to; in two statements.

    Whom it does not name may be typed all the same.
    """
    dataset = owned(incident.dataset)
    users = User.objects.select_related("member").filter(is_active=True).order_by("username")
    acting = users.filter(Q(is_superuser=True) | Q(member__role__in=ACTING))[:MOST_PEOPLE]
    names = {user.username for user in acting if refusal(person_of(user), Action.ACT, dataset) is None}
    owners = Dataset.objects.filter(missing_since__isnull=True).order_by("owner").values_list("owner", flat=True)
    return sorted({incident.owner, *names, *owners.distinct()[:MOST_PEOPLE]})


def outlook(incident: Incident, windows: Sequence[SpoiltShown], veil: Veil) -> dict[str, Any]:
    """Who reads the data, and what comes next: a test at an instant, runs on their way, or a person's word.

    In six statements. ``every``: after how many seconds the page looks again.
    """
    downstreams = LineageEdge.objects.filter(upstream=incident.dataset_id).values("downstream")
    readers = Dataset.objects.filter(pk__in=downstreams).values_list("full_name", flat=True).order_by("full_name")
    names, is_open = list(readers), not incident.resolved_at
    bad = [spoilt for spoilt in windows if spoilt.row.healed_at is None]
    checks = [spoilt.standing.next_check_at for spoilt in bad if spoilt.standing and spoilt.standing.next_check_at]
    progress = _progress(bad) if is_open else None
    return {
        "readers": names[:MOST_READERS],
        "more_readers": max(0, len(names) - MOST_READERS),
        "reach": BlastRadius.objects.filter(dataset=incident.dataset_id, downstreams__gt=len(names)).first(),
        "next_at": min(checks, default=None) if is_open else None,
        "waits_for_owner": is_open and incident.kind == EntryKind.REPORTED,
        "progress": progress,
        "ended": None if progress else _ended_rerun(incident, windows, veil),
        "every": 3 if progress else 20,
    }


RERUN = (RunReason.MANUAL, RunReason.BACKTEST)  # by people, on what there is now or on a snapshot of then


def _ended_rerun(incident: Incident, windows: Sequence[SpoiltShown], veil: Veil) -> dict[str, Any] | None:
    """What came of the runs that were last asked for on this page, once all of them are judged.

    ``unheld`` are the windows that do not hold, the newest first: the key, and the value where there is one to tell.
    """
    rerun = next((entry for entry in reversed(incident.timeline.all()) if entry.event == "rerun"), None)
    if rerun is None:
        return None
    tests = {spoilt.row.data_test_id for spoilt in windows if spoilt.row.data_test_id}
    rows = Run.objects.filter(data_test__in=tests, reason__in=RERUN, requested_at=rerun.at)
    runs = list(rows.select_related("revision", "data_test__dataset").order_by("-window_start"))
    judged = [run.judged_at for run in runs if run.judged_at is not None]
    if not runs or len(judged) < len(runs):
        return None
    unheld = [run for run in runs if run.outcome != Outcome.HELD]
    return {
        "author": rerun.actor,
        "at": max(judged),
        "held": len(runs) - len(unheld),
        "total": len(runs),
        "unheld": [
            (
                keys_of(run.window, run.data_test.dataset.partitioning),
                run.value if run.outcome == Outcome.BROKEN and not veil.hides_run(run) else None,
            )
            for run in unheld[:MOST_UNHELD]
        ],
        "more": max(0, len(unheld) - MOST_UNHELD),
    }


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Whom notices of an incident have reached, by which channels, and whom they have not, each with a reason."""

    reached: Sequence[tuple[str, str]]
    unreached: Sequence[tuple[str, str]]


WHY_NOT = {
    Delivery.LOGGED: gettext_lazy("in the log alone"),
    Delivery.SUPPRESSED: gettext_lazy("muted"),
    Delivery.GIVEN_UP: gettext_lazy("given up"),
    Delivery.DUE: gettext_lazy("not due yet"),
}


def reach_of_notices(notices: Sequence[Notice]) -> Reach:
    """Each recipient once: the log alone reaches nobody, and what is due has reached nobody yet."""
    channels, missed = defaultdict[str, dict[str, None]](dict), dict[str, Delivery]()
    for notice in notices:
        if notice.delivery is Delivery.SENT:
            channels[notice.recipient][notice.channel] = None
        elif missed.get(notice.recipient) is not Delivery.DUE:
            missed[notice.recipient] = notice.delivery
    return Reach(
        reached=[(name, ", ".join(by)) for name, by in channels.items()],
        unreached=[(name, str(WHY_NOT[why])) for name, why in missed.items() if name not in channels],
    )


def _progress(bad: Sequence[SpoiltShown]) -> dict[str, int] | None:
    """How many of the runs that were asked for together last are judged, while some are not."""
    runs = Run.objects.filter(
        data_test__in={spoilt.row.data_test_id for spoilt in bad if spoilt.row.data_test_id},
        window_start__in={spoilt.row.window_start for spoilt in bad},
        reason__in=RERUN,
    )
    last = runs.aggregate(last=Max("requested_at"))["last"]
    if last is None:
        return None
    judged = list(runs.filter(requested_at=last).values_list("judged_at", flat=True))
    done = sum(at is not None for at in judged)
    return {"done": done, "total": len(judged)} if done < len(judged) else None


ROOTS = Q(alert=None) | Q(alert__cause=None)  # that nothing else causes


def open_incidents(matching: Q, most: int) -> list[Incident]:
    """The open incidents that match, of the most critical tiers, the newest first, with what they cause."""
    effects = Alert.objects.filter(closed_at__isnull=True).select_related("dataset").order_by("pk")
    rows = Incident.objects.filter(matching, resolved_at=None).select_related("dataset", "alert")
    return list(rows.prefetch_related(Prefetch("alert__effects", effects)).order_by("tier", "-detected_at")[:most])


def cards(incidents: Sequence[Incident], veil: Veil) -> list[dict[str, Any]]:
    """A card for each incident, in two statements: a headline, and what it makes bad as well.

    ``affected`` are other datasets, of which the first are ``named``; ``beside`` are categories of its own dataset.
    """
    bad, made = _newest_bad(incidents, veil), []
    for incident in incidents:
        effects = list(incident.alert.effects.all()) if incident.alert else []
        elsewhere = [effect for effect in effects if effect.dataset_id != incident.dataset_id]
        affected = list(dict.fromkeys(effect.dataset.full_name for effect in elsewhere))
        card = {
            "incident": incident,
            "headline": headline_of(incident, bad[incident.pk], veil),
            "affected": affected,
            "named": affected[:MOST_AFFECTED],
            "unnamed": max(0, len(affected) - MOST_AFFECTED),
            "beside": ", ".join(plain(effect.category) for effect in effects if effect not in elsewhere),
        }
        made.append(card)
    return made


def alert_chain(incident: Incident) -> list[Alert]:
    """The alert of its root cause first, then those of all that it causes; of one that stands alone its own."""
    if incident.alert is None:
        return []
    root = incident.alert.cause or incident.alert
    return [root, *root.effects.select_related("dataset", "incident").order_by("pk")]


def notes_of(incident: Incident, chain: Sequence[Alert], notices: Sequence[Notice]) -> dict[int, dict[str, str]]:
    """By dataset: what of it is the root cause, and what is muted as an effect; and whether a reader was told.

    Each is a ``text`` with the ``address`` of its incident, if any.
    """
    texts, addresses = defaultdict[int, list[str]](list), dict[int, str]()
    for alert in chain:
        if alert == incident.alert:
            part = gettext("%(category)s: this incident")
        elif alert.closed_at is not None:
            part = gettext("%(category)s: closed")
        else:
            part = gettext("%(category)s: muted") if alert.cause_id else gettext("%(category)s: root cause")
        texts[alert.dataset_id].append(part % {"category": plain(alert.category)})
        if alert != incident.alert and (row := getattr(alert, "incident", None)) is not None:
            addresses.setdefault(alert.dataset_id, reverse("incident", args=[row.pk]))
    reached = {notice.recipient for notice in notices if notice.delivery is Delivery.SENT}
    readers = LineageEdge.objects.filter(upstream=incident.dataset_id).values_list("downstream", "downstream__owner")
    for id_, owner in readers:
        part = gettext("%(name)s was told") if owner in reached else gettext("%(name)s was not told")
        texts[id_].append(part % {"name": owner})
    return {id_: {"text": ", ".join(parts), "address": addresses.get(id_, "")} for id_, parts in texts.items()}


def graph_of(request: HttpRequest, incident: Incident, notices: Sequence[Notice], now: datetime) -> dict[str, Any]:
    """The drawing of its cause, its effects and its readers, with a note on each; nothing where it stands alone."""
    chain = alert_chain(incident)
    members = {alert.dataset_id for alert in chain} if len(chain) > 1 else set()
    root = chain[0].dataset_id if members else None
    graph = lineage(incident.dataset, now=now, root=root, effects=members)
    if len(graph.nodes) == 1 and not members:
        return {}
    notes = notes_of(incident, chain if members else (), notices)
    return {"lineage": drawing_of(request, graph, depth=1, chain=members, is_noted=True), "notes": notes}


class AssignForm(forms.Form):
    """Who is to work on an incident; empty: nobody."""

    to = NameField(required=False, max_length=LONGEST_NAME)


class AnnotateForm(forms.Form):
    """What an owner says of an incident."""

    root_cause = forms.CharField(required=False, max_length=10_000)
    eta = UtcField(required=False)
    backfill = NameField(required=False, max_length=200)
    text = forms.CharField(required=False, max_length=10_000)


class ReasonForm(forms.Form):
    """Why an incident ends, or why a claim is wrong."""

    reason = forms.CharField(max_length=10_000)


class RerunForm(forms.Form):
    """A run to do once more on what it has read; without one, all that is bad is run as it is now."""

    as_of = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)


class ForceForm(ReasonForm):
    """Why an incident was a false positive, and how far that reaches."""

    scope = forms.TypedChoiceField(coerce=WaiverScope, choices=[(scope.value, scope.value) for scope in WaiverScope])
    until = UtcField(required=False)


# by the last part of the address: the API's name, as the audit knows one name for one thing, the form, and the service
ACTIONS: dict[str, tuple[str, type[forms.Form], Callable[..., Any]]] = {
    "annotate": ("annotations", AnnotateForm, services.annotate),
    "acknowledge": ("acknowledge", forms.Form, services.acknowledge),
    "assign": ("assign", AssignForm, services.assign),
    "rerun": ("rerun", RerunForm, services.rerun),
    "force-resolve": ("force_resolve", ForceForm, services.force_resolve),
    "accept": ("accept", ReasonForm, services.accept),
}


@form_of("incident", "pk")
@costs("run")
def act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Do one thing to an incident and return to its page."""
    incident = get_object_or_404(Incident.objects.select_related("alert", "dataset"), pk=pk)
    demand(request, Action.ACT, incident)
    name, form_class, service = ACTIONS[action]
    form, home = form_class(request.POST), reverse("incident", args=[pk])
    if not form.is_valid():
        return complain(request, form, home)
    fields, author = form.cleaned_data, request.user.get_username()
    changes = {
        field: value
        for field, value in fields.items()
        if action != "annotate" or field == "text" or value != getattr(incident, field)
    }
    before = incident.assigned_to, incident.acknowledged_by
    with changing(request, Incidents, name, key=pk, details=fields, refusal=services.UnableToResolve, home=home):
        result = service(incident, **changes, author=author, now=clock.now())
        is_same = before == (incident.assigned_to, incident.acknowledged_by)
        text = _done_text(action, incident, result, is_same=is_same, is_own=fields.get("to") == author)
        messages.success(request, text)
    return redirect("incident", pk)


def _done_text(action: str, incident: Incident, result: Any, *, is_same: bool, is_own: bool) -> str:
    """What a form has done; of many windows a request closes only the first, so that Assay still has some to close."""
    match action:
        case "assign" if is_same:
            return "Nothing to change: it stands so already."
        case "assign" if is_own:
            return "You are named as the person who works on it."
        case "assign":
            entry = incident.timeline.last()
            return f"Saved: {entry.event} {entry.text}." if entry else "Saved."
        case "acknowledge":
            return gettext("Acknowledged: you are named as the person who works on it.")
        case "rerun":
            count = len(result)
            return ngettext("%(count)s run is on the way.", "%(count)s runs are on the way.", count) % {"count": count}
        case "force-resolve":
            text = gettext("Resolved as a false positive.")
        case "accept":
            text = gettext("Accepted: the gate warns on these windows until a run holds.")
        case _:
            return gettext("Saved.")
    if incident.resolved_at:
        return text
    return text + " " + gettext("It has many windows: the first are closed, and the others follow.")
