"""Scores: precision, recall and quality of any range, tier, team, owner, category or dataset."""

from datetime import timedelta
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.models import Category
from incident_manager.scores.metric_reporter import Group, scores

from .base import Api
from .fields import DatasetField, Shape, Spanned, with_range
from .problems import Wrong


@with_range
class ScoreQuery(Shape):
    """The range and the datasets that scores are of."""

    tier = serializers.IntegerField(required=False, min_value=0, max_value=5)
    team = serializers.CharField(required=False, max_length=200)
    owner = serializers.CharField(required=False, max_length=200)
    category = serializers.ChoiceField(Category.choices, required=False)
    dataset = DatasetField(required=False)
    by = serializers.ChoiceField(
        [group.value for group in Group], required=False, help_text="list the scores of these groups, of all data"
    )
    limit = serializers.IntegerField(
        required=False, min_value=0, max_value=1000, default=100, help_text="number of datasets that are listed"
    )
    offset = serializers.IntegerField(required=False, min_value=0, max_value=10**9, default=0)


class SecondsField(serializers.FloatField):
    """A length of time in seconds."""

    def to_representation(self, value: timedelta) -> float:  # type: ignore[override]
        return value.total_seconds()


class ScoreFigures(serializers.Serializer[Any]):
    """Scores: durations in seconds, and the shares that follow from them; a share of nothing is null."""

    precision = serializers.FloatField(allow_null=True)
    recall = serializers.FloatField(allow_null=True)
    true_positive = SecondsField()
    false_positive = SecondsField()
    false_negative = SecondsField()
    tested = SecondsField(help_text="seconds of the range since there was a live test", source="total")
    bad = SecondsField()
    bad_share = serializers.FloatField(allow_null=True)
    data_quality = serializers.FloatField(allow_null=True)
    open = serializers.BooleanField(help_text="an incident was open at the end: precision and recall are provisional")


class CategoryScore(ScoreFigures):
    """The scores of one category."""

    category = serializers.ChoiceField(Category.choices)


class DatasetScore(ScoreFigures):
    """The scores of one dataset."""

    dataset = serializers.CharField()
    categories = CategoryScore(many=True)


class LookUpScore(serializers.Serializer[Any]):
    """How many look-ups were answered with bad data."""

    total = serializers.IntegerField()
    failed = serializers.IntegerField()
    failed_share = serializers.FloatField(allow_null=True)
    quality = serializers.FloatField(allow_null=True)
    quality_without_forced = serializers.FloatField(allow_null=True)


class GroupScore(ScoreFigures):
    """The scores of one group of datasets."""

    name = serializers.CharField()


class StepFigures(serializers.Serializer[Any]):
    """How long one step took of the incidents that were detected in the range."""

    median = SecondsField(allow_null=True)
    count = serializers.IntegerField(help_text="how many incidents are counted")
    open = serializers.BooleanField(help_text="one of them still waits and counts up to now: the median is provisional")


class TimesAnswer(serializers.Serializer[Any]):
    """The times of real incidents: to their alarm, to somebody who works on them, and to the repair."""

    detect = StepFigures(help_text="from the end of the first bad window to the alarm")
    acknowledge = StepFigures(help_text="from the alarm, or the report, to who works on it")
    repair = StepFigures(help_text="how long the incident was open")


class ScoresAnswer(Spanned):
    """The scores of a range, and those of one page of datasets, by name."""

    total = ScoreFigures()
    times = TimesAnswer()
    groups = GroupScore(many=True, help_text="scores of the groups of ``by``; a dataset counts in each of its groups")
    look_ups = LookUpScore()
    count = serializers.IntegerField(help_text="how many datasets have a score, on all pages")
    datasets = DatasetScore(many=True, help_text="scores of the datasets from ``offset`` on, at most ``limit``")


class Scores(Api):
    """GET how good tests and data were."""

    @extend_schema(parameters=[ScoreQuery], responses=ScoresAnswer)
    def get(self, request: Request) -> Response:
        """Show how good tests and data were: precision, recall and quality by duration.

        Durations are in seconds. A share of nothing is null, as is the quality of data that was never tested.

        A look-up over several tables is one, and fails by any of them. ``by`` lists the scores of each category,
        dimension, tier, team, owner or pipeline too; they are always of all data.

        ``datasets`` is one page of ``limit`` datasets from ``offset`` on; ``total`` is of all of them.
        """
        query, now = self.read_query(ScoreQuery), clock.now()
        by, limit, offset = query.pop("by", None), query.pop("limit"), query.pop("offset")
        start, end, _ = query.pop("from"), query.pop("to"), query.pop("range")
        if start >= now:
            raise Wrong("The range begins in the future.", where="from")
        listed = slice(offset, offset + limit)
        reported = scores(start=start, end=end, now=now, listed=listed, by=Group(by) if by else None, **query)
        figures = ScoreFigures().to_representation  # of up to six thousand scores, by the fields of one serializer
        return Response(
            {
                "from": reported.start,
                "to": reported.end,
                "total": figures(reported.total),
                "times": TimesAnswer({step.name.lower(): time for step, time in reported.steps.items()}).data,
                "groups": [{"name": group.name, **figures(group.total)} for group in reported.groups],
                "look_ups": LookUpScore(reported.queries).data,
                "count": reported.count,
                "datasets": [
                    {
                        "dataset": row.dataset,
                        **figures(row.score),
                        "categories": [
                            {"category": category, **figures(score)} for category, score in row.by_category.items()
                        ],
                    }
                    for row in reported.rows
                ],
            }
        )
