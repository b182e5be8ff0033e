"""The gate: may a pipeline read this now, what may be read although it would block, and what was published."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.catalog.selectors import parse_windows, window_from_text
from assay.models import Dataset
from assay.time.windows import UnableToReadWindow, Window
from incident_manager.gate.rules import GateDecision
from incident_manager.gate.services import as_json
from incident_manager.models import GateOverride, Publication
from incident_manager.publication_state import PublicationState
from incident_manager.quality.rules import QualityStatus
from incident_manager.services import ToRead, UnableToOverride, end_override, gate_of, override, unreadable_in

from .base import Api, NumberedRows
from .fields import DatasetField, DatasetsField, Filters, InstantField, Row, Shape, WindowField
from .openapi import with_example
from .problems import Wrong, refusing

STATUSES = [status.value for status in QualityStatus]
DECISIONS = [decision.value for decision in GateDecision]


def read_window(dataset: Dataset, text: str, *, where: str) -> Window:
    """The window that is meant; raises Wrong."""
    with refusing(UnableToReadWindow, where=where):
        return window_from_text(dataset, text)


def demand_replica(dataset: Dataset, datacenter: str) -> None:
    """Nothing where the dataset is kept in that datacenter, or anywhere if none is named; else raises Wrong."""
    if why_not := unreadable_in(dataset, datacenter):
        raise Wrong(why_not, where="datacenter" if datacenter else "dataset")


class GateReason(serializers.Serializer[Any]):
    """A reason for the gate's decision, about one dataset."""

    decision = serializers.ChoiceField(DECISIONS)
    dataset = serializers.CharField()
    datacenter = serializers.CharField(
        allow_null=True, help_text="null: the reason is about a source, or about the answer itself"
    )
    window = WindowField(help_text="from the first to the last window that the reason is about, START/END")
    text = serializers.CharField()
    test = serializers.CharField(allow_null=True, help_text="the data test's name")
    incident = serializers.IntegerField(allow_null=True)
    report = serializers.IntegerField(allow_null=True)


class GateVerdict(serializers.Serializer[Any]):
    """The gate's decision: that of its strictest reason."""

    decision = serializers.ChoiceField(DECISIONS)
    status = serializers.ChoiceField(STATUSES, help_text="the worst quality of all that is read, as look-ups answer it")
    reasons = GateReason(many=True)


@with_example({"datasets": ["raw.trips"], "window": "2026-03-09", "pipeline": "nightly_fares"})
class GateQuestion(Shape):
    """What a pipeline is about to read: a window as START/END, or a partition's key.

    A dataset without partitions is judged as it lies now.
    """

    datasets = DatasetsField(min_length=1, max_length=200, help_text="full names, of business metrics too")
    window = serializers.CharField(max_length=100)
    datacenter = serializers.CharField(required=False, default="", max_length=60)
    pipeline = serializers.CharField(required=False, default="", max_length=200)


class Gate(Api):
    """POST what a pipeline is about to read."""

    @extend_schema(request=GateQuestion, responses=GateVerdict)
    def post(self, request: Request) -> Response:
        """Ask whether a pipeline may read this data now.

        The answer is ``allow``, ``warn`` or ``block`` with every reason, the strictest first.
        """
        body, now = self.read_body(GateQuestion), clock.now()
        with refusing(UnableToReadWindow, where="window"):
            windows = parse_windows(body["datasets"], body["window"], now)
        for dataset in body["datasets"]:
            demand_replica(dataset, body["datacenter"])
        to_read = [
            ToRead(dataset=dataset, window=window, datacenter=body["datacenter"])
            for dataset, window in zip(body["datasets"], windows, strict=True)
        ]
        return Response(as_json(gate_of(to_read, pipeline=body["pipeline"], now=now)))


class GateOverrideRow(Row):
    """An override of the gate; an empty pipeline is every pipeline."""

    dataset = serializers.CharField(source="dataset.full_name")
    window = serializers.CharField(source="window.text")

    class Meta:
        model = GateOverride
        fields = ("id", "dataset", "window", "pipeline", "starts_at", "ends_at", "author", "reason")


class GateOverrideQuery(Filters):
    """Filters of the overrides of the gate."""

    dataset = DatasetField(required=False)
    active = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="only overrides that have not ended"
    )


@with_example({"dataset": "raw.trips", "window": "2026-03-09", "reason": "The board needs the day as it is."})
class NewGateOverride(Shape):
    """An override to write: which window may be read (START/END, or a partition's key), by whom, until when, why."""

    dataset = DatasetField()
    window = serializers.CharField(max_length=100)
    pipeline = serializers.CharField(required=False, default="", max_length=200)
    ends_at = InstantField(
        required=False, help_text="at most 7 days from now, or 24 hours for tiers 0 and 1; without it, 24 or 4 hours"
    )
    reason = serializers.CharField(max_length=10_000)


class GateOverrides(NumberedRows):
    """Overrides of the gate, the newest first."""

    kind, nouns = "gate_override", ("override of the gate", "overrides of the gate")
    query, serializer_class = GateOverrideQuery, GateOverrideRow
    queryset = GateOverride.objects.select_related("dataset").order_by("-pk")

    @extend_schema(request=NewGateOverride, responses={201: GateOverrideRow})
    def create(self, request: Request) -> Response:
        """Let pipelines read a window that the gate blocks.

        The gate warns instead. Look-ups and pages still say ``bad``.
        """
        body = self.read_body(NewGateOverride)
        body["window"] = read_window(body["dataset"], body["window"], where="window")
        self.check_object_permissions(request, body["dataset"])
        with refusing(UnableToOverride), self.changing("create", details=body) as change:
            row = override(**body, author=self.author, now=clock.now())
            change.key = row.pk
        return self.show(row, status=201)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def end(self, request: Request, pk: str) -> Response:
        """End an override of the gate now: the gate blocks again."""
        with refusing(UnableToOverride, where="", mend="Nothing is left to do.", code=409):
            return self.act(lambda row, author, now: end_override(row, now=now))


class PublicationRow(Row):
    """A publication: audited data, and the document that readers of the pointer see."""

    dataset = serializers.CharField(source="dataset.full_name")
    window = serializers.CharField(source="window.text")
    sha256 = serializers.CharField(source="document.sha256")
    location = serializers.CharField(source="document.location")
    files = serializers.SerializerMethodField()

    class Meta:
        model = Publication
        fields = (
            *("id", "dataset", "datacenter", "window", "partition", "pointer", "state", "fingerprint"),
            *("author", "audited_at", "ended_at", "why_not", "sha256", "files", "location"),
        )

    def get_files(self, row: Publication) -> int:
        """How many files the document names."""
        return len(row.document["files"])


class PublicationQuery(Filters):
    """Filters of the publications."""

    dataset = DatasetField(required=False)
    state = serializers.ChoiceField([(state.value, state.value) for state in PublicationState], required=False)
    partition = serializers.CharField(required=False, max_length=100)


class Publications(NumberedRows):
    """Publications, the newest first."""

    kind, nouns = "publication", ("publication", "publications")
    query, serializer_class = PublicationQuery, PublicationRow
    queryset = Publication.objects.select_related("dataset").order_by("-pk")
