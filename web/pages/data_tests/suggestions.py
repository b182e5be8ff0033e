"""The page of a dataset's suggestions: what is offered, what was decided, and what its buttons do."""

from collections.abc import Sequence
from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext

from assay import clock
from assay.access import Action
from assay.database.name_keys import name_key
from assay.models import Dataset
from test_generator.models import Gap, Offer, OfferState, RuleTemplate
from test_generator.offers import offers_of, reading_of, suggestion_of
from test_generator.services import (
    UnableToDecide,
    UnableToSuggest,
    UnableToWrite,
    accept_suggestion,
    ask_for_suggestions,
    reject_suggestion,
    take_back_rejection,
)
from test_generator.suggestions.suggest import Suggestion, as_yaml
from test_generator.templates.services import shown_templates
from web.access.changes import audited
from web.access.throttles import costs
from web.access.who import hidden_datasets, may
from web.api.data_tests import Suggestions
from web.pages.actions import changing
from web.pages.page_policy import demand, form_of, page
from web.shown.status import in_english

DECISIONS = ("accept", "reject", "take-back")
Shown = tuple[Offer, Suggestion]


@page
def suggestions_page(request: HttpRequest, name: str) -> HttpResponse:
    """What the past of a dataset suggests; of what asks whether its reading is under way still, only that."""
    dataset = _dataset(name)
    demand(request, Action.READ, dataset)
    reading = reading_of(dataset)
    is_read_now = reading is not None and reading.ended_at is None
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204) if is_read_now else HttpResponse(headers={"HX-Refresh": "true"})
    shown = [(row, suggestion_of(row)) for row in offers_of(dataset)]
    offered = _of(shown, OfferState.OFFERED)
    sound = [one for _, one in offered if one.is_sound]
    context = {
        "dataset": dataset,
        "now": clock.now(),
        "reading": reading,
        "is_read_now": is_read_now,
        "offered": offered,
        "accepted": _of(shown, OfferState.ACCEPTED),
        "rejected": _of(shown, OfferState.REJECTED),
        "yaml": as_yaml(sound, dataset.full_name) if sound else "",
        "may_test": may(request, Action.TEST, dataset),
    }
    return render(request, "web/suggestions.html", context)


@form_of("suggestions", "name")
@costs("run")
def suggest(request: HttpRequest, name: str) -> HttpResponse:
    """Have the past of a dataset read, and go to where what it suggests will be."""
    dataset = _dataset(name)
    demand(request, Action.TEST, dataset)
    try:
        with audited(request, "suggestion.ask", kind="dataset", key=dataset.full_name):
            ask_for_suggestions(dataset, author=request.user.get_username(), now=clock.now())
    except UnableToSuggest as unable:
        messages.error(request, in_english(f"{unable}."))
    return redirect("suggestions", name)


@form_of("suggestions", "name")
def decide(request: HttpRequest, name: str, pk: int, action: str) -> HttpResponse:
    """Accept or reject one suggestion, or take a rejection back, and return to the page."""
    dataset = _dataset(name)
    demand(request, Action.TEST, dataset)
    row = Offer.objects.filter(pk=pk, dataset=dataset).first()
    refusal = (UnableToDecide, UnableToWrite)
    with changing(request, Suggestions, action.replace("-", "_"), key=pk, refusal=refusal):
        if row is None:
            raise UnableToDecide("This suggestion is offered no more: the past was read again since.")
        author, reason = request.user.get_username(), request.POST.get("reason", "")[:1000]
        messages.success(request, _decide(row, action, reason, author, clock.now()))
    return redirect("suggestions", name)


def _decide(row: Offer, action: str, reason: str, author: str, now: datetime) -> str:
    """Do it; what to say of it."""
    if action == "accept":
        name = accept_suggestion(row, author=author, now=now).name
        return gettext("Accepted: the soft test %(name)s runs from now on.") % {"name": name}
    if action == "reject":
        reject_suggestion(row, reason=reason, author=author, now=now)
        return gettext("Rejected: it is not offered again until you take that back, below.")
    take_back_rejection(row, author=author, now=now)
    return gettext("Taken back: it is offered again.")


def _of(shown: Sequence[Shown], state: OfferState) -> list[Shown]:
    return [each for each in shown if each[0].state == state]


def _dataset(name: str) -> Dataset:
    return get_object_or_404(Dataset.objects.prefetch_related("replicas"), name_key=name_key(name))


# The page of the templates: what each selects, how many tests it makes, and where it makes none.

MOST_GAPS = 100


@page
def templates_page(request: HttpRequest) -> HttpResponse:
    """Every template, and the gaps of datasets that whoever asks may see."""
    found = Gap.objects.exclude(template="").filter(closed_at=None).exclude(dataset__in=hidden_datasets(request))
    gaps = found.select_related("dataset").order_by("template", "dataset__full_name")
    context = {
        "here": "templates",
        "shown": shown_templates(RuleTemplate.objects.order_by("name")),
        "gaps": gaps[:MOST_GAPS],
        "more": max(0, gaps.count() - MOST_GAPS),
    }
    return render(request, "web/templates.html", context)
