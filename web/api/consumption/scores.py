"""Scores: precision, recall and quality of any range, tier, team, owner, category or dataset."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.models import Category
from incident_manager.scores.metric_reporter import ScoreRow, scores
from incident_manager.scores.rules import Score
from web.api.conventions.base import Api
from web.api.conventions.errors import Wrong
from web.api.conventions.fields import DatasetField, Shape, with_range


@with_range
class ScoreQuery(Shape):
    """Of what."""

    tier = serializers.IntegerField(required=False, min_value=0, max_value=5)
    team = serializers.CharField(required=False, max_length=200)
    owner = serializers.CharField(required=False, max_length=200)
    category = serializers.ChoiceField(Category.choices, required=False)
    dataset = DatasetField(required=False)


class Scores(Api):
    """GET how good tests and data were."""

    @extend_schema(parameters=[ScoreQuery], responses=dict[str, Any])
    def get(self, request: Request) -> Response:
        """Durations in seconds; a share of nothing is null, as is the quality of what was never tested.

        A look-up over several tables is one, and fails by any of them.
        """
        asked, now = self.asked(ScoreQuery), clock.now()
        start, end = asked.pop("from"), asked.pop("to")
        del asked["range"]
        if start >= now:
            raise Wrong("The range begins in the future.", where="from")
        found = scores(start=start, end=end, now=now, **asked)
        queries = found.queries
        return Response(
            {
                "from": found.start,
                "to": found.end,
                "total": _written(found.total),
                "look_ups": {
                    "total": queries.total,
                    "failed": queries.failed,
                    "failed_share": queries.failed_share,
                    "quality": queries.quality,
                    "quality_without_forced": queries.quality_without_forced,
                },
                "datasets": [_row(row) for row in found.rows],
            }
        )


def _row(row: ScoreRow) -> dict[str, Any]:
    categories = [{"category": category, **_written(score)} for category, score in row.by_category.items()]
    return {"dataset": row.dataset, **_written(row.score), "categories": categories}


def _written(score: Score) -> dict[str, Any]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "true_positive": score.true_positive.total_seconds(),
        "false_positive": score.false_positive.total_seconds(),
        "false_negative": score.false_negative.total_seconds(),
        "tested": score.total.total_seconds(),
        "bad": score.bad.total_seconds(),
        "bad_share": score.bad_share,
        "data_quality": score.data_quality,
        "open": score.open,
    }
