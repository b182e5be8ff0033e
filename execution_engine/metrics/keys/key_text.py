"""Keys as text: each value behind its length, so that ("a|b", "c") and ("a", "b|c") differ; a null is a value."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

Key = tuple[str | None, ...]

NULL = "-"
_LENGTH = re.compile(r"(\d{1,9}):")


class UnableToReadKey(ValueError):
    """The text is no key that ``encode`` wrote."""


def encode(key: Sequence[str | None]) -> str:
    """The key as one text: ``("ab", None)`` is ``2:ab-``. Lengths count characters, as Spark's char_length does."""
    return "".join(NULL if value is None else f"{len(value)}:{value}" for value in key)


def decode(text: str) -> Key:
    """The key that ``encode`` wrote as ``text``."""
    values: list[str | None] = []
    at = 0
    while at < len(text):
        if text[at] == NULL:
            values.append(None)
            at += 1
            continue
        length = _LENGTH.match(text, at)
        if length is None or length.end() + int(length[1]) > len(text):
            raise UnableToReadKey(f"{text[:80]!r} is not a key: no length or too few characters at {at}")
        at = length.end() + int(length[1])
        values.append(text[length.end() : at])
    return tuple(values)


def as_text(value: Any) -> str | None:
    """A value as Spark casts it to a string, so that a key read by another engine is the same key."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case datetime():
            text = value.isoformat(sep=" ", timespec="microseconds")[:26]
            return text.rstrip("0").removesuffix(".")
        case date():
            return value.isoformat()
        case bytes():
            return value.decode("utf-8", "replace")
        case _:
            return str(value)
