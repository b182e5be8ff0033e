"""A part of a database table, and selects over it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Dialect,
    FromClause,
    Select,
    and_,
    cast,
    column,
    func,
    inspect,
    literal,
    literal_column,
    not_,
    or_,
    select,
    table,
)
from sqlalchemy.exc import CompileError
from sqlalchemy.types import (
    REAL,
    TEXT,
    TIMESTAMP,
    VARCHAR,
    Date,
    DateTime,
    Enum,
    Float,
    Integer,
    NullType,
    Numeric,
    String,
    Text,
    TypeEngine,
)
from sqlglot import exp

from assay.time.stored_times import TICKS, StoredTimes
from assay.time.windows import UnableToPartition, Window
from execution_engine.engines.protocol import HIVE_NULL, Part, Table
from execution_engine.guard import read_condition
from execution_engine.metrics.definition import ColumnKind
from execution_engine.metrics.expressions import Expressions, path_of, written
from execution_engine.metrics.keys.key_text import as_text
from execution_engine.outcome import Failure, Reason

from .dialects import MYSQL, SqlDialect, dialect_of

# A column of times that a table is cut by: the bare column against bound values, so that its index serves.

Condition = ColumnElement[bool]
Value = datetime | date | int | str


class UnableToOpenSource(Exception):
    """The table or its partition column is not what the catalogue says; the failure tells how to mend it."""

    def __init__(self, table: Table, detail: str, reason: Reason = Reason.UNREADABLE) -> None:
        super().__init__(detail)
        self.failure = Failure(reason=reason, detail=f"{table.name}: {detail}")


@dataclass(frozen=True, kw_only=True)
class TimeColumn:
    """The partition column of ``table`` in a database of ``dialect``, where it is a ``type_``."""

    table: Table
    stored: StoredTimes
    dialect: str
    type_: TypeEngine[Any]

    @classmethod
    def of(cls, connection: Connection, table_: Table, type_: TypeEngine[Any]) -> "TimeColumn":
        """The column; raises UnableToOpenSource unless it is of what it is said to hold."""
        if table_.stored_times is None:
            detail = "nothing says what times its partition column holds: add holds: to its partition"
            raise UnableToOpenSource(table_, detail)
        times = cls(table=table_, stored=table_.stored_times, dialect=connection.dialect.name, type_=type_)
        of_numbers = times.stored.holds in TICKS
        if times.dialect != "sqlite":
            if not isinstance(type_, Integer | Numeric if of_numbers else DateTime | Date):
                times._refuse(f"is a {type_}", "a number" if of_numbers else "a DATETIME, TIMESTAMP or DATE")
            return times
        # A column of SQLite holds any class: numbers are before all texts, and blobs behind, so that the least and the
        # greatest value tell of all classes.
        name: ColumnElement[Any] = column(times.name)
        ends = select(func.typeof(func.min(name)), func.typeof(func.max(name))).select_from(rows_of(table_))
        classes = set(connection.execute(ends).one()) - ({"integer", "real"} if of_numbers else {"text"}) - {"null"}
        if classes:
            requirement = "numbers" if of_numbers else "texts such as 2026-01-31 23:59:59"
            times._refuse(f"holds values of class {', '.join(sorted(classes))}", requirement)
        return times

    @property
    def name(self) -> str:
        """The column's name."""
        return str(self.table.partition_column)

    @property
    def _bare(self) -> ColumnElement[Any]:
        return column(self.name, self.type_ if self.dialect != "sqlite" else None)

    def within(self, window: Window) -> Condition:
        """The rows of a window; UnableToOpenSource."""
        return and_(self.since(window.start), self.before(window.end))

    def since(self, instant: datetime) -> Condition:
        """The rows of an instant or later; of texts also those with a T for the space."""
        cut, bare = self._cut(instant), self._bare
        if not isinstance(cut, str) or " " not in cut:
            return bare >= literal(cut)
        return and_(bare >= cut, not_(and_(bare >= cut[:10] + "T", bare < cut.replace(" ", "T"))))

    def before(self, instant: datetime) -> Condition:
        """The rows before an instant."""
        cut, bare = self._cut(instant), self._bare
        if not isinstance(cut, str) or " " not in cut:
            return bare < literal(cut)
        return and_(bare < cut.replace(" ", "T"), not_(and_(bare >= cut, bare < cut[:10] + "T")))

    def instant(self, value: Any) -> datetime:
        """The first instant that a value of the column may be; ValueError for one that is no time."""
        if isinstance(value, int | float | Decimal):
            return self.stored.instant(int(value))
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if not isinstance(value, datetime):
            value = datetime.combine(value, time())
        return self.stored.instant(value.replace(tzinfo=UTC) if self._tells_utc else value)

    def _refuse(self, fault: str, requirement: str) -> None:
        detail = f"its partition column {self.name} {fault}, but holds: {self.stored.holds} needs {requirement}"
        raise UnableToOpenSource(self.table, detail)

    @property
    def _tells_utc(self) -> bool:
        """A TIMESTAMP of MySQL, or one with a time zone elsewhere, is an instant, whatever zone a client shows."""
        is_mysqls = self.dialect in MYSQL and isinstance(self.type_, TIMESTAMP)
        return is_mysqls or getattr(self.type_, "timezone", False) is True  # of datetime(6) SQLAlchemy says 6

    def _cut(self, instant: datetime) -> Value:
        """The value from which on rows are of the instant or later."""
        if self.stored.holds in TICKS:
            return self.stored.ticks(instant)
        if self._tells_utc:
            utc = instant.astimezone(UTC)
            return utc.replace(tzinfo=None) if self.dialect in MYSQL else utc
        try:
            wall = self.stored.wall(instant)
        except UnableToPartition as error:
            mend = f"store them in UTC, or cut the partitions in {self.stored.time_zone}"
            raise UnableToOpenSource(self.table, f"of its partition column {self.name} {error}: {mend}") from None
        is_midnight = wall.time() == time()
        if self.dialect == "sqlite":
            # the shortest text that begins every time from here on, with seconds or without, but for a T
            precision = "seconds" if wall.second else "minutes"
            return wall.date().isoformat() if is_midnight else wall.isoformat(sep=" ", timespec=precision)
        if not isinstance(self.type_, Date):
            return wall
        if not is_midnight:
            raise UnableToOpenSource(
                self.table,
                f"its partition column {self.name} is a DATE, and {instant:%Y-%m-%d %H:%M} UTC, where a partition "
                f"starts or ends, is no midnight of {self.stored.time_zone}: write the zone of its dates as "
                "stored_time_zone and as time_zone, with a granularity of day or longer",
            )
        return wall.date()


