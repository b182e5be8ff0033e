"""Conditions of Spark SQL, written from columns and Python's values."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal

from execution_engine.engines.columns.spark_sql import literal
from execution_engine.guard import in_sql
from execution_engine.metrics.columns import named

Scalar = str | bool | int | float | Decimal | date | datetime


def both(first: str | None, second: str | None) -> str | None:
    """The condition that both meet; None is met by every row."""
    if first is None or second is None:
        return first if second is None else second
    return f"({first}) and ({second})"


def identifier(column: str) -> str:
    """The column as SQL names it, in backticks where it must be; ``a.b`` is the field b of a struct."""
    return in_sql(named(column))


def is_null(column: str) -> str:
    """``column is null``."""
    return f"{identifier(column)} is null"


def none_null(columns: Sequence[str]) -> str:
    """The condition that every column has a value."""
    return " and ".join(f"{identifier(column)} is not null" for column in columns)


def one_of(column: str, values: Sequence[Scalar]) -> str:
    """The condition that the column is null or has one of ``values``; ValueError if ``values`` is empty."""
    if not values:
        raise ValueError(f"no value is allowed for {column}: name those that it may have, such as ['open', 'closed']")
    return f"{is_null(column)} or {identifier(column)} in ({', '.join(map(constant, values))})"


def constant(value: Scalar) -> str:
    """The value as a literal; TypeError for what SQL has no literal of."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return literal(value)
        case int() | float() | Decimal():
            return str(value)
        case datetime():
            return f"timestamp '{value.isoformat(sep=' ')}'"
        case date():
            return f"date '{value.isoformat()}'"
    raise TypeError(f"{value!r} is no text, number, truth or date: write the condition with satisfies(…)")
