"""The page of a team: its tables, what is open, how good its data is, and what nobody tests."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from alerting.coverage import coverage_by_tier
from assay import clock
from assay.models import Category, Dataset
from execution_engine.runs.shown_results import Veil
from incident_manager.models import Incident
from incident_manager.quality.now import statuses_now
from incident_manager.scores.metric_reporter import NONE, USUAL_RANGE, scores
from web.access.who import readable
from web.pages.forms import WantedForm
from web.pages.page_policy import Told, page
from web.pages.selectors.catalogue import CatalogueFilter, catalogue
from web.pages.selectors.root_causes import cards, open_of_team

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
