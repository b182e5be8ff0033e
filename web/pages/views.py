"""Pages that stand alone: login, business metrics, and the explanation of the API."""

from typing import Any

from django.contrib.auth import views as auth
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.access import Action
from assay.config import config
from assay.database.name_keys import name_key
from execution_engine.runs.shown_results import Veil
from incident_manager.scores.metric_reporter import data_qualities
from web.access.logins import LoginPage
from web.access.throttles import SAFE
from web.access.who import hidden_datasets
from web.api.problems import KINDS
from web.rendering.business_metrics import business_metrics, metric_summaries, newest_values, sources_of

from .dataset import LONGEST, SPANS, RangeForm, incidents_of, may_use
from .days import history, live_tests
from .page_policy import demand, page

MOST = 500  # business metrics on the page; the API gives all
login = LoginPage.as_view()
log_out = auth.LogoutView.as_view(next_page="login")


def logout(request: HttpRequest) -> HttpResponseBase:
    """Log out, by the button alone: whoever opens the address is sent to the catalogue."""
    return redirect("catalogue") if request.method in SAFE else log_out(request)


class ApiDocs(SpectacularSwaggerSplitView):
    """GET the page, or with ``?script`` what starts Swagger UI in it; whoever sees the document may read it."""

    permission_classes = (AllowAny,)
    template_name = "web/api_docs.html"

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The page or its script."""
        answer: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        answer.data |= {"here": "api", "kinds": sorted(KINDS.items()), "url": config().public_url.rstrip("/")}
        return answer


@page
def business_metrics_page(request: HttpRequest) -> HttpResponse:
    """Every business metric that whoever asks may see, with its status and newest value."""
    now, text = clock.now(), request.GET.get("q", "")[:LONGEST]
    rows = business_metrics().exclude(pk__in=hidden_datasets(request))
    matching = rows.filter(full_name__icontains=text) if text else rows
    context = {
        "here": "business-metrics",
        "now": now,
        "text": text,
        "are_there": rows.exists(),
        "more": max(0, matching.count() - MOST),
        "shown": metric_summaries(list(matching[:MOST]), Veil(now), now=now),
    }
    return render(request, "web/business_metrics.html", context)


@page
def business_metric_page(request: HttpRequest, name: str) -> HttpResponse:
    """One business metric; 404 for a table."""
    dataset = get_object_or_404(business_metrics(), name_key=name_key(name))
    demand(request, Action.READ, dataset)
    now = clock.now()
    veil = Veil(now)
    (metric,) = metric_summaries([dataset], veil, now=now)
    tests = live_tests(dataset, veil)
    band = next((live.test for live in tests if live.test.name == "band"), None)
    # the values as history.js draws them, each with the band of its window where the past was long enough
    values, judged = newest_values(dataset, veil), history(band, veil) if band else {"start": []}
    places = {start: place for place, start in enumerate(judged["start"])}
    starts = [int(point.window.start.timestamp()) for point in values]
    of_band = {
        name: [judged[name][places[start]] if start in places else otherwise for start in starts]
        for name, otherwise in {"was": None, "outcome": "not judged", "low": None, "high": None}.items()
    }
    figures = {"key": [point.key for point in values], "start": starts, "value": [point.value for point in values]}
    context = {
        "here": "business-metrics",
        "now": now,
        "dataset": dataset,
        "metric": metric,
        "use": may_use(dataset, **RangeForm(request.GET).values(), now=now),
        "use_spans": SPANS,
        "sources": sources_of(metric.definition, hidden_datasets(request), now=now),
        "quality": data_qualities([dataset.pk], now=now)[dataset.pk],
        "tests": tests,
        "gaps": dataset.gaps.filter(closed_at=None),
        "incidents": incidents_of(dataset),
        "history": {"test": "value()", "duration": False, **figures, **of_band},
    }
    return render(request, "web/business_metric.html", context)
