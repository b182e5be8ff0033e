"""Datasets: what the catalog knows, and how one dataset is pushed into it."""

from datetime import datetime
from pathlib import Path
from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from pydantic import ValidationError
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from alerting.selectors import complete_up_to, times_to_complete
from assay import clock
from assay.catalog.locations import PUSHED
from assay.catalog.profile import FILES
from assay.catalog.selectors import by_name
from assay.catalog.services import UnableToApply, UnableToShare, apply_catalog
from assay.catalog.yaml.parts import DatasetPart
from assay.catalog.yaml.profiles import YamlParts, cross_check, to_profile
from assay.database.name_keys import name_key
from assay.models import Dataset, Replica
from execution_engine.freshness.rules import Evidence
from web.api.conventions.base import Rows
from web.api.conventions.fields import LengthField, Row, Shape, WindowField
from web.api.conventions.problems import Wrong, conflict, errors_text

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
            "name", "description", "owner", "team", "tier", "columns", "primary_key", "partition_column", "granularity",
            "partition_holds", "stored_time_zone", "time_zone", "key_format", "first_partition", "freshness_sla",
            "completeness_sla", "duplicates_sla", "consistency_sla", "unpartitioned_sla", "sustain", "grace",
            "severity", "catch_up", "allow_empty", "novelty", "inferred_schema", "retention", "gate_on",
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
        [evidence.value for evidence in Evidence],
        allow_blank=True,
        help_text="what says that the window is complete; empty for windows that an older version judged",
    )
    basis = serializers.CharField(allow_blank=True, help_text="the evidence as a sentence")


class DatasetDetail(DatasetRow):
    """A dataset, up to when it is complete at home, and how long its last windows took there, the newest first."""

    complete_up_to = serializers.SerializerMethodField()
    time_to_complete = serializers.SerializerMethodField()

    class Meta(DatasetRow.Meta):
        fields = (*DatasetRow.Meta.fields, "complete_up_to", "time_to_complete")

    def get_complete_up_to(self, dataset: Dataset) -> datetime | None:
        """The end (exclusive) of the last complete window before the first that is not."""
        return complete_up_to(dataset)

    @extend_schema_field(TookRow(many=True))
    def get_time_to_complete(self, dataset: Dataset) -> list[dict[str, Any]]:
        """The last windows."""
        at_home = dataset.replicas.first()
        found = times_to_complete(dataset, at_home.datacenter, MOST_WINDOWS) if at_home else []
        return [dict(row) for row in TookRow(found, many=True).data]


class DatasetQuery(Shape):
    """Filters of the datasets."""

    q = serializers.CharField(required=False, max_length=300, help_text="part of the name")
    tier = serializers.IntegerField(required=False, min_value=0, max_value=5)
    owner = serializers.CharField(required=False, max_length=200)
    team = serializers.CharField(required=False, max_length=200)


class Datasets(Rows):
    """Datasets of the catalog."""

    kind = "dataset"
    dataset_path = "pk"
    serializer_class = DatasetRow
    queryset = Dataset.objects.prefetch_related("replicas").order_by("full_name")
    lookup_url_kwarg = "name"
    lookup_value_regex = ".+"

    def get_object(self) -> Dataset:
        """The dataset of the address, in whatever case its name is written there."""
        found: Dataset = get_object_or_404(self.get_queryset(), name_key=name_key(self.kwargs["name"]))
        return found

    @classmethod
    def picture(cls, key: object) -> dict[str, Any] | None:
        """The dataset of this name as the API shows it, for the audit."""
        row = by_name(str(key))
        return None if row is None else dict(cls.serializer_class(row).data)

    @extend_schema(parameters=[DatasetQuery])
    def list(self, request: Request) -> Response:
        """List the datasets that match the filters, by name."""
        wanted = self.asked(DatasetQuery)
        rows = self.get_queryset()
        if "q" in wanted:
            rows = rows.filter(full_name__icontains=wanted.pop("q"))
        return self.page_of(rows.filter(**wanted))

    @extend_schema(responses=DatasetDetail)
    def retrieve(self, request: Request, name: str) -> Response:
        """Show one dataset, and how long its last windows took to be complete."""
        return Response(DatasetDetail(self.get_object()).data)

    @extend_schema(request=dict[str, Any])
    def update(self, request: Request, name: str) -> Response:
        """Push one dataset into the catalog.

        The body is the dataset as in a catalog file (docs/catalog.md), as JSON. That writes its standard tests anew.
        """
        part = _part(request.data, name)
        profile = to_profile(YamlParts(datasets={0: part}, lineage={}, tests={}, names=[name]), lambda _: NOWHERE)
        try:
            with self.changing("push", name):
                applied = apply_catalog(profile, source=PUSHED, full=False, now=clock.now())
        except UnableToShare as unable:
            raise conflict(str(unable), mend="Change the dataset in its own source.") from None
        except UnableToApply as unable:
            raise Wrong(str(unable), where="replicas") from None
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
    found = [
        (".".join(map(str, path[2:])), said)
        for path, said in cross_check(YamlParts(datasets={0: part}, lineage={}, tests={}, names=[part.name]))
    ]
    if name_key(part.name) != name_key(name):
        found.append(("name", f"is {part.name!r}, and the address says {name!r}"))
    found += [
        ("replicas", f"{replica.location!r} must be absolute")
        for replica in part.replicas
        if replica.storage in FILES and not replica.location.startswith(("/", "env:")) and "://" not in replica.location
    ]
    if found:
        raise _wrong(found)
    return part


def _wrong(found: list[tuple[str, str]]) -> Wrong:
    text, where = errors_text(found)
    return Wrong(text, where=where)
