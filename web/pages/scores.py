"""The page that measures ourselves: precision, recall and quality of any range."""

from collections.abc import Sequence
from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from assay import clock
from assay.models import Category
from incident_manager.scores.metric_reporter import USUAL_RANGE, ScoreRow, scores
from incident_manager.scores.rules import Score, combine

from .page_policy import page

SPANS = (7, 28, 90, 365)  # days
DEFAULT_SPAN = USUAL_RANGE.days


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
        "queries": found.queries,
        "by_category": _by_category(found.rows),
        "by_dataset": [  # those that were bad for longest
            (row.dataset, row.score) for row in sorted(found.rows, key=lambda row: (-row.score.bad, row.dataset))[:50]
        ],
    }
    return render(request, "web/scores.html", context)


def _by_category(rows: Sequence[ScoreRow]) -> list[tuple[str, Score]]:
    groups = ((name, [row.by_category[name] for row in rows if name in row.by_category]) for name in Category.values)
    return [(name, combine(scores)) for name, scores in groups if scores]
