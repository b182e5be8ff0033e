"""The page that measures ourselves: precision, recall and quality of any range."""

from collections.abc import Sequence
from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from assay import clock
from assay.models import Category
from incident_manager.scores import Score, combine
from incident_manager.selectors import ScoreRow, scores
from web.pages.policy import page

SPANS = (7, 28, 90, 365)  # days
DEFAULT_SPAN = 28


@page
def scores_page(request: HttpRequest) -> HttpResponse:
    """How good tests and data have been over the last days, in all, by category and by dataset."""
    asked = request.GET.get("days", "")
    days = int(asked) if asked in map(str, SPANS) else DEFAULT_SPAN
    now = clock.now()
    found = scores(start=now - timedelta(days=days), end=now, now=now)
    context = {
        "here": "scores",
        "days": days,
        "spans": SPANS,
        "total": found.total,
        "look_ups": found.look_ups,
        "by_category": _grouped(found.rows, Category.values, "category"),
        "by_dataset": _worst_first(found.rows),
    }
    return render(request, "web/scores.html", context)


def _grouped(rows: Sequence[ScoreRow], names: Sequence[str], field: str) -> list[tuple[str, Score]]:
    groups = ((name, [row.score for row in rows if getattr(row, field) == name]) for name in names)
    return [(name, combine(scores)) for name, scores in groups if scores]


def _worst_first(rows: Sequence[ScoreRow], limit: int = 50) -> list[tuple[str, Score]]:
    """The datasets that were bad for longest."""
    by_dataset: dict[str, list[Score]] = {}
    for row in rows:
        by_dataset.setdefault(row.dataset, []).append(row.score)
    combined = [(name, combine(scores)) for name, scores in by_dataset.items()]
    return sorted(combined, key=lambda pair: (-pair[1].bad, pair[0]))[:limit]
