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
from web.access.changes import audited
from web.access.typed import keep, typed_in
from web.api.consumption.overrides import GateOverrides
from web.shown.words import in_english

from .actions import complain
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
    try:
        given = {**form.cleaned_data, "window": asked_window(dataset, form.cleaned_data["window"])}
        with audited(
            request,
            "gate_override.create",
            kind=GateOverrides.kind,
            look=GateOverrides.picture,
            given={"dataset": dataset, **given},
        ) as change:
            row = override(dataset=dataset, **given, author=request.user.get_username(), now=clock.now())
            change.key = row.pk
        messages.success(request, _until(row))
    except (UnableToOverride, UnableToReadWindow) as unable:
        messages.error(request, in_english(str(unable)))
        keep(request, typed_in(request, home))
    return redirect("dataset", name)


def _until(row: GateOverride) -> str:
    at = f"{row.ends_at:%Y-%m-%d %H:%M}"
    return gettext("The gate only warns until %(at)s UTC. The data stays bad.") % {"at": at}


@form_of("dataset", "name")
def end(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """End an override and return to the dataset's page."""
    row = get_object_or_404(GateOverride.objects.select_related("dataset"), pk=pk, dataset__name_key=name_key(name))
    demand(request, Action.OVERRIDE, row)
    try:
        with audited(request, "gate_override.end", kind=GateOverrides.kind, key=pk, look=GateOverrides.picture):
            end_override(row, now=clock.now())
        messages.success(request, gettext("Ended: the gate blocks again."))
    except UnableToOverride as unable:
        messages.error(request, in_english(str(unable)))
    return redirect("dataset", name)
