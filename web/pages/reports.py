"""Reports on pages: the inbox of those who decide of them, and the form in which somebody reports a problem.

What becomes of a report is in ``incident_manager.reports``.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assay import clock
from assay.access import Action
from assay.models import Dataset
from assay.time.windows import Partitioning, UnableToAlign, UnableToPartition, Window
from incident_manager import services
from incident_manager.models import Incident, Report, ReportState, Saw
from incident_manager.reports import UNSETTLED, likely_troubles, open_incidents_for, waiting_for
from web.access.logins import typed_before
from web.access.throttles import costs
from web.access.who import hidden_datasets, may, person_of, readable
from web.api.reports import Reports
from web.rendering.status import DisplayStatus, in_english

from .incident import ReasonForm
from .page_policy import FilterForm, UtcField, changing, complain, dataset_of, demand, form_of, page

PAGE_SIZE = 50
UNDECIDED = "unsettled"
STATES = (
    (UNDECIDED, _("open or confirmed")),
    ("all", _("all")),
    *((state.value, _(state.value)) for state in ReportState),
)
MINE = (("", _("everybody's")), ("owned", _("of my datasets")), ("sent", _("that I sent")))
LOOKS = {
    ReportState.OPEN: DisplayStatus.REPORTED,
    ReportState.CONFIRMED: DisplayStatus.FAIL,
    ReportState.FIXED: DisplayStatus.PASS,
}


class InboxForm(FilterForm):
    """The filters of the inbox."""

    state = forms.ChoiceField(required=False, choices=STATES)
    mine = forms.ChoiceField(required=False, choices=MINE)
    owner = forms.CharField(required=False, max_length=200)
    dataset = forms.CharField(required=False, max_length=300)


@page
def reports_page(request: HttpRequest) -> HttpResponse:
    """The reports by filters, the newest first."""
    filters = InboxForm(request.GET).values()
    report_page = Paginator(_matching(request, filters), PAGE_SIZE).get_page(filters["page"])
    rows = list(report_page.object_list)
    others = open_incidents_for(rows)  # what each may be joined to
    summaries = []
    for row in rows:
        may_act = may(request, Action.ACT, row)
        summary = {
            "row": row,
            "status": LOOKS.get(ReportState(row.state), DisplayStatus.UNTESTED),
            "window": window_said(row),
            "known": readable(request, row.joined.all()),
            "others": readable(request, others.get(row.pk, [])) if may_act else [],
            "may_act": may_act and row.state in UNSETTLED,
            "may_test": may(request, Action.TEST, row.dataset),
        }
        summaries.append(summary)
    context = {
        "here": "reports",
        "now": clock.now(),
        "page": report_page,
        "rows": summaries,
        "states": STATES,
        "whose": MINE,
        "wanted": {**filters, "state": filters["state"] or UNDECIDED},
        "is_filtered": any(filters[name] for name in ("state", "mine", "owner", "dataset")),
    }
    return render(request, "web/reports.html", context)


def _matching(request: HttpRequest, filters: Mapping[str, Any]) -> "QuerySet[Report]":
    rows = Report.objects.select_related("dataset", "incident", "offered").prefetch_related("joined__dataset")
    rows = rows.exclude(dataset__in=hidden_datasets(request)).order_by("-pk")
    state = filters.get("state") or UNDECIDED
    if state == UNDECIDED:
        rows = rows.filter(state__in=UNSETTLED)
    elif state != "all":
        rows = rows.filter(state=state)
    person = person_of(request)
    if filters.get("mine") == "owned":
        rows = rows.filter(Q(dataset__owner=person.name) | Q(dataset__team__in=[team for team in person.teams if team]))
    elif filters.get("mine") == "sent":
        rows = rows.filter(reporter=person.name)
    if owner := filters.get("owner"):
        rows = rows.filter(Q(dataset__owner__iexact=owner) | Q(dataset__team__iexact=owner))
    if dataset := filters.get("dataset"):
        rows = rows.filter(dataset__full_name__icontains=dataset)
    return rows


def window_said(row: Report) -> str:
    """The partitions that a report is about by their keys, or its time where it is about no whole ones."""
    partitioning = row.dataset.partitioning
    try:
        keys = partitioning.keys(row.window) if partitioning else ()
    except (UnableToAlign, OverflowError):
        keys = ()
    if len(keys) == 1:
        return keys[0]
    first = keys[0] if keys else f"{row.window_start:%Y-%m-%d %H:%M}"
    last = keys[-1] if keys else f"{row.window_end:%Y-%m-%d %H:%M} UTC"
    return gettext("%(first)s to %(last)s") % {"first": first, "last": last}


class JoinForm(forms.Form):
    """The incident that a claim is about."""

    incident = forms.ModelChoiceField(Incident.objects.select_related("dataset"))


JOINED = _("Report %(id)s joined incident %(incident)s; %(name)s is told.")
JOINED_IN_PART = _("A part of report %(id)s joined incident %(incident)s; the rest still waits for you.")
ACTIONS: dict[str, tuple[type[forms.Form], Callable[..., Report], Any]] = {  # the form, the service, what is said then
    "confirm": (
        forms.Form,
        services.confirm_report,
        _("Report %(id)s is confirmed: the gate blocks on its windows until it is fixed."),
    ),
    "fix": (forms.Form, services.fix_report, _("Report %(id)s is fixed; %(name)s is told.")),
    "reject": (ReasonForm, services.reject_report, _("Report %(id)s is rejected; %(name)s is told.")),
    "join": (JoinForm, services.join_report, JOINED),
}


@form_of("reports")
def decide(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Confirm, fix, reject or join one report, and return to the inbox."""
    row = get_object_or_404(Report.objects.select_related("dataset", "incident"), pk=pk)
    demand(request, Action.ACT, row)
    form_class, service, text = ACTIONS[action]
    form = form_class(request.POST)
    if not form.is_valid():
        return complain(request, form, reverse("reports"))
    fields, author = form.cleaned_data, request.user.get_username()
    with changing(request, Reports, action, key=pk, details=fields, refusal=services.UnableToDecideReport):
        if incident := fields.get("incident"):
            demand(request, Action.READ, incident)
        decided = service(row, **fields, author=author, now=clock.now())
        if incident and decided.state != ReportState.JOINED:
            text = JOINED_IN_PART
        names = {"id": row.pk, "name": row.reporter, "incident": incident.pk if incident else None}
        messages.success(request, str(text) % names)
    return redirect("reports")


