"""Vital signs of all tables, the most important first."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from web.access.who import hidden_datasets
from web.rendering.search import matching_datasets
from web.rendering.vital_signs import Missing, SignState, TableSigns, TableSort, ordered_tables, signs_of

from .base import Api
from .fields import FiniteField, Shape

PAGE_SIZE = 50


class VitalSignsQuery(Shape):
    """Which tables, in which order."""

    q = serializers.CharField(
        required=False, max_length=300, default="", help_text="words, each part of the name, the owner or the team"
    )
    unusual = serializers.BooleanField(required=False, default=False, help_text="only tables out of their bounds")
    sort = serializers.ChoiceField(
        [sign + name for name in TableSort for sign in ("", "-")], required=False, default=TableSort.IMPORTANCE.value
    )
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000, default=PAGE_SIZE)
    offset = serializers.IntegerField(required=False, min_value=0, max_value=10**9, default=0)


class VolumeRow(serializers.Serializer[Any]):
    """What the last load brought, and from where to where that is usual."""

    value = FiniteField()
    low = FiniteField()
    high = FiniteField()
    unit = serializers.ChoiceField(["rows", "bytes"])
    per = serializers.ChoiceField(["commit", "day"])
    start = serializers.DateTimeField(help_text="of the commit or the day")


class TableSignsRow(serializers.Serializer[TableSigns]):
    """The heartbeat of a table, and what to declare of it next."""

    dataset = serializers.CharField(source="dataset.full_name")
    owner = serializers.CharField(source="dataset.owner", allow_blank=True)
    tier = serializers.IntegerField(source="dataset.tier")
    look_ups = serializers.IntegerField(source="importance.look_ups", help_text="questions in the last 28 days")
    downstreams = serializers.IntegerField(source="importance.downstreams", help_text="datasets that stand on it")
    state = serializers.ChoiceField([state.value for state in SignState])
    last_commit_at = serializers.SerializerMethodField()
    expected_at = serializers.SerializerMethodField()
    late_at = serializers.SerializerMethodField()
    volume = serializers.SerializerMethodField()
    signs = serializers.ListField(source="sentences", child=serializers.CharField(), help_text="what is unusual now")
    notes = serializers.ListField(child=serializers.CharField(), help_text="why a sign is not judged")
    missing = serializers.ListField(
        child=serializers.ChoiceField([name.value for name in Missing]), help_text="what nobody has declared"
    )

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_last_commit_at(self, row: TableSigns) -> Any:
        """When the table was committed to last; null: no commit was read."""
        return row.heartbeat and row.heartbeat.last_commit_at

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_expected_at(self, row: TableSigns) -> Any:
        """When the next commit is expected; null: nobody knows yet, or the table is obsolete."""
        return None if row.state is SignState.OBSOLETE else row.heartbeat and row.heartbeat.expected_at

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_late_at(self, row: TableSigns) -> Any:
        """From when on a silence is unusual; null: nobody knows yet, or the table is obsolete."""
        return None if row.state is SignState.OBSOLETE else row.heartbeat and row.heartbeat.late_at

    @extend_schema_field(VolumeRow(allow_null=True))
    def get_volume(self, row: TableSigns) -> Any:
        """The last load and its bounds; null: nobody knows yet."""
        volume = row.heartbeat.volume if row.heartbeat else {}
        return volume or None


class VitalSignsAnswer(serializers.Serializer[Any]):
    """One page of tables; ``count`` is of all pages."""

    count = serializers.IntegerField()
    results = TableSignsRow(many=True)


class VitalSigns(Api):
    """GET the vital signs of tables."""

    @extend_schema(parameters=[VitalSignsQuery], responses=VitalSignsAnswer)
    def get(self, request: Request) -> Response:
        """List tables by importance, each with its heartbeat and what to declare of it next.

        The signs come of commits alone, with or without tests. They open no incident.
        """
        query, now = self.read_query(VitalSignsQuery), clock.now()
        keys, importance = ordered_tables(
            matching_datasets(query["q"]),
            hidden=hidden_datasets(request),
            unusual=query["unusual"],
            sort=query["sort"],
            now=now,
        )
        page = keys[query["offset"] : query["offset"] + query["limit"]]
        return Response(VitalSignsAnswer({"count": len(keys), "results": signs_of(page, importance, now)}).data)
