"""Pages of all data: the catalogue, how good tests and data have been, what is tested, and one team."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.core.paginator import Page, Paginator
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from alerting.selectors import coverage_by_tier
from assay import clock
from assay.charts.ticks import Unit
from assay.models import Category, Dataset, Pull
from execution_engine.runs.shown_results import Veil
from incident_manager.models import Incident
from incident_manager.quality.now import facts_now, of_category, statuses_now
from incident_manager.quality.rules import RANK, Facts, RangeRequest, judge
from incident_manager.quality.rules import QualityStatus as Quality
from incident_manager.scores.metric_reporter import NONE, USUAL_RANGE, Group, data_qualities, overview, scores
from test_generator.models import Gap
from web.access.who import readable
from web.doctor import idle
from web.rendering.charts import small_chart
from web.rendering.headline import reason_text
from web.rendering.status import WORDS, Cell, DisplayStatus, look_of

from .incident import MOST_CARDS, ROOTS, cards, open_incidents
from .page_policy import TIERS, FilterForm, PageMessage, choice_field, matching, page, query_without_page

PAGE_SIZE = 50
FILTERS = tuple(DisplayStatus(status.value) for status in Quality)


class CatalogueForm(FilterForm):
    """The filters of the catalogue."""

    q = forms.CharField(required=False, max_length=200)
    tier = choice_field(int, TIERS)
    status = choice_field(DisplayStatus, [status.value for status in FILTERS])


@page
def catalogue_page(request: HttpRequest) -> HttpResponse:
    """Every dataset by category; of a filter's request only the matrix."""
    filters, now = CatalogueForm(request.GET).values(), clock.now()
    statuses = statuses_now(dict(Dataset.objects.values_list("pk", "full_name")), now=now)
    context: dict[str, Any] = {
        "wanted": filters,
        "query": query_without_page(request),
        "categories": Category.values,
        "catalogue": catalogue(statuses, **filters, now=now),
    }
    if request.headers.get("HX-Request"):
        return render(request, "web/_matrix.html", context | {"is_part": True})
    choices = [(status.value, str(WORDS[status]).lower()) for status in FILTERS]
    context |= {"here": "catalogue", "now": now, "idle": idle(), "tiers": TIERS, "statuses": choices}
    roots = open_incidents(ROOTS, MOST_CARDS)
    causes = readable(request, roots)
    # what hidden roots cause may be read all the same
    hidden = [root.alert_id for root in roots if root not in causes and root.alert_id]
    causes += readable(request, open_incidents(Q(alert__cause__in=hidden), MOST_CARDS - len(causes)))
    pull = Pull.objects.filter(failing_since__isnull=False).first()  # the read of the catalog, while it is refused
    context |= {"summary": summary(statuses), "causes": cards(causes, Veil(now)), "pull": pull}
    return render(request, "web/catalogue.html", context)


def catalogue(
    statuses: Mapping[int, Quality],
    *,
    now: datetime,
    q: str | None = "",
    team: str = "",
    tier: int | None = None,
    status: DisplayStatus | None = None,
    page: int = 1,
) -> Page[Any]:
    """The rows of one page, the worst status first and by name where it is the same; ``statuses``: by dataset.

    In as many statements however many datasets there are.
    """
    datasets = matching(q or "")
    if team:
        datasets = datasets.filter(team=team)
    if tier is not None:
        datasets = datasets.filter(tier=tier)
    names = {pk: name for pk, name in datasets.values_list("pk", "full_name") if pk in statuses}
    keys = [pk for pk in names if status is None or statuses[pk].value == status.value]
    keys.sort(key=lambda pk: (RANK[statuses[pk]], names[pk].lower()))
    dataset_page: Page[Any] = Paginator(keys, PAGE_SIZE).get_page(page)
    keys = list(dataset_page.object_list)
    rows = Dataset.objects.only("full_name", "tier", "owner").in_bulk(keys)
    cells = matrix(facts_now({pk: names[pk] for pk in keys}, now=now))
    opened = Incident.objects.filter(dataset__in=keys, resolved_at=None).order_by()
    counts = dict(opened.values_list("dataset").annotate(Count("pk")))
    qualities = data_qualities(keys, now=now)
    dataset_page.object_list = [
        {
            "dataset": rows[pk],
            "status": DisplayStatus(statuses[pk].value),
            "cells": [cells.get((pk, category), Cell()) for category in Category.values],
            "quality": qualities[pk],  # data-level, of the last 28 days; None: nothing has tested it
            "open_incidents": counts.get(pk, 0),
        }
        for pk in keys
    ]
    return dataset_page


