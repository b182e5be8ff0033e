"""Mutes (silences): who is not told of what, until when, and why."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from alerting.models import Silence
from alerting.services import UnableToSilence, end_silence, silence
from assay import clock
from assay.models import Category
from web.api.conventions.base import Rows
from web.api.conventions.fields import DatasetField, InstantField, Row, Shape
from web.api.conventions.problems import Wrong, conflict


class SilenceRow(Row):
    """A mute of notices; an empty field matches all."""

    dataset = serializers.CharField(source="dataset.full_name", default=None, allow_null=True)

    class Meta:
        model = Silence
        fields = ("id", "dataset", "category", "owner", "starts_at", "ends_at", "author", "reason")


class SilenceQuery(Shape):
    """Filters of the mutes."""

    dataset = DatasetField(required=False)
    active = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="only mutes that have not ended"
    )


class NewSilence(Shape):
    """A mute to write: of a dataset, a category or an owner, or several of them; until when, and why."""

    dataset = DatasetField(required=False)
    category = serializers.ChoiceField(Category.choices, required=False)
    owner = serializers.CharField(
        required=False, max_length=200, help_text="who is not told: a name as datasets have it in `owner`"
    )
    ends_at = InstantField(help_text="at most 90 days from now")
    reason = serializers.CharField(max_length=10_000)


class Silences(Rows):
    """Mutes (silences), the newest first."""

    kind = "silence"
    serializer_class = SilenceRow
    queryset = Silence.objects.select_related("dataset").order_by("-pk")
    lookup_value_regex = r"\d+"

    @extend_schema(parameters=[SilenceQuery])
    def list(self, request: Request) -> Response:
        """List the mutes that match the filters."""
        asked = self.asked(SilenceQuery)
        if asked.pop("active"):
            asked["ends_at__gt"] = clock.now()
        return self.page_of(self.get_queryset().filter(**asked))

    def retrieve(self, request: Request, pk: str) -> Response:
        """Show one mute."""
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=NewSilence, responses={201: SilenceRow})
    def create(self, request: Request) -> Response:
        """Mute the notices of a dataset, a category or an owner until an instant.

        Incidents, look-ups and gates go on as ever.
        """
        given: dict[str, Any] = self.given(NewSilence)
        self.check_object_permissions(request, Silence(dataset=given.get("dataset"), owner=given.get("owner", "")))
        try:
            with self.changing("create", given=given) as change:
                row = silence(**given, author=self.author, now=clock.now())
                change.key = row.pk
        except UnableToSilence as unable:
            raise Wrong(str(unable), where=unable.field) from None
        return Response(self.get_serializer(row).data, status=201)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def end(self, request: Request, pk: str) -> Response:
        """End a mute now.

        Assay decides at once about the notices that it muted.
        """
        row = self.get_object()
        try:
            with self.changing("end", row.pk):
                end_silence(row, now=clock.now())
        except UnableToSilence as unable:
            raise conflict(str(unable), mend="Nothing is left to do.") from None
        return Response(self.get_serializer(self.get_object()).data)
