"""The fields of structs as columns of their own: ``address struct<city:string>`` has the column ``address.city``.

A column of the very name ``address.city`` is written in backticks (execution_engine.metrics.expressions).
"""

from collections.abc import Iterator, Mapping

from execution_engine.metrics.expressions import parts_of, written

_START = "struct<"


def with_fields(columns: Mapping[str, str]) -> dict[str, str]:
    """The columns (name → Spark's type) as assertions write them, each struct followed by its fields at any depth."""
    found: dict[str, str] = {}
    waiting = [(written(name), type_) for name, type_ in reversed(list(columns.items()))]
    while waiting:
        name, type_ = waiting.pop()
        found[name] = type_
        if type_.startswith(_START):
            fields = [(f"{name}.{written(field)}", kind) for field, kind in fields_of(type_[len(_START) : -1])]
            waiting.extend(reversed(fields))
    return found


def fields_of(text: str) -> Iterator[tuple[str, str]]:
    """``a:int,`b c`:struct<d:int>`` one by one; names as they are, without their backticks."""
    for part in parts_of(text):
        name, _, type_ = _named(part)
        yield name, type_


def _named(part: str) -> tuple[str, str, str]:
    if not part.startswith("`"):
        return part.partition(":")
    end = part.index("`:", 1)
    return part[1:end].replace("``", "`"), ":", part[end + 2 :]
