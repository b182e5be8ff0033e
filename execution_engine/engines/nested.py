"""The fields of structs as columns of their own: ``address struct<city:string>`` has the column ``address.city``."""

from collections.abc import Iterator, Mapping

_START, _OPEN, _CLOSE = "struct<", "<(", ">)"


def with_fields(columns: Mapping[str, str]) -> dict[str, str]:
    """The columns (name → Spark's type), each struct followed by its fields at any depth."""
    found: dict[str, str] = {}
    waiting = list(list(columns.items())[::-1])
    while waiting:
        name, type_ = waiting.pop()
        found[name] = type_
        if type_.startswith(_START):
            fields = [(f"{name}.{field}", kind) for field, kind in fields_of(type_[len(_START) : -1])]
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


def parts_of(text: str) -> Iterator[str]:
    """Cut at the commas outside brackets and backticks."""
    depth, start, quoted = 0, 0, False
    for at, char in enumerate(text):
        quoted ^= char == "`"
        depth += 0 if quoted else (char in _OPEN) - (char in _CLOSE)
        if char == "," and depth == 0 and not quoted:
            yield text[start:at]
            start = at + 1
    if text[start:]:
        yield text[start:]
