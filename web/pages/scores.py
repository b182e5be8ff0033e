"""Pages of how good tests and data have been, and of what is tested."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import chain, pairwise
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from alerting.selectors import coverage_by_tier, missing_tests, obsolete_datasets
from assay import clock
from assay.access import Action
from assay.charts.ticks import Unit, value_text
from assay.models import Dataset
from incident_manager.scores.metric_reporter import USUAL_RANGE, Counted, Group, Overview, overview
from incident_manager.scores.noisy_tests import noisy_tests
from incident_manager.scores.response_times import Step
from test_generator.models import Offer, OfferState
from web.access.who import hidden_datasets, may
from web.rendering.charts import small_chart

from .page_policy import page

SPANS = {7: 7, 28: 14, 90: 15, 365: 13}  # days, and the even parts that scores are drawn in
MOST_NOISY = 20
MOST_LISTED = 20  # groups or datasets
# figures of all data: their words, what they mean, and what the incidents behind them count as
SHARES: Mapping[str, tuple[Promise, Promise, Counted]] = {
    "precision": (_("Precision"), _("The share of the time of alarms in which data really was bad."), Counted.FALSE),
    "recall": (_("Recall"), _("The share of the bad time that a test saw before a user did."), Counted.MISSED),
    "data_quality": (_("Data quality"), _("The share of the tested time without a real incident."), Counted.BAD),
}
STEPS: Mapping[Step, tuple[Promise, Promise]] = {
    Step.DETECT: (_("Time to detect"), _("From the end of the first bad window to the alarm; the median.")),
    Step.ACKNOWLEDGE: (_("Time to acknowledge"), _("From the alarm to somebody who works on it; the median.")),
    Step.REPAIR: (_("Time to repair"), _("How long an incident was open until the data was right; the median.")),
}


@page
def scores_page(request: HttpRequest) -> HttpResponse:
    """How good tests and data have been over the last days, in all, by what one chooses, and by dataset."""
    text, by, now = request.GET.get("days", ""), request.GET.get("by", ""), clock.now()
    days = int(text) if text in map(str, SPANS) else USUAL_RANGE.days
    group = Group(by) if by in list(Group) else Group.CATEGORY
    start = now - timedelta(days=days)
    reported = overview(group, start=start, end=now, now=now, parts=SPANS[days], most=MOST_LISTED)
    listed = reported.groups
    if len(listed) > MOST_LISTED:
        listed = sorted(listed, key=lambda row: row.total.bad, reverse=True)[:MOST_LISTED]
    qualities = {row.name: [part.data_quality for part in row.parts] for row in listed}
    every_quality = [*chain(*qualities.values())]
    rows = [
        {"group": row, **trend(qualities[row.name], gettext("Data quality"), Unit.SHARE, every_quality)}
        for row in listed
    ]
    heat_maps = (heat_map(by_day, reported) for by_day in reported.by_day)
    context = {
        "here": "scores",
        "days": days,
        "spans": list(SPANS),
        "group": group,
        "groups": list(Group),
        "trends": trends(reported),
        "total": reported.total,
        "queries": reported.queries,
        "rows": rows,
        "group_count": len(reported.groups),
        "by_dataset": reported.worst,  # those that were bad for longest
        "start": start,
        "noisy": [
            (test, noise, may(request, Action.TEST, test.dataset), may(request, Action.SILENCE, test.dataset))
            for test, noise in noisy_tests(start=start, end=now, most=MOST_NOISY, hidden=hidden_datasets(request))
        ],
        "heat_maps": [row for row in heat_maps if row["rows"]],
    }
    return render(request, "web/scores.html", context)


HEAT = (0.0, 0.01, 0.05, 0.2)  # shares of bad time; each more is one step darker
MOST_HEATED = 6  # as many as there are tiers


def heat_map(group: Group, reported: Overview) -> dict[str, Any]:
    """The share of the tested time that was bad, of each member of a group on each day: how dark, in percent, when."""
    rows = [row for row in reported.by_day[group] if row.total.total]
    if len(rows) > MOST_HEATED:
        rows = sorted(rows, key=lambda row: row.total.bad, reverse=True)[:MOST_HEATED]
    days = list(pairwise(reported.days))
    cells = ([(*heat(part.bad_share), *day) for part, day in zip(row.parts, days, strict=True)] for row in rows)
    heated = list(zip(rows, cells, strict=True))
    return {"group": group, "days": days, "rows": heated, "count": len(reported.by_day[group])}


def heat(share: float | None) -> tuple[int, str]:
    """How dark a cell is, 0 for what was good all day or not tested, and its text."""
    if share is None:
        return 0, "–"
    return bisect_left(HEAT, share), "<1" if 0 < share < HEAT[1] else f"{int(share * 100)}"


def trends(reported: Overview) -> list[dict[str, Any]]:
    """The figures of all data: each in words, over time, and what leads to its incidents."""
    shares = {name: [getattr(part, name) for part in reported.parts] for name in SHARES}
    lengths = {
        step: [part.median.total_seconds() if part.median is not None else None for part in parts]
        for step, parts in reported.step_parts.items()
    }
    cards: list[dict[str, Any]] = []
    for name, (words, meaning, counts) in SHARES.items():
        figure = {"value": getattr(reported.total, name), "open": reported.total.open and name != "data_quality"}
        plot = trend(shares[name], str(words), Unit.SHARE, [*chain(*shares.values())])
        cards.append({"words": words, "meaning": meaning, "counts": counts, **figure, **plot})
    for step, (words, meaning) in STEPS.items():
        time, plot = reported.steps[step], trend(lengths[step], str(words), Unit.LENGTH, [*chain(*lengths.values())])
        figure = {"value": time.median, "open": time.open, "count": time.count}
        cards.append({"words": words, "meaning": meaning, "counts": step, **figure, **plot})
    return cards


def trend(
    values: Sequence[float | None], words: str, unit: Unit, neighbours: Sequence[float | None]
) -> dict[str, SafeString | str]:
    """A figure over time as a chart and in words, on one scale with the values of the ``neighbours``."""
    figures = [value for value in values if value is not None]
    if not figures:
        return {"plot": "", "plot_text": ""}
    worst = min(figures) if unit is Unit.SHARE else max(figures)
    ends = {"first": figures[0], "last": figures[-1], "worst": worst}
    texts = {name: value_text(int(value * 1000) / 1000, unit) for name, value in ends.items()}
    text = gettext("from %(first)s to %(last)s, at worst %(worst)s") % texts
    is_bad = [unit is Unit.SHARE and value is not None and value < 1 for value in values]
    scale = [value for value in neighbours if value is not None]
    plot = small_chart(values, is_bad, title=f"{words}: {text}", unit=unit, scale=[min(scale), max(scale)])
    return {"plot": plot, "plot_text": text}


@page
def coverage_page(request: HttpRequest) -> HttpResponse:
    """Tests and reachable owners by tier, and what is missing: of each dataset, the most important first."""
    now, hidden = clock.now(), hidden_datasets(request)
    missing = missing_tests(now=now, hidden=hidden)
    missing_page: Page[Any] = Paginator(missing, MOST_LISTED).get_page(request.GET.get("page", 1))
    listed = list(missing_page.object_list)
    datasets = Dataset.objects.in_bulk([row.dataset for row in listed])
    offers = Offer.objects.filter(state=OfferState.OFFERED, dataset__in=datasets).order_by().values_list("dataset")
    suggestions = dict(offers.annotate(Count("pk")))
    tiers = coverage_by_tier(now=now)
    context = {
        "here": "coverage",
        "tiers": tiers,
        "unreachable": sorted({name for tier in tiers for name in tier.unreachable}),
        "untested": sum(row.is_untested for row in missing),
        "missing": missing_page,
        "obsolete": obsolete_datasets(hidden=hidden),
        "stand_in": any(tier.live < tier.wanted + tier.gaps for tier in tiers),
        "rows": [
            {
                "missing": row,
                "dataset": (dataset := datasets[row.dataset]),
                "may_test": may(request, Action.TEST, dataset),
                "suggestions": suggestions.get(row.dataset, 0),
            }
            for row in listed
        ],
    }
    return render(request, "web/coverage.html", context)
