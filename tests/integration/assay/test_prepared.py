"""What is compiled once answers as the query set that it was made of, whatever stands in its places."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import Model
from django.test.utils import CaptureQueriesContext

from alerting.models import Standing
from assay.database.statements import PreparedRows, PreparedValues, insert, insert_rows, rows_of
from assay.models import ColumnName, Dataset
from incident_manager.models import LookUp
from tests.factories import DAY, HOUR, NOW, DatasetFactory, StandingFactory, day

pytestmark = pytest.mark.django_db

SOME, OTHER = datetime(2001, 1, 1, tzinfo=UTC), datetime(2001, 1, 2, tzinfo=UTC)


def columns(rows: Sequence[Model]) -> list[dict[str, object]]:
    return [{field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields} for row in rows]


def test_values_are_those_of_the_query_set_each_time_with_other_values() -> None:
    for hours in range(5):
        DatasetFactory.create(
            name=f"after {hours} h", reconcile_at=NOW + hours * HOUR, columns=[{"name": str(hours), "type": "int"}]
        )
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


def test_rows_come_with_what_is_selected_of_related_ones_and_with_none_where_there_is_none() -> None:
    made = StandingFactory.create()
    with CaptureQueriesContext(connection) as asked:
        (found,) = rows_of(Standing, [made.pk], related=("data_test__dataset", "waiver"))
        assert (found.data_test.dataset.full_name, found.waiver) == (made.data_test.dataset.full_name, None)
    assert (len(asked), columns([found])) == (1, columns([Standing.objects.get()]))


def test_whole_rows_are_those_of_the_query_set_with_their_related_ones_or_none_in_one_statement() -> None:
    made = [StandingFactory.create(window=day(key)) for key in ("2026-03-08", "2026-03-09")]
    asked = Standing.objects.filter(pk__in=[-1, -2]).order_by("window_start")
    prepared = PreparedRows(asked, -1, -2, related=("data_test", "data_test__dataset", "waiver"))
    with CaptureQueriesContext(connection) as statements:
        rows = prepared.rows(made[1].pk, made[0].pk)
        names = [row.data_test.dataset.full_name for row in rows]
        assert [row.waiver for row in rows] == [None, None]
    assert (len(statements), names) == (1, [row.data_test.dataset.full_name for row in made])
    assert columns(rows) == columns(list(Standing.objects.order_by("window_start")))


def test_a_row_that_is_inserted_is_what_saving_it_writes() -> None:
    window = {"window_start": NOW, "window_end": NOW + HOUR}
    row = LookUp(query=uuid4(), dataset=DatasetFactory.create(), at=NOW, failed=True, incidents=[7], **window)
    insert(row)
    row.save()
    inserted, saved = columns(list(LookUp.objects.order_by("pk")))
    assert inserted | {"id": saved["id"]} == saved


def test_rows_that_are_inserted_together_have_their_keys_then() -> None:
    window, dataset = {"window_start": NOW, "window_end": NOW + HOUR}, DatasetFactory.create()
    rows = [
        LookUp(query=uuid4(), dataset=dataset, at=NOW, failed=bool(number), incidents=[number], **window)
        for number in range(3)
    ]
    insert_rows(rows, "query")
    assert columns(rows) == columns(list(LookUp.objects.order_by("pk")))


def test_a_row_that_is_there_stays_as_it_stands_where_conflicts_are_ignored() -> None:
    insert_rows([ColumnName(name="Fare", name_key="fare")])
    insert_rows([ColumnName(name=name, name_key=name.lower()) for name in ("FARE", "id")], ignore_conflicts=True)
    assert sorted(ColumnName.objects.values_list("name", flat=True)) == ["Fare", "id"]
