"""Datasets: what the catalog knows, and how one dataset is pushed into it."""

from pathlib import Path
from typing import Any

from drf_spectacular.utils import extend_schema
from pydantic import ValidationError
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.catalog.services import apply_catalog
from assay.catalog.yaml_checks import Parts, cross_check
from assay.catalog.yaml_profile import to_profile
from assay.catalog.yaml_schema import DatasetPart
from assay.models import Dataset, Replica
from web.api.base import Rows
from web.api.errors import Wrong
from web.api.fields import Row, Shape

NOWHERE = Path("/")


class ReplicaRow(Row):
    """Where a copy lies."""

    class Meta:
        model = Replica
        fields = ("datacenter", "position", "storage", "location")


class DatasetRow(Row):
    """A dataset and its replicas, home first."""

    name = serializers.CharField(source="full_name")
    replicas = ReplicaRow(many=True)

    class Meta:
        model = Dataset
        fields = (
            "name", "description", "owner", "team", "tier", "columns", "primary_key", "partition_column", "granularity",
            "time_zone", "key_format", "first_partition", "freshness_sla", "completeness_sla", "duplicates_sla",
            "consistency_sla", "sustain", "grace", "severity", "catch_up", "allow_empty", "retention", "gate_on",
            "unknown_policy", "created_at", "changed_at", "missing_since", "replicas",
        )  # fmt: skip


class DatasetQuery(Shape):
    """Which datasets."""

    q = serializers.CharField(required=False, help_text="part of the name")
    tier = serializers.IntegerField(required=False, min_value=0, max_value=5)
    owner = serializers.CharField(required=False)
    team = serializers.CharField(required=False)


class Datasets(Rows):
    """The catalog."""

    kind = "dataset"
    serializer_class = DatasetRow
    queryset = Dataset.objects.prefetch_related("replicas").order_by("full_name")
    lookup_field = "full_name"
    lookup_url_kwarg = "name"
    lookup_value_regex = ".+"

    @extend_schema(parameters=[DatasetQuery])
    def list(self, request: Request) -> Response:
        """The datasets that match, by name."""
        wanted = self.asked(DatasetQuery)
        rows = self.get_queryset()
        if "q" in wanted:
            rows = rows.filter(full_name__icontains=wanted.pop("q"))
        return self.page_of(rows.filter(**wanted))

    def retrieve(self, request: Request, name: str) -> Response:
        """One dataset."""
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=dict[str, Any])
    def update(self, request: Request, name: str) -> Response:
        """Push one dataset, written as in a catalog file; its tests are reconciled by that."""
        part = _part(request.data, name)
        profile = to_profile(Parts(datasets={0: part}, lineage={}, tests={}, names=[name]), NOWHERE)
        with self.changing("push", name):
            applied = apply_catalog(profile, source="push", full=False, now=clock.now())
        return Response(self.get_serializer(self.get_object()).data, status=201 if applied.created else 200)


def _part(data: object, name: str) -> DatasetPart:
    """The dataset that a body describes; every error at once."""
    if not isinstance(data, dict):
        raise Wrong("The body is no JSON object.", mend="Write the dataset as in a catalog file, as JSON.")
    try:
        part = DatasetPart.model_validate({"name": name, **data})
    except ValidationError as error:
        found = [(".".join(map(str, each["loc"])), each["msg"]) for each in error.errors(include_url=False)]
        raise _wrong(found) from None
    found = [(".".join(map(str, path[2:])), said) for path, said in cross_check(_alone(part))]
    if part.name != name:
        found.append(("name", f"is {part.name!r}, and the address says {name!r}"))
    found += [
        ("replicas", f"{replica.location!r} must be absolute")
        for replica in part.replicas
        if replica.storage == "parquet"
        and not replica.location.startswith(("/", "env:"))
        and "://" not in replica.location
    ]
    if found:
        raise _wrong(found)
    return part


def _alone(part: DatasetPart) -> Parts:
    return Parts(datasets={0: part}, lineage={}, tests={}, names=[part.name])


def _wrong(found: list[tuple[str, str]]) -> Wrong:
    text = "; ".join(f"{place}: {said}" if place else said for place, said in found)
    return Wrong(text, where=", ".join(dict.fromkeys(place for place, _ in found if place)))
