"""Which rows of a database table a part is, and which partitions have rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, column, func, or_, select, table
from sqlalchemy.types import DateTime, TypeEngine

from execution_engine.engines.protocol import HIVE_NULL, Part, Table
from execution_engine.metrics.keys.key_text import as_text
from execution_engine.outcome import Reason

from .time_column import Condition, TimeColumn, UnableToCut

MOST_PRESENT = 100_000  # partitions that are looked for one by one

Types = Mapping[str, TypeEngine[Any]]  # of the columns


def rows_of(table_: Table) -> FromClause:
    """The table in its schema."""
    return table(table_.options["table"], schema=table_.options.get("schema"))


def condition_of(connection: Connection, table_: Table, part: Part, types: Types) -> Condition | None:
    """The condition of a part's rows; None for the whole table. Raises UnableToCut."""
    if part.keys is None and part.range is None:
        return None
    type_ = _partition_type(table_, types)
    keys = [key for key in part.keys or () if key != HIVE_NULL]
    found: list[Condition] = []
    if part.range is not None:
        found.append(_time_column(connection, table_, type_).within(part.range))
    if HIVE_NULL in (part.keys or ()):
        found.append(column(str(table_.partition_column)).is_(None))
    if keys or not found:
        found.append(_among(table_, type_, keys))
    return or_(*found)


def _among(table_: Table, type_: TypeEngine[Any], keys: Sequence[str]) -> Condition:
    if isinstance(type_, DateTime):
        detail = f"its partition column {table_.partition_column} is a {type_}, which equals no key of a partition"
        raise UnableToCut(table_, f"{detail}: add holds: time to its partition in the catalogue")
    return column(str(table_.partition_column)).in_(keys)


def keys_present(connection: Connection, table_: Table, types: Types) -> tuple[str, ...]:
    """The keys of the partitions that have rows, sorted, and that of null where the column holds keys.

    Raises UnableToCut, and ValueError for a time that is none.
    """
    type_ = _partition_type(table_, types)
    if table_.stored_times is not None:
        return _keys_of_times(connection, table_, _time_column(connection, table_, type_))
    named: ColumnElement[Any] = column(str(table_.partition_column))
    values = connection.execute(select(named).select_from(rows_of(table_)).distinct())
    return tuple(sorted({HIVE_NULL if text is None else text for text in (as_text(row[0]) for row in values)}))


def _keys_of_times(connection: Connection, table_: Table, times: TimeColumn) -> tuple[str, ...]:
    """From the end of each partition to the next row: one look into the index for each that has rows."""
    partitioning, keys = times.stored.partitioning, list[str]()
    least = select(func.min(column(times.name, times.type_))).select_from(rows_of(table_))
    value = connection.execute(least).scalar_one()
    while value is not None and len(keys) < MOST_PRESENT:
        window = partitioning.at(times.instant(value))
        keys.append(partitioning.key(window))
        value = connection.execute(least.where(times.since(window.end))).scalar_one()
    return tuple(sorted(set(keys)))


def _time_column(connection: Connection, table_: Table, type_: TypeEngine[Any]) -> TimeColumn:
    if table_.stored_times is None:
        raise UnableToCut(table_, "nothing says what times its partition column holds: add holds: to its partition")
    dialect = connection.dialect.name
    found = TimeColumn(table=table_, stored=table_.stored_times, dialect=dialect, type_=type_)
    if dialect == "sqlite":
        found.check_classes(_classes(connection, table_))
    else:
        found.check_type()
    return found


def _classes(connection: Connection, table_: Table) -> set[str]:
    """Numbers are before all texts, and blobs behind: the least and the greatest value tell of all classes."""
    name: ColumnElement[Any] = column(str(table_.partition_column))
    ends = select(func.typeof(func.min(name)), func.typeof(func.max(name))).select_from(rows_of(table_))
    return set(connection.execute(ends).one())


def _partition_type(table_: Table, types: Types) -> TypeEngine[Any]:
    wanted = (table_.partition_column or "").lower()
    for name, type_ in types.items():
        if name.lower() == wanted:
            return type_
    known = sorted(name.lower() for name in types)
    detail = f"it has no column {table_.partition_column}; set its partition key to one of {known}"
    raise UnableToCut(table_, detail, Reason.NO_PARTITION_COLUMN)
