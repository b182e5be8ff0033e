"""Conditions that users write, as the guard reads them, against the columns that a table has."""

from collections.abc import Collection
from difflib import get_close_matches
from functools import lru_cache

from execution_engine.guard import Condition, UnableToAllow
from execution_engine.guard import read_condition as read_anew
from execution_engine.metrics.columns import path_of
from execution_engine.outcome import Failure, Reason

UnableToReadCondition = UnableToAllow

__all__ = ["Condition", "UnableToReadCondition", "check_columns", "in_sql", "read_condition"]

_PLACES = ("{} = ''", "not {} > 1", "abs({}) > 1", "{} - 1 > 0", "{} not in ('')")  # where words of SQL mean others


@lru_cache(maxsize=4096)
def read_condition(text: str) -> Condition:
    """The condition in ``text``, read once: a scan of hundreds of metrics repeats a few of them."""
    return read_anew(text)


def check_columns(names: Collection[str], known: Collection[str], table: str) -> Failure | None:
    """UNKNOWN_COLUMN naming the first column that the table lacks, with the nearest that it has; case is ignored."""
    lowered = {name.lower(): name for name in known}
    missing = next((name for name in names if name.lower() not in lowered), None)
    if missing is None:
        return None
    near = get_close_matches(missing.lower(), lowered, n=1)
    hint = f"; did you mean {lowered[near[0]]}?" if near else f"; it has {', '.join(sorted(known)) or 'no columns'}"
    return Failure(reason=Reason.UNKNOWN_COLUMN, detail=f"{table} has no column {missing}{hint}")


@lru_cache(maxsize=1024)
def in_sql(column: str) -> str:
    """The column as a condition names it: in backticks also where its name is a word of SQL, such as ``union``."""
    path = path_of(column)
    if all(_is_read_as(path, place.format(column)) for place in _PLACES):
        return column
    return ".".join(f"`{name.replace('`', '``')}`" for name in path)


def _is_read_as(path: tuple[str, ...], text: str) -> bool:
    try:
        return read_condition(text).paths == (path,)
    except UnableToReadCondition:
        return False
