"""Reports: users' claims that data is bad."""

from collections.abc import Callable

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.models import DataTest
from incident_manager import services
from incident_manager.models import Incident, Report, ReportState, Saw
from web.access.who import hidden_datasets
from web.api.consumption.gate import read_window
from web.api.conventions.base import Rows
from web.api.conventions.fields import DatasetField, Row, Shape, WindowField
from web.api.conventions.openapi import with_example
from web.api.conventions.problems import Wrong, conflict

from .incidents import Nothing


class ReportRow(Row):
    """A report of bad data; the part that was known joined incidents, the rest opened one of its own."""

    dataset = serializers.CharField(source="dataset.full_name")
    window = WindowField()

    class Meta:
        model = Report
        fields = (
            "id", "dataset", "window", "datacenter", "reporter", "saw", "description", "state", "created_at",
            "decided_at", "decided_by", "closed_at", "joined", "incident", "offered",
        )  # fmt: skip


class Answer(ReportRow):
    """A new report of bad data, with the message to its reporter."""

    message = serializers.SerializerMethodField(
        help_text="who is notified of the report, or which incident knows of it already"
    )

    class Meta(ReportRow.Meta):
        fields = (*ReportRow.Meta.fields, "message")  # type: ignore[assignment]

    def get_message(self, row: Report) -> str:
        """The reply."""
        return services.reply(row, hidden=hidden_datasets(self.context["request"]))


class ReportQuery(Shape):
    """Filters of the reports."""

    dataset = DatasetField(required=False)
    state = serializers.ChoiceField(ReportState.choices, required=False)


@with_example({"dataset": "raw.trips", "window": "2026-03-09", "description": "Fares are twice as high as usual."})
class NewReport(Shape):
    """A report to write: what is wrong, and in which window (START/END, or a partition's key)."""

    dataset = DatasetField()
    window = serializers.CharField(max_length=100)
    datacenter = serializers.CharField(required=False, max_length=60)
    saw = serializers.ChoiceField(Saw.choices, required=False, help_text="what was seen; it scores in that category")
    description = serializers.CharField(max_length=10_000)
    of = serializers.PrimaryKeyRelatedField(
        queryset=Incident.objects.select_related("dataset"),
        required=False,
        help_text="the open incident that this is, of any category, of the dataset or of what feeds it",
    )


class Confirmation(Shape):
    """The confirmation of a report; once the test holds that was written for it, if any, the report is fixed."""

    offered = serializers.PrimaryKeyRelatedField(queryset=DataTest.objects.filter(retired_at=None), required=False)


class Rejection(Shape):
    """Why a report is wrong."""

    reason = serializers.CharField(required=False, max_length=10_000)


class Joining(Shape):
    """The open incident that a report joins."""

    incident = serializers.PrimaryKeyRelatedField(queryset=Incident.objects.all())


class Reports(Rows):
    """Reports, the newest first."""

    kind = "report"
    serializer_class = ReportRow
    queryset = Report.objects.select_related("dataset", "incident").prefetch_related("joined").order_by("-pk")
    lookup_value_regex = r"\d+"

    @extend_schema(parameters=[ReportQuery])
    def list(self, request: Request) -> Response:
        """List the reports that match the filters."""
        return self.page_of(self.get_queryset().filter(**self.asked(ReportQuery)))

    def retrieve(self, request: Request, pk: str) -> Response:
        """Show one report."""
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=NewReport, responses={201: Answer})
    def create(self, request: Request) -> Response:
        """Report bad data.

        The part that a test or another report knows already, of the same dataset and category, joins its incident.
        Other open incidents that it may be about are named in the message; `of` says that it is one of them.
        """
        given = self.given(NewReport)
        given["window"] = read_window(given["dataset"], given["window"], where="window")
        place = given.get("datacenter")
        if place and place not in {replica.datacenter for replica in given["dataset"].replicas.all()}:
            raise Wrong(f"{given['dataset']} has no replica in {place!r}.", where="datacenter")
        self._demand_visible(request, given.get("of"), where="of")
        try:
            with self.changing("create", given=given) as change:
                row = services.report(**given, reporter=self.author, now=clock.now())
                change.key = row.pk
        except services.UnableToDecide as unable:
            raise Wrong(str(unable), where="of") from None
        return Response(Answer(row, context=self.get_serializer_context()).data, status=201)

    @extend_schema(request=Confirmation)
    @action(detail=True, methods=["post"])
    def confirm(self, request: Request, pk: str) -> Response:
        """Confirm a report: it blocks from now on."""
        given = self.given(Confirmation)
        if "offered" in given:
            self.check_object_permissions(request, given["offered"])
        return self._decide(services.confirm_report, **given)

    @extend_schema(request=Rejection)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: str) -> Response:
        """Reject a report: the claim is wrong."""
        return self._decide(services.reject_report, **self.given(Rejection))

    @extend_schema(request=Nothing)
    @action(detail=True, methods=["post"])
    def fix(self, request: Request, pk: str) -> Response:
        """Close a report: the data is repaired."""
        return self._decide(services.fix_report, **self.given(Nothing))

    @extend_schema(request=Joining)
    @action(detail=True, methods=["post"])
    def join(self, request: Request, pk: str) -> Response:
        """Join a report to an open incident that is known.

        The incident was found by a test or reported before; the report shares its fate.
        """
        given = self.given(Joining)
        self._demand_visible(request, given["incident"], where="incident")
        return self._decide(services.join_report, **given)

    def _demand_visible(self, request: Request, incident: Incident | None, *, where: str) -> None:
        if incident is not None and incident.dataset_id in hidden_datasets(request):
            raise Wrong(f"There is no incident {incident.pk}.", where=where)

    def _decide(self, service: Callable[..., Report], **given: object) -> Response:
        row = self.get_object()
        try:
            with self.changing(str(self.action), row.pk, given):
                service(row, **given, author=self.author, now=clock.now())
        except services.UnableToDecide as unable:
            raise conflict(str(unable), mend="Look at its state: GET the report again.") from None
        return Response(self.get_serializer(self.get_object()).data)
