"""Many rows in few statements: rows written by the thousand, and query sets that are compiled once."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Field, ForeignKey, Model, Prefetch, QuerySet, prefetch_related_objects
from django.db.models.query import get_related_populators

# Write many rows, each with its own values, without the cost of a query set for each.

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


# Query sets that are asked all the time: compiled once, as to build and compile one costs more than its answer.

M = TypeVar("M", bound=Model)


class Prepared(Generic[M]):
    """A query set of whole rows of one model, which is asked again and again with other values.

    ``places`` stand in the query set where each answer is given values of its own, in this order; nothing else in it
    may be equal to one of them. What it selects of related rows comes with them.
    """

    def __init__(self, rows: QuerySet[M], *places: Any) -> None:
        self._compiler = rows.query.get_compiler(connection=connection)
        self._sql, given = self._compiler.as_sql()
        select: Any = self._compiler.select
        klass: Any = self._compiler.klass_info
        self._model, self._own = rows.model, slice(klass["select_fields"][0], klass["select_fields"][-1] + 1)
        self._names = [column.target.attname for column, _, _ in select[self._own]]
        # the stubs are of a later Django, which wants one argument more
        self._related = get_related_populators(klass, select, connection.alias)  # type: ignore[call-arg]
        self._converters = self._compiler.get_converters([column for column, _, _ in select])
        number = {_written(place): at for at, place in enumerate(places)}
        self._given = [(number.get(value), value) for value in given]

    def rows(self, *values: Any) -> list[M]:
        """The rows, as the query set would give them with these values in its places."""
        written = [_written(value) for value in values]
        with connection.cursor() as cursor:
            cursor.execute(self._sql, [value if at is None else written[at] for at, value in self._given])
            found: Any = cursor.fetchall()
        if self._converters:
            found = self._compiler.apply_converters(found, self._converters)
        return [self._built(row) for row in found]

    def _built(self, row: Sequence[Any]) -> M:
        built = self._model.from_db(connection.alias, self._names, row[self._own])
        for each in self._related:
            each.populate(row, built)
        return built


class PreparedValues:
    """A query set of values (``values_list``) that is asked again and again, with places as in ``Prepared``."""

    def __init__(self, rows: QuerySet[Any, tuple[Any, ...]], *places: Any) -> None:
        self._compiler = rows.query.get_compiler(connection=connection)
        self._sql, given = self._compiler.as_sql()
        self._converters = self._compiler.get_converters([column for column, _, _ in self._compiler.select])
        number = {_written(place): at for at, place in enumerate(places)}
        self._given = [(number.get(value), value) for value in given]

    def values(self, *values: Any) -> Iterable[Sequence[Any]]:
        """The rows, as the query set would give them with these values in its places."""
        written = [_written(value) for value in values]
        with connection.cursor() as cursor:
            cursor.execute(self._sql, [value if at is None else written[at] for at, value in self._given])
            found: Iterable[Sequence[Any]] = cursor.fetchall()
        if self._converters:
            found = self._compiler.apply_converters(found, self._converters)
        return found


def rows_of(model: type[M], keys: Collection[int], column: str = "pk", related: tuple[str, ...] = ()) -> list[M]:
    """The rows with these values of a column of keys, of which one statement may name as many, and what they refer to.

    ``related`` is what ``select_related`` takes.
    """
    return _of_keys(connection.vendor, model, column, related, len(keys)).rows(*keys) if keys else []


def fetch_related(rows: Sequence[Model], path: "str | Prefetch[Any]") -> None:
    """Read what rows of one model refer to, as ``prefetch_related_objects`` does, and foreign keys by few means."""
    name, _, further = path.partition("__") if isinstance(path, str) else ("", "", "")
    field = rows[0]._meta.get_field(name) if name and rows else None
    if not isinstance(field, ForeignKey):
        prefetch_related_objects(rows, path)
        return
    without = [row for row in rows if not field.is_cached(row)]
    keys = {getattr(row, field.attname) for row in without} - {None}
    joined = _joined(field.related_model, further)
    found: dict[Any, Model] = {each.pk: each for each in rows_of(field.related_model, keys, related=joined)}
    for name in joined:
        _make_one(found.values(), name)
    for row in without:
        field.set_cached_value(row, found.get(getattr(row, field.attname)))
    related = list({id(each): each for row in rows if (each := field.get_cached_value(row)) is not None}.values())
    if further and related:
        fetch_related(related, further)


def _joined(model: type[Model], path: str) -> tuple[str, ...]:
    """The foreign key that a path begins with, if it does: its rows are read with those that refer to them."""
    name = path.partition("__")[0]
    return (name,) if name and isinstance(model._meta.get_field(name), ForeignKey) else ()


def _make_one(rows: Iterable[Model], name: str) -> None:
    """Let what refers to one row refer to one object."""
    known: dict[Any, Model] = {}
    for row in rows:
        if (each := getattr(row, name)) is not None:
            setattr(row, name, known.setdefault(each.pk, each))


@lru_cache(maxsize=512)
def _of_keys(vendor: str, model: type[M], column: str, related: tuple[str, ...], number: int) -> Prepared[M]:
    places = range(-number, 0)  # no row has such a key
    rows = model._default_manager.filter(**{f"{column}__in": list(places)})
    return Prepared(rows.select_related(*related) if related else rows, *places)


def _written(value: Any) -> Any:
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value
