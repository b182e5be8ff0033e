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
from web.api import examples
from web.api.consumption.gate import read_window
from web.api.conventions.base import Rows
from web.api.conventions.errors import Wrong, conflict
from web.api.conventions.fields import DatasetField, Row, Shape, WindowField
from web.api.conventions.openapi import shown_by

from .incidents import Nothing


@shown_by(examples.REPORT)
class ReportRow(Row):
    """A claim; its known part joined incidents, the rest opened one of its own."""

    dataset = serializers.CharField(source="dataset.full_name")
    window = WindowField()

    class Meta:
        model = Report
        fields = (
            "id", "dataset", "window", "datacenter", "reporter", "saw", "description", "state", "created_at",
            "decided_at", "decided_by", "closed_at", "joined", "incident", "offered",
        )  # fmt: skip


@shown_by(examples.REPORT_ANSWER)
class Answer(ReportRow):
    """A new claim, with what its reporter is told."""

    message = serializers.SerializerMethodField(help_text="who hears of it, or as which incident it is known already")

    class Meta(ReportRow.Meta):
        fields = (*ReportRow.Meta.fields, "message")  # type: ignore[assignment]

    def get_message(self, row: Report) -> str:
        """The reply."""
        return services.reply(row, hidden=hidden_datasets(self.context["request"]))


class ReportQuery(Shape):
    """Which reports."""

    dataset = DatasetField(required=False)
    state = serializers.ChoiceField(ReportState.choices, required=False)


@shown_by(examples.NEW_REPORT)
class NewReport(Shape):
    """What is wrong, and where: a window as START/END, or a partition's key."""

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


@shown_by(examples.CONFIRMATION)
class Confirmation(Shape):
    """The test that was missing, if one was written: once it holds, the report is fixed."""

    offered = serializers.PrimaryKeyRelatedField(queryset=DataTest.objects.filter(retired_at=None), required=False)


@shown_by(examples.REPORT_REJECTION)
class Rejection(Shape):
    """Why the claim is wrong."""

    reason = serializers.CharField(required=False, max_length=10_000)


class Joining(Shape):
    """The open incident of the same fault."""

    incident = serializers.PrimaryKeyRelatedField(queryset=Incident.objects.all())


class Reports(Rows):
    """Reports, the newest first."""

    kind = "report"
    serializer_class = ReportRow
    queryset = Report.objects.select_related("dataset", "incident").prefetch_related("joined").order_by("-pk")
    lookup_value_regex = r"\d+"

    @extend_schema(parameters=[ReportQuery])
    def list(self, request: Request) -> Response:
        """The reports that match."""
        return self.page_of(self.get_queryset().filter(**self.asked(ReportQuery)))

    def retrieve(self, request: Request, pk: str) -> Response:
        """One report."""
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=NewReport, responses={201: Answer})
    def create(self, request: Request) -> Response:
        """Report bad data.

        What a test or another report knows already of the same dataset and category joins its incident. Other open
        incidents that it may be about are named in the message; `of` says that it is one of them.
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
