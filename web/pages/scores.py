"""Pages that measure: precision, recall and quality in all, by group, by dataset, and of one team.

The figures are worked out in ``incident_manager.scores``; here they are asked for, and drawn over time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from alerting.selectors import coverage_by_tier
from assay import clock
from assay.models import Category, Dataset
from execution_engine.runs.shown_results import Veil
from incident_manager.models import Incident
from incident_manager.quality.now import statuses_now
from incident_manager.scores.metric_reporter import NONE, USUAL_RANGE, Group, ScoredGroup, overview, scores
from web.access.who import readable
from web.pages.selectors.catalogue import CatalogueFilter, catalogue
from web.pages.selectors.incident import cards, open_of_team
from web.shown.moved import SmallPlot, small_plot

from .forms import WantedForm
from .page_policy import Told, page

# The page that measures ourselves: precision, recall and quality of any range, and how these went.

SPANS = {7: 7, 28: 14, 90: 15, 365: 13}  # days, and the even parts that they are drawn in
DEFAULT_SPAN = USUAL_RANGE.days
MOST_DATASETS = 50


@dataclass(frozen=True, kw_only=True)
class ShownGroup:
    """A group with its quality over time, drawn and in words."""

    group: ScoredGroup
    plot: SmallPlot | None
    said: str


@page
def scores_page(request: HttpRequest) -> HttpResponse:
    """How good tests and data have been over the last days, in all, by what one chooses, and by dataset."""
    asked, by = request.GET.get("days", ""), request.GET.get("by", "")
    days = int(asked) if asked in map(str, SPANS) else DEFAULT_SPAN
    group = Group(by) if by in list(Group) else Group.CATEGORY
    now = clock.now()
    start = now - timedelta(days=days)
    found = overview(group, start=start, end=now, now=now, parts=SPANS[days], most=MOST_DATASETS)
    context = {
        "here": "scores",
        "days": days,
        "spans": list(SPANS),
        "group": group,
        "groups": list(Group),
        "total": found.total,
        "queries": found.queries,
        "rows": [_shown(one) for one in found.groups],
        "by_dataset": found.worst,  # those that were bad for longest
    }
    return render(request, "web/scores.html", context)


def _shown(one: ScoredGroup) -> ShownGroup:
    values = [part.data_quality for part in one.parts]
    return ShownGroup(
        group=one, plot=small_plot(values, [value is not None and value < 1 for value in values]), said=_said(values)
    )


def _said(values: Sequence[float | None]) -> str:
    """The plot in words, for who cannot see it."""
    known = [value for value in values if value is not None]
    if not known:
        return gettext("no quality over time yet")
    said = gettext("data quality over time: from %(first)s to %(last)s, at worst %(worst)s")
    return said % {"first": f"{known[0]:.1%}", "last": f"{known[-1]:.1%}", "worst": f"{min(known):.1%}"}


# The page of a team: its tables, what is open, how good its data is, and what nobody tests.

MOST_OPEN = 12


@page
def team_page(request: HttpRequest, team: str) -> HttpResponse:
    """One team; 404 where nothing has ever been of it."""
    open_rows = Incident.objects.filter(team=team, resolved_at__isnull=True)
    if not Dataset.objects.filter(team=team).exists() and not Incident.objects.filter(team=team).exists():
        raise Http404(Told(gettext("There is no team %(name)s.") % {"name": team}))
    now, wanted = clock.now(), CatalogueFilter(team=team)
    names = dict(Dataset.objects.filter(team=team).values_list("pk", "full_name"))
    start, number = now - USUAL_RANGE, WantedForm(request.GET).page_number()
    context = {
        "team": team,
        "now": now,
        "open_count": open_rows.count(),
        "causes": cards(readable(request, open_of_team(team, MOST_OPEN)), Veil(now)),
        "score": scores(start=start, end=now, now=now, team=team, listed=NONE),
        "tiers": [tier for tier in coverage_by_tier(now=now, team=team) if tier.datasets],
        "categories": Category.values,
        "wanted": wanted,
        "catalogue": catalogue(wanted, statuses_now(names, now=now), page=number, now=now),
    }
    return render(request, "web/team.html", context)
