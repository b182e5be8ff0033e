"""``query("select …")``: one number from one SELECT over the tables the caller names, and over no others."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import sqlglot
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from execution_engine.outcome import Reason

from .conditions import UnableToReadCondition, refuse_functions
from .protocol import Measured, Table, Wanted, failed
from .values import measured_number

MAX_CHARACTERS = 20_000
_FORBIDDEN_NODES = (exp.Command, exp.DDL, exp.DML, exp.Into, exp.Hint)


class UnableToReadQuery(ValueError):
    """The text is not one SELECT over the tables given."""


@dataclass(frozen=True, kw_only=True)
class ReadQuery:
    """A query that was found to be harmless, and the places in it that name a table rather than a WITH."""

    tree: exp.Query
    places: tuple[exp.Table, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that it reads."""
        return tuple(dict.fromkeys(_name(place) for place in self.places))

    def over(self, views: Mapping[str, str]) -> str:
        """Its SQL, written anew without comments, over the views, each under the name that its table had."""
        for place in self.places:
            alias = place.args.get("alias") or exp.TableAlias(this=exp.to_identifier(place.name))
            place.set("alias", alias)
            view = views[_name(place)]
            place.set("db", None)
            place.set("catalog", None)
            place.set("this", exp.to_identifier(view))
        return self.tree.sql(dialect="spark", comments=False)


def measure_query(session: SparkSession, item: Wanted, open_table: Callable[[Table], DataFrame]) -> Measured:
    """The number in the one row of the query; NULL where it gives no row."""
    what = f"{item.spec.text:.200}"
    try:
        query = read_query(str(item.spec.arguments[0]), item.tables)
    except (UnableToReadQuery, UnableToReadCondition) as error:
        return failed(Reason.INVALID, f"{what}: {error}")
    with _views({name: item.tables[name] for name in query.names}, open_table) as views:
        frame = session.sql(query.over(views))
        if len(frame.columns) != 1:
            return failed(Reason.QUERY_FAILED, f"{what} gives {len(frame.columns)} columns; select one")
        rows = frame.limit(2).collect()
    if len(rows) > 1:
        return failed(Reason.QUERY_FAILED, f"{what} gives more than one row; aggregate it to one")
    return measured_number(rows[0][0] if rows else None, what)


def read_query(text: str, tables: Collection[str]) -> ReadQuery:
    """The query; UnableToReadQuery if it is anything but one SELECT over ``tables``."""
    if len(text) > MAX_CHARACTERS or "${" in text or "\0" in text:
        raise UnableToReadQuery(f"a query has at most {MAX_CHARACTERS} characters, none of them NUL, and no ${{")
    try:
        trees = sqlglot.parse(text, dialect="spark")
        tree = trees[0] if len(trees) == 1 else None
        if not isinstance(tree, exp.Select | exp.SetOperation) or next(tree.find_all(*_FORBIDDEN_NODES), None):
            raise UnableToReadQuery("it must be exactly one SELECT")
        query = ReadQuery(tree=tree, places=_places(tree))
    except (SqlglotError, RecursionError) as error:
        raise UnableToReadQuery(f"it is no SQL: {str(error).splitlines()[0]}") from error
    refuse_functions(tree)
    unknown = [name for name in query.names if name not in tables]
    if unknown:
        known = ", ".join(sorted(tables)) or "none"
        raise UnableToReadQuery(f"there is no table {unknown[0]}; tables it may read: {known}")
    return query


def _places(tree: exp.Query) -> tuple[exp.Table, ...]:
    """By scope, as ``with t as (select * from t)`` names a WITH once and a table once."""
    named = [
        (scope.sources.get(table.alias_or_name), table) for scope in traverse_scope(tree) for table in scope.tables
    ]
    if {id(table) for _, table in named} != {id(table) for table in tree.find_all(exp.Table)}:
        raise UnableToReadQuery("it names a table in a place that cannot be checked; write a plain FROM or JOIN")
    return tuple(table for source, table in named if not isinstance(source, Scope))


def _name(table: exp.Table) -> str:
    if not all(isinstance(part, exp.Identifier) for part in table.parts):
        raise UnableToReadQuery(f"{table.sql(dialect='spark')} is not the name of a table")
    return ".".join(part.name for part in table.parts)


@contextmanager
def _views(tables: Mapping[str, Table], open_table: Callable[[Table], DataFrame]) -> Iterator[dict[str, str]]:
    """A temporary view for each table, under names that no other scan of the shared session has."""
    views: dict[str, str] = {}
    frames: list[DataFrame] = []
    try:
        for name, table in tables.items():
            frame = open_table(table)
            view = f"assay_{uuid4().hex}"
            frame.createTempView(view)
            views[name] = view
            frames.append(frame)
        yield views
    finally:
        for view, frame in zip(views.values(), frames, strict=True):
            frame.sparkSession.catalog.dropTempView(view)
