"""What may stand for a column's type: the types of any storage, and nothing that holds more than a type (pure)."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import blake2s
from types import MappingProxyType
from typing import Any

LONGEST, DEEPEST = 4_000, 32
_TOKEN = re.compile(
    r"\s*(?:(?P<word>[A-Za-z_][\w$.]*)|(?P<quoted>`[^`]+`)|(?P<number>\d{1,9})"
    r"|(?P<text>'(?:[^'\\]|'')*')|(?P<mark>[<>()\[\]:,?=]))",
    re.ASCII,
)
_NESTED = frozenset({"array", "list", "map", "struct", "row", "tuple", "nullable", "lowcardinality", "nested", "union"})
_LISTED = frozenset({"enum", "set", "enum8", "enum16"})  # whose parts are texts


@lru_cache(maxsize=4096)  # a catalog has few types, in many columns
def is_column_type(text: str) -> bool:
    """Whether a text has the shape of a type: ``decimal(10,2)``, ``int unsigned``, ``map<string,array<int>>``."""
    return len(text) <= LONGEST and _Reader(text).is_type()


class _Reader:
    """Reads a type from the left; each method says whether its part is there."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        self._at = place = 0
        while match := _TOKEN.match(text, place):
            self._tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            place = match.end()
        self._is_whole = not text[place:].strip()

    def is_type(self) -> bool:
        """Whether the whole text is one."""
        return self._is_whole and self.type(0) and self._at == len(self._tokens)

    def type(self, depth: int) -> bool:
        """Words, perhaps with what stands in brackets, and words after it: ``timestamp(3) with time zone``."""
        if depth > DEEPEST or not (word := self._words()):
            return False
        if self._takes("<"):
            return self._all(lambda: self._field(depth), ">") and self._ending()
        if self._takes("("):
            return self._all(lambda: self._part(word, depth), ")") and self._ending()
        return self._ending()

    def _ending(self) -> bool:
        self._words()
        while self._takes("["):
            self._kind("number")
            if not self._takes("]"):
                return False
        self._takes("?")
        return True

    def _field(self, depth: int) -> bool:
        """A type, perhaps behind a name: ``a: int``, ```a b` int``."""
        start = self._at
        if (self._kind("quoted") or self._kind("word")) and self._takes(":"):
            return self.type(depth + 1)
        self._at = start
        self._kind("quoted")
        return self.type(depth + 1)

    def _part(self, word: str, depth: int) -> bool:
        """What stands between parentheses: texts, fields, or sizes."""
        if word in _LISTED:
            return self._kind("text") and (not self._takes("=") or self._kind("number"))
        return self._field(depth) if word in _NESTED else self._kind("number") or self._kind("word")

    def _all(self, part: Callable[[], bool], end: str) -> bool:
        while part():
            if self._takes(end):
                return True
            if not self._takes(","):
                return False
        return False

    def _words(self) -> str:
        last = ""
        while self._at < len(self._tokens) and self._tokens[self._at][0] == "word":
            last = self._tokens[self._at][1].lower()
            self._at += 1
        return last

    def _kind(self, kind: str) -> bool:
        is_there = self._at < len(self._tokens) and self._tokens[self._at][0] == kind
        self._at += is_there
        return is_there

    def _takes(self, mark: str) -> bool:
        return self._tokens[self._at : self._at + 1] == [("mark", mark)] and self._kind("mark")


# Since when columns are declared as they are, and which of them a window of data is held to (pure).
#
# What was written before a column was declared owes it nothing, so a column counts for the windows that begin later.

ALL, KEYS, OTHERS = "all", "keys", "others"
SELECTIONS = (ALL, KEYS, OTHERS)


@dataclass(frozen=True, kw_only=True)
class Declared:
    """One declared column; ``is_key``: of the primary or the partition key."""

    name: str
    type: str
    is_key: bool
    since: datetime


def declared_since(
    columns: Iterable[Mapping[str, Any]],
    before: Iterable[Mapping[str, Any]] = (),
    since: Mapping[str, str] = MappingProxyType({}),
    *,
    now: datetime,
) -> dict[str, str]:
    """For each column its ISO time: that of ``since`` where its type is what it was ``before``, else now."""
    types = {column["name"].casefold(): column["type"] for column in before}
    instants = {name.casefold(): instant for name, instant in since.items()}
    news = now.isoformat()
    return {
        column["name"]: instants.get(key, news) if types.get(key) == column["type"] else news
        for column in columns
        if (key := column["name"].casefold())
    }


def declared_columns(
    columns: Iterable[Mapping[str, Any]], since: Mapping[str, str], keys: Iterable[str], *, otherwise: datetime
) -> tuple[Declared, ...]:
    """The declared columns of a dataset; ``otherwise`` is since when they are where nothing says it."""
    key_names = {name.casefold() for name in keys}
    return tuple(
        Declared(
            name=column["name"],
            type=column["type"],
            is_key=column["name"].casefold() in key_names,
            since=datetime.fromisoformat(since[column["name"]]) if column["name"] in since else otherwise,
        )
        for column in columns
    )


def in_force(columns: Sequence[Declared], of: str = ALL, *, begins: datetime | None = None) -> tuple[Declared, ...]:
    """All of them, those of the keys or the others; with ``begins`` those that count for a window that begins then."""
    return tuple(
        column
        for column in columns
        if (of == ALL or column.is_key == (of == KEYS)) and (begins is None or column.since <= begins)
    )


def counts_from(columns: Sequence[Declared]) -> datetime | None:
    """From when on any of them counts; None where there is none."""
    return min((column.since for column in columns), default=None)


def print_of(columns: Sequence[Declared]) -> str:
    """What changes whenever one of them does; empty where there is none."""
    if not columns:
        return ""
    lines = "\n".join(f"{column.name}\0{column.type}\0{column.since.isoformat()}" for column in columns)
    return blake2s(lines.encode(), digest_size=16).hexdigest()
