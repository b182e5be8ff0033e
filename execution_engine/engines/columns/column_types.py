"""The types of columns, as catalogues declare them and storages name them, and which of them hold the same (pure)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from lark import Token, Transformer

from .declared_types import type_tree


class TypeKind(StrEnum):
    """What a column's values are; a type changes whenever its kind does."""

    WHOLE = "whole number"
    FLOATING = "floating-point number"
    DECIMAL = "decimal"
    TEXT = "text"
    BINARY = "binary"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIME = "time"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"
    VOID = "nothing but nulls"


@dataclass(frozen=True, kw_only=True)
class ColumnType:
    """One type. What is None is not said, and agrees with everything."""

    kind: TypeKind
    size: int | None = None  # bits of a number; digits before the point of a decimal; characters of a text
    scale: int | None = None  # digits behind the point
    zoned: bool | None = None  # of a timestamp: an instant, or the reading of a clock
    inside: tuple[tuple[str, "ColumnType | None"], ...] | None = None  # of what is nested, by name in lower case


_BITS = {
    "tinyint": 8, "byte": 8, "smallint": 16, "short": 16, "int2": 16, "int16": 16, "mediumint": 24, "int": 32,
    "integer": 32, "int4": 32, "int32": 32, "serial": 32, "bigint": 64, "long": 64, "int64": 64, "bigserial": 64,
}  # fmt: skip
_FLOAT_BITS = {
    "float": 32, "real": 32, "float4": 32, "float32": 32, "double": 64, "double precision": 64, "float8": 64,
    "float64": 64,
}  # fmt: skip
_KINDS = {
    TypeKind.DECIMAL: ("decimal", "dec", "numeric", "number"),
    TypeKind.TEXT: (
        "string", "varchar", "char", "text", "character", "character varying", "nvarchar", "nchar", "varchar2",
        "tinytext", "mediumtext", "longtext", "ntext", "clob", "citext", "enum", "set",
    ),
    TypeKind.BINARY: (
        "binary", "varbinary", "blob", "tinyblob", "mediumblob", "longblob", "bytea", "bytes",
    ),
    TypeKind.BOOLEAN: ("boolean", "bool", "bit"),
    TypeKind.DATE: ("date", "date32"),
    TypeKind.TIME: ("time", "timetz"),
    TypeKind.ARRAY: ("array", "list"),
    TypeKind.MAP: ("map",),
    TypeKind.STRUCT: ("struct", "row", "record"),
    TypeKind.VOID: ("void", "null"),
}  # fmt: skip
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}
_ZONED = {
    "timestamp": None, "timestamp_ntz": False, "timestamp_ltz": True, "timestamptz": True, "datetime": None,
    "datetime2": None, "smalldatetime": None, "datetimeoffset": True,
}  # fmt: skip
_FLAT = re.compile(
    r"(?P<name>[a-z_][a-z0-9_ ]*?) ?(\( ?(?P<sizes>[^()]*?) ?\))?"
    r"(?P<rest>( unsigned| signed| zerofill| with time zone| without time zone| with local time zone| collate .+"
    r"| character set .+)*)"
)
_NESTED = re.compile(r"(array|map|struct) ?<")
_LONG_FLOAT = 24  # float(25) and more digits is a double, in SQL
_FLAG = ColumnType(kind=TypeKind.WHOLE, size=1)  # tinyint(1): how MySQL stores a boolean


@lru_cache(maxsize=10_000)
def read_type(text: str) -> ColumnType | None:
    """The type that a text names, of Spark's or of a database's; None for one that is not known."""
    plain = " ".join(text.lower().split())
    if found := _flat(plain):
        return found
    nested = _NESTED.match(plain)
    if nested is None:
        return None
    tree = type_tree(text)
    read: ColumnType = _Read().transform(tree) if tree else ColumnType(kind=TypeKind(nested[1]))
    return read


def holds(declared: str, found: str) -> bool:
    """Whether a column of the type found has room for every value of the type declared.

    It has where both are the same, or the one found is a wider one of its kind. A declared type that is not known
    says nothing, so everything holds.
    """
    wanted, there = read_type(declared), read_type(found)
    return wanted is None or (there is not None and _has_room(wanted, there))


