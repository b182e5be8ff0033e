"""The audit: who changed what, and when. It is only ever added to."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay.models import AuditEntry, Dataset
from web.access.who import hidden_datasets
from web.api.catalog.data_tests import DataTests
from web.api.catalog.datasets import Datasets
from web.api.catalog.suggestions import Suggestions
from web.api.consumption.overrides import GateOverrides
from web.api.consumption.publications import Publications
from web.api.conventions.base import Rows
from web.api.conventions.fields import InstantField, Row, Shape
from web.api.incidents.incidents import Incidents
from web.api.incidents.quarantines import Quarantines
from web.api.incidents.reports import Reports
from web.api.incidents.runs import Runs
from web.api.incidents.silences import Silences

FILTERS = {"from": "at__gte", "to": "at__lt", "kind": "object_kind", "key": "object_id"}


RESOURCES: tuple[type[Rows], ...] = (
    *(DataTests, Suggestions, GateOverrides, Publications),
    *(Incidents, Quarantines, Reports, Runs, Silences),
)
BY_KIND = {resource.kind: resource for resource in RESOURCES}  # what belongs to a dataset, and is known by its id


class AuditRow(Row):
    """An entry of the audit; ``before`` and ``after`` hold what the change altered, null where no row is."""

    kind = serializers.CharField(source="object_kind")
    key = serializers.CharField(source="object_id")

    class Meta:
        model = AuditEntry
        fields = ("id", "at", "actor", "via", "action", "kind", "key", "before", "after", "given", "ip", "request_id")


class AuditQuery(Shape):
    """Filters of the entries of the audit."""

    actor = serializers.CharField(required=False, max_length=200)
    action = serializers.CharField(required=False, max_length=60, help_text="such as incident.accept")
    kind = serializers.CharField(required=False, max_length=30, help_text="such as incident")
    key = serializers.CharField(required=False, max_length=250, help_text="a number, or a dataset's name")

    def get_fields(self) -> dict[str, serializers.Field]:  # type: ignore[type-arg]
        """The fields, with the two that are no names in Python."""
        instants = {name: InstantField(required=False) for name in ("from", "to")}
        return {**super().get_fields(), **instants}


class Audit(Rows):
    """Entries of the audit, the newest first."""

    dataset_path = ""
    serializer_class = AuditRow
    queryset = AuditEntry.objects.order_by("-pk")

    @extend_schema(parameters=[AuditQuery])
    def list(self, request: Request) -> Response:
        """List the entries of the audit that match the filters.

        An entry of a dataset that you may not see says who did what and when, and not what was changed.
        """
        wanted = {FILTERS.get(name, name): value for name, value in self.asked(AuditQuery).items()}
        answer = self.page_of(self.get_queryset().filter(**wanted))
        if hidden := hidden_datasets(request):
            _blank(answer.data["results"], hidden)
        return answer


def _blank(entries: Sequence[dict[str, Any]], hidden: Sequence[int]) -> None:
    """Take the content out of entries on datasets that whoever asks may not see, in a statement for each kind.

    Of a row that is gone nobody can tell whose it was: its entries are without content too.
    """
    names = [name.casefold() for name in Dataset.objects.filter(pk__in=hidden).values_list("full_name", flat=True)]
    by_kind = defaultdict[str, set[str]](set)
    for entry in entries:
        by_kind[entry["kind"]].add(entry["key"])
    seen = {kind: _seen(BY_KIND[kind], keys, hidden) for kind, keys in by_kind.items() if kind in BY_KIND}
    for entry in entries:
        kind, key = entry["kind"], entry["key"]
        if kind in seen:
            is_hidden = key not in seen[kind]
        elif kind == Datasets.kind:
            is_hidden = key.casefold() in names
        else:  # backtests and pipelines have no rows of their own: what was given names the datasets
            said = str(entry["given"]).casefold()
            is_hidden = any(name in said for name in names)
        if is_hidden:
            entry |= {"before": None, "after": None, "given": {}}


def _seen(resource: type[Rows], keys: Collection[str], hidden: Sequence[int]) -> set[str]:
    """The ids, of these, whose rows belong to datasets that may be seen, or to none."""
    assert resource.queryset is not None
    rows = resource.queryset.all().filter(pk__in=[key for key in keys if key.isdecimal()])
    return {str(pk) for pk in rows.exclude(**{f"{resource.dataset_path}__in": hidden}).values_list("pk", flat=True)}
