"""The catalog: datasets, how one is pushed, business metrics, templates of tests, and what is tested."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from pydantic import BaseModel, ValidationError
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.mixins import RetrieveModelMixin
from rest_framework.request import Request
from rest_framework.response import Response

from alerting.selectors import (
    ObsoleteDataset,
    complete_up_to,
    coverage_by_tier,
    obsolete_datasets,
    times_to_complete,
    why_obsolete,
)
from assay import clock
from assay.accounts import follow, unfollow
from assay.catalog.corrections import UnableToCorrect, correct, origins_of
from assay.catalog.locations import PUSHED
from assay.catalog.profile import CatalogProfile
from assay.catalog.selectors import by_name, latest_ended
from assay.catalog.services import UnableToApply, UnableToShare, apply_catalog
from assay.catalog.yaml.parts import BusinessMetricPart, DatasetPart
from assay.catalog.yaml.profiles import YamlParts, business_metric, cross_check, relative_locations, to_profile
from assay.database.name_keys import name_key
from assay.models import Dataset, Replica
from execution_engine.freshness.rules import WindowEvidence
from execution_engine.runs.shown_results import Veil
from incident_manager.gate.services import as_json
from incident_manager.proposed_values.services import proposed_values
from incident_manager.scores.metric_reporter import data_qualities
from incident_manager.services import ToRead, foresee, look_up
from test_generator.coverage import TierCoverage
from test_generator.services import UnableToWrite, sync
from web.access.who import hidden_datasets
from web.rendering.business_metrics import business_metrics, metric_summaries, newest_values, sources_of

from .base import Api, Rows
from .fields import Filters, LengthField, Row, Shape, WindowField
from .gate import STATUSES, GateVerdict
from .origins import OriginRow, ProposedRow, field_refusal
from .problems import Wrong, errors_text, refusing
from .quality import RangeQuality, qualities_as_json

NOWHERE = Path("/")
MOST_WINDOWS = 28


class ReplicaRow(Row):
    """A copy of a dataset, and where it lies."""

    class Meta:
        model = Replica
        fields = ("datacenter", "position", "storage", "location")


class DatasetRow(Row):
    """A dataset and its replicas, home first."""

    name = serializers.CharField(source="full_name")
    replicas = ReplicaRow(many=True)
    readers = serializers.SerializerMethodField()
    tags = serializers.SerializerMethodField()

    def get_readers(self, dataset: Dataset) -> list[str]:
        """Who may see the dataset; an empty list is everybody."""
        return dataset.readers.splitlines()

    def get_tags(self, dataset: Dataset) -> list[str]:
        """The words by which templates and people select the dataset."""
        return dataset.tags.splitlines()

    class Meta:
        model = Dataset
        fields: tuple[str, ...] = (
            "name", "description", "owner", "team", "channels", "tier", "columns", "primary_key", "partition_column",
            "granularity", "partition_holds", "stored_time_zone", "time_zone", "key_format", "first_partition",
            "freshness_sla", "completeness_sla", "duplicates_sla", "consistency_sla", "unpartitioned_sla", "sustain",
            "grace", "severity", "catch_up", "allow_empty", "novelty", "inferred_schema", "retention", "gate_on",
            "unknown_policy", "readers", "tags", "created_at", "changed_at", "missing_since", "replicas",
        )  # fmt: skip


class TookRow(serializers.Serializer[Any]):
    """How many seconds after its end a window was complete, how long its SLA allows, and what says so."""

    window = WindowField()
    seconds = serializers.FloatField()
    allowed = LengthField()
    is_known = serializers.BooleanField(help_text="false: filled or written again later, and no test had found it late")
    text = serializers.CharField()
    evidence = serializers.ChoiceField(
        [evidence.value for evidence in WindowEvidence],
        allow_blank=True,
        help_text="what says that the window is complete; empty for windows that an older version judged",
    )
    basis = serializers.CharField(allow_blank=True, help_text="the evidence as a sentence")


class DatasetDetail(DatasetRow):
    """A dataset, how complete it is at home, how long its last windows took there, and where its fields come from."""

    complete_up_to = serializers.SerializerMethodField()
    time_to_complete = serializers.SerializerMethodField()
    origins = serializers.SerializerMethodField()
    proposed = serializers.SerializerMethodField()
    obsolete = serializers.SerializerMethodField()

    class Meta(DatasetRow.Meta):
        fields = (*DatasetRow.Meta.fields, "complete_up_to", "time_to_complete", "origins", "proposed", "obsolete")

    def get_obsolete(self, dataset: Dataset) -> str:
        """Why it is obsolete by its commits, and so has no standard test; empty: it is not."""
        return why_obsolete(dataset)

    def get_complete_up_to(self, dataset: Dataset) -> datetime | None:
        """The end (exclusive) of the last complete window before the first that is not."""
        return complete_up_to(dataset)

    @extend_schema_field(TookRow(many=True))
    def get_time_to_complete(self, dataset: Dataset) -> list[dict[str, Any]]:
        """The last windows."""
        at_home = dataset.replicas.first()
        times = times_to_complete(dataset, at_home.datacenter, MOST_WINDOWS) if at_home else []
        return [dict(row) for row in TookRow(times, many=True).data]

    @extend_schema_field(OriginRow(many=True))
    def get_origins(self, dataset: Dataset) -> list[dict[str, Any]]:
        """Each field with the source that it is from."""
        return [dict(row) for row in OriginRow(origins_of(dataset), many=True).data]

    @extend_schema_field(ProposedRow(many=True))
    def get_proposed(self, dataset: Dataset) -> list[dict[str, Any]]:
        """Values for what nobody gives, with their evidence."""
        return [dict(row) for row in ProposedRow(proposed_values(dataset, now=clock.now()), many=True).data]


class DatasetQuery(Filters):
    """Filters of the datasets."""

    q = serializers.CharField(
        required=False, max_length=300, help_text="part of the name", source="full_name__icontains"
    )
    tier = serializers.IntegerField(required=False, min_value=0, max_value=5)
    owner = serializers.CharField(required=False, max_length=200)
    team = serializers.CharField(required=False, max_length=200)


class Datasets(Rows, RetrieveModelMixin):
    """Datasets of the catalog, by name."""

    kind, nouns = "dataset", ("dataset, and how long its last windows took to be complete", "datasets")
    dataset_path = "pk"
    query, serializer_class = DatasetQuery, DatasetRow
    queryset = Dataset.objects.prefetch_related("replicas").order_by("full_name")
    lookup_url_kwarg = "name"
    lookup_value_regex = ".+"

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        """Of a dataset that is shown the details."""
        return DatasetDetail if self.action in ("retrieve", "partial_update") else DatasetRow

    def get_object(self) -> Dataset:
        """The dataset of the address, in whatever case its name is written there."""
        row: Dataset = get_object_or_404(self.get_queryset(), name_key=name_key(self.kwargs["name"]))
        self.check_object_permissions(self.request, row)
        return row

    @classmethod
    def picture(cls, key: object) -> dict[str, Any] | None:
        """The dataset of this name as the API shows it, for the audit."""
        row = by_name(str(key))
        return None if row is None else dict(cls.serializer_class(row).data)

    @extend_schema(request=dict[str, Any])
    def update(self, request: Request, name: str) -> Response:
        """Push one dataset into the catalog.

        The body is the dataset as in a catalog file (docs/catalog.md), as JSON. That writes its standard tests anew.
        """
        part = _read_part(DatasetPart, request.data, name, "dataset")
        parts = YamlParts(datasets={0: part}, lineage={}, tests={}, names=[part.name])
        errors = [(".".join(map(str, path[2:])), message) for path, message in cross_check(parts)]
        if name_key(part.name) != name_key(name):
            errors.append(("name", f"is {part.name!r}, and the address says {name!r}"))
        errors += relative_locations(part)
        if errors:
            text, where = errors_text(errors)
            raise Wrong(text, where=where)
        profile = to_profile(parts, lambda _: NOWHERE)
        with (
            refusing(UnableToApply, where="replicas"),
            refusing(UnableToShare, mend="Change the dataset in its own source.", code=409),
            self.changing("push", name),
        ):
            applied = apply_catalog(profile, source=PUSHED, full=False, now=clock.now())
        return self.show(status=201 if applied.created else 200)

    @extend_schema(request=dict[str, Any], responses=DatasetDetail)
    def partial_update(self, request: Request, name: str) -> Response:
        """Correct what sources say of one dataset.

        The body has what you correct, as in a catalog file (docs/catalog.md), as JSON; null takes a correction back.
        It stands above all sources, whatever these say later. Where data lies and who may read it, only admins correct.
        """
        if not isinstance(request.data, dict):
            raise Wrong("The body is no JSON object.", mend="Write what you correct as in a catalog file, as JSON.")
        row = self.get_object()
        if why_not := field_refusal(request, request.data):
            raise PermissionDenied(why_not)
        with (
            refusing(UnableToCorrect, mend="Correct it and send the request again."),
            self.changing("correct", row.full_name),
        ):
            correct(row.full_name, request.data, now=clock.now())
        return self.show()

    @extend_schema(request=None, responses={204: None})
    def follow(self, request: Request, name: str) -> Response:
        """Hear of the incidents of a dataset, by the weekly digest or at once, as you choose on the page *Me*."""
        return self._change(follow)

    @extend_schema(responses={204: None})
    def unfollow(self, request: Request, name: str) -> Response:
        """No longer hear of the incidents of a dataset."""
        return self._change(unfollow)

    def _change(self, service: Callable[[Any, Dataset], None]) -> Response:
        row = self.get_object()
        with self.changing(str(self.action), row.full_name):
            service(self.request.user, row)
        return Response(status=204)


Part = TypeVar("Part", bound=BaseModel)


def _read_part(part_class: type[Part], data: object, name: str, what: str) -> Part:
    """What a body describes; raises Wrong with every error at its place."""
    if not isinstance(data, dict):
        raise Wrong("The body is no JSON object.", mend=f"Write the {what} as in a catalog file, as JSON.")
    try:
        return part_class.model_validate({"name": name, **data})
    except ValidationError as error:
        errors = [(".".join(map(str, item["loc"])), item["msg"]) for item in error.errors(include_url=False)]
    text, where = errors_text(errors)
    raise Wrong(text, where=where)


class KnownValueRow(serializers.Serializer[Any]):
    """The value of a business metric in one window."""

    window = WindowField()
    value = serializers.FloatField()


class SourceRow(serializers.Serializer[Any]):
    """A dataset that a business metric is computed from."""

    name = serializers.CharField()
    status = serializers.ChoiceField(STATUSES, allow_null=True, help_text="null: you may not see the dataset")


class ServedRow(serializers.Serializer[Any]):
    """A table that serves a business metric, broken down by a dimension."""

    dataset = serializers.CharField()
    column = serializers.CharField()
    dimension = serializers.CharField()


class BusinessMetricRow(serializers.Serializer[Any]):
    """A business metric, how it stands now, and its newest value."""

    name = serializers.CharField(source="dataset.full_name")
    description = serializers.CharField(source="dataset.description", allow_blank=True)
    owner = serializers.CharField(source="dataset.owner")
    team = serializers.CharField(source="dataset.team", allow_blank=True)
    tier = serializers.IntegerField(source="dataset.tier")
    expression = serializers.CharField(source="definition.expression")
    dimensions = serializers.ListField(source="definition.dimensions", child=serializers.CharField())
    status = serializers.ChoiceField(STATUSES)
    newest = KnownValueRow(allow_null=True)


class BusinessMetricDetail(BusinessMetricRow):
    """A business metric with its sources, its values, and what is known of its last window that has ended."""

    sources = SourceRow(many=True)
    served = ServedRow(many=True)
    tolerance = serializers.FloatField(help_text="the share of the value that a break-down may lose")
    values = KnownValueRow(many=True, help_text="values of the newest windows, the oldest first")
    score = serializers.FloatField(allow_null=True, help_text="data-level quality of the last 28 days, from 0 to 1")
    quality = RangeQuality(help_text="the answer of a look-up on its last window")
    gate = GateVerdict(help_text="what the gate says of its last window, with that of its sources")


class BusinessMetricQuery(Filters):
    """Filters of the business metrics."""

    q = serializers.CharField(
        required=False, max_length=300, help_text="part of the name", source="full_name__icontains"
    )
    team = serializers.CharField(required=False, max_length=200)


class BusinessMetrics(Rows, RetrieveModelMixin):
    """Business metrics of the catalog, by name."""

    kind, nouns = "business_metric", ("business metric", "business metrics")
    dataset_path = "pk"
    query, serializer_class = BusinessMetricQuery, BusinessMetricRow
    queryset = Dataset.objects.filter(business_metric__isnull=False)
    lookup_field, lookup_url_kwarg = "full_name", "name"
    lookup_value_regex = ".+"

    @classmethod
    def picture(cls, key: object) -> dict[str, Any] | None:
        """The business metric of this name as its definition says it, for the audit."""
        row = cls.queryset.filter(name_key=name_key(str(key))).first()
        if row is None:
            return None
        definition: dict[str, Any] = row.business_metric or {}
        return {"name": row.full_name, "owner": row.owner, "team": row.team, "tier": row.tier, **definition}

    def get_queryset(self) -> QuerySet[Dataset]:
        """The business metrics that a source tells of, with their newest values."""
        return business_metrics().exclude(pk__in=hidden_datasets(self.request))

    def paginate_queryset(self, queryset: Any) -> list[Any]:
        """One page, each with how it stands now."""
        now = clock.now()
        return [*metric_summaries(super().paginate_queryset(queryset) or [], Veil(now), now=now)]

    @extend_schema(responses=BusinessMetricDetail)
    def retrieve(self, request: Request, *args: Any, name: str, **kwargs: Any) -> Response:
        """Show one business metric, with its quality.

        ``quality`` is what the tests of the metric itself say, as a look-up answers; ``gate`` weighs its sources too,
        so a pipeline that asks for the metric is stopped by what is wrong with them.
        """
        return Response(self._detail(name))

    @extend_schema(request=dict[str, Any], responses=BusinessMetricDetail)
    def update(self, request: Request, name: str) -> Response:
        """Push one business metric into the catalog.

        The body is the business metric as in a catalog file (docs/business-metrics.md), as JSON. That writes the
        tests of the metric anew.
        """
        part = _read_part(BusinessMetricPart, request.data, name, "business metric")
        if name_key(part.name) != name_key(name):
            raise Wrong(f"name is {part.name!r}, and the address says {name!r}.", where="name")
        if unknown := [table.dimension for table in part.served if table.dimension not in part.dimensions]:
            raise Wrong(f"{unknown[0]!r} is none of its dimensions.", where="served", mend="Add it under dimensions.")
        profile = CatalogProfile(business_metrics=(business_metric(part),))
        with (
            refusing(UnableToApply, UnableToWrite, mend="Correct the definition."),
            refusing(UnableToShare, mend="Change the business metric in its own source.", code=409),
            self.changing("push", name),
        ):
            applied = sync(profile, source=PUSHED, full=False, now=clock.now())
        return Response(self._detail(name), status=201 if applied.created else 200)

    def _detail(self, name: str) -> dict[str, Any]:
        now, hidden = clock.now(), hidden_datasets(self.request)
        row = get_object_or_404(self.get_queryset(), name_key=name_key(name))
        veil, window = Veil(now), latest_ended(row, now)
        (metric,) = metric_summaries([row], veil, now=now)
        definition = metric.definition
        quality = look_up(dataset=row, window=window, now=now, record=False)
        ((_, gate),) = foresee([ToRead(dataset=row, window=window)], now=now)
        return {
            **BusinessMetricRow(metric).data,
            "sources": SourceRow(sources_of(definition, hidden, now=now), many=True).data,
            "served": ServedRow(definition.served, many=True).data,
            "tolerance": definition.tolerance,
            "values": KnownValueRow(newest_values(row, veil), many=True).data,
            "score": data_qualities([row.pk], now=now)[row.pk],
            "quality": qualities_as_json([quality], now=now)[0],
            "gate": as_json(gate),
        }


class CoverageQuery(Shape):
    """Whose datasets to count; left out: all."""

    owner = serializers.CharField(required=False, max_length=200)
    team = serializers.CharField(required=False, max_length=200)


class TierRow(serializers.Serializer[TierCoverage]):
    """The coverage of one tier; a share of nothing is null."""

    tier = serializers.IntegerField()
    datasets = serializers.IntegerField()
    live = serializers.IntegerField(help_text="standard tests that are live and not waived")
    wanted = serializers.IntegerField(help_text="standard tests that can be written")
    gaps = serializers.IntegerField(help_text="standard tests that are not testable, as metadata is missing")
    share = serializers.FloatField(allow_null=True, help_text="live / (wanted + gaps)")
    target = serializers.FloatField()
    reachable = serializers.IntegerField(help_text="datasets whose owner any channel but the log reaches")
    reachable_share = serializers.FloatField(allow_null=True)
    is_met = serializers.BooleanField(help_text="whether both shares reach the target")
    uncovered = serializers.ListField(child=serializers.CharField(), help_text="datasets that lack a test")
    unreachable = serializers.ListField(child=serializers.CharField(), help_text="owners whom no channel reaches")


class ObsoleteRow(serializers.Serializer[ObsoleteDataset]):
    """A dataset that counts in no tier, as nobody need test it."""

    dataset = serializers.CharField(source="name")
    tier = serializers.IntegerField()
    owner = serializers.CharField()
    reason = serializers.CharField(help_text="since when it is obsolete, or gone from its source")


class CoverageAnswer(serializers.Serializer[Any]):
    """The coverage of every tier from 0 to 5, and the datasets that count in none."""

    tiers = TierRow(many=True)
    obsolete = ObsoleteRow(many=True)


class Coverage(Api):
    """GET what is tested, and which owners a notice can reach."""

    @extend_schema(parameters=[CoverageQuery], responses=CoverageAnswer)
    def get(self, request: Request) -> Response:
        """Show what is tested, and which owners a notice can reach, by tier.

        A notice that goes to the log alone reaches nobody. Obsolete datasets count in no tier.
        """
        whose = self.read_query(CoverageQuery)
        tiers = coverage_by_tier(now=clock.now(), **whose)
        obsolete = obsolete_datasets(**whose, hidden=hidden_datasets(request))
        return Response(CoverageAnswer({"tiers": tiers, "obsolete": obsolete}).data)
