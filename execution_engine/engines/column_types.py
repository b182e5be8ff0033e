"""The types of columns, as catalogues declare them and storages name them, and which of them hold the same (pure)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import LarkError

from execution_engine.metrics.definitions.schema import SeenColumns, declared_of, detail_of, drifts
from execution_engine.metrics.expressions import Expressions, parts_of, path_of, written
from execution_engine.metrics.keys.key_text import NULL
from execution_engine.outcome import Reason

from .protocol import Measured, MeasurementRequest, failed

# Spark's dialect: names, literals and keys as SQL text.


def quote(name: str) -> str:
    """The name as an identifier."""
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> str:
    """The column, or the field of a struct, that an assertion names."""
    return ".".join(map(quote, path_of(name)))


def literal(text: str) -> str:
    """The text as a string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def is_in(expression: str, values: Sequence[str]) -> str:
    """The condition that the expression is one of the values."""
    return f"{expression} in ({', '.join(literal(value) for value in values) or 'null'})"


def expressions(columns: Mapping[str, str]) -> Expressions:
    """Writes SQL over a row with these columns, as assertions write them (name → Spark's type)."""
    from execution_engine.guard import read_condition  # with it sqlglot, for which no gate should wait

    types = {name.lower(): type_ for name, type_ in columns.items()}
    return Expressions(
        quote=column,
        translate=lambda condition: read_condition(condition).sql,  # what was read is never run
        text=literal,
        type_of=lambda name: types.get(name.lower()),
    )


def key(columns: Sequence[str]) -> str:
    """The columns as one text that ``keys.decode`` reads: each value behind its length."""
    return length_prefixed([f"cast({column(name)} as string)" for name in columns])


def length_prefixed(texts: Sequence[str]) -> str:
    """The texts as one that ``keys.decode`` reads."""
    parts = (f"coalesce(concat(cast(char_length({text}) as string), ':', {text}), '{NULL}')" for text in texts)
    return f"concat({', '.join(parts)})"


# The types that a catalog declares, read by a grammar of our own and written anew: no user's text reaches Spark.

MAX_TEXT = 4_000
MAX_PARTS = 32
MOST_DIGITS = 38
GRAMMAR = r"""
    ?type: simple | decimal | text | array | map | struct
    simple: SIMPLE
    decimal: ("decimal"i | "dec"i | "numeric"i) ["(" NUMBER ["," NUMBER] ")"]
    text: ("varchar"i | "char"i) ["(" NUMBER ")"]
    array: "array"i "<" type ">"
    map: "map"i "<" type "," type ">"
    struct: "struct"i "<" field ("," field)* ">"
    field: name ":" type
    name: NAME | QUOTED | SIMPLE
    SIMPLE.2: /(boolean|(tiny|small|big)?int|integer|byte|short|long|float|real|double|string|binary|date)(?!\w)/i
            | /timestamp(_ntz|_ltz)?(?!\w)/i
    NAME: /[a-zA-Z_]\w*/
    QUOTED: /`([^`]|``)+`/
    NUMBER: /\d{1,5}/
    %ignore /\s+/
"""
ALIASES = {
    "byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float",
    "timestamp_ltz": "timestamp",
}  # fmt: skip


def spark_type(text: str) -> str | None:
    """The type as Spark names it, such as ``array<decimal(10,2)>``; None for what is no type of Spark's."""
    try:
        tree = type_tree(text)
        return _write(tree) if tree else None
    except ValueError:
        return None


def _write(tree: Tree[Token]) -> str:
    """In Spark's own words; ValueError of digits beyond what Spark has."""
    parts: list[Any] = [_write(part) if isinstance(part, Tree) else part for part in tree.children]
    match tree.data:
        case "simple":
            return ALIASES.get(str(parts[0]).lower(), str(parts[0]).lower())
        case "decimal":
            digits, scale = (int(part) if part else None for part in parts)
            digits, scale = (10, 0) if digits is None else (digits, scale or 0)
            if not 1 <= digits <= MOST_DIGITS or scale > digits:
                raise ValueError(f"decimal({digits},{scale})")
            return f"decimal({digits},{scale})"
        case "text":  # Spark's readers know texts of one kind
            return "string"
        case "field":
            return f"{parts[0]}:{parts[1]}"
        case "name":
            return quote(_unquoted(parts[0]))
    return f"{tree.data}<{','.join(parts)}>"


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def type_tree(text: str) -> Tree[Token] | None:
    """The tree of the grammar above; None for what is no type of Spark's."""
    if len(text) > MAX_TEXT or text.count("<") > MAX_PARTS:
        return None
    try:
        return _parser().parse(text)
    except (LarkError, RecursionError):
        return None


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, start="type", parser="lalr", maybe_placeholders=True)


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
    if flat_type := _flat(plain):
        return flat_type
    nested = _NESTED.match(plain)
    if nested is None:
        return None
    tree = type_tree(text)
    read: ColumnType = _read(tree) if tree else ColumnType(kind=TypeKind(nested[1]))
    return read