def _has_room(wanted: ColumnType, there: ColumnType) -> bool:
    if TypeKind.VOID in (wanted.kind, there.kind):
        return True
    if _is_flag(wanted, there) or _is_flag(there, wanted):
        return True
    if wanted.kind is not there.kind:
        return False
    agrees = wanted.zoned is None or there.zoned is None or wanted.zoned == there.zoned
    return agrees and _fits(wanted.size, there.size) and _fits(wanted.scale, there.scale) and _inside(wanted, there)


def _is_flag(one: ColumnType, other: ColumnType) -> bool:
    return one == _FLAG and (other.kind is TypeKind.BOOLEAN or (other.kind, other.size) == (TypeKind.WHOLE, 8))


def _fits(wanted: int | None, there: int | None) -> bool:
    return wanted is None or there is None or wanted <= there


def _inside(wanted: ColumnType, there: ColumnType) -> bool:
    """Of what is nested: every part declared is there and holds."""
    if wanted.inside is None or there.inside is None:
        return True
    parts = dict(there.inside)
    return all(
        name in parts and (type_ is None or (found := parts[name]) is None or _has_room(type_, found))
        for name, type_ in wanted.inside
    )


def _flat(plain: str) -> ColumnType | None:
    match = _FLAT.fullmatch(plain)
    if match is None:
        return None
    name, rest = match["name"], match["rest"]
    sizes = [int(size) for size in re.split(r" ?, ?", match["sizes"] or "") if size.lstrip("-").isdigit()]
    if name in _BITS:
        is_flag = name == "tinyint" and sizes == [1]
        return _FLAG if is_flag else ColumnType(kind=TypeKind.WHOLE, size=_BITS[name] + ("unsigned" in rest))
    if name in _FLOAT_BITS:
        is_long = len(sizes) == 1 and sizes[0] > _LONG_FLOAT
        return ColumnType(kind=TypeKind.FLOATING, size=64 if is_long else _FLOAT_BITS[name])
    if name in _ZONED:
        return ColumnType(kind=TypeKind.TIMESTAMP, zoned=_zoned(name, rest))
    kind = _KIND_OF.get(name)
    return None if kind is None else _sized(kind, name, sizes)


def _zoned(name: str, rest: str) -> bool | None:
    if "time zone" in rest:
        return "without" not in rest
    return _ZONED[name]


def _sized(kind: TypeKind, name: str, sizes: Sequence[int]) -> ColumnType:
    if kind is TypeKind.DECIMAL and sizes:
        scale = sizes[1] if len(sizes) > 1 else 0
        return ColumnType(kind=kind, size=sizes[0] - scale, scale=scale)
    if kind is TypeKind.TEXT and sizes and name not in ("enum", "set"):
        return ColumnType(kind=kind, size=sizes[0])
    return ColumnType(kind=kind)


class _Read(Transformer[Token, ColumnType]):
    """From the tree of a nested type to its parts."""

    def simple(self, parts: list[str]) -> ColumnType | None:
        """A type without parts."""
        return _flat(parts[0].lower())

    def decimal(self, parts: list[str | None]) -> ColumnType:
        """With its digits, where they are said."""
        return _sized(TypeKind.DECIMAL, "decimal", [int(part) for part in parts if part])

    def text(self, parts: list[str | None]) -> ColumnType:
        """With its length, where it is said."""
        return _sized(TypeKind.TEXT, "varchar", [int(part) for part in parts if part])

    def array(self, parts: list[ColumnType | None]) -> ColumnType:
        """Of one type."""
        return ColumnType(kind=TypeKind.ARRAY, inside=(("element", parts[0]),))

    def map(self, parts: list[ColumnType | None]) -> ColumnType:
        """From a type to a type."""
        return ColumnType(kind=TypeKind.MAP, inside=(("key", parts[0]), ("value", parts[1])))

    def struct(self, parts: list[tuple[str, ColumnType | None]]) -> ColumnType:
        """Of named fields."""
        return ColumnType(kind=TypeKind.STRUCT, inside=tuple(parts))

    def field(self, parts: list[object]) -> tuple[object, object]:
        """A name and its type."""
        return parts[0], parts[1]

    def name(self, parts: list[str]) -> str:
        """As it is compared: without quotes and regard to case."""
        text = str(parts[0])
        return (text[1:-1].replace("``", "`") if text.startswith("`") else text).casefold()
