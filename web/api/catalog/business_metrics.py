"""Business metrics: defined once, with the quality of each."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from pydantic import ValidationError
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.catalog.locations import PUSHED
from assay.catalog.profile import CatalogProfile
from assay.catalog.selectors import latest_ended
from assay.catalog.services import UnableToApply, UnableToShare
from assay.catalog.yaml.parts import BusinessMetricPart
from assay.catalog.yaml.profiles import business_metric
from assay.database.name_keys import name_key
from assay.models import Dataset
from execution_engine.runs.shown_results import Veil
from incident_manager.gate.services import as_json
from incident_manager.scores.metric_reporter import data_qualities
from incident_manager.services import ToRead, foresee, look_up
from test_generator.services import UnableToWrite, sync
from web.access.who import hidden_datasets
from web.api.consumption.answers import STATUSES, GateVerdict, RangeQuality
from web.api.consumption.quality import written
from web.api.conventions.base import Rows
from web.api.conventions.fields import Shape, WindowField
from web.api.conventions.problems import Wrong, conflict
from web.shown.business_metrics import business_metrics, newest_values, shown_metrics, sources_of


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


class BusinessMetricQuery(Shape):
    """Filters of the business metrics."""

    q = serializers.CharField(required=False, max_length=300, help_text="part of the name")
    team = serializers.CharField(required=False, max_length=200)


class BusinessMetrics(Rows):
    """Business metrics of the catalog."""

    kind = "business_metric"
    dataset_path = "pk"
    serializer_class = BusinessMetricRow
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

    @extend_schema(parameters=[BusinessMetricQuery])
    def list(self, request: Request) -> Response:
        """List the business metrics that match the filters, by name."""
        wanted, now = self.asked(BusinessMetricQuery), clock.now()
        rows = business_metrics().exclude(pk__in=hidden_datasets(request))
        if "q" in wanted:
            rows = rows.filter(full_name__icontains=wanted.pop("q"))
        page = self.paginate_queryset(rows.filter(**wanted)) or []
        shown = shown_metrics(page, Veil(now), now=now)
        return self.get_paginated_response(BusinessMetricRow(shown, many=True).data)

    @extend_schema(responses=BusinessMetricDetail)
    def retrieve(self, request: Request, name: str) -> Response:
        """Show one business metric, with its quality.

        ``quality`` is what the tests of the metric itself say, as a look-up answers; ``gate`` weighs its sources too,
        so a pipeline that asks for the metric is stopped by what is wrong with them.
        """
        return Response(self._detail(request, name))

    @extend_schema(request=dict[str, Any], responses=BusinessMetricDetail)
    def update(self, request: Request, name: str) -> Response:
        """Push one business metric into the catalog.

        The body is the business metric as in a catalog file (docs/business-metrics.md), as JSON. That writes the
        tests of the metric anew.
        """
        told = business_metric(_part(request.data, name))
        try:
            with self.changing("push", name):
                applied = sync(CatalogProfile(business_metrics=(told,)), source=PUSHED, full=False, now=clock.now())
        except UnableToShare as unable:
            raise conflict(str(unable), mend="Change the business metric in its own source.") from None
        except (UnableToApply, UnableToWrite) as unable:
            raise Wrong(str(unable), mend="Correct the definition.") from None
        return Response(self._detail(request, name), status=201 if applied.created else 200)

    def _detail(self, request: Request, name: str) -> dict[str, Any]:
        now, hidden = clock.now(), hidden_datasets(request)
        row = get_object_or_404(business_metrics().exclude(pk__in=hidden), name_key=name_key(name))
        veil, window = Veil(now), latest_ended(row, now)
        (shown,) = shown_metrics([row], veil, now=now)
        definition = shown.definition
        quality = look_up(dataset=row, window=window, now=now, record=False)
        ((_, gate),) = foresee([ToRead(dataset=row, window=window)], now=now)
        return {
            **BusinessMetricRow(shown).data,
            "sources": SourceRow(sources_of(definition, hidden, now=now), many=True).data,
            "served": ServedRow(definition.served, many=True).data,
            "tolerance": definition.tolerance,
            "values": KnownValueRow(newest_values(row, veil), many=True).data,
            "score": data_qualities([row.pk], now=now)[row.pk],
            "quality": written(quality),
            "gate": as_json(gate),
        }


def _part(data: object, name: str) -> BusinessMetricPart:
    """The business metric that a body describes; every error at once."""
    if not isinstance(data, dict):
        raise Wrong("The body is no JSON object.", mend="Write the business metric as in a catalog file, as JSON.")
    try:
        part = BusinessMetricPart.model_validate({"name": name, **data})
    except ValidationError as error:
        found = [(".".join(map(str, each["loc"])), each["msg"]) for each in error.errors(include_url=False)]
        text = "; ".join(f"{place}: {said}" if place else said for place, said in found)
        raise Wrong(text, where=", ".join(dict.fromkeys(place for place, _ in found if place))) from None
    if name_key(part.name) != name_key(name):
        raise Wrong(f"name is {part.name!r}, and the address says {name!r}.", where="name")
    unknown = [each.dimension for each in part.served if each.dimension not in part.dimensions]
    if unknown:
        raise Wrong(f"{unknown[0]!r} is none of its dimensions.", where="served", mend="Add it under dimensions.")
    return part