# Which rows of a database table a part is, and which partitions have rows.

KEYS_OF_TYPES: tuple[tuple[type[TypeEngine[Any]], Callable[[str], Any]], ...] = (
    (Integer, int),
    (Numeric, Decimal),
    (Date, date.fromisoformat),
    (VARCHAR, str),
    (TEXT, str),
)
MOST_PRESENT = 100_000  # partitions that are looked for one by one

Types = Mapping[str, TypeEngine[Any]]  # of the columns


def rows_of(table_: Table) -> FromClause:
    """The table in its schema."""
    return table(table_.options["table"], schema=table_.options.get("schema"))


def condition_of(connection: Connection, table_: Table, part: Part, types: Types) -> Condition | None:
    """The condition of a part's rows; None for the whole table. Raises UnableToOpenSource."""
    if part.keys is None and part.range is None:
        return None
    type_, name = _partition_type(table_, types), str(table_.partition_column)
    keys = [key for key in part.keys or () if key != HIVE_NULL]
    conditions: list[Condition] = []
    if part.range is not None:
        conditions.append(TimeColumn.of(connection, table_, type_).within(part.range))
    if HIVE_NULL in (part.keys or ()):
        conditions.append(column(name).is_(None))
    if keys or not conditions:
        if isinstance(type_, DateTime):
            detail = f"its partition column {name} is a {type_}, which equals no key of a partition"
            raise UnableToOpenSource(table_, f"{detail}: add holds: time to its partition in the catalogue")
        conditions.append(_equals_a_key(connection, name, type_, keys))
    return or_(*conditions)


