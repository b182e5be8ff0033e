"""The inbox: all reports that somebody may see, those that wait first to be found, and what is done with each."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assay import clock
from assay.access.roles import Action
from assay.time.windows import UnableToAlign
from incident_manager import services
from incident_manager.models import Incident, Report, ReportState
from incident_manager.reports.selectors import UNSETTLED, open_incidents_for
from web.access.who import hidden_datasets, may, person_of, readable
from web.api.incidents.reports import Reports
from web.pages.actions import changing, complain
from web.pages.page_policy import demand, form_of, page
from web.shown.status import ShownStatus

PAGE_SIZE = 50
UNDECIDED = "unsettled"
STATES = (
    (UNDECIDED, _("open or confirmed")),
    ("all", _("all")),
    *((state.value, _(state.value)) for state in ReportState),
)
MINE = (("", _("everybody's")), ("owned", _("of my datasets")), ("sent", _("that I sent")))
LOOKS = {
    ReportState.OPEN: ShownStatus.REPORTED,
    ReportState.CONFIRMED: ShownStatus.FAIL,
    ReportState.FIXED: ShownStatus.PASS,
}


class InboxForm(forms.Form):
    """The filters of the inbox; what cannot be read filters nothing."""

    state = forms.ChoiceField(required=False, choices=STATES)
    mine = forms.ChoiceField(required=False, choices=MINE)
    owner = forms.CharField(required=False, max_length=200)
    dataset = forms.CharField(required=False, max_length=300)
    page = forms.IntegerField(required=False, min_value=1, max_value=10**6)


@dataclass(frozen=True, kw_only=True)
class ShownReport:
    """One report as people read it, and whether whoever asks may decide of it."""

    row: Report
    status: ShownStatus
    window: str
    known: tuple[Incident, ...]
    others: tuple[Incident, ...]  # the open incidents that it may be joined to
    may_act: bool
    may_test: bool


@page
def reports_page(request: HttpRequest) -> HttpResponse:
    """The reports by filters, the newest first."""
    form = InboxForm(request.GET)
    form.is_valid()
    given = form.cleaned_data
    shown = Paginator(_matching(request, given), PAGE_SIZE).get_page(given.get("page") or 1)
    rows = list(shown.object_list)
    others = open_incidents_for(rows)
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "here": "reports",
        "now": clock.now(),
        "page": shown,
        "rows": [_shown(request, row, others.get(row.pk, [])) for row in rows],
        "states": STATES,
        "whose": MINE,
        "wanted": {**given, "state": given.get("state") or UNDECIDED},
        "is_filtered": any(given.get(name) for name in ("state", "mine", "owner", "dataset")),
        "query": query.urlencode(),
    }
    return render(request, "web/reports.html", context)


def _matching(request: HttpRequest, given: Mapping[str, Any]) -> "QuerySet[Report]":
    rows = Report.objects.select_related("dataset", "incident", "offered").prefetch_related("joined__dataset")
    rows = rows.exclude(dataset__in=hidden_datasets(request)).order_by("-pk")
    state = given.get("state") or UNDECIDED
    if state == UNDECIDED:
        rows = rows.filter(state__in=UNSETTLED)
    elif state != "all":
        rows = rows.filter(state=state)
    person = person_of(request)
    if given.get("mine") == "owned":
        rows = rows.filter(Q(dataset__owner=person.name) | Q(dataset__team__in=[team for team in person.teams if team]))
    elif given.get("mine") == "sent":
        rows = rows.filter(reporter=person.name)
    if owner := given.get("owner"):
        rows = rows.filter(Q(dataset__owner__iexact=owner) | Q(dataset__team__iexact=owner))
    if dataset := given.get("dataset"):
        rows = rows.filter(dataset__full_name__icontains=dataset)
    return rows


def _shown(request: HttpRequest, row: Report, others: list[Incident]) -> ShownReport:
    may_act = may(request, Action.ACT, row)
    return ShownReport(
        row=row,
        status=LOOKS.get(ReportState(row.state), ShownStatus.UNTESTED),
        window=window_said(row),
        known=tuple(readable(request, row.joined.all())),
        others=tuple(readable(request, others)) if may_act else (),
        may_act=may_act and row.state in UNSETTLED,
        may_test=may(request, Action.TEST, row.dataset),
    )


def window_said(row: Report) -> str:
    """The partitions that a report is about by their keys, or its time where it is about no whole ones."""
    partitioning = row.dataset.partitioning
    try:
        keys = partitioning.keys(row.window) if partitioning else ()
    except (UnableToAlign, OverflowError):
        keys = ()
    if keys:
        return keys[0] if len(keys) == 1 else _from_to(keys[0], keys[-1])
    return _from_to(f"{row.window_start:%Y-%m-%d %H:%M}", f"{row.window_end:%Y-%m-%d %H:%M} UTC")


def _from_to(first: str, last: str) -> str:
    return gettext("%(first)s to %(last)s") % {"first": first, "last": last}


class RejectForm(forms.Form):
    """Why a claim is wrong."""

    reason = forms.CharField(max_length=10_000)


class JoinForm(forms.Form):
    """The incident that a claim is about."""

    incident = forms.ModelChoiceField(Incident.objects.select_related("dataset"))


def _confirm(row: Report, given: Mapping[str, Any], author: str, now: datetime) -> str:
    services.confirm_report(row, author=author, now=now)
    return gettext("Report %(id)s is confirmed: the gate blocks on its windows until it is fixed.") % {"id": row.pk}


def _fix(row: Report, given: Mapping[str, Any], author: str, now: datetime) -> str:
    services.fix_report(row, author=author, now=now)
    return gettext("Report %(id)s is fixed; %(name)s is told.") % {"id": row.pk, "name": row.reporter}


def _reject(row: Report, given: Mapping[str, Any], author: str, now: datetime) -> str:
    services.reject_report(row, author=author, now=now, reason=given["reason"])
    return gettext("Report %(id)s is rejected; %(name)s is told.") % {"id": row.pk, "name": row.reporter}


def _join(row: Report, given: Mapping[str, Any], author: str, now: datetime) -> str:
    joined = services.join_report(row, given["incident"], author=author, now=now)
    if joined.state == ReportState.JOINED:
        said = gettext("Report %(id)s joined incident %(incident)s; %(name)s is told.")
    else:
        said = gettext("A part of report %(id)s joined incident %(incident)s; the rest still waits for you.")
    return said % {"id": row.pk, "incident": given["incident"].pk, "name": row.reporter}


ACTIONS = {
    "confirm": (forms.Form, _confirm),
    "fix": (forms.Form, _fix),
    "reject": (RejectForm, _reject),
    "join": (JoinForm, _join),
}


@form_of("reports")
def decide(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Confirm, fix, reject or join one report, and return to the inbox."""
    row = get_object_or_404(Report.objects.select_related("dataset", "incident"), pk=pk)
    demand(request, Action.ACT, row)
    form_class, carry_out = ACTIONS[action]
    form = form_class(request.POST)
    if not form.is_valid():
        return complain(request, form, reverse("reports"))
    given = form.cleaned_data
    with changing(request, Reports, action, key=pk, given=given, refusal=services.UnableToDecide):
        if "incident" in given:
            demand(request, Action.READ, given["incident"])
        messages.success(request, carry_out(row, given, request.user.get_username(), clock.now()))
    return redirect("reports")
