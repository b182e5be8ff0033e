"""Data tests: those of users are written, revised and retired here."""

from dataclasses import replace
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.catalog.selectors import slas
from assay.models import CatchUp, Category, Dataset, DataTest, Origin, Scope, Severity
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import dimension_of
from execution_engine.metrics.definition import Dimension
from incident_manager.services import untried_if_hard
from test_generator.definition import Definition
from test_generator.services import UnableToWrite, not_edited, retire, revise, write_data_test
from web.api.conventions.base import Rows
from web.api.conventions.fields import DatasetField, LengthField, Row, Shape
from web.api.conventions.problems import Wrong, conflict

MEND_UNTRIED = "Send the assertion to POST /api/v1/backtest, which has the past measured, or write a soft test first."
MEND_ASSERTION = "Correct the assertion where the caret points; docs/language.md lists what can be said."


class DataTestRow(Row):
    """A data test and its newest revision."""

    dataset = serializers.CharField(source="dataset.full_name")
    revision = serializers.IntegerField(source="revision.number")
    assertion = serializers.CharField(source="revision.assertion")
    severity = serializers.CharField(source="revision.severity")
    schedule = serializers.CharField(source="revision.schedule")
    sustain = LengthField(source="revision.sustain")
    catch_up = serializers.CharField(source="revision.catch_up")
    dimension = serializers.SerializerMethodField(help_text="the dimension of quality that the test is about")

    def get_dimension(self, test: DataTest) -> Dimension:
        """The one of its category or of what it asks for."""
        assert test.revision is not None
        return dimension_of(test.category, from_json(test.revision.tree))

    class Meta:
        model = DataTest
        fields = (
            "id", "dataset", "name", "category", "dimension", "origin", "scope", "datacenter", "spoils", "revision",
            "assertion", "severity", "schedule", "sustain", "catch_up", "source", "template", "created_at",
            "retired_at", "next_due_at", "skipped_slots",
        )  # fmt: skip


class DataTestQuery(Shape):
    """Filters of the data tests."""

    dataset = DatasetField(required=False)
    category = serializers.ChoiceField(Category.choices, required=False)
    origin = serializers.ChoiceField(Origin.choices, required=False)
    template = serializers.CharField(
        required=False, max_length=128, help_text="the name of the template that makes the tests"
    )
    live = serializers.BooleanField(required=False, default=True, help_text="false: list retired tests")


class DataTestRevision(Shape):
    """A new revision of a user's test; fields that are left out stay as they are."""

    assertion = serializers.CharField(required=False, max_length=4096)
    severity = serializers.ChoiceField(Severity.choices, required=False)
    schedule = serializers.CharField(required=False, max_length=120)
    sustain = LengthField(required=False)
    catch_up = serializers.ChoiceField(CatchUp.choices, required=False)


class NewDataTest(DataTestRevision):
    """A user's test to write."""

    dataset = DatasetField()
    name = serializers.CharField(max_length=300)
    assertion = serializers.CharField(max_length=4096)
    category = serializers.ChoiceField(Category.choices, required=False)


class DataTests(Rows):
    """Data tests of all datasets."""

    kind = "data-test"
    serializer_class = DataTestRow
    queryset = DataTest.objects.select_related("dataset", "revision").filter(revision__isnull=False).order_by("pk")
    lookup_value_regex = r"\d+"

    @extend_schema(parameters=[DataTestQuery])
    def list(self, request: Request) -> Response:
        """List the data tests that match the filters."""
        wanted = self.asked(DataTestQuery)
        return self.page_of(self.get_queryset().filter(retired_at__isnull=wanted.pop("live"), **wanted))

    def retrieve(self, request: Request, pk: str) -> Response:
        """Show one data test and its newest revision."""
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=NewDataTest, responses={201: DataTestRow})
    def create(self, request: Request) -> Response:
        """Write a user's test.

        The assertion of the test is parsed and type-checked first.
        """
        given = self.given(NewDataTest)
        self.check_object_permissions(request, given["dataset"])
        severity = given.get("severity") or slas(given["dataset"]).severity
        self._demand_tried(given["dataset"], given["assertion"], severity, given.get("schedule", "partition"))
        try:
            with self.changing("create", given=given) as change:
                written = write_data_test(**given, author=self.author, now=clock.now())
                change.key = written.pk
        except UnableToWrite as unable:
            raise _wrong(unable) from None
        return Response(self.get_serializer(written).data, status=201)

    @extend_schema(request=DataTestRevision)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Give a user's test a new revision.

        Broken windows are judged anew by the new revision.
        """
        changes: dict[str, Any] = self.given(DataTestRevision)
        found = self._own()
        assert found.revision is not None
        if found.scope == Scope.PARTITION and found.revision.severity != changes.get("severity"):
            assertion = changes.get("assertion", found.revision.assertion)
            self._demand_tried(found.dataset, assertion, changes.get("severity"))
        try:
            with self.changing("revise", pk, changes):
                definition = replace(Definition.of(found.revision), **changes)
                revised = revise(found, definition, author=self.author, now=clock.now())
        except UnableToWrite as unable:
            raise _wrong(unable) from None
        return Response(self.get_serializer(revised).data)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Retire a user's test; its results stay."""
        found = self._own()
        with self.changing("retire", pk):
            retire(found, now=clock.now())
        return Response(status=204)

    def _demand_tried(
        self, dataset: Dataset, assertion: str, severity: str | None, schedule: str = "partition"
    ) -> None:
        """Refuse to make a test of tier 0 or 1 hard that was not tried on the past."""
        try:
            why = untried_if_hard(dataset, assertion, severity, clock.now(), schedule=schedule)
        except UnableToWrite as unable:
            raise _wrong(unable) from None
        if why is not None:
            raise conflict(f"It cannot be hard yet: {why}.", mend=MEND_UNTRIED)

    def _own(self) -> DataTest:
        found: DataTest = self.get_object()
        if refused := not_edited(found):
            raise conflict(refused.why, mend=refused.mend)
        return found


def _wrong(unable: UnableToWrite) -> Wrong:
    return Wrong(str(unable), where="assertion", mend=MEND_ASSERTION)
