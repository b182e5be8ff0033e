"""Which datasets' states are kept."""

from collections.abc import Collection

from django.db.models import Exists, OuterRef, QuerySet

from assay.models import DataTest, Scope


def keeps_states(dataset_id: str) -> Exists:
    """The same of one dataset as a condition, for a query of rows with a column of that name."""
    return Exists(_reading_all().filter(dataset=OuterRef(dataset_id)))


def keeping_states(ids: Collection[int]) -> set[int]:
    """Those of the datasets (ids) of which some live test reads more than one partition at once."""
    return set(_reading_all().filter(dataset__in=ids).values_list("dataset_id", flat=True))


def _reading_all() -> QuerySet[DataTest]:
    return DataTest.objects.filter(scope=Scope.TABLE, retired_at__isnull=True)
