"""A condition of Spark's in PostgreSQL's SQL: for each row as true as in Spark, or it fails, or is refused by name.

Both compare texts by their bytes, so each text has the collation "C"; other letters than ASCII's change their case by
ICU's rules, as in Java. An error that Spark raises for a row, such as a division by zero, PostgreSQL raises too.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.generator import Generator
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.optimizer.annotate_types import annotate_types

from .refusal import Refusal, UnableToAllow, names, safe_excerpt

ALLOWED = names(
    """
    Abs Add And Between BitwiseAnd BitwiseOr BitwiseXor Boolean Case Cast Ceil Coalesce Column Concat Contains
    CurrentDate CurrentTimestamp DPipe DataType DataTypeParam DateDiff Day Div EQ Escape Extract Floor GT GTE Greatest
    Hour ILike Identifier If In IntDiv Interval Is IsNan LT LTE Least Left Length Like Literal Lower Minute Mod Month
    Mul NEQ Neg Not Null NullSafeEQ NullSafeNEQ Nullif Or Paren Quarter RegexpLike Replace Right Round StartsWith
    StrPosition Sub Substring TimestampTrunc Trim TryCast TsOrDsAdd TsOrDsToDate Tuple Upper Var Year
    """
)
MEND = "write it more plainly, or test a copy in the lake"
UNITS = frozenset({"year", "quarter", "month", "day", "hour", "minute"})
ICU = '"und-x-icu"'
WHOLE, TEXTS, FLOATS, DECIMAL = (
    *(exp.DataType.INTEGER_TYPES, exp.DataType.TEXT_TYPES, exp.DataType.FLOAT_TYPES),
    exp.DType.DECIMAL,
)
COMPARED = (
    *(*WHOLE, *FLOATS, DECIMAL, exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.BOOLEAN, exp.DType.DATE),
    *(exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.INTERVAL),
)


def write_postgresql(tree: exp.Expr, types: Mapping[str, str | None]) -> str:
    """SQL of PostgreSQL for a condition that sqlglot read as Spark's, over columns of these types, as it names them.

    Raises UnableToAllow, naming the first thing that PostgreSQL has not, or that means something else there.
    """
    columns = {name.lower(): name for name in types}
    whole = exp.Paren(this=tree.copy())
    typed: list[exp.Cast] = []  # columns within casts to their types, from which the types of expressions follow
    for column in list(whole.find_all(exp.Column)):
        if len(column.parts) > 1:
            refuse("field of a struct")
        name = column.name if column.name in types else columns.get(column.name.lower(), column.name)
        named = exp.column(exp.to_identifier(name, quoted=True))
        typed.append(exp.Cast(this=named, to=_type_of(types.get(name))))
        column.replace(typed[-1])
    for node in whole.walk():
        if type(node).__name__ not in ALLOWED:
            refuse(node.name.lower() if isinstance(node, exp.Anonymous) else node.key)
    annotate_types(whole, dialect="spark")
    for cast in typed:
        cast.this.type = cast.to
        cast.replace(cast.this)
    sql: str = whole.this.sql(dialect=PostgreSQL, comments=False, unsupported_level=ErrorLevel.RAISE)
    return sql


def refuse(what: str) -> None:
    """Raise UnableToAllow."""
    raise UnableToAllow(
        Refusal(what=f"PostgreSQL has no {safe_excerpt(what)} that means what Spark's does", mend=MEND), ""
    )


def _type_of(text: str | None) -> exp.DataType:
    try:
        return exp.DataType.build(text or "unknown", dialect="postgres")
    except ParseError:
        return exp.DataType.build("unknown")


def _is(node: exp.Expr, *kinds: exp.DType) -> bool:
    return node.is_type(*kinds)


def _is_text(node: exp.Expr) -> bool:
    return _is(node, *TEXTS) or node.is_string


def _is_count(node: exp.Expr | None, least: int) -> bool:
    return isinstance(node, exp.Literal) and node.name.isdecimal() and int(node.name) >= least


# How each expression is written, by the types that its parts have; the others are sqlglot's.


def _column(to: Generator, node: exp.Column) -> str:
    """A text by its bytes; what is no number, text, time or truth is read as text, as Spark reads it."""
    name = to.sql(node, "this")
    if not _is(node, *COMPARED):
        return f'(CAST({name} AS TEXT) COLLATE "C")'
    return f'({name} COLLATE "C")' if _is_text(node) else name


def _literal(to: Generator, node: exp.Literal) -> str:
    """A number with an exponent is a double."""
    text = to.literal_sql(node)
    return text if node.is_string or "e" not in text.lower() else f"CAST({text} AS DOUBLE PRECISION)"


def _cased(to: Generator, node: exp.Expr, function: str, part: str = "this") -> str:
    return f'({function}({to.sql(node, part)} COLLATE {ICU}) COLLATE "C")'


def _regexp(to: Generator, node: exp.RegexpLike) -> str:
    if node.args.get("flag"):
        refuse("flag of a pattern")
    pattern = exp.Literal.string(translate_pattern(node.expression.name))
    return f"{to.sql(node, 'this')} ~ {to.sql(pattern)}"


def _quotient(to: Generator, node: exp.Div) -> str:
    """Of whole numbers it is a double."""
    left, right = to.sql(node, "this"), to.sql(node, "expression")
    is_cut = _is(node.this.unnest(), *WHOLE) and _is(node.expression.unnest(), *WHOLE)
    return f"{f'CAST({left} AS DOUBLE PRECISION)' if is_cut else left} / {right}"


def _round(to: Generator, node: exp.Round) -> str:
    """Halves go away from zero, of doubles too."""
    number, digits = to.sql(node, "this"), to.sql(node, "decimals") or "0"
    if _is(node.this.unnest(), *WHOLE, DECIMAL):
        return f"ROUND(CAST({number} AS DECIMAL), {digits})"
    return f"CAST(ROUND(CAST(CAST({number} AS TEXT) AS DECIMAL), {digits}) AS DOUBLE PRECISION)"


def _to_whole(to: Generator, node: exp.Floor | exp.Ceil) -> str:
    if node.args.get("decimals") or node.args.get("to"):
        refuse(f"{node.key} to digits")
    return f"{node.key}({to.sql(node, 'this')})"


def _cast(to: Generator, node: exp.Cast) -> str:
    """A cast to another type, where both databases cut and round alike."""
    inner, type_, value = node.this.unnest(), node.to, to.sql(node, "this")
    if node.args.get("safe"):
        refuse("try_cast")
    if type_.is_type(*TEXTS):
        is_date = isinstance(inner, exp.Column) and _is(inner, exp.DType.DATE)
        if not (is_date or _is_text(inner) or _is(inner, *WHOLE, DECIMAL, exp.DType.BOOLEAN)):
            refuse(f"cast of {str(inner.type or 'this').lower()} to string")
        return f'(CAST({value} AS TEXT) COLLATE "C")'
    is_truth = type_.is_type(exp.DType.BOOLEAN) and not _is(inner, *WHOLE, exp.DType.BOOLEAN)
    if is_truth or type_.is_type(exp.DType.TINYINT, exp.DType.BINARY):
        refuse(f"cast to {type_.sql('spark').lower()}")
    if type_.is_type(*WHOLE) and _is(inner, *FLOATS, DECIMAL):
        value = f"TRUNC({value})"
    elif type_.is_type(DECIMAL) and _is(inner, *FLOATS):
        value = f"CAST({value} AS TEXT)"
    return f"CAST({value} AS {'DECIMAL(10, 0)' if type_.is_type(DECIMAL) and not type_.expressions else to.sql(type_)})"


def _joined(to: Generator, node: exp.Concat | exp.DPipe) -> str:
    """Texts one behind the other; null where one is."""
    parts = node.expressions or [node.this, node.expression]
    if not all(_is_text(part.unnest()) or isinstance(part, exp.Null) for part in parts):
        refuse("concat of what is no text")
    return f"({' || '.join(to.sql(part) for part in parts)})"


def _substring(to: Generator, node: exp.Substring) -> str:
    length = node.args.get("length")
    if not _is_count(node.args.get("start"), 1) or (length and not _is_count(length, 0)):
        refuse("substring from the end or from a computed place")
    written: str = PostgresGenerator.TRANSFORMS[exp.Substring](to, node)
    return written


def _end(to: Generator, node: exp.Left | exp.Right) -> str:
    if not _is_count(node.expression, 0):
        refuse(f"{node.key} of a computed length")
    return f"{node.key}({to.sql(node, 'this')}, {to.sql(node, 'expression')})"


def _extract(to: Generator, node: exp.Extract) -> str:
    if node.name.lower() not in UNITS:
        refuse(f"extract of {node.name.lower()}")
    return to.extract_sql(node)


def _part(to: Generator, node: exp.Quarter | exp.Hour | exp.Minute) -> str:
    return f"EXTRACT({node.key} FROM {to.sql(node, 'this')})"


class PostgreSQL(Postgres):
    """sqlglot's, with what Spark means by each expression."""

    class Generator(PostgresGenerator):
        """Writes by the functions above."""

        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **PostgresGenerator.TRANSFORMS,
            **{exp.Column: _column, exp.Literal: _literal, exp.RegexpLike: _regexp, exp.Div: _quotient},
            **{exp.Round: _round, exp.Floor: _to_whole, exp.Ceil: _to_whole, exp.Cast: _cast, exp.TryCast: _cast},
            **{exp.Concat: _joined, exp.DPipe: _joined, exp.Substring: _substring, exp.Left: _end, exp.Right: _end},
            **{exp.Extract: _extract, exp.Quarter: _part, exp.Hour: _part, exp.Minute: _part},
            exp.Lower: lambda to, node: _cased(to, node, "LOWER"),
            exp.Upper: lambda to, node: _cased(to, node, "UPPER"),
            exp.ILike: lambda to, node: f"{_cased(to, node, 'LOWER')} LIKE {_cased(to, node, 'LOWER', 'expression')}",
            exp.IsNan: lambda to, node: f"COALESCE({to.sql(node, 'this')} = 'NaN', FALSE)",
            exp.Contains: lambda to, node: f"(POSITION({to.sql(node, 'expression')} IN {to.sql(node, 'this')}) > 0)",
        }