def holds(declared: str, present_type: str) -> bool:
    """Whether a column of the type found has room for every value of the type declared.

    It has where both are the same, or the one found is a wider one of its kind. A declared type that is not known
    says nothing, so everything holds.
    """
    declared_type, there = read_type(declared), read_type(present_type)
    return declared_type is None or (there is not None and _has_room(declared_type, there))


def _has_room(declared_type: ColumnType, there: ColumnType) -> bool:
    if TypeKind.VOID in (declared_type.kind, there.kind):
        return True
    if _is_flag(declared_type, there) or _is_flag(there, declared_type):
        return True
    if declared_type.kind is not there.kind:
        return False
    if None not in (declared_type.zoned, there.zoned) and declared_type.zoned != there.zoned:
        return False
    sizes = (declared_type.size, there.size), (declared_type.scale, there.scale)
    if any(least is not None and size is not None and least > size for least, size in sizes):
        return False
    if declared_type.inside is None or there.inside is None:
        return True
    parts = dict(there.inside)  # of what is nested, every part declared is there and holds
    return all(
        name in parts and (type_ is None or (part := parts[name]) is None or _has_room(type_, part))
        for name, type_ in declared_type.inside
    )


def _is_flag(type_: ColumnType, other: ColumnType) -> bool:
    return type_ == _FLAG and (other.kind is TypeKind.BOOLEAN or (other.kind, other.size) == (TypeKind.WHOLE, 8))


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
        return ColumnType(kind=TypeKind.TIMESTAMP, zoned="without" not in rest if "time zone" in rest else _ZONED[name])
    kind = _KIND_OF.get(name)
    return None if kind is None else _sized(kind, name, sizes)


def _sized(kind: TypeKind, name: str, sizes: Sequence[int]) -> ColumnType:
    if kind is TypeKind.DECIMAL and sizes:
        scale = sizes[1] if len(sizes) > 1 else 0
        return ColumnType(kind=kind, size=sizes[0] - scale, scale=scale)
    if kind is TypeKind.TEXT and sizes and name not in ("enum", "set"):
        return ColumnType(kind=kind, size=sizes[0])
    return ColumnType(kind=kind)


def _read(tree: Tree[Token]) -> Any:
    """The type of a nested one, or of a part of it; names as they are compared, without quotes and regard to case."""
    parts: list[Any] = [_read(part) if isinstance(part, Tree) else part for part in tree.children]
    match tree.data:
        case "simple":
            return _flat(parts[0].lower())
        case "decimal" | "text":
            kind, name = (TypeKind.DECIMAL, "decimal") if tree.data == "decimal" else (TypeKind.TEXT, "varchar")
            return _sized(kind, name, [int(part) for part in parts if part])
        case "array":
            return ColumnType(kind=TypeKind.ARRAY, inside=(("element", parts[0]),))
        case "map":
            return ColumnType(kind=TypeKind.MAP, inside=(("key", parts[0]), ("value", parts[1])))
        case "struct":
            return ColumnType(kind=TypeKind.STRUCT, inside=tuple(parts))
        case "field":
            return parts[0], parts[1]
    return _unquoted(str(parts[0])).casefold()


# The fields of structs as columns of their own: ``address struct<city:string>`` has the column ``address.city``.
#
# A column of the very name ``address.city`` is written in backticks (execution_engine.metrics.expressions).

_STRUCT = "struct<"


def with_fields(columns: Mapping[str, str]) -> dict[str, str]:
    """The columns (name → Spark's type) as assertions write them, each struct followed by its fields at any depth."""
    flat: dict[str, str] = {}
    waiting = [(written(name), type_) for name, type_ in reversed(list(columns.items()))]
    while waiting:
        name, type_ = waiting.pop()
        flat[name] = type_
        if type_.startswith(_STRUCT):
            for part in reversed(list(parts_of(type_[len(_STRUCT) : -1]))):
                if part.startswith("`"):
                    end = part.index("`:", 1)
                    field, kind = part[1:end].replace("``", "`"), part[end + 2 :]
                else:
                    field, _, kind = part.partition(":")
                waiting.append((f"{name}.{written(field)}", kind))
    return flat


# How far the columns of a table have drifted from the declared ones, whoever reads it.


def measure_drift(item: MeasurementRequest, seen: Sequence[SeenColumns], table: str) -> Measured:
    """How many declared columns are gone or of another type in any of the places; what has no files has no columns."""
    declared = declared_of(item.spec)
    if declared is None:
        detail = f"nothing declares the columns of {table}: declare them in the catalog, or with declared='name type'"
        return failed(Reason.INVALID, detail)
    if not seen:
        return failed(Reason.NO_DATA, f"{table} has no files there, so it has no columns")
    changes = drifts(declared, seen, holds)
    return Measured(value=float(len(changes)), detail=detail_of(changes))
