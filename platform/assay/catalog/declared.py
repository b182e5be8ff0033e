"""Since when columns are declared as they are, and which of them a window of data is held to (pure).

What was written before a column was declared owes it nothing, so a column counts for the windows that begin later.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2s
from types import MappingProxyType
from typing import Any

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
    types = {_key(column["name"]): column["type"] for column in before}
    instants = {_key(name): instant for name, instant in since.items()}
    return {
        column["name"]: instants.get(key, now.isoformat()) if types.get(key) == column["type"] else now.isoformat()
        for column in columns
        if (key := _key(column["name"]))
    }


def declared_columns(
    columns: Iterable[Mapping[str, Any]], since: Mapping[str, str], keys: Iterable[str], *, otherwise: datetime
) -> tuple[Declared, ...]:
    """The declared columns of a dataset; ``otherwise`` is since when they are where nothing says it."""
    key_names = {_key(name) for name in keys}
    return tuple(
        Declared(
            name=column["name"],
            type=column["type"],
            is_key=_key(column["name"]) in key_names,
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


def _key(name: str) -> str:
    return name.casefold()