def _equals_a_key(connection: Connection, name: str, type_: TypeEngine[Any], keys: Sequence[str]) -> Condition:
    """The rows whose value is one of the keys."""
    if not dialect_of(connection.dialect.name).compares_own_types:
        return column(name).in_(keys)
    read = next((read for kind, read in KEYS_OF_TYPES if isinstance(type_, kind)), None)
    if read is None:
        return cast(column(name), Text).in_(keys)
    values: list[Any] = []
    for key in keys:
        with suppress(ValueError, ArithmeticError):  # no value of that type, so that no row has it
            values.append(read(key))
    return column(name, type_).in_(values)


def keys_present(connection: Connection, table_: Table, types: Types) -> tuple[str, ...]:
    """The keys of the partitions that have rows, sorted, and that of null where the column holds keys.

    Raises UnableToOpenSource, and ValueError for a time that is none. Of times from the end of each partition to the
    next row: one look into the index for each that has rows.
    """
    type_, rows = _partition_type(table_, types), rows_of(table_)
    if table_.stored_times is None:
        name: ColumnElement[Any] = column(str(table_.partition_column))
        values = connection.execute(select(name).select_from(rows).distinct())
        return tuple(sorted({HIVE_NULL if (text := as_text(row[0])) is None else text for row in values}))
    times = TimeColumn.of(connection, table_, type_)
    partitioning, keys = times.stored.partitioning, list[str]()
    least = select(func.min(column(times.name, times.type_))).select_from(rows)
    value = connection.execute(least).scalar_one()
    while value is not None and len(keys) < MOST_PRESENT:
        window = partitioning.at(times.instant(value))
        keys.append(partitioning.key(window))
        value = connection.execute(least.where(times.since(window.end))).scalar_one()
    return tuple(sorted(set(keys)))


def _partition_type(table_: Table, types: Types) -> TypeEngine[Any]:
    by_name = {name.lower(): type_ for name, type_ in types.items()}
    type_ = by_name.get((table_.partition_column or "").lower())
    if type_ is None:
        detail = f"it has no column {table_.partition_column}; set its partition key to one of {sorted(by_name)}"
        raise UnableToOpenSource(table_, detail, Reason.NO_PARTITION_COLUMN)
    return type_


