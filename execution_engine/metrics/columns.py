"""Names of columns in assertions and messages, as Spark writes them: ``city``, ```order id```, ``address.city``.

A dot outside backticks leads into a struct, so that the column ```item.one``` and the field ``item.one``
are told apart.
"""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_OPEN, _CLOSE = "<(", ">)"
_NAME = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


@lru_cache(maxsize=4096)
def written(*path: str) -> str:
    """The column, and below it the fields of structs, each in backticks where it must be; one writing for each path."""
    return ".".join(name if PLAIN.fullmatch(name) else f"`{name.replace('`', '``')}`" for name in path)


@lru_cache(maxsize=4096)
def path_of(column: str) -> tuple[str, ...]:
    """The names that ``written`` wrote; of a text that it never writes, such as ``order id``, the nearest meaning.

    Names between dots may stand without backticks there; a text in which backticks or dots have no such meaning, such
    as ``it`s`` or ``a..b``, is the name of one column.
    """
    names: list[str] = []
    at = 0
    while found := _NAME.match(column, at):
        names.append(found[2] or found[1].replace("``", "`"))
        if found.end() == len(column):
            return tuple(names)
        if column[found.end()] != ".":
            break
        at = found.end() + 1
    return (column,)


def named(column: str) -> str:
    """A column as people give it, in its one writing: ``order id`` is ```order id```."""
    return written(*path_of(column))


def resolved(column: str, known: Collection[str]) -> str:
    """The column of ``known`` that a written name means: where none begins so, ``item.one`` is ```item.one```."""
    first, *below = path_of(column)
    whole = written(".".join((first, *below)))
    lowered = {name.lower() for name in known} if below else set()
    return whole if whole.lower() in lowered and written(first).lower() not in lowered else column


def listed(text: str) -> tuple[str, ...]:
    """Columns apart by commas, in their one writing."""
    return tuple(named(part.strip()) for part in parts_of(text) if part.strip())


def parts_of(text: str) -> Iterator[str]:
    """The text, cut at its commas outside brackets and backticks."""
    depth, start, quoted = 0, 0, False
    for at, char in enumerate(text):
        quoted ^= char == "`"
        depth += 0 if quoted else (char in _OPEN) - (char in _CLOSE)
        if char == "," and depth == 0 and not quoted:
            yield text[start:at]
            start = at + 1
    if text[start:]:
        yield text[start:]