RECENT = 60  # partitions to choose from
DAY = timedelta(days=1)


class ProblemForm(forms.Form):
    """A user's claim that the data of some partitions, or of a time, is bad; ``of`` is the incident that it is."""

    first = forms.CharField(required=False, max_length=120)
    last = forms.CharField(required=False, max_length=120)
    start = UtcField(required=False)
    end = UtcField(required=False)
    datacenter = forms.CharField(required=False, max_length=60)
    saw = forms.ChoiceField(required=False, choices=Saw.choices)
    description = forms.CharField(required=False, max_length=10_000)
    of = forms.IntegerField(required=False, min_value=1)

    def __init__(self, values: Mapping[str, Any], partitioning: Partitioning | None) -> None:
        super().__init__(values)
        self.partitioning = partitioning

    def clean(self) -> dict[str, Any]:
        """The fields, with the window that they say: a time, where one is given, before partitions."""
        values: dict[str, Any] = super().clean() or {}
        if self.errors:
            return values
        start, end, first, last = (values[name] for name in ("start", "end", "first", "last"))
        if start or end:
            if start is None or end is None:
                raise forms.ValidationError(gettext("Say from when to when, or leave both empty."))
            if start >= end:
                raise forms.ValidationError(gettext("The range must end after it starts."))
            return values | {"window": Window(start=start, end=end)}
        if self.partitioning is None or not (first or last):
            raise forms.ValidationError(gettext("Say of which time the data is bad."))
        try:
            begin, until = self.partitioning.window(first or last), self.partitioning.window(last or first)
        except UnableToPartition as unable:
            raise forms.ValidationError(in_english(str(unable))) from None
        if until.end <= begin.start:
            raise forms.ValidationError(gettext("The last bad partition must not be before the first."))
        return values | {"window": Window(start=begin.start, end=until.end)}


