"""What the forms of the pages do: read the form, call one service, say what came of it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Count, Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext

from assay import clock
from assay.access import Action
from assay.catalog.selectors import asked_window
from assay.database.name_keys import name_key
from assay.models import Dataset
from assay.time.windows import UnableToReadWindow
from execution_engine.models import Run, RunReason
from execution_engine.runs.request_all import Cost
from execution_engine.services import UnableToRequest, cost_of, last_partitions, request_all
from incident_manager import services
from incident_manager.models import GateOverride, Incident
from incident_manager.services import UnableToOverride, end_override, override
from web.access.changes import Change, audited
from web.access.throttles import costs
from web.access.typed import keep, typed_in
from web.api.base import Rows
from web.api.gate import GateOverrides
from web.api.incidents import Incidents
from web.shown.status import in_english

from .forms import AnnotateForm, AssignForm, ForceForm, NameField, ReasonForm, UtcField
from .page_policy import demand, form_of

Given = Mapping[str, Any]


def _annotate(incident: Incident, given: Given, author: str, now: datetime) -> str:
    changed = {
        name: given[name] for name in ("root_cause", "eta", "backfill") if given[name] != getattr(incident, name)
    }
    services.annotate(incident, **changed, text=given["text"], author=author, now=now)
    return gettext("Saved.")


def _acknowledge(incident: Incident, given: Given, author: str, now: datetime) -> str:
    services.acknowledge(incident, author=author, now=now)
    return gettext("Acknowledged: you are named as the person who works on it.")


def _assign(incident: Incident, given: Given, author: str, now: datetime) -> str:
    had = incident.assigned_to, incident.acknowledged_by
    services.assign(incident, to=given["to"], author=author, now=now)
    if had == (incident.assigned_to, incident.acknowledged_by):
        return "Nothing to change: it stands so already."
    if given["to"] == author:
        return "You are named as the person who works on it."
    entry = incident.timeline.last()
    return f"Saved: {entry.event} {entry.text}." if entry else "Saved."


def _rerun(incident: Incident, given: Given, author: str, now: datetime) -> str:
    runs = services.rerun(incident, author=author, now=now)
    return ngettext("%(count)s run is on the way.", "%(count)s runs are on the way.", len(runs)) % {"count": len(runs)}


def _force_resolve(incident: Incident, given: Given, author: str, now: datetime) -> str:
    services.force_resolve(incident, **given, author=author, now=now)
    return gettext("Resolved as a false positive.") + _others(incident)


def _accept(incident: Incident, given: Given, author: str, now: datetime) -> str:
    services.accept(incident, reason=given["reason"], author=author, now=now)
    return gettext("Accepted: the gate warns on these windows until a run holds.") + _others(incident)


def _others(incident: Incident) -> str:
    """That Assay still has windows to close: of many windows a request closes only the first."""
    if incident.resolved_at:
        return ""
    return " " + gettext("It has many windows: the first are closed, and the others follow.")


Act = Callable[[Incident, Given, str, datetime], str]
ACTIONS: dict[str, tuple[type[forms.Form], Act]] = {
    "annotate": (AnnotateForm, _annotate),
    "acknowledge": (forms.Form, _acknowledge),
    "assign": (AssignForm, _assign),
    "rerun": (forms.Form, _rerun),
    "force-resolve": (ForceForm, _force_resolve),
    "accept": (ReasonForm, _accept),
}
NAMES = {"annotate": "annotations"}  # as the API calls it: the audit knows one name for one thing


@form_of("incident", "pk")
@costs("run")
def act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Do one thing to an incident and return to its page."""
    incident = get_object_or_404(Incident.objects.select_related("alert", "dataset"), pk=pk)
    demand(request, Action.ACT, incident)
    form_class, carry_out = ACTIONS[action]
    form = form_class(request.POST)
    if not form.is_valid():
        return complain(request, form, reverse("incident", args=[pk]))
    name, given, home = NAMES.get(action, action.replace("-", "_")), form.cleaned_data, reverse("incident", args=[pk])
    with changing(request, Incidents, name, key=pk, given=given, refusal=services.UnableToResolve, home=home):
        messages.success(request, carry_out(incident, given, request.user.get_username(), clock.now()))
    return redirect("incident", pk)


@contextmanager
def changing(
    request: HttpRequest,
    rows: type[Rows],
    action: str,
    *,
    refusal: type[Exception] | tuple[type[Exception], ...],
    key: object = "",
    given: Given | None = None,
    home: str = "",
) -> Iterator[Change]:
    """A form's change to a row of the API, in the audit; a refusal is a message, and ``home`` shows what was typed."""
    try:
        with audited(
            request, f"{rows.kind}.{action}", kind=rows.kind, key=key, look=rows.picture, given=given
        ) as change:
            yield change
    except refusal as unable:
        messages.error(request, in_english(str(unable)))
        if home:
            keep(request, typed_in(request, home))


