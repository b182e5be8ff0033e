"""Query sets that are asked all the time: compiled once, as to build and compile one costs more than its answer."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import ForeignKey, Model, Prefetch, QuerySet, prefetch_related_objects
from django.db.models.query import get_related_populators

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
    found: dict[Any, Model] = {each.pk: each for each in rows_of(field.related_model, keys)}
    for row in without:
        field.set_cached_value(row, found.get(getattr(row, field.attname)))
    related = list({id(each): each for row in rows if (each := field.get_cached_value(row)) is not None}.values())
    if further and related:
        fetch_related(related, further)


@lru_cache(maxsize=512)
def _of_keys(vendor: str, model: type[M], column: str, related: tuple[str, ...], number: int) -> Prepared[M]:
    places = range(-number, 0)  # no row has such a key
    rows = model._default_manager.filter(**{f"{column}__in": list(places)})
    return Prepared(rows.select_related(*related) if related else rows, *places)


def _written(value: Any) -> Any:
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value