# Patterns: Java's notation, as far as PostgreSQL can say the same; a text is matched anywhere in both.

_ENDS = "\n\r\u0085\u2028\u2029"  # of a line, in Java
_AT_END = f"(?=(\r\n|[{_ENDS}])?$)"
_PIECE = re.compile(
    r"""(?P<same>\\[dwsDWSAtnrf] | \\[^A-Za-z0-9] | \(\?[:=!] | \((?!\?) | [)|^] | [^\\\[\](){}|^$.*+?] )
    | (?P<other>\\[bBzZ] | [.$])
    | (?P<class>\[\^?(?:\\[dwstnrf] | \\[^A-Za-z0-9] | [^\\\[\]&])+\])
    | (?P<times>(?:[*+?] | \{\d{1,2}(?:,\d{0,2})?\})(?:\?|(?![*+?{])))""",
    re.VERBOSE | re.DOTALL,
)
_OTHERS = {".": f"[^{_ENDS}]", "$": _AT_END, r"\Z": _AT_END, r"\z": r"\Z", r"\b": r"\y", r"\B": r"\Y"}


def translate_pattern(pattern: str) -> str:
    """A pattern of Java's in PostgreSQL's notation; raises UnableToAllow where that may mean another."""
    flag = "(?i)" if pattern.startswith("(?i)") else ""
    at, pieces = len(flag), [flag]
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None or (piece["times"] and len(pieces) == 1):
            refuse(f"pattern with {pattern[at : at + 4]}")
            break
        pieces.append(_OTHERS[piece[0]] if piece["other"] else piece[0])
        at = piece.end()
    return "".join(pieces)
