"""What the forms of a dataset's page do to overrides of the gate."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext

from assay import clock
from assay.access.roles import Action
from assay.catalog.asked_window import asked_window
from assay.database.name_keys import name_key
from assay.models import Dataset
from assay.time.windows import UnableToReadWindow
from incident_manager.models import GateOverride
from incident_manager.services import UnableToOverride, end_override, override
from web.api.consumption.overrides import GateOverrides

from .actions import changing, complain
from .forms import NameField, UtcField
from .page_policy import demand, form_of


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
def end(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """End an override and return to the dataset's page."""
    row = get_object_or_404(GateOverride.objects.select_related("dataset"), pk=pk, dataset__name_key=name_key(name))
    demand(request, Action.OVERRIDE, row)
    with changing(request, GateOverrides, "end", key=pk, refusal=UnableToOverride):
        end_override(row, now=clock.now())
        messages.success(request, gettext("Ended: the gate blocks again."))
    return redirect("dataset", name)
