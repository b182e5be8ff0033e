"""The pages, server-rendered: read with the selectors, render."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth import views as auth
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from alerting.selectors import coverage_by_tier
from alerting.services import silences_of
from alerting.waivers import WaiverScope, waiver_end
from assay import clock
from assay.access import Action
from assay.config import config
from assay.database.name_keys import name_key
from assay.models import Category, Dataset, DataTest
from execution_engine.runs.shown_results import Veil
from incident_manager.gate.rules import longest, usual
from incident_manager.gate.services import lasting
from incident_manager.models import Incident
from incident_manager.quality.now import facts_now, statuses_now
from incident_manager.quality.rules import AskedRange, judge
from incident_manager.scores.metric_reporter import data_qualities
from test_generator.models import RuleTemplate
from web.access.logins import LoginPage
from web.access.throttles import SAFE
from web.access.typed import typed_before
from web.access.who import hidden_datasets, may, readable
from web.api.problems import KINDS
from web.doctor import idle
from web.pages.data_tests.backtests import foretold
from web.pages.selectors.catalogue import FILTERS, catalogue, failing_pull, summary
from web.pages.selectors.dataset import SPANS, incidents_of, live_tests, may_use, progress, promises, published_up_to
from web.pages.selectors.days import DayResults, day_grid, day_results, history, newest_groups
from web.pages.selectors.incident import (
    MOST_CARDS,
    IncidentState,
    SpoiltShown,
    annotation,
    cards,
    chain_of,
    effects_of,
    headline_of,
    headlines_of,
    incident_by_id,
    is_unheard,
    listed_incidents,
    notices_of,
    open_roots,
    outlook,
    people_for,
    spoilt_windows,
    window_asked,
)
from web.shown.business_metrics import KnownValue, business_metrics, newest_values, shown_metrics, sources_of
from web.shown.headline import folded, shown_timeline
from web.shown.lineage import lineage
from web.shown.status import MEANINGS, WORDS, ShownStatus

from .actions import back_fill_of
from .forms import TIERS, IncidentsForm, RangeForm, WantedForm
from .page_policy import Told, demand, page

HOUR = timedelta(hours=1)

login = LoginPage.as_view()
log_out = auth.LogoutView.as_view(next_page="login")


def logout(request: HttpRequest) -> HttpResponseBase:
    """Log out, by the button alone: whoever opens the address is sent to the catalogue."""
    return redirect("catalogue") if request.method in SAFE else log_out(request)


@page
def catalogue_page(request: HttpRequest) -> HttpResponse:
    """Every dataset by category; of a filter's request only the matrix."""
    form, now = WantedForm(request.GET), clock.now()
    wanted = form.wanted()
    query = request.GET.copy()
    query.pop("page", None)
    statuses = statuses_now(dict(Dataset.objects.values_list("pk", "full_name")), now=now)
    context = {
        "wanted": wanted,
        "query": query.urlencode(),
        "categories": Category.values,
        "catalogue": catalogue(wanted, statuses, page=form.page_number(), now=now),
    }
    if request.headers.get("HX-Request"):
        return render(request, "web/_matrix.html", context | {"is_part": True})
    choices = [(status.value, str(WORDS[status]).lower()) for status in FILTERS]
    context |= {"here": "catalogue", "now": now, "idle": idle(), "tiers": TIERS, "statuses": choices}
    roots = open_roots(MOST_CARDS)
    shown = readable(request, roots)
    hidden = [root for root in roots if root not in shown]  # what these cause may be read all the same
    shown += readable(request, effects_of(hidden, MOST_CARDS - len(shown)))
    context |= {"summary": summary(statuses), "causes": cards(shown, Veil(now)), "pull": failing_pull()}
    return render(request, "web/catalogue.html", context)


