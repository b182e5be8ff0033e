"""The pages of business metrics: all of them, and one with its definition, its sources, its values and its tests."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from assay import clock
from assay.access.roles import Action
from assay.database.name_keys import name_key
from execution_engine.runs.shown_results import Veil
from incident_manager.scores.metric_reporter import data_qualities
from web.access.who import hidden_datasets
from web.pages.selectors.dataset import incidents_of, live_tests
from web.pages.selectors.drawn_results import history
from web.pages.selectors.may_use import SPANS, may_use
from web.shown.business_metrics import KnownValue, business_metrics, newest_values, shown_metrics, sources_of

from .forms import RangeForm
from .page_policy import demand, page

LONGEST = 300  # letters of what a reader types
MOST = 500  # on the page; the API gives all


@page
def business_metrics_page(request: HttpRequest) -> HttpResponse:
    """Every business metric that whoever asks may see, with its status and newest value."""
    now, text = clock.now(), request.GET.get("q", "")[:LONGEST]
    rows = business_metrics().exclude(pk__in=hidden_datasets(request))
    found = rows.filter(full_name__icontains=text) if text else rows
    context = {
        "here": "business-metrics",
        "now": now,
        "text": text,
        "are_there": rows.exists(),
        "more": max(0, found.count() - MOST),
        "shown": shown_metrics(list(found[:MOST]), Veil(now), now=now),
    }
    return render(request, "web/business_metrics.html", context)


@page
def business_metric_page(request: HttpRequest, name: str) -> HttpResponse:
    """One business metric; 404 for a table."""
    dataset = get_object_or_404(business_metrics(), name_key=name_key(name))
    demand(request, Action.READ, dataset)
    now = clock.now()
    veil = Veil(now)
    (shown,) = shown_metrics([dataset], veil, now=now)
    tests = live_tests(dataset, veil)
    drawn = next((live.test for live in tests if live.test.name == "band"), None)
    context = {
        "here": "business-metrics",
        "now": now,
        "dataset": dataset,
        "metric": shown,
        "use": may_use(dataset, RangeForm(request.GET).wanted(), now=now),
        "use_spans": SPANS,
        "sources": sources_of(shown.definition, hidden_datasets(request), now=now),
        "quality": data_qualities([dataset.pk], now=now)[dataset.pk],
        "tests": tests,
        "gaps": dataset.gaps.filter(closed_at=None),
        "incidents": incidents_of(dataset),
        "history": _drawn(newest_values(dataset, veil), history(drawn, veil) if drawn else {}),
    }
    return render(request, "web/business_metric.html", context)


def _drawn(values: Sequence[KnownValue], judged: Mapping[str, Any]) -> dict[str, Any]:
    """The values as ``history.js`` draws them, each with the band of its window where the past was long enough for one.

    ``judged`` are the results of the test of the band, in the same form.
    """
    places = {start: place for place, start in enumerate(judged.get("start", ()))}
    starts = [int(each.window.start.timestamp()) for each in values]

    def of_band(name: str, otherwise: str | None = None) -> list[Any]:
        return [judged[name][places[start]] if start in places else otherwise for start in starts]

    return {
        "test": "value()",
        "duration": False,
        "key": [each.key for each in values],
        "start": starts,
        "value": [each.value for each in values],
        "was": of_band("was"),
        "outcome": of_band("outcome", "not judged"),
        "low": of_band("low"),
        "high": of_band("high"),
    }
