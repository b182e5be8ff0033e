"""What the past of a dataset says: backtests of an assertion, and suggested tests."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext

from assay import clock
from assay.access import Action
from assay.models import Category, Dataset, DataTest, Severity
from assay.time.durations import format_duration
from assay.time.windows import zone
from execution_engine.language.serialise import from_json
from execution_engine.models import RunReason
from execution_engine.runs.shown_results import Veil
from incident_manager.backtests.services import Backtest, as_json
from incident_manager.services import UnableToBacktest, backtest
from test_generator.models import Offer, OfferState
from test_generator.offers import offers_of, reading_of, suggestion_of
from test_generator.services import (
    UnableToDecide,
    UnableToSuggest,
    UnableToWrite,
    accept_suggestion,
    ask_for_suggestions,
    draft,
    reject_suggestion,
    take_back_rejection,
)
from test_generator.suggestions.suggest import Suggestion, as_yaml
from web.access.changes import audited
from web.access.throttles import costs
from web.access.who import may
from web.api.data_tests import Suggestions
from web.rendering.charts import plot_of, unit_of
from web.rendering.status import in_english

from .days import backtest_results
from .page_policy import LengthFormField, UtcField, Zoom, changing, dataset_of, demand, form_of, page, zoom_of

USUAL_RANGE = timedelta(days=28)
WORST = 50  # windows that are listed


class BacktestForm(forms.Form):
    """What to try: a written test, or an assertion, and how it is judged."""

    test = forms.IntegerField(required=False, min_value=1)
    assertion = forms.CharField(required=False, max_length=4096)
    category = forms.ChoiceField(required=False, choices=Category.choices)
    severity = forms.ChoiceField(required=False, choices=[("", ""), *Severity.choices])
    sustain = LengthFormField(required=False, max_length=20)
    grace = LengthFormField(required=False, max_length=20)
    start = UtcField(required=False)
    end = UtcField(required=False)


@page
def backtest_page(request: HttpRequest, name: str) -> HttpResponse:
    """What a test would have raised; of what is wrong with the question, where and how to mend it."""
    dataset = dataset_of(name)
    demand(request, Action.READ, dataset)
    form, now = BacktestForm(request.GET), clock.now()
    context = {
        "dataset": dataset,
        "now": now,
        "categories": Category.values,
        "severities": Severity.values,
        "typed": request.GET,
        "form": form,
        "chosen": request.GET.get("category") or Category.CUSTOM.value,
        "test": None,
        "sustain": "",
        "grace": "",
    }
    if form.is_valid():
        zoom = zoom_of(request, "windows")
        context |= {"zoom": zoom, **_answer(dataset, form.cleaned_data, now, zoom)}
    return render(request, "web/backtest.html", context)


def foretold(test: DataTest, now: datetime) -> Backtest | None:
    """What a test that has no result yet would have raised in the usual range; None of one that has, or has no past."""
    if test.runs.filter(evaluated_at__isnull=False).exclude(reason=RunReason.BACKTEST).exists():
        return None
    try:
        return backtest(test, start=now - USUAL_RANGE, end=now, now=now)
    except UnableToBacktest:
        return None


def _answer(dataset: Dataset, query: dict[str, Any], now: datetime, zoom: Zoom) -> dict[str, Any]:
    """What is shown of an answer, or of why there is none; nothing before anything was asked."""
    end = min(query["end"] or now, now)
    context: dict[str, Any] = {"start": query["start"] or end - USUAL_RANGE, "end": end}
    try:
        if query["assertion"]:
            category = query["category"] or Category.CUSTOM.value
            test = draft(dataset, query["assertion"], category=category, severity=query["severity"] or None)
        elif query["test"] is not None:
            written = DataTest.objects.filter(dataset=dataset, revision__isnull=False)
            test = get_object_or_404(written.select_related("dataset", "revision"), pk=query["test"])
        else:
            return context
        assert test.revision is not None
        sustain = format_duration(query["sustain"] or test.revision.sustain)
        context |= {"test": test, "chosen": test.category, "sustain": sustain}
        terms = {"sustain": query["sustain"], "grace": query["grace"]}
        past_report = backtest(test, start=context["start"], end=end, now=now, **terms)
    except (UnableToWrite, UnableToBacktest) as error:
        return context | {"wrong": str(error)}
    veil = Veil(now)
    result, tree = as_json(past_report, veil), from_json(test.revision.tree)
    results = backtest_results(past_report, tree, hides=veil.hides(test.revision, dataset))
    local, title = zone(dataset.time_zone), gettext("Values of all windows with the bounds that are tried")
    unusual = [window for window in result["windows"] if window["outcome"] != "held" or window["changed_since"]]
    return context | {
        "result": result,
        "plot": plot_of(results, unit_of(tree, test.category), title=title, zone=local, period=(zoom.start, zoom.end)),
        "raised": past_report.raised,
        "incidents": past_report.raised.incidents,
        "bounds": past_report.others,
        "category": test.category,
        "unusual": unusual[:WORST],
        "more": max(0, len(unusual) - WORST),
        "grace": result["grace"],
        "unknown": sorted(set(past_report.unknowable.values())),
    }


DECISIONS = ("accept", "reject", "take-back")


@page
def suggestions_page(request: HttpRequest, name: str) -> HttpResponse:
    """What the past of a dataset suggests; of what asks whether its reading is under way still, only that."""
    dataset = dataset_of(name)
    demand(request, Action.READ, dataset)
    reading = reading_of(dataset)
    is_read_now = reading is not None and reading.ended_at is None
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204) if is_read_now else HttpResponse(headers={"HX-Refresh": "true"})
    by_state: dict[str, list[tuple[Offer, Suggestion]]] = {state.value: [] for state in OfferState}
    for row in offers_of(dataset):
        by_state[row.state].append((row, suggestion_of(row)))
    sound = [suggestion for _, suggestion in by_state[OfferState.OFFERED] if suggestion.is_sound]
    context = {
        "dataset": dataset,
        "now": clock.now(),
        "reading": reading,
        "is_read_now": is_read_now,
        "offered": by_state[OfferState.OFFERED],
        "accepted": by_state[OfferState.ACCEPTED],
        "rejected": by_state[OfferState.REJECTED],
        "yaml": as_yaml(sound, dataset.full_name) if sound else "",
        "may_test": may(request, Action.TEST, dataset),
    }
    return render(request, "web/suggestions.html", context)


@form_of("suggestions", "name")
@costs("run")
def suggest(request: HttpRequest, name: str) -> HttpResponse:
    """Have the past of a dataset read, and go to where what it suggests will be."""
    dataset = dataset_of(name)
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
    dataset = dataset_of(name)
    demand(request, Action.TEST, dataset)
    row = Offer.objects.filter(pk=pk, dataset=dataset).first()
    refusal = (UnableToDecide, UnableToWrite)
    with changing(request, Suggestions, action.replace("-", "_"), key=pk, refusal=refusal):
        if row is None:
            raise UnableToDecide("This suggestion is offered no more: the past was read again since.")
        author, now = request.user.get_username(), clock.now()
        if action == "accept":
            test = accept_suggestion(row, author=author, now=now)
            text = gettext("Accepted: the soft test %(name)s runs from now on.") % {"name": test.name}
        elif action == "reject":
            reject_suggestion(row, reason=request.POST.get("reason", "")[:1000], author=author, now=now)
            text = gettext("Rejected: it is not offered again until you take that back, below.")
        else:
            take_back_rejection(row, author=author, now=now)
            text = gettext("Taken back: it is offered again.")
        messages.success(request, text)
    return redirect("suggestions", name)
