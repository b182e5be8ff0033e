"""Many rows in few statements: rows written by the thousand, and statements that are compiled once."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Field, Model, QuerySet

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
    fields = {field.name: field for field in type(rows[0])._meta.concrete_fields}
    columns = [fields[name] for name in (*names, "id", *unchanged)]
    quote = connection.ops.quote_name
    parts = [f"{quote(str(field.column))} = %s" for field in columns]
    changes, conditions = ", ".join(parts[: len(names)]), " AND ".join(parts[len(names) :])
    values = [[field.get_db_prep_save(getattr(row, field.attname), connection) for field in columns] for row in rows]
    with connection.cursor() as cursor:
        cursor.executemany(f"UPDATE {quote(type(rows[0])._meta.db_table)} SET {changes} WHERE {conditions}", values)
        return int(cursor.rowcount)


def insert_rows(rows: Sequence[Model], *identity: str) -> None:
    """Write new rows, each of which has its primary key then; ``identity`` names the columns that tell them apart.

    MySQL does not say which keys it has given: they are read by the first of these columns.
    """
    if not rows:
        return
    objects = type(rows[0])._default_manager
    objects.bulk_create(rows, batch_size=IN_ONE)
    if rows[0].pk is None:
        for part in in_parts(rows):
            stored = objects.filter(**{f"{identity[0]}__in": {getattr(row, identity[0]) for row in part}})
            keys = {values[1:]: values[0] for values in stored.values_list("pk", *identity)}
            for row in part:
                row.pk = keys[tuple(getattr(row, name) for name in identity)]


# Query sets that are asked all the time: compiled once, as to build and compile one costs more than its answer.

M = TypeVar("M", bound=Model)


class PreparedValues:
    """A query set of values (``values_list``) that is asked again and again, with other values.

    ``places`` stand in the query set where each answer is given values of its own, in this order; nothing else in it
    may be equal to one of them.
    """

    def __init__(self, rows: QuerySet[Any, tuple[Any, ...]], *places: Any) -> None:
        self._compiler = rows.query.get_compiler(connection=connection)
        self._sql, parameters = self._compiler.as_sql()
        self._converters = self._compiler.get_converters([column for column, _, _ in self._compiler.select])
        number = {place: at for at, place in enumerate(_written(places))}
        self._parameters = [(number.get(value), value) for value in parameters]

    def values(self, *values: Any) -> Iterable[Sequence[Any]]:
        """The rows, as the query set would give them with these values in its places."""
        written = _written(values)
        with connection.cursor() as cursor:
            cursor.execute(self._sql, [value if at is None else written[at] for at, value in self._parameters])
            rows: Iterable[Sequence[Any]] = cursor.fetchall()
        if self._converters:
            rows = self._compiler.apply_converters(rows, self._converters)
        return rows


class PreparedRows(Generic[M]):
    """A query set of whole rows that is asked again and again, with other values in its ``places``.

    ``related`` are paths to rows that come with each, as in ``select_related``; before a longer path its beginning.
    """

    def __init__(self, rows: QuerySet[M], *places: Any, related: Sequence[str] = ()) -> None:
        self._parts: list[tuple[str, type[Model], list[str], int]] = []  # the last is where its columns begin
        columns: list[str] = []
        for path in ("", *related):
            model: Any = rows.model
            for name in filter(None, path.split("__")):
                model = model._meta.get_field(name).related_model
            names = [field.attname for field in model._meta.concrete_fields]
            self._parts.append((path, model, names, len(columns)))
            columns += [f"{path}__{name}" if path else name for name in names]
        self._prepared = PreparedValues(rows.values_list(*columns), *places)

    def rows(self, *values: Any) -> list[M]:
        """The rows, as the query set would give them with these values in its places."""
        return [self._row(row) for row in self._prepared.values(*values)]

    def _row(self, values: Sequence[Any]) -> Any:
        rows: dict[str, Any] = {}
        for path, model, names, start in self._parts:
            own = values[start : start + len(names)]
            is_there = own[names.index(model._meta.pk.attname)] is not None
            rows[path] = model.from_db(connection.alias, names, own) if is_there else None
            if path:
                before, _, name = path.rpartition("__")
                rows[before]._meta.get_field(name).set_cached_value(rows[before], rows[path])
        return rows[""]


def rows_of(model: type[M], keys: Collection[int], related: tuple[str, ...] = ()) -> list[M]:
    """The rows with these primary keys, and what they refer to: ``related`` as in ``select_related``."""
    if not keys:
        return []
    rows = model._default_manager.filter(pk__in=keys)
    return list(rows.select_related(*related) if related else rows)


def _written(values: Sequence[Any]) -> list[Any]:
    write = connection.ops.adapt_datetimefield_value
    return [write(value) if isinstance(value, datetime) else value for value in values]


def insert(row: Model) -> None:
    """Write a new row, by a statement that is compiled once; the row is not given its key."""
    statement, fields = _insertion(type(row), connection.vendor)
    with connection.cursor() as cursor:
        cursor.execute(statement, [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields])


@lru_cache
def _insertion(model: type[Model], vendor: str) -> "tuple[str, Sequence[Field[Any, Any]]]":
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    columns = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    return f"INSERT INTO {connection.ops.quote_name(model._meta.db_table)} ({columns}) VALUES ({places})", fields
