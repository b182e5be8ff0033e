"""Overrides of the gate: what pipelines may read although it would block, until when, and why."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from incident_manager.models import GateOverride
from incident_manager.services import UnableToOverride, end_override, override
from web.api.conventions.base import Rows
from web.api.conventions.fields import DatasetField, InstantField, Row, Shape
from web.api.conventions.openapi import with_example
from web.api.conventions.problems import Wrong, conflict

from .gate import read_window


class GateOverrideRow(Row):
    """An override of the gate; an empty pipeline is every pipeline."""

    dataset = serializers.CharField(source="dataset.full_name")
    window = serializers.CharField(source="window.text")

    class Meta:
        model = GateOverride
        fields = ("id", "dataset", "window", "pipeline", "starts_at", "ends_at", "author", "reason")


class GateOverrideQuery(Shape):
    """Filters of the overrides of the gate."""

    dataset = DatasetField(required=False)
    active = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="only overrides that have not ended"
    )


@with_example({"dataset": "raw.trips", "window": "2026-03-09", "reason": "The board needs the day as it is."})
class NewGateOverride(Shape):
    """An override to write: which window may be read (START/END, or a partition's key), by whom, until when, why."""

    dataset = DatasetField()
    window = serializers.CharField(max_length=100)
    pipeline = serializers.CharField(required=False, default="", max_length=200)
    ends_at = InstantField(
        required=False, help_text="at most 7 days from now, or 24 hours for tiers 0 and 1; without it, 24 or 4 hours"
    )
    reason = serializers.CharField(max_length=10_000)


class GateOverrides(Rows):
    """Overrides of the gate, the newest first."""

    kind = "gate_override"
    serializer_class = GateOverrideRow
    queryset = GateOverride.objects.select_related("dataset").order_by("-pk")
    lookup_value_regex = r"\d+"

    @extend_schema(parameters=[GateOverrideQuery])
    def list(self, request: Request) -> Response:
        """List the overrides of the gate that match the filters."""
        asked = self.asked(GateOverrideQuery)
        if asked.pop("active"):
            asked["ends_at__gt"] = clock.now()
        return self.page_of(self.get_queryset().filter(**asked))

    def retrieve(self, request: Request, pk: str) -> Response:
        """Show one override of the gate."""
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=NewGateOverride, responses={201: GateOverrideRow})
    def create(self, request: Request) -> Response:
        """Let pipelines read a window that the gate blocks.

        The gate warns instead. Look-ups and pages still say ``bad``.
        """
        given: dict[str, Any] = self.given(NewGateOverride)
        given["window"] = read_window(given["dataset"], given["window"], where="window")
        self.check_object_permissions(request, given["dataset"])
        try:
            with self.changing("create", given=given) as change:
                row = override(**given, author=self.author, now=clock.now())
                change.key = row.pk
        except UnableToOverride as unable:
            raise Wrong(str(unable), where=unable.field) from None
        return Response(self.get_serializer(row).data, status=201)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def end(self, request: Request, pk: str) -> Response:
        """End an override of the gate now: the gate blocks again."""
        row = self.get_object()
        try:
            with self.changing("end", row.pk):
                end_override(row, now=clock.now())
        except UnableToOverride as unable:
            raise conflict(str(unable), mend="Nothing is left to do.") from None
        return Response(self.get_serializer(self.get_object()).data)
