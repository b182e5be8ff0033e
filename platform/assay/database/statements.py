"""Many rows in few statements: rows written by the thousand, and statements that are compiled once."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any, Generic, TypeVar

from django.db import connection, connections
from django.db.models import (
    BooleanField,
    CharField,
    Field,
    FloatField,
    ForeignKey,
    IntegerField,
    Model,
    QuerySet,
    TextField,
)
from django.db.models.constants import OnConflict

T = TypeVar("T")
M = TypeVar("M", bound=Model)

IN_ONE = 1000  # keys that one statement names: databases bound them


def in_parts(keys: Iterable[T]) -> Iterator[list[T]]:
    """The keys, as many at a time as one statement may name."""
    left = iter(keys)
    while part := list(islice(left, IN_ONE)):
        yield part


def rows_in(rows: "QuerySet[M]", name: str, keys: Collection[str]) -> "Iterable[M]":
    """The rows whose field of this name is one of ``keys``, in one statement.

    Of more keys than one statement may name, all rows are read, and left out here.
    """
    if len(keys) > IN_ONE:
        return (row for row in rows if getattr(row, name) in keys)
    return rows.filter(**{f"{name}__in": keys})


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
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {quote(type(rows[0])._meta.db_table)} SET {changes} WHERE {conditions}",
            _parameters(rows, columns),
        )
        return int(cursor.rowcount)


def insert_rows(rows: Collection[Model], *identity: str, ignore_conflicts: bool = False) -> None:
    """Write new rows; ``ignore_conflicts`` leaves those that are there as they stand.

    ``identity`` names the columns that tell rows apart, where each is to have its primary key then: it is read by the
    first of them.
    """
    for part in in_parts(rows):
        statement, fields = _insertion(type(part[0]), connection.vendor, ignore_conflicts)
        with connection.cursor() as cursor:
            cursor.executemany(statement, _parameters(part, fields))
        if identity:
            stored = type(part[0])._default_manager.filter(
                **{f"{identity[0]}__in": {getattr(row, identity[0]) for row in part}}
            )
            keys = {values[1:]: values[0] for values in stored.values_list("pk", *identity)}
            for row in part:
                row.pk, row._state.adding = keys[tuple(getattr(row, name) for name in identity)], False


# Fields whose values go to the database as they are where they are of these types: to ask the field how to write each
# value takes as long as to write it.
PLAIN_FIELDS = (BooleanField, CharField, FloatField, ForeignKey, IntegerField, TextField)
PLAIN_TYPES = frozenset({str, int, float, bool, type(None)})


def _parameters(rows: Iterable[Model], fields: "Sequence[Field[Any, Any]]") -> list[list[Any]]:
    """The values of these fields of each row, as a statement takes them."""
    database = connections[connection.alias]  # itself, as its proxy is asked for each value
    write_time = database.ops.adapt_datetimefield_value
    columns = [(field, field.attname, isinstance(field, PLAIN_FIELDS)) for field in fields]
    return [
        [
            value
            if is_plain and type(value) in PLAIN_TYPES
            else write_time(value)
            if type(value) is datetime
            else field.get_db_prep_save(value, database)
            for field, name, is_plain in columns
            for value in (getattr(row, name),)
        ]
        for row in rows
    ]


# Query sets that are asked all the time: compiled once, as to build and compile one costs more than its answer.


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
        cursor.execute(statement, *_parameters([row], fields))


@lru_cache
def _insertion(
    model: type[Model], vendor: str, ignore_conflicts: bool = False
) -> "tuple[str, Sequence[Field[Any, Any]]]":
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    verb = connection.ops.insert_statement(OnConflict.IGNORE if ignore_conflicts else None)
    columns = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    return f"{verb} {connection.ops.quote_name(model._meta.db_table)} ({columns}) VALUES ({places})", fields
