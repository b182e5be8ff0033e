"""What is quarantined, and lifting it."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from execution_engine.models import Suspect
from execution_engine.services import lift_quarantine
from web.api.conventions.base import Rows
from web.api.conventions.fields import DatasetField, Row, Shape, WindowField


class QuarantineRow(Row):
    """A metric that is no longer measured over a window, and why."""

    dataset = serializers.CharField(source="dataset.full_name")
    metric = serializers.CharField(source="spec_text")
    window = WindowField()

    class Meta:
        model = Suspect
        fields = (
            "id", "dataset", "datacenter", "window", "metric", "ends", "reason", "detail", "first_at", "last_at",
            "quarantined_at",
        )  # fmt: skip


class QuarantineQuery(Shape):
    """Filters of the quarantined metrics."""

    dataset = DatasetField(required=False)


class Lifted(serializers.Serializer[object]):
    """The runs that were requested when a quarantine was lifted."""

    runs = serializers.ListField(child=serializers.IntegerField())


class Quarantines(Rows):
    """Quarantined metrics, the newest first."""

    kind = "quarantine"
    serializer_class = QuarantineRow
    queryset = Suspect.objects.select_related("dataset").filter(quarantined_at__isnull=False).order_by("-pk")
    lookup_value_regex = r"\d+"

    @extend_schema(parameters=[QuarantineQuery])
    def list(self, request: Request) -> Response:
        """List the quarantined metrics that match the filters."""
        return self.page_of(self.get_queryset().filter(**self.asked(QuarantineQuery)))

    def retrieve(self, request: Request, pk: str) -> Response:
        """Show one quarantined metric."""
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=None, responses=Lifted)
    @action(detail=True, methods=["post"])
    def lift(self, request: Request, pk: str) -> Response:
        """Let a quarantined metric be measured again.

        The runs that the quarantine kept from measuring are requested anew.
        """
        suspect = self.get_object()
        with self.changing("lift", pk):
            runs = lift_quarantine(suspect, now=clock.now())
        return Response(Lifted({"runs": [run.pk for run in runs]}).data)
