"""Write many rows, each with its own values, without the cost of a query set for each."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Field, Model

T = TypeVar("T")

IN_ONE = 1000  # keys that one statement names: databases bound them


def in_parts(keys: Iterable[T]) -> Iterator[list[T]]:
    """The keys, as many at a time as one statement may name."""
    left = iter(keys)
    while part := list(islice(left, IN_ONE)):
        yield part


def update_each(rows: Sequence[Model], names: Sequence[str], *, unchanged: Sequence[str] = ()) -> int:
    """Write these fields of every row as they stand; how many rows were found.

    A row counts as found only if the fields ``unchanged`` are in the database what they are here.
    """
    if not rows:
        return 0
    known = {field.name: field for field in type(rows[0])._meta.concrete_fields}
    written, kept = [known[name] for name in names], [known[name] for name in ("id", *unchanged)]
    table = connection.ops.quote_name(type(rows[0])._meta.db_table)
    sql = f"UPDATE {table} SET {_assigned(written, ', ')} WHERE {_assigned(kept, ' AND ')}"
    with connection.cursor() as cursor:
        cursor.executemany(sql, [_values(row, [*written, *kept]) for row in rows])
        return int(cursor.rowcount)


def _assigned(fields: Sequence["Field[Any, Any]"], joint: str) -> str:
    return joint.join(f"{connection.ops.quote_name(str(field.column))} = %s" for field in fields)


def _values(row: Model, fields: Sequence["Field[Any, Any]"]) -> list[Any]:
    return [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields]