@dataclass(frozen=True, kw_only=True)
class SqlSource:
    """What a scan reads."""

    name: str
    connection: Connection
    table: Table
    part: Condition | None  # of its rows; None: all
    columns: Mapping[str, ColumnKind | None]  # as assertions write them
    types: Mapping[str, str | None]  # as the database names them; None of one that it does not tell
    collations: Mapping[str, str]  # what stands behind a text so that it is compared by its bytes, by the same names
    floats: Mapping[str, str]  # Spark's name of the type of each column that may hold a NaN, by the name in lower case

    @property
    def dialect(self) -> SqlDialect:
        """What its database does otherwise."""
        return dialect_of(self.connection.dialect.name)

    def trial(self) -> AbstractContextManager[object]:
        """What may fail by itself: after an error, PostgreSQL answers nothing but what is outside of it."""
        return self.connection.begin_nested() if self.dialect.has_savepoints else nullcontext()

    @property
    def quote(self) -> Callable[[str], str]:
        """Writes a column that an assertion names as an identifier of the dialect; fields of structs are not known."""
        to = self.connection.dialect.identifier_preparer  # without its own doubling of %, which the compiler does
        names = {name.lower(): name for name in self.types} | {name: name for name in self.types}

        def quote(column: str) -> str:
            path = (names.get(name, names.get(name.lower(), name)) for name in path_of(column))
            texts = (name.replace(to.escape_quote, to.escape_to_quote) for name in path)
            return ".".join(f"{to.initial_quote}{text}{to.final_quote}" for text in texts)

        return quote

    @property
    def write(self) -> Expressions:
        """Writes SQL over a row."""
        dialect = self.connection.dialect
        name = self.dialect.sqlglot or dialect.name

        def text(value: str) -> str:
            if self.dialect.literals:
                return str(literal(value).compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
            return exp.Literal.string(value).sql(dialect=name)

        return Expressions(
            quote=self.quote,
            collation=lambda column: self.collations.get(column.lower(), ""),
            is_nan=self.dialect.is_nan.format,
            type_of=lambda column: self.floats.get(column.lower()),
            translate=lambda condition: read_condition(condition).into(name, self.types),
            text=text,
        )

    def select(self, expressions: Sequence[str], where: str | None = None) -> Select[Any]:
        """The expressions m0, m1 … over the rows of the part that meet ``where``; values are bound, never pasted."""
        labels: list[ColumnElement[Any]] = [literal_column(sql).label(f"m{at}") for at, sql in enumerate(expressions)]
        rows = select(*labels).select_from(rows_of(self.table))
        if self.part is not None:
            rows = rows.where(self.part)
        return rows if where is None else rows.where(literal_column(self.write.condition(where)))


def open_source(connection: Connection, table: Table, part: Part) -> SqlSource:
    """The part; SQLAlchemy's error if the table is not there, UnableToOpenSource if its column is not as told."""
    return source_of(connection, table, part, types_of(connection, table))


def source_of(connection: Connection, table: Table, part: Part, types: Types) -> SqlSource:
    """The part of a table with columns of these types; UnableToOpenSource as above."""
    condition = condition_of(connection, table, part, types)
    columns: dict[str, ColumnKind | None] = {}
    for name, type_ in types.items():
        try:
            python_type = type_.python_type
        except NotImplementedError:  # a type SQLAlchemy does not know: let the database decide
            columns[written(name)] = ColumnKind.ANY
            continue
        # what metrics outside the lake ask for is numbers; the rest is named for messages
        is_number = issubclass(python_type, int | float | Decimal) and python_type is not bool
        is_text = issubclass(python_type, str)
        columns[written(name)] = ColumnKind.NUMERIC if is_number else ColumnKind.TEXT if is_text else None
    dialect = dialect_of(connection.dialect.name)
    collations = {
        written(name).lower(): dialect.collation
        for name, type_ in types.items()
        if dialect.collation and isinstance(type_, String) and not isinstance(type_, Enum)
    }
    floats = {
        written(name).lower(): "float" if isinstance(type_, REAL) else "double"
        for name, type_ in types.items()
        if dialect.is_nan and isinstance(type_, Float)
    }
    named = {name: type_name(type_, connection.dialect) for name, type_ in types.items()}
    return SqlSource(
        name=table.name,
        connection=connection,
        table=table,
        part=condition,
        columns=columns,
        types=named,
        collations=collations,
        floats=floats,
    )


def types_of(connection: Connection, table: Table) -> dict[str, TypeEngine[Any]]:
    """The type of each column; SQLAlchemy's error if the table is not there."""
    columns = inspect(connection).get_columns(table.options["table"], schema=table.options.get("schema"))
    return {str(column["name"]): column["type"] for column in columns}


def type_name(type_: TypeEngine[Any], dialect: Dialect) -> str | None:
    """The type of a column as its database names it; None of one without."""
    if isinstance(type_, NullType):
        return None
    if dialect.name == "sqlite" and isinstance(type_, Integer | Float):  # of 64 bits, whatever they are called
        return "bigint" if isinstance(type_, Integer) else "double"
    if isinstance(type_, Enum):
        return "enum"
    try:
        return type_.compile(dialect)
    except CompileError:  # a type that SQLAlchemy reads and cannot write
        return None
