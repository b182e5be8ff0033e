"""What a metric call must look like; the type check of the language reads it, every metric declares one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class ValueType(StrEnum):
    """The type of a metric's value: a plain number, or a length of time in seconds."""

    NUMBER = "number"
    DURATION = "duration"


class ColumnKind(StrEnum):
    """Which columns a metric takes."""

    ANY = "any"
    NUMERIC = "numeric"
    TEXT = "text"
    TEMPORAL = "temporal"


_KINDS = (
    (re.compile(r"(tiny|small|big)?int(eger)?\b|long|short|byte|float|double|real|dec|numeric"), ColumnKind.NUMERIC),
    (re.compile(r"(var)?char|string|text"), ColumnKind.TEXT),
    (re.compile(r"date|time"), ColumnKind.TEMPORAL),
)


def column_kind(declared: str) -> ColumnKind:
    """The kind of a column of the declared type; ``ANY`` where the type tells nothing."""
    lowered = declared.lower()
    return next((kind for pattern, kind in _KINDS if pattern.match(lowered)), ColumnKind.ANY)


class ArgumentType(StrEnum):
    """The type of a literal argument."""

    NUMBER = "number"
    TEXT = "text"
    SQL = "sql"  # a condition of Spark SQL on rows
    QUERY = "query"  # a whole query of Spark SQL
    DATASET = "dataset"  # the full name of a dataset


TEMPLATED = (ArgumentType.SQL, ArgumentType.QUERY)  # window templates are allowed in them


@dataclass(frozen=True, kw_only=True)
class Signature:
    """The shape of one metric's call."""

    name: str
    min_columns: int = 0
    max_columns: int | None = 0  # None: any number
    column_kind: ColumnKind = ColumnKind.ANY
    arguments: tuple[ArgumentType, ...] = ()  # positional literals, all required, after the columns
    options: Mapping[str, ArgumentType] = field(default_factory=dict)  # keyword literals, all optional
    returns: ValueType = ValueType.NUMBER
    takes_where: bool = True
    needs_datacenter: bool = False  # ``keys_found`` means nothing without the other side

    def texts(self, kind: ArgumentType, arguments: Sequence[float | int | str]) -> list[str]:
        """Those of a call's arguments that are of one type."""
        return [str(value) for each, value in zip(self.arguments, arguments, strict=False) if each is kind]
