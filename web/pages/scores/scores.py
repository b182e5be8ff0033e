"""The page that measures ourselves: precision, recall and quality of any range, and how these went."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from assay import clock
from incident_manager.scores.metric_reporter import USUAL_RANGE, Group, ScoredGroup, overview
from web.pages.page_policy import page
from web.shown.small_plot import SmallPlot, small_plot

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
