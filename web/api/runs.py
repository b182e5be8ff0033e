"""Runs, the measurements they asked for, and the metrics that are quarantined."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.utils.text import capfirst
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from assay import clock
from assay.catalog.place_limits import MOST
from assay.models import Dataset, DataTest, Scope
from assay.time.windows import Window
from execution_engine.models import Measurement, Run, RunReason, Suspect
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import HIDDEN, Veil
from execution_engine.services import (
    UnableToRequest,
    cost_of,
    is_undeclared,
    last_partitions,
    lift_quarantine,
    partitions_to_run,
    read_as_of,
    request_all,
    request_run,
)
from web.access.changes import audited

from .base import NumberedRows, Rows
from .fields import DatasetField, Filters, Row, Shape, WindowField, finite
from .gate import read_window
from .openapi import with_example
from .problems import Wrong, conflict, refusing

UNSHOWN: dict[str, Any] = {
    "sentence": HIDDEN,
    **{"value": None, "exact": "", "excess": None, "operands": {}, "findings": {}},
}
MOST_TESTS = 500  # of one request
AS_OF = (
    "read the snapshots that a run has read, by its id, or those of an instant in ISO 8601; the result enters no "
    "standing and opens no incident"
)
LIVE_TESTS = DataTest.objects.select_related("dataset", "revision").filter(retired_at=None)


def veil_of(serializer: BaseSerializer[Any]) -> Veil:
    """What is hidden of all rows of one answer."""
    context: Any = serializer.root.context
    if "veil" not in context:
        context["veil"] = Veil(clock.now())
    veil: Veil = context["veil"]
    return veil


class RunRow(Row):
    """A run of a data test and what it saw; without an outcome it is on its way."""

    dataset = serializers.CharField(source="data_test.dataset.full_name")
    window = WindowField()
    revision = serializers.IntegerField(source="revision.number")

    class Meta:
        model = Run
        fields = (
            "id", "data_test", "dataset", "window", "revision", "reason", "as_of", "requested_at", "due_at",
            "measured_at", "evaluated_at", "judged_at", "outcome", "error_reason", "transient", "sentence",
            "value", "exact", "excess", "operands", "findings", "snapshots",
        )  # fmt: skip

    def to_representation(self, instance: Run) -> dict[str, Any]:
        """The row, without what must not be shown any more."""
        veil, row = veil_of(self), super().to_representation(instance)
        if veil.hides_run(instance):
            return row | UNSHOWN
        return row | {"findings": finite(veil.findings(instance))}


class RunQuery(Filters):
    """Filters of the runs."""

    dataset = DatasetField(required=False, source="data_test__dataset")
    data_test = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    outcome = serializers.ChoiceField([outcome.value for outcome in Outcome], required=False)
    reason = serializers.ChoiceField(RunReason.choices, required=False)
    window = WindowField(required=False)


class NewRun(Shape):
    """A run to request: a test, and a window as a partition's key or START/END."""

    data_test = serializers.PrimaryKeyRelatedField(queryset=LIVE_TESTS)
    window = serializers.CharField(max_length=100)
    key = serializers.CharField(required=False, max_length=60, help_text="the same key asks for the same run")
    as_of = serializers.CharField(required=False, max_length=60, help_text=AS_OF)


@with_example({"dataset": "raw.trips", "window": "2026-03-09", "tests": ["completeness", "duplicates"]})
class NewRuns(Shape):
    """Runs to request: tests of a dataset over a partition's key, over START/END of many, or over the ``last`` ones."""

    dataset = DatasetField()
    window = serializers.CharField(required=False, max_length=100)
    last = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST, help_text="the last partitions that have ended, in place of window"
    )
    tests = serializers.ListField(
        child=serializers.CharField(max_length=300),
        required=False,
        default=list,
        max_length=MOST_TESTS,
        help_text="names of tests; without them, all tests that judge a partition",
    )
    key = serializers.CharField(required=False, max_length=60, help_text="the same key asks for the same runs")
    as_of = serializers.CharField(required=False, max_length=60, help_text=AS_OF)


