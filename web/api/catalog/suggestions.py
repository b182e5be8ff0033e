"""Suggestions: tests that a dataset's past leads to; read when asked, accepted as tests, or rejected and remembered."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.models import Dataset
from test_generator.models import Offer, OfferState, PastReading
from test_generator.offers import is_hidden, offers_of, reading_of, suggestion_of
from test_generator.services import (
    UnableToDecide,
    UnableToSuggest,
    UnableToWrite,
    accept_suggestion,
    ask_for_suggestions,
    reject_suggestion,
    take_back_rejection,
)
from test_generator.suggestions.suggest import as_python, as_yaml
from web.access.changes import audited
from web.api.conventions.base import Rows
from web.api.conventions.fields import DatasetField, FiniteField, Row, Shape
from web.api.conventions.problems import Wrong, conflict

MEND_DECISION = "GET /api/v1/suggestions of the dataset lists what is offered now."
MEND_READING = "POST /api/v1/suggestions with the dataset, or `assay suggest DATASET --keep`."


class SuggestionRow(Row):
    """A suggested test, which held in ``held`` of the ``tried`` windows; it was fitted on other windows."""

    dataset = serializers.CharField(source="dataset.full_name")
    held_share = serializers.SerializerMethodField()
    yaml = serializers.SerializerMethodField()
    python = serializers.SerializerMethodField()

    class Meta:
        model = Offer
        fields = (
            "id", "dataset", "rule", "columns", "assertion", "why", "cost", "fitted", "held", "tried", "held_share",
            "offered_at", "state", "decided_at", "decided_by", "reason", "data_test", "yaml", "python",
        )  # fmt: skip

    def get_held_share(self, row: Offer) -> float | None:
        """The share of the tried windows in which the suggestion held; null where none was tried."""
        return suggestion_of(row).held_share

    def get_yaml(self, row: Offer) -> str:
        """The suggestion as a test of a catalog file."""
        return as_yaml([suggestion_of(row)], row.dataset.full_name)

    def get_python(self, row: Offer) -> str:
        """The suggestion as a check in Python."""
        return as_python(suggestion_of(row))


class ReadingRow(Row):
    """The newest reading of a dataset's past; ``ended_at`` is null while it waits or is under way."""

    dataset = serializers.CharField(source="dataset.full_name")

    class Meta:
        model = PastReading
        fields = ("dataset", "asked_at", "asked_by", "ended_at", "windows", "first_window", "last_window", "problem")


class SuggestionQuery(Shape):
    """Filters of the suggestions of a dataset."""

    dataset = DatasetField()
    state = serializers.ChoiceField(OfferState.choices, required=False)
    least_held = FiniteField(
        required=False,
        min_value=0,
        max_value=1,
        help_text="the least share of tried windows in which a suggestion held",
    )


class ReadingQuery(Shape):
    """The dataset whose partitions to read for suggestions."""

    dataset = DatasetField()


class OfferRejection(Shape):
    """Why a suggestion is not wanted."""

    reason = serializers.CharField(required=False, max_length=1000)


class Suggestions(Rows):
    """Suggestions of a dataset, in the order of its columns."""

    kind = "suggestion"
    serializer_class = SuggestionRow
    queryset = Offer.objects.select_related("dataset").order_by("pk")
    lookup_value_regex = r"\d+"

    @extend_schema(parameters=[SuggestionQuery])
    def list(self, request: Request) -> Response:
        """List the suggestions of a dataset that match the filters."""
        asked = self.asked(SuggestionQuery)
        least = asked.get("least_held", 0)
        shown = [
            row.pk
            for row in offers_of(asked["dataset"])
            if asked.get("state", row.state) == row.state and (suggestion_of(row).held_share or 0) >= least
        ]
        return self.page_of(self.get_queryset().filter(pk__in=shown))

    def retrieve(self, request: Request, pk: str) -> Response:
        """Show one suggestion."""
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=ReadingQuery, responses={202: ReadingRow})
    def create(self, request: Request) -> Response:
        """Have the last partitions of a dataset read for suggestions.

        A worker beside the data reads them; `GET /api/v1/suggestions` lists what it finds.
        """
        dataset: Dataset = self.given(ReadingQuery)["dataset"]
        self.check_object_permissions(request, dataset)
        try:
            with audited(request, "suggestion.ask", kind="dataset", key=dataset.full_name):
                row = ask_for_suggestions(dataset, author=self.author, now=clock.now())
        except UnableToSuggest as unable:
            raise Wrong(str(unable), where="dataset") from None
        return Response(ReadingRow(row).data, status=202)

    @extend_schema(parameters=[ReadingQuery], responses={200: ReadingRow, 404: None}, filters=False)
    @action(detail=False, pagination_class=None)
    def reading(self, request: Request) -> Response:
        """Show how far the newest reading for suggestions is."""
        dataset = self.asked(ReadingQuery)["dataset"]
        if (row := reading_of(dataset)) is None:
            raise Wrong(f"Nobody has asked for suggestions of {dataset}.", mend=MEND_READING, code=404)
        return Response(ReadingRow(row).data)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def accept(self, request: Request, pk: str) -> Response:
        """Make a suggestion a soft test of its dataset.

        The assertion of the suggestion is parsed and type-checked first.
        """
        row = self.get_object()
        try:
            with self.changing("accept", row.pk):
                accept_suggestion(row, author=self.author, now=clock.now())
        except UnableToDecide as unable:
            raise conflict(str(unable), mend=MEND_DECISION) from None
        except UnableToWrite as unable:
            raise Wrong(str(unable), where="assertion") from None
        return self.retrieve(request, pk)

    @extend_schema(request=OfferRejection)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: str) -> Response:
        """Reject a suggestion.

        Neither the suggestion nor its rule on the same columns is offered again, until the rejection is taken back.
        """
        row, given = self.get_object(), self.given(OfferRejection)
        return self._decided("reject", row, reject_suggestion, given)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"], url_path="take-back")
    def take_back(self, request: Request, pk: str) -> Response:
        """Offer a rejected suggestion again."""
        return self._decided("take_back", self.get_object(), take_back_rejection, {})

    def get_object(self) -> Offer:
        """The suggestion of the address; none that tells of a column that is sensitive by now."""
        found: Offer = super().get_object()
        if is_hidden(found):
            raise Http404
        return found

    def _decided(self, name: str, row: Offer, decide: Any, given: dict[str, Any]) -> Response:
        try:
            with self.changing(name, row.pk, given):
                decide(row, **given, author=self.author, now=clock.now())
        except UnableToDecide as unable:
            raise conflict(str(unable), mend=MEND_DECISION) from None
        return self.retrieve(self.request, str(row.pk))