@page
def dataset_page(request: HttpRequest, name: str) -> HttpResponse:
    """One dataset: what it promises, how it stands, what it hangs on."""
    dataset = get_object_or_404(Dataset.objects.prefetch_related("replicas"), name_key=name_key(name))
    demand(request, Action.READ, dataset)
    now = clock.now()
    veil = Veil(now)
    use = may_use(dataset, RangeForm(request.GET).wanted(), now=now)
    if request.headers.get("HX-Target") == "use":
        return render(request, "web/_may_use.html", {"dataset": dataset, "use": use, "use_spans": SPANS})
    tests = live_tests(dataset, veil)
    known = facts_now({dataset.pk: dataset.full_name}, now=now)[dataset.pk]
    answer, replicas = judge(known, AskedRange()), dataset.replicas.all()
    wanted = request.GET.get("test", "")
    chosen = next((live.test for live in tests if str(live.test.pk) == wanted), tests[0].test if tests else None)
    context = {
        "dataset": dataset,
        "now": now,
        "idle": idle(),
        "answer": answer,
        "reasons": folded(answer.reasons),
        "use": use,
        "use_spans": SPANS,
        "replicas": [(replica, judge(known, AskedRange(datacenter=replica.datacenter)).status) for replica in replicas],
        "promises": promises(dataset),
        "progress": progress(dataset),
        "quality": data_qualities([dataset.pk], now=now)[dataset.pk],
        "grid": day_grid(dataset, known, now=now),
        "legend": [
            (status, WORDS[status], MEANINGS[status]) for status in ShownStatus if status is not ShownStatus.NONE
        ],
        "day": _day_asked(request, dataset, veil, now),
        "incidents": incidents_of(dataset),
        "tests": tests,
        "has_no_result": not any(live.standing for live in tests),
        "gaps": dataset.gaps.filter(closed_at=None),
        "graph": lineage(dataset, now=now),
        "public_url": config().public_url.rstrip("/"),
    }
    drawn = _draw_results(dataset, chosen, veil, now)
    return render(request, "web/dataset.html", context | drawn | _forms(request, dataset, now))


def _draw_results(dataset: Dataset, chosen: DataTest | None, veil: Veil, now: datetime) -> dict[str, Any]:
    """The test whose results are drawn."""
    if chosen is None:
        return {"chosen": None}
    return {
        "chosen": chosen,
        "bindings": dataset.bindings.filter(test=chosen.name).order_by("pipeline"),
        "template": RuleTemplate.objects.filter(name=chosen.template).first() if chosen.template else None,
        "history": history(chosen, veil),
        "groups": newest_groups(chosen, veil),
        "foretold": foretold(chosen, now),
    }


def _forms(request: HttpRequest, dataset: Dataset, now: datetime) -> dict[str, Any]:
    """What one may do with a dataset, and what was typed before."""
    before = typed_before(request)
    return {
        "published": published_up_to(dataset),
        "overrides": lasting(dataset, now=now),
        "override": before.get("override") or _override_asked(request),
        "usual_override": usual(dataset.tier) // HOUR,
        "longest_override": longest(dataset.tier) // HOUR,
        "may_override": may(request, Action.OVERRIDE, dataset),
        "may_report": may(request, Action.REPORT, dataset),
        "may_test": may(request, Action.TEST, dataset),
        "back_fill": back_fill_of(dataset, now) if may(request, Action.RUN, dataset) else None,
    }


def _override_address(incident: Incident, windows: Sequence[SpoiltShown]) -> str:
    """The form that lets pipelines read the newest bad window, open and filled."""
    newest = next((window_asked(spoilt) for spoilt in windows if spoilt.row.healed_at is None), "")
    asked = urlencode({"override": newest, "incident": incident.pk})
    return f"{reverse('dataset', args=[incident.dataset.full_name])}?{asked}#override"


def _override_asked(request: HttpRequest) -> dict[str, str]:
    """The form of an override as a link from an incident fills it; nothing without one."""
    window, incident = request.GET.get("override", ""), request.GET.get("incident", "")
    if not window and not incident:
        return {}
    known = gettext("Incident %(id)s is known.") % {"id": incident} if incident.isdecimal() else ""
    return {"window": window, "reason": known}


def _day_asked(request: HttpRequest, dataset: Dataset, veil: Veil, now: datetime) -> DayResults | None:
    """The results of the day whose cell was chosen in the grid."""
    label, category = request.GET.get("day", ""), request.GET.get("category", "")
    known = category if category in Category.values else ""
    return day_results(dataset, label, known, veil, now=now) if label else None


