"""Columns of a dataset over its last partitions, by the profiles that novelty compares."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from alerting.selectors import broken_starts
from assay import clock
from assay.catalog.selectors import sensitive_columns
from assay.models import DataTest
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import columns_named, compares_profiles
from execution_engine.novelty.statistics import WHOLE_BATCH

from .base import Api
from .fields import DatasetField, FiniteField, Shape

PAGE_SIZE = 50
OVER_TIME = ("complete", "distinct", "mean", "length_mean")


class ColumnQuery(Shape):
    """Filters of the columns of a dataset."""

    dataset = DatasetField()
    text = serializers.CharField(required=False, max_length=300, help_text="part of the name")
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000, default=PAGE_SIZE)
    offset = serializers.IntegerField(required=False, min_value=0, max_value=10**9, default=0)


class ProfiledWindowRow(serializers.Serializer[Any]):
    """A partition that was profiled."""

    start = serializers.DateTimeField()
    accepted = serializers.BooleanField(help_text="whether later partitions are compared with this one")
    broken = serializers.BooleanField(help_text="whether a test of novelty is broken on this partition now")
    rows = FiniteField(allow_null=True)


class LintRow(serializers.Serializer[Any]):
    """What looks odd in a column, and in which share of the rows."""

    name = serializers.CharField()
    said = serializers.CharField()
    share = FiniteField()


class SeriesField(serializers.ListField):
    """A figure for each of the windows; empty where no window has it."""

    child = FiniteField(allow_null=True)


class OverTimeRow(serializers.Serializer[Any]):
    """Figures of a column by window. The mean of times is in seconds from the start of the window."""

    complete = SeriesField(help_text="share of complete values")
    distinct = SeriesField(help_text="distinct values per row")
    mean = SeriesField(help_text="mean of numbers and times")
    length_mean = SeriesField(help_text="mean length of texts")


class ColumnRow(serializers.Serializer[Any]):
    """A column as the newest profile has it; what is unknown, or hidden as the column is sensitive, is null."""

    name = serializers.CharField()
    type = serializers.CharField()
    sensitive = serializers.BooleanField()
    nulls = serializers.IntegerField(allow_null=True)
    complete = FiniteField(allow_null=True)
    distinct = serializers.IntegerField(allow_null=True)
    distinct_is_exact = serializers.BooleanField(allow_null=True)
    usual = serializers.CharField(help_text="where nine of ten numbers or times lie, or how long texts are")
    lints = LintRow(many=True)
    data_tests = serializers.ListField(child=serializers.IntegerField(), help_text="live tests that name the column")
    over_time = OverTimeRow()


class ColumnsAnswer(serializers.Serializer[Any]):
    """One page of the columns of a dataset; ``count`` is of all pages."""

    dataset = serializers.CharField()
    count = serializers.IntegerField()
    windows = ProfiledWindowRow(many=True)
    columns = ColumnRow(many=True)


class Columns(Api):
    """GET the columns of a dataset over its last partitions."""

    @extend_schema(parameters=[ColumnQuery], responses=ColumnsAnswer)
    def get(self, request: Request) -> Response:
        """List the columns of a dataset, and how they were over its last partitions.

        The answer has at most 90 profiled partitions, the oldest first, and one page of the columns whose name holds
        ``text``.
        """
        from execution_engine.profiles.report import usual_of
        from execution_engine.runs.column_history import column_descriptions, column_history, names_of, values_of

        query, now = self.read_query(ColumnQuery), clock.now()
        dataset, text, offset = query["dataset"], query.get("text", "").casefold(), query["offset"]
        tests = DataTest.objects.filter(dataset=dataset, retired_at=None).select_related("revision").order_by("pk")
        trees = {test.pk: from_json(test.revision.tree) for test in tests if test.revision}
        columns = {test: columns_named(tree) for test, tree in trees.items()}
        folded = {test: {name.casefold() for name in columns_of_test} for test, columns_of_test in columns.items()}
        history = column_history(dataset, now)
        hidden, profiles = sensitive_columns(dataset), column_descriptions(dataset, history)
        broken = broken_starts([test for test, tree in trees.items() if compares_profiles(tree)], history.windows)
        names = names_of(dataset, history, (name for named in columns.values() for name in named))
        matching = [name for name in names if text in name.casefold()]

        def row(name: str) -> dict[str, Any]:
            series = {statistic: values_of(history, name, statistic) for statistic in OVER_TIME}
            return {
                "type": "",
                **dict.fromkeys(("nulls", "complete", "distinct", "distinct_is_exact")),
                "lints": [],
                **profiles.get(name, {}),
                "name": name,
                "sensitive": name.casefold() in hidden,
                "usual": usual_of(profiles.get(name, {})),
                "data_tests": [test for test, columns_of_test in folded.items() if name.casefold() in columns_of_test],
                "over_time": {
                    statistic: values if any(value is not None for value in values) else []
                    for statistic, values in series.items()
                },
            }

        counts = values_of(history, WHOLE_BATCH, "rows")
        answer = {
            "dataset": dataset.full_name,
            "count": len(matching),
            "windows": [
                {"start": start, "accepted": accepted, "broken": start in broken, "rows": count}
                for start, accepted, count in zip(history.windows, history.accepted, counts, strict=True)
            ],
            "columns": [row(name) for name in matching[offset : offset + query["limit"]]],
        }
        return Response(ColumnsAnswer(answer).data)
