"""The audit: who changed what, and when. It is only ever added to."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay.models import AuditEntry
from web.api.conventions.base import Rows
from web.api.conventions.fields import InstantField, Row, Shape

FILTERS = {"from": "at__gte", "to": "at__lt", "kind": "object_kind", "key": "object_id"}


class AuditRow(Row):
    """One change; ``before`` and ``after`` name what is another after it, null where there was or is nothing."""

    kind = serializers.CharField(source="object_kind")
    key = serializers.CharField(source="object_id")

    class Meta:
        model = AuditEntry
        fields = ("id", "at", "actor", "via", "action", "kind", "key", "before", "after", "given", "ip", "request_id")


class AuditQuery(Shape):
    """Which entries."""

    actor = serializers.CharField(required=False, max_length=200)
    action = serializers.CharField(required=False, max_length=60, help_text="such as incident.accept")
    kind = serializers.CharField(required=False, max_length=30, help_text="such as incident")
    key = serializers.CharField(required=False, max_length=250, help_text="a number, or a dataset's name")

    def get_fields(self) -> dict[str, serializers.Field]:  # type: ignore[type-arg]
        """The fields, with the two that are no names in Python."""
        instants = {name: InstantField(required=False) for name in ("from", "to")}
        return {**super().get_fields(), **instants}


class Audit(Rows):
    """Entries, the newest first."""

    dataset_path = ""
    serializer_class = AuditRow
    queryset = AuditEntry.objects.order_by("-pk")

    @extend_schema(parameters=[AuditQuery])
    def list(self, request: Request) -> Response:
        """The entries of the audit that match."""
        wanted = {FILTERS.get(name, name): value for name, value in self.asked(AuditQuery).items()}
        return self.page_of(self.get_queryset().filter(**wanted))
