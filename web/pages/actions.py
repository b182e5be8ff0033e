"""What the forms of the pages do: read the form, call one service, say what came of it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext

from assay import clock
from assay.access.roles import Action
from incident_manager import services
from incident_manager.models import Incident
from web.access.changes import Change, audited
from web.access.throttles import costs
from web.access.typed import keep, typed_in
from web.api.conventions.base import Rows
from web.api.incidents.incidents import Incidents
from web.shown.words import in_english

from .forms import AnnotateForm, AssignForm, ForceForm, ReasonForm
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