@page
def problem_page(request: HttpRequest, name: str) -> HttpResponse:
    """The form; to a script the form alone, or only what is known of what is chosen there."""
    dataset = dataset_of(name)
    demand(request, Action.REPORT, dataset)
    now, keys = clock.now(), recent_keys(dataset)
    typed = next(iter(typed_before(request).values()), {})
    last_day = {"start": f"{now - DAY:%Y-%m-%dT%H:%M}", "end": f"{now.astimezone(UTC):%Y-%m-%dT%H:%M}"}
    usual = {"first": keys[0], "last": keys[0]} if keys else last_day
    chosen = usual | {"saw": Saw.SOMETHING_ELSE.value} | request.GET.dict() | typed
    form, troubles = ProblemForm(chosen, dataset.partitioning), []
    if form.is_valid():
        fields, hidden = form.cleaned_data, hidden_datasets(request)
        saw = fields["saw"] or Saw.SOMETHING_ELSE
        troubles = likely_troubles(dataset, fields["window"], datacenter=fields["datacenter"], saw=saw, hidden=hidden)
    context = {
        "dataset": dataset,
        "now": now,
        "keys": keys,
        "typed": chosen,
        "saw": Saw.values,
        "replicas": dataset.replicas.all(),
        "known": troubles,
    }
    if request.headers.get("HX-Request"):
        return render(request, "web/_known.html" if "part" in request.GET else "web/_problem.html", context)
    return render(request, "web/problem.html", context)


@form_of("problem", "name")
@costs("report")
def report(request: HttpRequest, name: str) -> HttpResponse:
    """Take a user's claim on a dataset, and say who hears of it, or that it is known."""
    dataset = dataset_of(name)
    demand(request, Action.REPORT, dataset)
    form, home = ProblemForm(request.POST, dataset.partitioning), reverse("problem", args=[dataset.full_name])
    if not form.is_valid():
        return complain(request, form, home)
    fields = form.cleaned_data
    refusal = services.UnableToDecideReport
    with changing(request, Reports, "create", details=fields, refusal=refusal, home=home) as change:
        incident = Incident.objects.select_related("dataset").filter(pk=pk).first() if (pk := fields["of"]) else None
        if pk and (incident is None or not may(request, Action.READ, incident)):
            raise services.UnableToDecideReport(f"There is no incident {pk}.")
        row = services.report(
            dataset=dataset,
            window=fields["window"],
            datacenter=fields["datacenter"],
            description=fields["description"].strip() or "No note was written.",
            saw=fields["saw"] or Saw.SOMETHING_ELSE,
            reporter=request.user.get_username(),
            of=incident,
            now=clock.now(),
        )
        change.key, thanks = row.pk, gettext("Thank you: report %(id)s is saved.") % {"id": row.pk}
        reply = in_english(services.reply(row, hidden_datasets(request)))
        messages.success(request, format_html("{} {}", thanks, reply))
        home = reverse("dataset", args=[dataset.full_name])
    return redirect(home)


def recent_keys(dataset: Dataset) -> list[str]:
    """The keys of the last partitions that have ended, the newest first."""
    if (partitioning := dataset.partitioning) is None:
        return []
    windows = partitioning.previous(partitioning.at(clock.now()), RECENT)
    return [partitioning.key(window) for window in reversed(windows)]


def waiting(request: HttpRequest) -> dict[str, Callable[[], int]]:
    """``waiting_reports``, asked for where a template shows it."""

    def count() -> int:
        user = getattr(request, "user", None)
        if user is None or not user.is_authenticated:
            return 0
        person = person_of(request)
        return waiting_for(person.name, person.teams).count()

    return {"waiting_reports": count}
