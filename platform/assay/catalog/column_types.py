"""What may stand for a column's type: the types of any storage, and nothing that holds more than a type (pure)."""

import re
from collections.abc import Callable

LONGEST, DEEPEST = 4_000, 32
_TOKEN = re.compile(
    r"\s*(?:(?P<word>[A-Za-z_][\w$.]*)|(?P<quoted>`[^`]+`)|(?P<number>\d{1,9})"
    r"|(?P<text>'(?:[^'\\]|'')*')|(?P<mark>[<>()\[\]:,?=]))",
    re.ASCII,
)
_NESTED = frozenset({"array", "list", "map", "struct", "row", "tuple", "nullable", "lowcardinality", "nested", "union"})
_LISTED = frozenset({"enum", "set", "enum8", "enum16"})  # whose parts are texts


def is_column_type(text: str) -> bool:
    """Whether a text has the shape of a type: ``decimal(10,2)``, ``int unsigned``, ``map<string,array<int>>``."""
    if len(text) > LONGEST:
        return False
    reader = _Reader(text)
    return reader.is_whole and reader.type(0) and reader.is_done


class _Reader:
    """Reads a type from the left; each method says whether its part is there."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        self._at = place = 0
        while found := _TOKEN.match(text, place):
            self._tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
            place = found.end()
        self.is_whole = not text[place:].strip()

    @property
    def is_done(self) -> bool:
        """Whether nothing is left."""
        return self._at == len(self._tokens)

    def type(self, depth: int) -> bool:
        """Words, perhaps with what stands in brackets, and words after it: ``timestamp(3) with time zone``."""
        if depth > DEEPEST or not (word := self._words()):
            return False
        if self._takes("<"):
            return self._all(lambda: self._field(depth), ">") and self._ending()
        if self._takes("("):
            part = self._text if word in _LISTED else lambda: self._field(depth) if word in _NESTED else self._size()
            return self._all(part, ")") and self._ending()
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

    def _size(self) -> bool:
        return self._kind("number") or self._kind("word")

    def _text(self) -> bool:
        return self._kind("text") and (not self._takes("=") or self._kind("number"))

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
        is_there = self._at < len(self._tokens) and self._tokens[self._at] == ("mark", mark)
        self._at += is_there
        return is_there
