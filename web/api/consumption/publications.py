"""Publications: which pointer names which audited data of a dataset."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from incident_manager.models import Publication
from incident_manager.publication_state import PublicationState
from web.api.conventions.base import Rows
from web.api.conventions.fields import DatasetField, Row, Shape


class PublicationRow(Row):
    """A publication: audited data, and the document that readers of the pointer see."""

    dataset = serializers.CharField(source="dataset.full_name")
    window = serializers.CharField(source="window.text")

    class Meta:
        model = Publication
        fields = (
            *("id", "dataset", "datacenter", "window", "partition", "pointer", "state", "fingerprint"),
            *("author", "audited_at", "ended_at", "why_not", "sha256", "files", "location"),
        )

    sha256 = serializers.CharField(source="document.sha256")
    location = serializers.CharField(source="document.location")
    files = serializers.SerializerMethodField()

    def get_files(self, row: Publication) -> int:
        """How many files the document names."""
        return len(row.document["files"])


class PublicationQuery(Shape):
    """Filters of the publications."""

    dataset = DatasetField(required=False)
    state = serializers.ChoiceField([(state.value, state.value) for state in PublicationState], required=False)
    partition = serializers.CharField(required=False, max_length=100)


class Publications(Rows):
    """Publications, the newest first."""

    kind = "publication"
    serializer_class = PublicationRow
    queryset = Publication.objects.select_related("dataset").order_by("-pk")
    lookup_value_regex = r"\d+"

    @extend_schema(parameters=[PublicationQuery])
    def list(self, request: Request) -> Response:
        """List the publications that match the filters."""
        return self.page_of(self.get_queryset().filter(**self.asked(PublicationQuery)))

    def retrieve(self, request: Request, pk: str) -> Response:
        """Show one publication."""
        return Response(self.get_serializer(self.get_object()).data)