def complain(request: HttpRequest, form: forms.Form, home: str) -> HttpResponse:
    """Return to the form's page, say what is wrong with each field, and show what was typed."""
    for field, errors in form.errors.items():
        place = "" if field == "__all__" else f"{capfirst(gettext(field.replace('_', ' ')))}: "
        messages.error(request, place + " ".join(str(error) for error in errors))
    keep(request, typed_in(request, home))
    return redirect(home)


# What the forms of a dataset's page do to overrides of the gate.


class OverrideForm(forms.Form):
    """What may be read, by whom, until when, and why."""

    window = forms.CharField(max_length=100)
    pipeline = NameField(required=False, max_length=200)
    ends_at = UtcField(required=False)
    reason = forms.CharField(max_length=10_000)


@form_of("dataset", "name")
def new_override(request: HttpRequest, name: str) -> HttpResponse:
    """Let pipelines read a window, and return to the dataset's page."""
    dataset = get_object_or_404(Dataset, name_key=name_key(name))
    demand(request, Action.OVERRIDE, dataset)
    form, home = OverrideForm(request.POST), reverse("dataset", args=[name])
    if not form.is_valid():
        return complain(request, form, home)
    given, refusal = {"dataset": dataset, **form.cleaned_data}, (UnableToOverride, UnableToReadWindow)
    with changing(request, GateOverrides, "create", given=given, refusal=refusal, home=home) as change:
        given["window"] = asked_window(dataset, given["window"])
        row = override(**given, author=request.user.get_username(), now=clock.now())
        change.key, at = row.pk, f"{row.ends_at:%Y-%m-%d %H:%M}"
        messages.success(request, gettext("The gate only warns until %(at)s UTC. The data stays bad.") % {"at": at})
    return redirect("dataset", name)


@form_of("dataset", "name")
def submit_override_end(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """End an override and return to the dataset's page."""
    row = get_object_or_404(GateOverride.objects.select_related("dataset"), pk=pk, dataset__name_key=name_key(name))
    demand(request, Action.OVERRIDE, row)
    with changing(request, GateOverrides, "end", key=pk, refusal=UnableToOverride):
        end_override(row, now=clock.now())
        messages.success(request, gettext("Ended: the gate blocks again."))
    return redirect("dataset", name)


# A back-fill from a dataset's page: what testing its past costs, how far it is, and the button that asks for it.

PARTITIONS = 28


@dataclass(frozen=True, kw_only=True)
class BackFill:
    """What a back-fill of the last partitions costs; of the one asked for last, how many of its runs are judged."""

    cost: Cost | None
    done: int
    total: int

    @property
    def is_under_way(self) -> bool:
        """Whether some of its runs are not judged yet."""
        return self.done < self.total


def back_fill_of(dataset: Dataset, now: datetime) -> BackFill | None:
    """What the page says of the past; None where a dataset has no partitions."""
    if dataset.partitioning is None:
        return None
    runs = Run.objects.filter(data_test__dataset=dataset, reason=RunReason.BACKFILL)
    last = runs.aggregate(last=Max("requested_at"))["last"]
    counts = runs.filter(requested_at=last).aggregate(total=Count("pk"), done=Count("pk", Q(judged_at__isnull=False)))
    cost = cost_of(dataset, last_partitions(dataset, PARTITIONS, now), now)
    return BackFill(cost=cost, done=counts["done"], total=counts["total"])


@form_of("dataset", "name")
@costs("run")
def back_fill(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for the runs of the last partitions, and return to the page."""
    dataset = get_object_or_404(Dataset.objects.prefetch_related("replicas"), name_key=name_key(name))
    demand(request, Action.RUN, dataset)
    now = clock.now()
    occasion = f"{request.user.get_username()[:40]}:{now.isoformat()}"
    try:
        with audited(request, "run.bulk", kind="dataset", key=dataset.full_name) as change:
            found = request_all(dataset, last_partitions(dataset, PARTITIONS, now), occasion=occasion, now=now)
            change.after = {"runs": [run.pk for run in found.runs]}
        count = len(found.runs)
        said = ngettext("%(count)s run is on the way.", "%(count)s runs are on the way.", count) % {"count": count}
        messages.success(request, said + " " + gettext("What they find is of the past: nobody is paged for it."))
    except UnableToRequest as unable:
        messages.error(request, in_english(f"{unable}."))
    return redirect("dataset", dataset.full_name)
