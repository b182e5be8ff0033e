"""What is compiled once answers as the query set that it was made of, whatever stands in its places."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.db.models import Model
from django.test.utils import CaptureQueriesContext

from alerting.models import Standing
from assay.database.statements import Prepared, PreparedValues, fetch_related, rows_of, set_all
from assay.models import Dataset, Replica
from execution_engine.models import Run
from tests.factories import DAY, HOUR, NOW, DatasetFactory, RunFactory, StandingFactory

pytestmark = pytest.mark.django_db

SOME, OTHER = datetime(2001, 1, 1, tzinfo=UTC), datetime(2001, 1, 2, tzinfo=UTC)


def columns(rows: Sequence[Model]) -> list[dict[str, object]]:
    return [{field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields} for row in rows]


def test_rows_are_those_of_the_query_set_each_time_with_other_values() -> None:
    for hours in range(5):
        DatasetFactory.create(name=f"after {hours} h", reconcile_at=NOW + hours * HOUR, columns=[{"name": str(hours)}])
    rows = Dataset.objects.filter(tier=2).order_by("-reconcile_at")
    between = Prepared(rows.filter(reconcile_at__gte=SOME, reconcile_at__lt=OTHER), SOME, OTHER)
    for span in ((NOW, NOW + 2 * HOUR), (NOW + HOUR, NOW + 9 * HOUR), (NOW + DAY, NOW)):
        given = between.rows(*span)
        assert columns(given) == columns(list(rows.filter(reconcile_at__gte=span[0], reconcile_at__lt=span[1])))
    given = between.rows(NOW, NOW + HOUR)
    given[0].owner = "grace"
    given[0].save()
    assert Dataset.objects.get(name="after 0 h").owner == "grace"


def test_values_are_those_of_the_query_set_each_time_with_other_values() -> None:
    for hours in range(5):
        DatasetFactory.create(name=f"after {hours} h", reconcile_at=NOW + hours * HOUR, columns=[{"name": str(hours)}])
    rows = Dataset.objects.order_by("-reconcile_at").values_list("name", "reconcile_at", "columns")
    between = PreparedValues(rows.filter(reconcile_at__gte=SOME, reconcile_at__lt=OTHER), SOME, OTHER)
    for span in ((NOW, NOW + 2 * HOUR), (NOW + HOUR, NOW + 9 * HOUR), (NOW + DAY, NOW)):
        expected = list(rows.filter(reconcile_at__gte=span[0], reconcile_at__lt=span[1]))
        assert [tuple(row) for row in between.values(*span)] == expected


def test_rows_of_keys_are_those_and_no_others() -> None:
    made = DatasetFactory.create_batch(4, datacenters=("sea", "phx"))
    for keys in ([], [made[2].pk], [made[0].pk, made[3].pk], [made[1].pk, -1]):
        assert columns(sorted(rows_of(Dataset, keys), key=lambda row: row.pk)) == columns(
            list(Dataset.objects.filter(pk__in=keys).order_by("pk"))
        )
        found = {row.pk for row in rows_of(Replica, keys, "dataset")}
        assert found == set(Replica.objects.filter(dataset__in=keys).values_list("pk", flat=True))


def test_what_rows_refer_to_comes_with_them_in_a_statement_for_each_reference() -> None:
    RunFactory.create_batch(3)
    found = list(Run.objects.order_by("pk"))
    with CaptureQueriesContext(connection) as asked:
        for path in ("revision", "data_test__dataset"):
            fetch_related(found, path)
    assert len(asked) == 2  # a dataset comes with the tests that refer to it
    with CaptureQueriesContext(connection) as asked:
        told = [(run.revision.number, run.data_test.name, run.data_test.dataset.full_name) for run in found]
    assert (len(asked), told) == (0, [(1, r.data_test.name, r.data_test.dataset.full_name) for r in Run.objects.all()])


def test_rows_come_with_what_is_selected_of_related_ones_and_with_none_where_there_is_none() -> None:
    made = StandingFactory.create()
    with CaptureQueriesContext(connection) as asked:
        (found,) = rows_of(Standing, [made.pk], related=("data_test__dataset", "waiver"))
        assert (found.data_test.dataset.full_name, found.waiver) == (made.data_test.dataset.full_name, None)
    assert (len(asked), columns([found])) == (1, columns([Standing.objects.get()]))


def test_what_is_set_for_all_is_set_for_these_rows_alone() -> None:
    made = DatasetFactory.create_batch(3)
    found = set_all(Dataset, [made[0].pk, made[2].pk, -1], reconcile_at=NOW, columns=[{"name": "x"}], attempts=3)
    assert found == 2
    written = Dataset.objects.order_by("pk").values_list("reconcile_at", "columns", "attempts")
    mine = (NOW, [{"name": "x"}], 3)
    assert list(written) == [mine, (None, made[1].columns, 0), mine]
    Dataset.objects.filter(pk=made[0].pk).update(epoch=7)
    keys = [row.pk for row in made]
    assert set_all(Dataset, keys, unchanged={"epoch": 7, "attempts": 3}, attempts=1) == 1
    assert list(Dataset.objects.order_by("pk").values_list("attempts", flat=True)) == [1, 0, 3]
    replica = made[0].replicas.get()
    assert set_all(Replica, [replica.pk], dataset=made[1], datacenter="phx") == 1
    assert made[1].replicas.filter(datacenter="phx").get() == replica
