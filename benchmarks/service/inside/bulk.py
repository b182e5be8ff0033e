"""Rows by the million, made inside MariaDB itself by its sequence engine: no client need write them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from django.apps import apps
from django.db import connection
from django.db.models import JSONField

AT_ONCE = 250_000  # rows of a statement

Columns = Mapping[str, str]  # of a table, each as SQL over ``seq``
Done = Callable[[int], None]


def insert(label: str, columns: Columns, total: int, *, first: int = 0, done: Done = lambda rows: None) -> None:
    """Write rows ``first`` to ``first + total`` of a model, a statement for each 250,000; ``done`` hears of each."""
    table = apps.get_model(label)._meta.db_table
    given = {**_defaults(label), **columns}
    names = ", ".join(f"`{name}`" for name in given)
    with _unchecked(), connection.cursor() as cursor:
        for start in range(first, first + total, AT_ONCE):
            end = min(start + AT_ONCE, first + total) - 1
            values = ", ".join(given.values())
            cursor.execute(f"INSERT INTO {table} ({names}) SELECT {values} FROM seq_{start}_to_{end}")
            done(end - start + 1)


def _defaults(label: str) -> dict[str, str]:
    """What a model writes into columns that nobody gives: nothing of each kind."""
    fields = [
        field for field in apps.get_model(label)._meta.concrete_fields if not field.null and not field.primary_key
    ]
    empty = {"CharField": "''", "TextField": "''"}
    json = {
        field.column: "'[]'" if field.default is list else "'{}'" for field in fields if isinstance(field, JSONField)
    }
    return {field.column: empty.get(field.get_internal_type(), "0") for field in fields} | json


@contextmanager
def _unchecked() -> Iterator[None]:
    """Without looking up each row's foreign keys: they are right by construction."""
    with connection.cursor() as cursor:
        cursor.execute("SET unique_checks = 0, foreign_key_checks = 0")
        try:
            yield
        finally:
            cursor.execute("SET unique_checks = 1, foreign_key_checks = 1")


def analyze(labels: Mapping[str, object]) -> None:
    """Have the optimizer know how many rows there are now, as it does after a while by itself."""
    with connection.cursor() as cursor:
        for label in labels:
            cursor.execute(f"ANALYZE TABLE {apps.get_model(label)._meta.db_table}")
            cursor.fetchall()
