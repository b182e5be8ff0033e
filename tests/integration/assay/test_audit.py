"""The audit: written with the change or not at all, and only ever added to."""

from collections.abc import Callable

import pytest
from django.db import DatabaseError, connection, transaction

from assay.accounts import RequestOrigin, UnableToAudit, differences, record
from assay.models import AuditEntry
from assay.models.access import REFUSAL, UnableToRewrite

TABLE = "assay_auditentry"
ADA = RequestOrigin(actor="ada", via="session", ip="10.0.0.1", request_id="request-1")


def entry() -> AuditEntry:
    return record(ADA, "incident.accept", kind="incident", key=7, before={"a": 1, "b": 2}, after={"a": 1, "b": 3})


def columns() -> str:
    return ", ".join(connection.ops.quote_name(str(field.column)) for field in AuditEntry._meta.fields)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {table} SET actor = 'mallory'",
        "UPDATE {table} SET id = id + 1",
        "DELETE FROM {table}",
        "REPLACE INTO {table} ({columns}) SELECT {columns} FROM {table}",
    ],
)
def test_no_sql_changes_or_removes_an_entry(db: None, statement: str) -> None:
    entry()
    sql = statement.format(table=TABLE, columns=columns())
    with pytest.raises(DatabaseError, match=REFUSAL), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)
    assert AuditEntry.objects.get().actor == "ada"


def test_the_model_changes_or_removes_no_entry(db: None) -> None:
    row = entry()
    row.actor = "mallory"
    attempts: list[Callable[[], object]] = [
        row.save,
        row.delete,
        AuditEntry.objects.all().delete,
        lambda: AuditEntry.objects.filter(pk=row.pk).update(actor="mallory"),
        lambda: AuditEntry.objects.bulk_update([row], ["actor"]),
    ]
    for attempt in attempts:
        with pytest.raises(UnableToRewrite), transaction.atomic():
            attempt()
    assert AuditEntry.objects.get().actor == "ada"


def test_an_entry_holds_only_what_is_another(db: None) -> None:
    found = AuditEntry.objects.get(pk=entry().pk)
    assert (found.before, found.after) == ({"b": 2}, {"b": 3})
    assert (found.object_kind, found.object_id, found.ip, found.request_id) == (
        "incident",
        "7",
        "10.0.0.1",
        "request-1",
    )


def test_what_began_or_ended_is_kept_whole() -> None:
    assert differences(None, {"a": 1}) == (None, {"a": 1})
    assert differences({"a": 1}, None) == ({"a": 1}, None)
    assert differences({"a": 1}, {"b": 1}) == ({"a": 1, "b": None}, {"a": None, "b": 1})


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_nothing_is_written() -> None:
    with pytest.raises(UnableToAudit):
        entry()
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_entry_goes_with_its_change() -> None:
    with transaction.atomic():
        entry()
        transaction.set_rollback(True)
    assert not AuditEntry.objects.exists()
