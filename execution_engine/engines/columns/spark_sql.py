"""Spark's dialect: names, literals and keys as SQL text."""

from collections.abc import Mapping, Sequence

from execution_engine.guard import read_condition
from execution_engine.metrics.columns import path_of
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.keys.key_text import NULL


def quote(name: str) -> str:
    """The name as an identifier."""
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> str:
    """The column, or the field of a struct, that an assertion names."""
    return ".".join(map(quote, path_of(name)))


def literal(text: str) -> str:
    """The text as a string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def is_in(expression: str, values: Sequence[str]) -> str:
    """The condition that the expression is one of the values."""
    return f"{expression} in ({', '.join(literal(value) for value in values) or 'null'})"


def expressions(columns: Mapping[str, str]) -> Expressions:
    """Writes SQL over a row with these columns, as assertions write them (name → Spark's type)."""
    types = {name.lower(): type_ for name, type_ in columns.items()}
    return Expressions(quote=column, translate=_checked, text=literal, type_of=lambda name: types.get(name.lower()))


def _checked(condition: str) -> str:
    """As the guard writes it anew; what was read is never run."""
    return read_condition(condition).sql


def key(columns: Sequence[str]) -> str:
    """The columns as one text that ``keys.decode`` reads: each value behind its length."""
    return length_prefixed([f"cast({column(name)} as string)" for name in columns])


def length_prefixed(texts: Sequence[str]) -> str:
    """The texts as one that ``keys.decode`` reads."""
    return f"concat({', '.join(map(_key_part, texts))})"


def _key_part(text: str) -> str:
    return f"coalesce(concat(cast(char_length({text}) as string), ':', {text}), '{NULL}')"