class BackFillQuery(Shape):
    """The range that a back-fill would test: a window, or the last partitions."""

    dataset = DatasetField()
    window = serializers.CharField(required=False, max_length=100)
    last = serializers.IntegerField(required=False, min_value=1, max_value=MOST)


class BackFillCost(Shape):
    """What a back-fill would cost: each test of a partition runs over each of the partitions."""

    window = WindowField()
    partitions = serializers.IntegerField(help_text="each is scanned once in each place that its tests read")
    tests = serializers.IntegerField()
    runs = serializers.IntegerField()
    rows = serializers.IntegerField(
        allow_null=True, help_text="about as many are read; null where no run has counted them yet"
    )


class LeftOut(Shape):
    """A test that was left out of the requested runs, and why."""

    test = serializers.CharField()
    why = serializers.CharField()


class RequestedRunsRow(Shape):
    """The runs that were requested, and the tests that were left out."""

    runs = RunRow(many=True)
    left_out = LeftOut(many=True)


class Runs(NumberedRows):
    """Runs, the newest first."""

    kind, nouns = "run", ("run and what it saw", "runs")
    dataset_path = "data_test__dataset"
    query, serializer_class = RunQuery, RunRow
    queryset = Run.objects.select_related("data_test__dataset", "revision").order_by("-pk")

    @extend_schema(request=NewRun, responses={201: RunRow})
    def create(self, request: Request) -> Response:
        """Run a test now, on fresh measurements."""
        body, now = self.read_body(NewRun), clock.now()
        data_test: DataTest = body["data_test"]
        self.check_object_permissions(request, data_test)
        window = read_window(data_test.dataset, body["window"], where="window")
        if data_test.scope != Scope.TABLE:
            try:
                number = len(partitions_to_run(data_test.dataset, window, now))
            except UnableToRequest as unable:
                raise Wrong(capfirst(f"{unable}."), where="window") from None
            if number > 1:
                raise Wrong(
                    f"{window.text} has {number} partitions, and this test runs over each of them by itself.",
                    where="window",
                    mend="Name one partition, or send the range and the test's name to POST /api/v1/runs/bulk.",
                )
        occasion = f"{self.author[:40]}:{body.get('key', now.isoformat())}"
        as_of = _as_of(body, data_test.dataset)
        reason = RunReason.BACKTEST if as_of else RunReason.MANUAL
        with self.changing("create", details=body) as change:
            run = request_run(
                data_test=data_test, window=window, reason=reason, occasion=occasion, now=now, as_of=as_of
            )
            if run is None:
                raise conflict(
                    "The window began before the dataset's columns were declared as they are."
                    if is_undeclared(data_test, window)
                    else "The window is beyond the dataset's retention.",
                    mend="Ask for a newer window.",
                )
            change.key = run.pk
        return self.show(run, status=201)

    @extend_schema(request=NewRuns, responses={201: RequestedRunsRow})
    @action(detail=False, methods=["post"])
    def bulk(self, request: Request) -> Response:
        """Run many tests of a dataset now, on fresh measurements.

        Over a range of partitions each test of a partition runs over each of them by itself, the newest first: a
        back-fill, which runs after all that is current and whose incidents page nobody.
        """
        body, now = self.read_body(NewRuns), clock.now()
        dataset: Dataset = body["dataset"]
        self.check_object_permissions(request, dataset)
        window = _range_of(body, now)
        occasion = f"{self.author[:40]}:{body.get('key', now.isoformat())}"
        as_of = _as_of(body, dataset)
        with audited(request, "run.bulk", kind="dataset", key=dataset.full_name, details=body) as change:
            try:
                requested = request_all(dataset, window, names=body["tests"], occasion=occasion, now=now, as_of=as_of)
            except UnableToRequest as unable:
                raise Wrong(capfirst(f"{unable}."), where="window") from None
            change.after = {"runs": [run.pk for run in requested.runs]}
        left_out = [{"test": name, "why": why} for name, why in requested.left_out.items()]
        return Response({"runs": self.get_serializer(requested.runs, many=True).data, "left_out": left_out}, status=201)

    @extend_schema(parameters=[BackFillQuery], responses=BackFillCost)
    @bulk.mapping.get
    def back_fill_cost(self, request: Request) -> Response:
        """Get what a test of the past would cost, before it is asked for.

        The same range as a body of ``POST /api/v1/runs/bulk`` has.
        """
        query, now = self.read_query(BackFillQuery), clock.now()
        dataset: Dataset = query["dataset"]
        window = _range_of(query, now)
        cost = cost_of(dataset, window, now)
        if cost is None:
            raise Wrong(
                f"No test of {dataset.full_name} judges a partition of {window.text} that has ended.", where="window"
            )
        return Response(BackFillCost({"window": window, **asdict(cost), "runs": cost.runs}).data)


