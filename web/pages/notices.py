"""Pages of who is told: mutes, and the answers that people give by the links of a notice.

What is sent, and to whom, is decided in ``alerting``.
"""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext

from alerting.alerts.texts import LinkAction, UnableToFollow, followed
from alerting.models import Silence
from alerting.services import UnableToSilence, end_silence, silence
from assay import clock
from assay.access import Action
from assay.database.name_keys import name_key
from assay.models import Category, Dataset
from incident_manager.models import Incident
from web.access.logins import typed_before
from web.access.who import hidden_datasets, may, readable
from web.api.incidents import Silences
from web.rendering.status import in_english

from .page_policy import NameField, UtcField, changing, complain, demand, form_of, page

USUAL_MUTE = timedelta(days=1)
GONE = 410  # HTTP: it was there


@page
def answer_page(request: HttpRequest, token: str) -> HttpResponse:
    """What a link asks for, with a button; what cannot be followed is told without a word of what it was about.

    A GET changes nothing, as scanners of mail follow links. What is done is done by the forms of the incident and of
    mutes, which ask whether whoever is signed in may.
    """
    now = clock.now()
    try:
        link = followed(token, now=now)
    except UnableToFollow as unable:
        return render(request, "web/answer.html", {"here": "incidents", "fault": in_english(str(unable))}, status=GONE)
    incident = Incident.objects.select_related("dataset", "alert").filter(alert=link.alert).first()
    if incident is None:
        gone = {"here": "incidents", "fault": gettext("The incident of this link is no longer kept.")}
        return render(request, "web/answer.html", gone, status=GONE)
    demand(request, Action.READ, incident)
    is_mute = link.answer is LinkAction.MUTE
    context: dict[str, Any] = {
        "here": "incidents",
        "incident": incident,
        "now": now,
        "is_mute": is_mute,
        "may_answer": may(request, Action.SILENCE if is_mute else Action.ACT, incident.dataset),
        "until": f"{now + USUAL_MUTE:%Y-%m-%dT%H:%M}",
    }
    return render(request, "web/answer.html", context)


SHOWN_FOR = timedelta(days=7)  # after their end
MOST_SUGGESTED = 500  # names of each kind


class SilenceForm(forms.Form):
    """What is silent, until when, and why."""

    dataset = forms.CharField(required=False, max_length=300)
    category = forms.ChoiceField(required=False, choices=[("", "all"), *Category.choices])
    owner = NameField(required=False, max_length=200)
    ends_at = UtcField()
    reason = forms.CharField(max_length=10_000)

    def clean_dataset(self) -> Dataset | None:
        """The dataset with this name."""
        name = self.cleaned_data["dataset"].strip()
        dataset = Dataset.objects.filter(name_key=name_key(name)).first() if name else None
        if name and dataset is None:
            raise forms.ValidationError(gettext("No dataset is called %(name)s.") % {"name": name})
        return dataset


@page
def silences_page(request: HttpRequest) -> HttpResponse:
    """The silences that last, and those that ended in the last week."""
    now = clock.now()
    rows = Silence.objects.select_related("dataset").filter(ends_at__gt=now - SHOWN_FOR).order_by("-ends_at", "-pk")
    context = {
        "here": "silences",
        "now": now,
        "rows": [(row, row.ends_at > now and may(request, Action.SILENCE, row)) for row in readable(request, rows)],
        "categories": Category.values,
        "typed": typed_before(request).get("new", {}),
        "may_silence": may(request, Action.SILENCE),
    }
    if not context["typed"] and (pk := request.GET.get("incident", "")).isdecimal():  # what mutes it for the usual time
        incident = Incident.objects.select_related("dataset").filter(pk=pk).first()
        if incident is not None and may(request, Action.READ, incident):
            context["typed"] = {
                "dataset": incident.dataset.full_name,
                "category": incident.category,
                "ends_at": f"{now + USUAL_MUTE:%Y-%m-%dT%H:%M}",
                "reason": gettext("Incident %(id)s is known.") % {"id": incident.pk},
            }
    if context["may_silence"]:
        datasets = Dataset.objects.filter(missing_since__isnull=True).exclude(pk__in=hidden_datasets(request))
        names, owners = datasets.order_by("full_name"), datasets.order_by("owner").distinct()
        context["datasets"] = list(names.values_list("full_name", flat=True)[:MOST_SUGGESTED])
        context["owners"] = list(owners.values_list("owner", flat=True)[:MOST_SUGGESTED])
    return render(request, "web/silences.html", context)


@form_of("silences")
def new_silence(request: HttpRequest) -> HttpResponse:
    """Write a silence and return to the page."""
    form, home = SilenceForm(request.POST), reverse("silences")
    if not form.is_valid():
        return complain(request, form, home)
    fields = form.cleaned_data
    demand(request, Action.SILENCE, Silence(dataset=fields["dataset"], owner=fields["owner"]))
    with changing(request, Silences, "create", details=fields, refusal=UnableToSilence, home=home) as change:
        row = silence(**fields, author=request.user.get_username(), now=clock.now())
        change.key = row.pk
        messages.success(request, gettext("Muted until %(at)s UTC.") % {"at": f"{row.ends_at:%Y-%m-%d %H:%M}"})
    return redirect("silences")


@form_of("silences")
def submit_silence_end(request: HttpRequest, pk: int) -> HttpResponse:
    """End a silence and return to the page."""
    row = get_object_or_404(Silence.objects.select_related("dataset"), pk=pk)
    demand(request, Action.SILENCE, row)
    with changing(request, Silences, "end", key=pk, refusal=UnableToSilence):
        end_silence(row, now=clock.now())
        messages.success(request, gettext("Ended: Assay now decides about the notices that it muted."))
    return redirect("silences")
