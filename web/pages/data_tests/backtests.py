"""The page of a backtest: a test, or an assertion that is only thought of, tried on the past."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from assay import clock
from assay.access import Action
from assay.database.name_keys import name_key
from assay.models import Category, Dataset, DataTest, Severity
from assay.time.durations import UnableToReadDuration, format_duration, parse_duration
from execution_engine.models import RunReason
from execution_engine.runs.shown_results import Veil
from incident_manager.backtests.services import Backtest, as_json
from incident_manager.services import UnableToBacktest, backtest
from test_generator.services import UnableToWrite, draft
from web.pages.forms import UtcField
from web.pages.page_policy import demand, page
from web.shown.status import in_english

USUAL_RANGE = timedelta(days=28)
WORST = 50  # windows that are listed


class LengthField(forms.CharField):
    """A length of time such as ``4h``."""

    def clean(self, value: Any) -> Any:
        """The length, None where nothing is written."""
        text = super().clean(value)
        try:
            return parse_duration(text) if text else None
        except UnableToReadDuration as error:
            raise forms.ValidationError(in_english(str(error))) from None


class BacktestForm(forms.Form):
    """What to try: a written test, or an assertion, and how it is judged."""

    test = forms.IntegerField(required=False, min_value=1)
    assertion = forms.CharField(required=False, max_length=4096)
    category = forms.ChoiceField(required=False, choices=Category.choices)
    severity = forms.ChoiceField(required=False, choices=[("", ""), *Severity.choices])
    sustain = LengthField(required=False, max_length=20)
    grace = LengthField(required=False, max_length=20)
    start = UtcField(required=False)
    end = UtcField(required=False)


@page
def backtest_page(request: HttpRequest, name: str) -> HttpResponse:
    """What a test would have raised; of what is wrong with the question, where and how to mend it."""
    dataset = get_object_or_404(Dataset.objects.prefetch_related("replicas"), name_key=name_key(name))
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
        context |= _answer(dataset, form.cleaned_data, now)
    return render(request, "web/backtest.html", context)


def foretold(test: DataTest | None, now: datetime) -> Backtest | None:
    """What a test that has no result yet would have raised in the usual range; None of one that has, or has no past."""
    if test is None or test.runs.filter(evaluated_at__isnull=False).exclude(reason=RunReason.BACKTEST).exists():
        return None
    try:
        return backtest(test, start=now - USUAL_RANGE, end=now, now=now)
    except UnableToBacktest:
        return None


def _answer(dataset: Dataset, asked: dict[str, Any], now: datetime) -> dict[str, Any]:
    """What is shown of an answer, or of why there is none; nothing before anything was asked."""
    end = min(asked["end"] or now, now)
    shown: dict[str, Any] = {"start": asked["start"] or end - USUAL_RANGE, "end": end}
    try:
        test = _test(dataset, asked)
        if test is None:
            return shown
        assert test.revision is not None
        shown |= {
            "test": test,
            "chosen": test.category,
            "sustain": format_duration(asked["sustain"] or test.revision.sustain),
        }
        terms = {"sustain": asked["sustain"], "grace": asked["grace"]}
        found = backtest(test, start=shown["start"], end=end, now=now, **terms)
    except (UnableToWrite, UnableToBacktest) as error:
        return shown | {"wrong": str(error)}
    result = as_json(found, Veil(now))
    unusual = [each for each in result["windows"] if each["outcome"] != "held" or each["changed_since"]]
    return shown | {
        "result": result,
        "raised": found.raised,
        "incidents": found.raised.incidents,
        "bounds": found.others,
        "category": test.category,
        "unusual": unusual[:WORST],
        "more": max(0, len(unusual) - WORST),
        "grace": result["grace"],
        "unknown": sorted(set(found.unknowable.values())),
    }


def _test(dataset: Dataset, asked: dict[str, Any]) -> DataTest | None:
    if asked["assertion"]:
        category = asked["category"] or Category.CUSTOM.value
        return draft(dataset, asked["assertion"], category=category, severity=asked["severity"] or None)
    if asked["test"] is None:
        return None
    written = DataTest.objects.filter(dataset=dataset, revision__isnull=False).select_related("dataset", "revision")
    return get_object_or_404(written, pk=asked["test"])