def summary(statuses: Mapping[int, Quality]) -> dict[str, int]:
    """How many datasets there are, how many of each status, and how many incidents are open."""
    counts = Counter(statuses.values())
    incidents = Incident.objects.filter(resolved_at=None).count()
    return {status.value: counts[status] for status in Quality} | {"datasets": len(statuses), "incidents": incidents}


def matrix(facts_by_dataset: Mapping[int, Facts]) -> dict[tuple[int, str], Cell]:
    """The cell of each (dataset, category) that has a live test, a report or a known gap, in one statement more."""
    gaps = Gap.objects.filter(dataset__in=list(facts_by_dataset), closed_at=None, template="")
    reasons = gaps.values_list("dataset_id", "category", "reason")
    cells = {(dataset, category): Cell(reason=reason) for dataset, category, reason in reasons}
    for dataset, facts in facts_by_dataset.items():
        for category in Category.values:
            part = of_category(facts, category)
            if part.tests or part.spoilt or part.claims:
                answer = judge(part, RangeRequest())
                weighing = [reason for reason in answer.reasons if reason.status is answer.status]
                windows = max((reason.count for reason in weighing), default=0)
                why = reason_text(weighing[0].text) if weighing else ""
                cells[dataset, category] = Cell(status=look_of(answer), windows=windows, reason=why)
    return cells


SPANS = {7: 7, 28: 14, 90: 15, 365: 13}  # days, and the even parts that scores are drawn in
MOST_DATASETS = 50


@page
def scores_page(request: HttpRequest) -> HttpResponse:
    """How good tests and data have been over the last days, in all, by what one chooses, and by dataset."""
    text, by, now = request.GET.get("days", ""), request.GET.get("by", ""), clock.now()
    days = int(text) if text in map(str, SPANS) else USUAL_RANGE.days
    group = Group(by) if by in list(Group) else Group.CATEGORY
    start = now - timedelta(days=days)
    reported = overview(group, start=start, end=now, now=now, parts=SPANS[days], most=MOST_DATASETS)
    rows = []
    for scored in reported.groups:
        values = [part.data_quality for part in scored.parts]
        plot_text = gettext("no quality over time yet")  # for who cannot see the plot
        if figures := [value for value in values if value is not None]:
            ends = {"first": f"{figures[0]:.1%}", "last": f"{figures[-1]:.1%}", "worst": f"{min(figures):.1%}"}
            plot_text = gettext("data quality over time: from %(first)s to %(last)s, at worst %(worst)s") % ends
        is_bad = [value is not None and value < 1 for value in values]
        rows.append({"group": scored, "plot": small_chart(values, is_bad, title=plot_text, unit=Unit.SHARE)})
    context = {
        "here": "scores",
        "days": days,
        "spans": list(SPANS),
        "group": group,
        "groups": list(Group),
        "total": reported.total,
        "queries": reported.queries,
        "rows": rows,
        "by_dataset": reported.worst,  # those that were bad for longest
    }
    return render(request, "web/scores.html", context)


@page
def coverage_page(request: HttpRequest) -> HttpResponse:
    """Tests and reachable owners by tier, and what is missing."""
    return render(request, "web/coverage.html", {"here": "coverage", "tiers": coverage_by_tier(now=clock.now())})


MOST_OPEN = 12


@page
def team_page(request: HttpRequest, team: str) -> HttpResponse:
    """One team: its tables, what is open, how good its data is, what nobody tests; 404 where nothing was ever its."""
    names = dict(Dataset.objects.filter(team=team).values_list("pk", "full_name"))
    if not names and not Incident.objects.filter(team=team).exists():
        raise Http404(PageMessage(gettext("There is no team %(name)s.") % {"name": team}))
    now, number = clock.now(), CatalogueForm(request.GET).values()["page"]
    context = {
        "team": team,
        "now": now,
        "open_count": Incident.objects.filter(team=team, resolved_at__isnull=True).count(),
        "causes": cards(readable(request, open_incidents(Q(team=team), MOST_OPEN)), Veil(now)),
        "score": scores(start=now - USUAL_RANGE, end=now, now=now, team=team, listed=NONE),
        "tiers": [tier for tier in coverage_by_tier(now=now, team=team) if tier.datasets],
        "categories": Category.values,
        "wanted": {},
        "catalogue": catalogue(statuses_now(names, now=now), team=team, page=number, now=now),
    }
    return render(request, "web/team.html", context)