@page
def incidents_page(request: HttpRequest) -> HttpResponse:
    """The incidents of all datasets, open ones first; of a filter's request only the list."""
    wanted, query = IncidentsForm(request.GET).wanted(request.user.get_username()), request.GET.copy()
    query.pop("page", None)
    found = listed_incidents(wanted)
    context = {
        "here": "incidents",
        "now": clock.now(),
        "wanted": wanted,
        "found": found,
        "incidents": (shown := readable(request, found.rows)),
        "headlines": headlines_of(shown, Veil(clock.now())),
        "query": query.urlencode(),
        "states": [state.value for state in IncidentState],
        "categories": Category.values,
        "tiers": TIERS,
        "is_filtered": bool(wanted.text or wanted.state or wanted.category or wanted.tier is not None),
    }
    if request.headers.get("HX-Request"):
        return render(request, "web/_incident_list.html", context | {"is_part": True})
    return render(request, "web/incidents.html", context)


@page
def incident_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One incident: what is spoilt, why, who was told, and what can be done."""
    incident = incident_by_id(pk)
    if incident is None:
        raise Http404(Told(gettext("There is no incident %(id)s.") % {"id": pk}))
    demand(request, Action.READ, incident)
    veil, typed = Veil(clock.now()), typed_before(request)
    windows, notices = spoilt_windows(incident, veil), notices_of(incident)
    context = {
        "here": "incidents",
        "incident": incident,
        "now": clock.now(),
        "windows": windows,
        "timeline": shown_timeline(incident, veil),
        "unhealed": incident.spoilt_windows.filter(healed_at=None).count(),
        "may_act": may(request, Action.ACT, incident),
        "waived_until": waiver_end(WaiverScope.TEST, made_at=clock.now(), tier=incident.dataset.tier),
        "typed": typed,
        "annotation": typed.get("annotate") or annotation(incident),
        "assigned_to": typed.get("assign", {}).get("to", incident.assigned_to),
        "people": people_for(incident) if may(request, Action.ACT, incident) else [],
        "headline": headline_of(incident, windows, veil),
        "chain": chain_of(incident),
        "outlook": outlook(incident, windows),
        "reports": incident.all_reports(),
        "notices": notices,
        "silences": silences_of(incident.alert) if incident.alert else [],
        "is_unheard": is_unheard(notices),
        "may_silence": may(request, Action.SILENCE, incident.dataset),
        "override_address": _override_address(incident, windows),
    }
    return render(request, "web/incident.html", context)


@page
def coverage_page(request: HttpRequest) -> HttpResponse:
    """Tests and reachable owners by tier, and what is missing."""
    return render(request, "web/coverage.html", {"here": "coverage", "tiers": coverage_by_tier(now=clock.now())})


# The page that explains the API: tokens and problems by a template, the operations by Swagger UI from the document.


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


# The page of a dataset's columns over time.

LONGEST = 300  # letters of what a reader types


@page
def columns_page(request: HttpRequest, name: str) -> HttpResponse:
    """What profiles say of each column over the last partitions, and of one that is chosen all they say."""
    from web.pages.selectors.columns import ColumnsWanted, shown_columns  # with it numpy, for this page alone

    dataset = get_object_or_404(Dataset.objects.prefetch_related("replicas"), name_key=name_key(name))
    demand(request, Action.READ, dataset)
    now = clock.now()
    asked = {key: request.GET.get(key, "")[:LONGEST] for key in ("text", "page", "column", "statistic")}
    shown = shown_columns(dataset, live_tests(dataset, Veil(now)), ColumnsWanted(**asked), now)
    query = request.GET.copy()
    query.pop("page", None)
    context = {"dataset": dataset, "now": now, "shown": shown, "text": asked["text"], "query": query.urlencode()}
    return render(request, "web/columns.html", context)


# The pages of business metrics: all of them, and one with its definition, its sources, its values and its tests.

# letters of what a reader types
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
        "history": _draw_metric(newest_values(dataset, veil), history(drawn, veil) if drawn else {}),
    }
    return render(request, "web/business_metric.html", context)


def _draw_metric(values: Sequence[KnownValue], judged: Mapping[str, Any]) -> dict[str, Any]:
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