def _range_of(fields: Mapping[str, Any], now: datetime) -> Window:
    """The window that is named, or that of the last partitions; raises Wrong."""
    if ("window" in fields) is ("last" in fields):
        raise Wrong("Name a window, or how many of the last partitions.", where="window")
    if "window" in fields:
        return read_window(fields["dataset"], fields["window"], where="window")
    with refusing(UnableToRequest, where="last"):
        return last_partitions(fields["dataset"], fields["last"], now)


def _as_of(body: Mapping[str, Any], dataset: Dataset) -> dict[str, str] | None:
    try:
        return read_as_of(body["as_of"], dataset) if body.get("as_of") else None
    except UnableToRequest as unable:
        raise Wrong(capfirst(f"{unable}."), where="as_of") from None


class MeasurementRow(Row):
    """A measurement of a metric; without ``measured_at`` it has not been taken yet."""

    dataset = serializers.CharField(source="dataset.full_name")
    metric = serializers.CharField(source="spec_text")
    window = WindowField()

    class Meta:
        model = Measurement
        fields = (
            "id", "dataset", "datacenter", "window", "metric", "requested_at", "measured_at", "value", "exact",
            "detail", "failure_reason", "failure_detail", "fingerprint", "snapshot", "state_length",
        )  # fmt: skip

    def to_representation(self, instance: Measurement) -> dict[str, Any]:
        """The row, without what must not be shown any more."""
        veil, row = veil_of(self), super().to_representation(instance)
        if veil.hides_measurement(instance):
            return row | {"value": None, "exact": "", "detail": {}}
        return row | {"detail": finite(veil.detail(instance))}


class MeasurementQuery(Filters):
    """Filters of the measurements."""

    dataset = DatasetField(required=False)
    datacenter = serializers.CharField(required=False, max_length=60)
    metric = serializers.CharField(
        required=False,
        max_length=4096,
        source="spec_text",
        help_text="the metric as it is written, such as row_count()",
    )
    window = WindowField(required=False)


class Measurements(Rows):
    """Measurements, the newest first."""

    nouns = "measurement", "measurements"
    query, serializer_class = MeasurementQuery, MeasurementRow
    queryset = Measurement.objects.select_related("dataset").defer("state").order_by("-pk")


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


class QuarantineQuery(Filters):
    """Filters of the quarantined metrics."""

    dataset = DatasetField(required=False)


class Lifted(serializers.Serializer[object]):
    """The runs that were requested when a quarantine was lifted."""

    runs = serializers.ListField(child=serializers.IntegerField())


class Quarantines(NumberedRows):
    """Quarantined metrics, the newest first."""

    kind, nouns = "quarantine", ("quarantined metric", "quarantined metrics")
    query, serializer_class = QuarantineQuery, QuarantineRow
    queryset = Suspect.objects.select_related("dataset").filter(quarantined_at__isnull=False).order_by("-pk")

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
