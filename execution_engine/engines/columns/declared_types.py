"""The types that a catalog declares, read by a grammar of our own and written anew: no user's text reaches Spark."""

from functools import cache

from lark import Lark, Token, Transformer, Tree
from lark.exceptions import LarkError

from .spark_sql import quote

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


class _Write(Transformer[Token, str]):
    """From the tree to Spark's own words."""

    def simple(self, parts: list[str]) -> str:
        """A type without parts."""
        name = parts[0].lower()
        return ALIASES.get(name, name)

    def decimal(self, parts: list[str | None]) -> str:
        """With digits within what Spark has."""
        digits, scale = (int(part) if part else None for part in parts)
        digits, scale = (10, 0) if digits is None else (digits, scale or 0)
        if not 1 <= digits <= MOST_DIGITS or scale > digits:
            raise ValueError(f"decimal({digits},{scale})")
        return f"decimal({digits},{scale})"

    def text(self, parts: list[str]) -> str:
        """Spark's readers know texts of one kind."""
        return "string"

    def array(self, parts: list[str]) -> str:
        """Of one type."""
        return f"array<{parts[0]}>"

    def map(self, parts: list[str]) -> str:
        """From a type to a type."""
        return f"map<{parts[0]},{parts[1]}>"

    def struct(self, parts: list[str]) -> str:
        """Of named fields."""
        return f"struct<{','.join(parts)}>"

    def field(self, parts: list[str]) -> str:
        """A name, always in backticks, and its type."""
        return f"{parts[0]}:{parts[1]}"

    def name(self, parts: list[str]) -> str:
        """Quoted anew, whatever it held."""
        text = parts[0]
        return quote(text[1:-1].replace("``", "`") if text.startswith("`") else text)


def spark_type(text: str) -> str | None:
    """The type as Spark names it, such as ``array<decimal(10,2)>``; None for what is no type of Spark's."""
    try:
        tree = type_tree(text)
        return _Write().transform(tree) if tree else None
    except LarkError:
        return None


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
