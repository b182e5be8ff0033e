"""A condition of Spark's in the SQL of Trino or BigQuery: true for the same rows as in Spark, or refused.

Few things mean the same in both. Refused by name are quotients (by zero, of whole numbers), patterns (other
notations), the case of letters (other scripts), trims (other blanks), casts (other texts), the greatest of values with
a null, and instants (other zones).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError

from .refusal import Refusal, UnableToAllow, names, safe_excerpt

ALLOWED = names(
    """
    Abs Add And Between Boolean Case Cast Coalesce Column DataType EQ GT GTE Identifier If In Is LT LTE Length Like
    Literal Mod Mul NEQ Neg Not Null NullSafeEQ NullSafeNEQ Nullif Or Paren StartsWith Sub Substring TryCast
    """
)
WORDS = {  # of those who write conditions, for what sqlglot calls otherwise
    **{"div": "/", "intdiv": "div", "dpipe": "||", "regexplike": "rlike", "timestamptrunc": "date_trunc"},
    **{"currentdate": "current_date", "currenttimestamp": "current_timestamp"},
}
MEND = "write it more plainly, or test a copy in the lake"


@dataclass(frozen=True, kw_only=True)
class Warehouse:
    """What one of them says otherwise. ``infinite``: a column in which a NaN counts as greater than any number."""

    title: str
    infinite: str
    decimal: str = ""  # a decimal number as a text, where a literal would be a double


WAREHOUSES: Mapping[str, Warehouse] = MappingProxyType(
    {
        "trino": Warehouse(title="Trino", infinite="if(is_nan({0}), cast('Infinity' as double), cast({0} as double))"),
        "bigquery": Warehouse(
            title="BigQuery",
            infinite="if(is_nan({0}), cast('inf' as float64), {0})",
            decimal="cast('{}' as bignumeric)",
        ),
    }
)


def write_warehouse(tree: exp.Expr, dialect: str, types: Mapping[str, str | None]) -> str:
    """SQL of a warehouse, by sqlglot's name, for a condition of Spark's over columns of these types, as it names them.

    Raises UnableToAllow, naming the first thing that means something else there.
    """
    warehouse, spoken = WAREHOUSES[dialect], Dialect.get_or_raise(dialect)
    columns = {name.lower(): name for name in types}
    whole = exp.Paren(this=tree.copy())
    for node in list(whole.walk()):
        if fault := fault_of(node):
            what = f"{warehouse.title} has no {safe_excerpt(fault)} that surely means what Spark's does"
            raise UnableToAllow(Refusal(what=what, mend=MEND), "")
        if isinstance(node, exp.Column):
            name = node.name if node.name in types else columns.get(node.name.lower(), node.name)
            column: exp.Expr = exp.column(exp.to_identifier(name, quoted=True))
            if _is_float(types.get(name), dialect):
                column = spoken.parse(warehouse.infinite.format(column.sql(dialect=spoken)))[0] or column
            node.replace(column)
        elif isinstance(node, exp.Literal) and not node.is_string and "." in node.name and warehouse.decimal:
            node.replace(spoken.parse(warehouse.decimal.format(node.name))[0] or node)
        elif isinstance(node, exp.TryCast):
            node.replace(exp.Cast(this=node.this, to=node.to))
    return str(whole.this.sql(dialect=spoken, comments=False, unsupported_level=ErrorLevel.RAISE))


def fault_of(node: exp.Expr) -> str:
    """What means something else in a warehouse; empty where it means the same."""
    if type(node).__name__ not in ALLOWED:
        return node.name.lower() if isinstance(node, exp.Anonymous) else WORDS.get(node.key, node.key)
    match node:
        case exp.Column() if len(node.parts) > 1:
            return "field of a struct"
        case exp.Cast() if not (node.this.is_string and node.to.is_type(exp.DType.DATE)):
            return f"cast to {node.to.sql('spark').lower()}"
        case exp.Is() if not isinstance(node.expression, exp.Null):
            return f"is {node.expression.key}"
        case exp.Like() if not node.expression.is_string or "\\" in node.expression.name:
            return "like of what is no text, or with a backslash"
        case exp.Literal() if not node.is_string and "e" in node.name.lower():
            return f"number {node.name}"
        case exp.Substring() if not all(_is_count(node.args.get(part), least) for part, least in _ENDS):
            return "substring from the end or from a computed place"
        case _:
            return ""


_ENDS = (("start", 1), ("length", 0))


def _is_count(node: exp.Expr | None, least: int) -> bool:
    return isinstance(node, exp.Literal) and node.name.isdecimal() and int(node.name) >= least


def _is_float(text: str | None, dialect: str) -> bool:
    try:
        return exp.DataType.build(text or "unknown", dialect=dialect).is_type(*exp.DataType.FLOAT_TYPES)
    except ParseError:
        return False
