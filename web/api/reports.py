"""Reports: users' claims that data is bad."""

from typing import Any

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

from .base import NumberedRows
from .fields import DatasetField, Filters, Row, Shape, WindowField
from .gate import read_window
from .incidents import Nothing
from .openapi import with_example
from .problems import Wrong, refusing


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


class ReportAnswer(ReportRow):
    """A new report of bad data, with the message to its reporter."""

    message = serializers.SerializerMethodField(
        help_text="who is notified of the report, or which incident knows of it already"
    )

    class Meta(ReportRow.Meta):
        fields = (*ReportRow.Meta.fields, "message")  # type: ignore[assignment]

    def get_message(self, row: Report) -> str:
        """The reply."""
        return services.reply(row, hidden=hidden_datasets(self.context["request"]))


class ReportQuery(Filters):
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


class Reports(NumberedRows):
    """Reports, the newest first."""

    kind, nouns = "report", ("report", "reports")
    query, serializer_class = ReportQuery, ReportRow
    queryset = Report.objects.select_related("dataset", "incident").prefetch_related("joined").order_by("-pk")

    @extend_schema(request=NewReport, responses={201: ReportAnswer})
    def create(self, request: Request) -> Response:
        """Report bad data.

        The part that a test or another report knows already, of the same dataset and category, joins its incident.
        Other open incidents that it may be about are named in the message; `of` says that it is one of them.
        """
        body = self.read_body(NewReport)
        body["window"] = read_window(body["dataset"], body["window"], where="window")
        place = body.get("datacenter")
        if place and place not in {replica.datacenter for replica in body["dataset"].replicas.all()}:
            raise Wrong(f"{body['dataset']} has no replica in {place!r}.", where="datacenter")
        self._demand_visible(body.get("of"), where="of")
        with refusing(services.UnableToDecideReport, where="of"), self.changing("create", details=body) as change:
            row = services.report(**body, reporter=self.author, now=clock.now())
            change.key = row.pk
        return Response(ReportAnswer(row, context=self.get_serializer_context()).data, status=201)

    @extend_schema(request=Confirmation)
    @action(detail=True, methods=["post"])
    def confirm(self, request: Request, pk: str) -> Response:
        """Confirm a report: it blocks from now on."""
        body = self.read_body(Confirmation)
        if "offered" in body:
            self.check_object_permissions(request, body["offered"])
        return self.act(services.confirm_report, **body)

    @extend_schema(request=Rejection)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: str) -> Response:
        """Reject a report: the claim is wrong."""
        return self.act(services.reject_report, **self.read_body(Rejection))

    @extend_schema(request=Nothing)
    @action(detail=True, methods=["post"])
    def fix(self, request: Request, pk: str) -> Response:
        """Close a report: the data is repaired."""
        return self.act(services.fix_report, **self.read_body(Nothing))

    @extend_schema(request=Joining)
    @action(detail=True, methods=["post"])
    def join(self, request: Request, pk: str) -> Response:
        """Join a report to an open incident that is known.

        The incident was found by a test or reported before; the report shares its fate.
        """
        body = self.read_body(Joining)
        self._demand_visible(body["incident"], where="incident")
        return self.act(services.join_report, **body)

    def act(self, service: Any, **fields: Any) -> Response:
        """Decide of the report, and answer what is refused."""
        with refusing(services.UnableToDecideReport, mend="Look at its state: GET the report again.", code=409):
            return super().act(service, **fields)

    def _demand_visible(self, incident: Incident | None, *, where: str) -> None:
        if incident is not None and incident.dataset_id in hidden_datasets(self.request):
            raise Wrong(f"There is no incident {incident.pk}.", where=where)
