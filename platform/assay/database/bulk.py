"""Write many rows, each with its own values, without the cost of a query set for each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
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
    values = [[_stored(field, getattr(row, field.attname)) for field in (*written, *kept)] for row in rows]
    with connection.cursor() as cursor:
        cursor.executemany(sql, values)
        return int(cursor.rowcount)


def set_all(
    model: type[Model], keys: Sequence[int], *, unchanged: Mapping[str, Any] = MappingProxyType({}), **values: Any
) -> int:
    """Write these values to every row of these keys, of which one statement may name as many; how many were found.

    A row counts as found only if its fields are what ``unchanged`` says.
    """
    known = {field.name: field for field in model._meta.concrete_fields}
    written, kept = [known[name] for name in values], [known[name] for name in unchanged]
    marks = f"id IN ({', '.join(['%s'] * len(keys))})"
    where = " AND ".join(filter(None, (marks, _assigned(kept, " AND "))))
    table, given = connection.ops.quote_name(model._meta.db_table), map(_stored, written, values.values())
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET {_assigned(written, ', ')} WHERE {where}",
            [*given, *keys, *map(_stored, kept, unchanged.values())],
        )
        return int(cursor.rowcount)


def _stored(field: "Field[Any, Any]", value: Any) -> Any:
    return field.get_db_prep_save(value.pk if isinstance(value, Model) else value, connection)


def _assigned(fields: Sequence["Field[Any, Any]"], joint: str) -> str:
    return joint.join(f"{connection.ops.quote_name(str(field.column))} = %s" for field in fields)
