"""Writing SQL over one row, in the dialect of an engine."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, kw_only=True)
class Expressions:
    """Writes what metrics are made of."""

    quote: Callable[[str], str]
    translate: Callable[[str], str]  # a Spark SQL condition, in the dialect of the engine
    text: Callable[[str], str]  # a text as a literal
    type_of: Callable[[str], str | None] = lambda _: None  # the engine's type of a column, where it is known
    collation: Callable[[str], str] = lambda _: ""  # what stands behind a text so that it is compared by its bytes
    is_nan: Callable[[str], str] = lambda quoted: f"isnan({quoted})"  # of a quoted column

    def column(self, name: str) -> str:
        """The column ``name``, or the field ``a.b`` of a struct."""
        return self.quote(name)

    def number(self, name: str) -> str:
        """The column as a double: sums of integers do not overflow, quotients are not cut."""
        quoted = self.quote(name)
        return quoted if self.type_of(name) == "double" else f"{quoted} * 1e0"

    def exact(self, name: str) -> str:
        """The column as it is where its numbers are whole or decimal, or its type is not known; else as a double."""
        return self.number(name) if self.type_of(name) == "float" else self.quote(name)

    def is_long(self, name: str) -> bool:
        """Whether a sum of the column may be too long for 64 bits."""
        return self.type_of(name) == "bigint"

    def no_nan(self, name: str) -> str:
        """The condition that the column holds no NaN, which Spark takes for greater than any number."""
        return f"not {self.is_nan(self.quote(name))}" if self.type_of(name) in ("float", "double") else "true"

    def hashable(self, name: str) -> str:
        """The column as a sketch takes it: whole numbers and texts as they are, others by their hash, null as null."""
        quoted = self.quote(name)
        if self.type_of(name) in ("int", "bigint", "string"):
            return quoted
        return f"case when {quoted} is not null then {self.hash_of((name,))} end"

    def hash_of(self, names: Sequence[str]) -> str:
        """A hash of the columns; rows that differ only in which of them is null differ in it too."""
        nulls = [f"isnull({self.quote(name)})" for name in names] if len(names) > 1 else []
        # the hash leaves the nulls inside a nested value out; JSON tells them and empty texts apart
        values = [
            f"to_json({self.quote(name)}, map('ignoreNullFields', 'false'))"
            if (self.type_of(name) or "").startswith(("struct", "array", "map"))
            else self.quote(name)
            for name in names
        ]
        return f"xxhash64({', '.join([*values, *nulls])})"

    def condition(self, text: str) -> str:
        """``text`` in brackets and on a line of its own, so that no comment in it swallows what follows."""
        return f"(\n{self.translate(text)}\n)"

    def met(self, condition: str) -> str:
        """1 on the rows that meet the SQL ``condition``, else NULL. CASE, as MySQL knows no FILTER clause."""
        return f"case when {condition} then 1 end"


PLAIN_EXPRESSIONS = Expressions(quote=str, translate=str, text=repr)  # where what is written does not matter


# Names of columns in assertions and messages, as Spark writes them: ``city``, ```order id```, ``address.city``.
#
# A dot outside backticks leads into a struct, so that the column ```item.one``` and the field ``item.one``
# are told apart.

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_OPEN, _CLOSE = "<(", ">)"
_NAME = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


@lru_cache(maxsize=4096)
def written(*path: str) -> str:
    """The column, and below it the fields of structs, each in backticks where it must be; one writing for each path."""
    return ".".join(name if PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`" for name in path)


def is_hidden(column: str, hidden: Collection[str]) -> bool:
    """Whether a column of data, by its plain name, is hidden or has a hidden field; ``hidden`` is casefolded."""
    name = column.casefold()
    return any(text == name or text.startswith(f"{name}.") for text in hidden)


@lru_cache(maxsize=4096)
def path_of(column: str) -> tuple[str, ...]:
    """The names that ``written`` wrote; of a text that it never writes, such as ``order id``, the nearest meaning.

    Names between dots may stand without backticks there; a text in which backticks or dots have no such meaning, such
    as ``it`s`` or ``a..b``, is the name of one column.
    """
    names: list[str] = []
    at = 0
    while match := _NAME.match(column, at):
        names.append(match[2] or match[1].replace("``", "`"))
        if match.end() == len(column):
            return tuple(names)
        if column[match.end()] != ".":
            break
        at = match.end() + 1
    return (column,)


def named(column: str) -> str:
    """A column as people give it, in its one writing: ``order id`` is ```order id```."""
    return written(*path_of(column))


def resolved(column: str, columns: Collection[str]) -> str:
    """The column of ``columns`` that a written name means: where none begins so, ``item.one`` is ```item.one```."""
    first, *below = path_of(column)
    whole = written(".".join((first, *below)))
    lowered = {name.lower() for name in columns} if below else set()
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
