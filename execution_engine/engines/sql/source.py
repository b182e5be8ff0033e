"""A part of a database table, and selects over it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, Connection, Dialect, Select, inspect, literal_column, select
from sqlalchemy import literal as sql_literal
from sqlalchemy.exc import CompileError
from sqlalchemy.types import Enum, Float, Integer, NullType, TypeEngine

from execution_engine.engines.protocol import Part, Table
from execution_engine.guard import read_condition
from execution_engine.metrics.columns import path_of, written
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.signature import ColumnKind

from .parts import condition_of, rows_of
from .time_column import Condition

_ONE_SIZE = ("sqlite",)  # whose numbers are of 64 bits, whatever they are called
_SQLGLOT = {"mariadb": "mysql", "postgresql": "postgres", "mssql": "tsql"}  # others have the same name


@dataclass(frozen=True, kw_only=True)
class SqlSource:
    """What a scan reads."""

    name: str
    connection: Connection
    table: Table
    part: Condition | None  # of its rows; None: all
    columns: Mapping[str, ColumnKind | None]  # as assertions write them
    types: Mapping[str, str | None]  # as the database names them; None of one that it does not tell

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
        rows = select(*asked).select_from(rows_of(self.table))
        if self.part is not None:
            rows = rows.where(self.part)
        return rows if where is None else rows.where(literal_column(self.write.condition(where)))


def open_source(connection: Connection, table: Table, part: Part) -> SqlSource:
    """The part; SQLAlchemy's error if the table is not there, UnableToCut if its column is not as told."""
    types = types_of(connection, table)
    condition = condition_of(connection, table, part, types)
    columns = {written(name): _kind(type_) for name, type_ in types.items()}
    named = {name: type_name(type_, connection.dialect) for name, type_ in types.items()}
    return SqlSource(name=table.name, connection=connection, table=table, part=condition, columns=columns, types=named)


def types_of(connection: Connection, table: Table) -> dict[str, TypeEngine[Any]]:
    """The type of each column; SQLAlchemy's error if the table is not there."""
    found = inspect(connection).get_columns(table.options["table"], schema=table.options.get("schema"))
    return {str(one["name"]): one["type"] for one in found}


def type_name(type_: TypeEngine[Any], dialect: Dialect) -> str | None:
    """The type of a column as its database names it; None of one without."""
    if isinstance(type_, NullType):
        return None
    if dialect.name in _ONE_SIZE and isinstance(type_, Integer):
        return "bigint"
    if dialect.name in _ONE_SIZE and isinstance(type_, Float):
        return "double"
    if isinstance(type_, Enum):
        return "enum"
    try:
        return type_.compile(dialect)
    except CompileError:  # a type that SQLAlchemy reads and cannot write
        return None


def _kind(type_: TypeEngine[Any]) -> ColumnKind | None:
    """What metrics outside the lake ask for is numbers; the rest is named for messages."""
    try:
        python_type = type_.python_type
    except NotImplementedError:  # a type SQLAlchemy does not know: let the database decide
        return ColumnKind.ANY
    if issubclass(python_type, int | float | Decimal):
        return ColumnKind.NUMERIC
    return ColumnKind.TEXT if issubclass(python_type, str) else None
