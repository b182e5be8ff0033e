"""The form in which somebody reports a problem: recent partitions to choose from, and what is known of them already."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext

from assay import clock
from assay.access.roles import Action
from assay.database.name_keys import name_key
from assay.models import Dataset
from assay.time.windows import Partitioning, UnableToPartition, Window
from incident_manager import services
from incident_manager.models import Incident, Saw
from incident_manager.reports.selectors import likely_troubles
from web.access.throttles import costs
from web.access.typed import typed_before
from web.access.who import hidden_datasets, may
from web.api.incidents.reports import Reports
from web.pages.actions import changing, complain
from web.pages.forms import UtcField
from web.pages.page_policy import demand, form_of, page
from web.shown.words import in_english

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

    def __init__(self, given: Mapping[str, Any], partitioning: Partitioning | None) -> None:
        super().__init__(given)
        self.partitioning = partitioning

    def clean(self) -> dict[str, Any]:
        """The fields, with the window that they say: a time, where one is given, before partitions."""
        given: dict[str, Any] = super().clean() or {}
        start, end = given.get("start"), given.get("end")
        if (start or end) and not self.errors:
            if start is None or end is None:
                raise forms.ValidationError(gettext("Say from when to when, or leave both empty."))
            if start >= end:
                raise forms.ValidationError(gettext("The range must end after it starts."))
            return given | {"window": Window(start=start, end=end)}
        return given if self.errors else given | {"window": self._of_partitions(given["first"], given["last"])}

    def _of_partitions(self, first: str, last: str) -> Window:
        if self.partitioning is None or not (first or last):
            raise forms.ValidationError(gettext("Say of which time the data is bad."))
        try:
            begin, until = self.partitioning.window(first or last), self.partitioning.window(last or first)
        except UnableToPartition as unable:
            raise forms.ValidationError(in_english(str(unable))) from None
        if until.end <= begin.start:
            raise forms.ValidationError(gettext("The last bad partition must not be before the first."))
        return Window(start=begin.start, end=until.end)


@page
def problem_page(request: HttpRequest, name: str) -> HttpResponse:
    """The form; to a script the form alone, or only what is known of what is chosen there."""
    dataset = _dataset(name)
    demand(request, Action.REPORT, dataset)
    now, keys = clock.now(), recent_keys(dataset)
    typed = next(iter(typed_before(request).values()), {})
    usual = {"first": keys[0], "last": keys[0]} if keys else _last_day(now)
    chosen = usual | {"saw": Saw.SOMETHING_ELSE.value} | request.GET.dict() | typed
    form = ProblemForm(chosen, dataset.partitioning)
    context = {
        "dataset": dataset,
        "now": now,
        "keys": keys,
        "typed": chosen,
        "saw": Saw.values,
        "replicas": dataset.replicas.all(),
        "known": _known(request, dataset, form),
    }
    if request.headers.get("HX-Request"):
        return render(request, "web/_known.html" if "part" in request.GET else "web/_problem.html", context)
    return render(request, "web/problem.html", context)


@form_of("problem", "name")
@costs("report")
def report(request: HttpRequest, name: str) -> HttpResponse:
    """Take a user's claim on a dataset, and say who hears of it, or that it is known."""
    dataset = _dataset(name)
    demand(request, Action.REPORT, dataset)
    form, home = ProblemForm(request.POST, dataset.partitioning), reverse("problem", args=[dataset.full_name])
    if not form.is_valid():
        return complain(request, form, home)
    given = form.cleaned_data
    refusal = services.UnableToDecide
    with changing(request, Reports, "create", given=given, refusal=refusal, home=home) as change:
        row = services.report(
            dataset=dataset,
            window=given["window"],
            datacenter=given["datacenter"],
            description=given["description"].strip() or "No note was written.",
            saw=given["saw"] or Saw.SOMETHING_ELSE,
            reporter=request.user.get_username(),
            of=_named(request, given["of"]),
            now=clock.now(),
        )
        change.key, thanks = row.pk, gettext("Thank you: report %(id)s is saved.") % {"id": row.pk}
        reply = in_english(services.reply(row, hidden_datasets(request)))
        messages.success(request, format_html("{} {}", thanks, reply))
        home = reverse("dataset", args=[dataset.full_name])
    return redirect(home)


def recent_keys(dataset: Dataset) -> list[str]:
    """The keys of the last partitions that have ended, the newest first."""
    partitioning = dataset.partitioning
    if partitioning is None:
        return []
    return [
        partitioning.key(window) for window in reversed(partitioning.previous(partitioning.at(clock.now()), RECENT))
    ]


def _last_day(now: datetime) -> dict[str, str]:
    return {"start": f"{now - DAY:%Y-%m-%dT%H:%M}", "end": f"{now.astimezone(UTC):%Y-%m-%dT%H:%M}"}


def _known(request: HttpRequest, dataset: Dataset, form: ProblemForm) -> list[Any]:
    if not form.is_valid():
        return []
    given = form.cleaned_data
    return likely_troubles(
        dataset,
        given["window"],
        datacenter=given["datacenter"],
        saw=given["saw"] or Saw.SOMETHING_ELSE,
        hidden=hidden_datasets(request),
    )


def _named(request: HttpRequest, pk: int | None) -> Incident | None:
    """The incident that the reporter says it is."""
    incident = Incident.objects.select_related("dataset").filter(pk=pk).first() if pk else None
    if pk and (incident is None or not may(request, Action.READ, incident)):
        raise services.UnableToDecide(f"There is no incident {pk}.")
    return incident


def _dataset(name: str) -> Dataset:
    return get_object_or_404(Dataset.objects.prefetch_related("replicas"), name_key=name_key(name))
