"""A part of a database table, and selects over it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, column, inspect, literal_column, select, table
from sqlalchemy import literal as sql_literal
from sqlalchemy.types import TypeEngine

from execution_engine.metrics.columns import path_of, written
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.keys.text import as_text
from execution_engine.metrics.signature import ColumnKind

from ..conditions import read_condition
from ..protocol import Part, Table

_SQLGLOT = {"mariadb": "mysql", "postgresql": "postgres", "mssql": "tsql"}  # others have the same name


@dataclass(frozen=True, kw_only=True)
class SqlSource:
    """What a scan reads."""

    name: str
    connection: Connection
    table: Table
    keys: tuple[str, ...] | None
    columns: Mapping[str, ColumnKind | None]  # as assertions write them

    @property
    def quote(self) -> Callable[[str], str]:
        """Writes a column that an assertion names as an identifier of the dialect; fields of structs are not known."""
        return lambda column: ".".join(map(self._identifier, path_of(column)))

    def _identifier(self, name: str) -> str:
        """Without the dialect's own doubling of percent signs, which the compiler does."""
        to = self.connection.dialect.identifier_preparer
        return f"{to.initial_quote}{name.replace(to.escape_quote, to.escape_to_quote)}{to.final_quote}"

    @property
    def write(self) -> Expressions:
        """Writes SQL over a row."""
        return Expressions(quote=self.quote, translate=self._translate, text=self._text)

    def _translate(self, condition: str) -> str:
        """A Spark SQL condition in the dialect of the database."""
        name = self.connection.dialect.name
        return read_condition(condition).into(_SQLGLOT.get(name, name))

    def _text(self, text: str) -> str:
        compiled = sql_literal(text).compile(dialect=self.connection.dialect, compile_kwargs={"literal_binds": True})
        return str(compiled)

    def select(self, expressions: Sequence[str], where: str | None = None) -> Select[Any]:
        """The expressions m0, m1 … over the rows of the part that meet ``where``; values are bound, never pasted."""
        asked: list[ColumnElement[Any]] = [literal_column(sql).label(f"m{at}") for at, sql in enumerate(expressions)]
        rows = select(*asked).select_from(table(self.table.options["table"], schema=self.table.options.get("schema")))
        if self.keys is not None and self.table.partition_column is not None:
            rows = rows.where(column(self.table.partition_column).in_(self.keys))
        return rows if where is None else rows.where(literal_column(self.write.condition(where)))


def open_source(connection: Connection, table: Table, part: Part) -> SqlSource:
    """The part; SQLAlchemy's error if the table is not there."""
    found = inspect(connection).get_columns(table.options["table"], schema=table.options.get("schema"))
    columns = {written(str(one["name"])): _kind(one["type"]) for one in found}
    return SqlSource(name=table.name, connection=connection, table=table, keys=part.keys, columns=columns)


def partition_keys(source: SqlSource, name: str) -> tuple[str, ...] | None:
    """The distinct values of the column, sorted; None where the table has no such column."""
    key = written(name)
    if key.lower() not in {known.lower() for known in source.columns}:
        return None
    rows = source.connection.execute(source.select([source.quote(key)]).distinct())
    return tuple(sorted(text for text in (as_text(row[0]) for row in rows) if text is not None))


def _kind(type_: TypeEngine[Any]) -> ColumnKind | None:
    """What metrics outside the lake ask for is numbers; the rest is named for messages."""
    try:
        python_type = type_.python_type
    except NotImplementedError:  # a type SQLAlchemy does not know: let the database decide
        return ColumnKind.ANY
    if issubclass(python_type, int | float | Decimal):
        return ColumnKind.NUMERIC
    return ColumnKind.TEXT if issubclass(python_type, str) else None
