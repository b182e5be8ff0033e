"""The short form of checks files: a metric or a rule by its name, written out as assertions of the language."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import quoted

from .sql_text import identifier, is_null, none_null, one_of

_BOUND = re.compile(r"\s*(<|>|=|!=|between\b|not\s+between\b)", re.IGNORECASE)
_CALL = re.compile(r"\s*(\w+)\s*\(.*\)\s*", re.DOTALL)
PER_COLUMN = ("is_complete", "is_non_negative", "is_positive")  # a rule for each column by itself
TOGETHER = ("is_unique", "is_primary_key", "are_complete")  # rules of all their columns together
RULES = (*PER_COLUMN, *TOGETHER, "is_contained_in")


class UnableToExpand(ValueError):
    """What stands there is no short form; the message says what may stand there."""


def expand(key: str, said: Any) -> list[str]:
    """The assertions that ``key: said`` stands for; raises UnableToExpand."""
    if key in RULES:
        return _rule(key, said)
    if _CALL.fullmatch(key):
        return [f"{key.strip()} {_bound(said)}"]
    if key not in METRICS:
        raise UnableToExpand(f"{key!r} is neither a metric nor a rule: the rules are {', '.join(RULES)}")
    if isinstance(said, Mapping):
        return [f"{key}({columns}) {_bound(bound)}" for columns, bound in said.items()]
    return [f"{key}() {_bound(said)}"]


def _bound(said: Any) -> str:
    """``>= 0.99`` as it is; a number is equality."""
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        raise UnableToExpand(f"found {said!r}: write a number, or a comparison such as '>= 0.99'")
    text = str(said)
    return text if _BOUND.match(text) else f"= {text}"


def _rule(key: str, said: Any) -> list[str]:
    if key == "is_contained_in":
        return [_compliance(one_of(column, values)) for column, values in _values(said)]
    columns = [said] if isinstance(said, str) else said
    if not isinstance(columns, Sequence) or not columns or not all(isinstance(column, str) for column in columns):
        raise UnableToExpand(f"found {said!r}: write a column, or a list of columns such as [id, city]")
    if key == "are_complete":
        return [_compliance(none_null(columns))]
    if key in TOGETHER:
        return [keys_unique(columns, complete=key == "is_primary_key")]
    return [_of_column(key, column) for column in columns]


def _of_column(key: str, column: str) -> str:
    if key == "is_complete":
        return f"completeness({column}) = 1"
    return _compliance(f"{is_null(column)} or {identifier(column)} {'>=' if key == 'is_non_negative' else '>'} 0")


def keys_unique(columns: Sequence[str], *, complete: bool) -> str:
    """No two rows have the same key; with ``complete`` every row has one."""
    there = [f"completeness({column}) = 1" for column in columns] if complete else []
    return " and ".join([*there, f"uniqueness({', '.join(columns)}) = 1"])


def _compliance(condition: str) -> str:
    return f"compliance({quoted(condition)}) = 1"


def _values(said: Any) -> list[tuple[str, list[Any]]]:
    if not isinstance(said, Mapping) or not all(isinstance(values, list) and values for values in said.values()):
        raise UnableToExpand(f"found {said!r}: write the values of each column, such as {{status: [open, closed]}}")
    return list(said.items())
