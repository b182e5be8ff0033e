"""What is written of data tests, column by column."""

from typing import Any

from django.db.models import Model

from assay.models import Dataset, DataTest, Revision

LEFT_OUT = {"id", "lease_until", "epoch", "attempts", "tree", "revision_id", "dataset_id", "data_test_id"}


def row(test: DataTest) -> dict[str, Any]:
    """All that its row says now, but for ids and leases."""
    return _columns(DataTest.objects.get(pk=test.pk))


def revisions(test: DataTest) -> list[dict[str, Any]]:
    """All that its revisions say, the first one first."""
    return [_columns(revision) for revision in Revision.objects.filter(data_test=test).order_by("number")]


def newest(test: DataTest) -> Revision:
    """The revision in force, as the database has it."""
    found = DataTest.objects.get(pk=test.pk).revision
    assert found is not None
    return found


def named(dataset: Dataset) -> dict[str, DataTest]:
    """The live tests of a dataset by their names."""
    rows = DataTest.objects.filter(dataset=dataset, retired_at__isnull=True).order_by("name")
    return {test.name: test for test in rows.select_related("revision", "dataset")}


def _columns(found: Model) -> dict[str, Any]:
    names = [field.attname for field in found._meta.concrete_fields]
    return {name: getattr(found, name) for name in names if name not in LEFT_OUT}
