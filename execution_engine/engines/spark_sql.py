"""Spark's dialect: names, literals and keys as SQL text."""

from collections.abc import Sequence

from execution_engine.metrics.definition import Expressions
from execution_engine.metrics.keys import NULL


def quote(name: str) -> str:
    """The name as an identifier."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """The text as a string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def is_in(expression: str, values: Sequence[str]) -> str:
    """The condition that the expression is one of the values."""
    return f"{expression} in ({', '.join(literal(value) for value in values) or 'null'})"


def expressions(where: str | None) -> Expressions:
    """Writes a metric's SQL over the rows that meet ``where``."""
    return Expressions(quote=quote, translate=str, where=where)


def key(columns: Sequence[str]) -> str:
    """The columns as one text that ``keys.decode`` reads: each value behind its length."""
    return f"concat({', '.join(_key_part(f'cast({quote(column)} as string)') for column in columns)})"


def _key_part(text: str) -> str:
    return f"coalesce(concat(cast(char_length({text}) as string), ':', {text}), '{NULL}')"


def distinct_count(columns: Sequence[str], where: str | None) -> str:
    """Distinct rows; a struct is never null, so that nulls count as values."""
    row = f"struct({', '.join(quote(column) for column in columns)})"
    return f"count(distinct {expressions(where).only(row)})"
