"""What an upgrade does to a home that exists."""

from datetime import datetime
from importlib import import_module

import pytest
from django.apps import apps
from django.utils import timezone

from assay.models import Dataset, Revision
from execution_engine.language.parsing.parse import parse
from execution_engine.language.serialise import to_json
from test_generator.generation.generate import reconcile_dataset
from tests.factories import NOW, DatasetFactory, DataTestFactory

pytestmark = pytest.mark.django_db
ASSERTION = "max(id) = 9223372036854775806"


def test_numbers_that_trees_kept_as_floats_have_all_their_digits_again() -> None:
    old = to_json(parse(ASSERTION))
    old["children"][1]["parameters"]["value"] = float(9223372036854775806)
    DataTestFactory.create(assertion=ASSERTION)
    Revision.objects.update(tree=old)
    import_module("execution_engine.migrations.0010_numbers_with_every_digit").read_again(apps, None)
    assert Revision.objects.get().tree == to_json(parse(ASSERTION))


def test_the_test_of_duplicates_gets_a_new_revision() -> None:
    dataset = DatasetFactory.create(primary_key=["id"])
    reconcile_dataset(dataset, NOW)
    revisions = Revision.objects.filter(data_test__dataset=dataset, data_test__name="duplicates")
    revisions.update(assertion="1 - distinct_count(id) / row_count() <= 0")
    Dataset.objects.update(reconcile_at=None)
    import_module("test_generator.migrations.0002_keys_without_nulls").reconcile_again(apps, None)
    dataset.refresh_from_db()
    assert dataset.reconcile_at is not None
    reconcile_dataset(dataset, NOW)
    assert [(each.number, each.assertion.split("(")[0]) for each in revisions.order_by("number")] == [
        (1, "1 - distinct_count"),
        (2, "1 - count_distinct"),
    ]


def test_declared_columns_count_from_the_upgrade_on() -> None:
    dataset = DatasetFactory.create(columns=[{"name": "id", "type": "bigint"}], declared={}, reconcile_at=None)
    began = timezone.now()
    import_module("test_generator.migrations.0003_the_category_schema").declare_from_now_on(apps, None)
    dataset.refresh_from_db()
    assert list(dataset.declared) == ["id"]
    assert began <= datetime.fromisoformat(dataset.declared["id"]) <= timezone.now()
    assert dataset.reconcile_at is not None
