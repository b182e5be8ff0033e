"""How a condition names a column."""

from functools import lru_cache

from execution_engine.metrics.expressions import path_of

from .query import read_condition
from .refusal import UnableToAllow

_PLACES = ("{} = ''", "not {} > 1", "abs({}) > 1", "{} - 1 > 0", "{} not in ('')")  # where words of SQL mean others


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
    except UnableToAllow:
        return False
