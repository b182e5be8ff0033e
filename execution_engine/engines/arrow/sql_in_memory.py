"""The SQL that metrics and conditions are made of, over rows in memory: as much of it as surely means what Spark means.

Nothing here can fail on one row and not on another: no cast of values, no arithmetic but the one to doubles.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import sqlglot
from sqlglot import exp

from execution_engine.guard.dialect import Plain
from execution_engine.metrics.columns import written

from .rows import ArrowRows
from .values import MOST_DIGITS, ArrowKind, Flags, Numbers, UnableToTell, Values, together

_WHOLE = re.compile(r"\d+")
_DECIMAL = re.compile(r"\d+\.\d*|\.\d+")
_DOUBLE = re.compile(r"(\d+\.?\d*|\.\d+)[eE][+-]?\d+")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?")
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_ONE_DOUBLE = "1e0"  # what metrics multiply a column by to have doubles
_PARTS: Mapping[type[exp.Expr], frozenset[str]] = {  # of each node that is known, all that may be said in it
    exp.Paren: frozenset({"this"}),
    exp.Not: frozenset({"this"}),
    exp.Neg: frozenset({"this"}),
    exp.Column: frozenset({"this"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: frozenset({"this"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions"}),
    exp.Anonymous: frozenset({"this", "expressions"}),
    exp.Case: frozenset({"ifs"}),
    exp.If: frozenset({"this", "true"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe"}),
    **dict.fromkeys(
        (exp.And, exp.Or, exp.Is, exp.Mul, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
        frozenset({"this", "expression"}),
    ),
}
_COMPARES: Mapping[type[exp.Expr], Callable[[Numbers, Numbers], Any]] = {
    exp.EQ: np.equal,
    exp.NEQ: np.not_equal,
    exp.LT: np.less,
    exp.LTE: np.less_equal,
    exp.GT: np.greater,
    exp.GTE: np.greater_equal,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """On which rows a condition is met, and on which it is not; on the others it is NULL."""

    yes: Flags
    no: Flags

    def __and__(self, other: "Truth") -> "Truth":
        return Truth(yes=self.yes & other.yes, no=self.no | other.no)

    def __or__(self, other: "Truth") -> "Truth":
        return Truth(yes=self.yes | other.yes, no=self.no & other.no)

    def __invert__(self) -> "Truth":
        return Truth(yes=self.no, no=self.yes)


@lru_cache(maxsize=4096)
def tree_of(sql: str) -> exp.Expr:
    """The tree of an expression that metrics wrote; UnableToTell where something in it is Spark's alone to answer."""
    tree = sqlglot.parse_one(sql, dialect=Plain)
    for node in tree.walk():
        said = {name for name, value in node.args.items() if value not in (None, [], False)}
        if not isinstance(node, exp.Identifier | exp.Null | exp.DataType) and not said <= _PARTS.get(type(node), set()):
            raise UnableToTell(f"{type(node).__name__} is Spark's to answer")
    return tree


def columns_in(trees: Iterable[exp.Expr]) -> list[str]:
    """The columns that the trees name, as assertions write them."""
    return list(dict.fromkeys(written(node.name) for tree in trees for node in tree.find_all(exp.Column)))


def truth(node: exp.Expr, rows: ArrowRows) -> Truth:
    """Of a condition, on every row."""
    match node:
        case exp.Paren():
            return truth(node.this, rows)
        case exp.Not():
            return ~truth(node.this, rows)
        case exp.And():
            return truth(node.left, rows) & truth(node.right, rows)
        case exp.Or():
            return truth(node.left, rows) | truth(node.right, rows)
        case exp.Is(expression=exp.Null()):
            null = values(node.this, rows).null
            return Truth(yes=null, no=~null)
        case exp.Between():
            given = values(node.this, rows)
            low, high = values(node.args["low"], rows), values(node.args["high"], rows)
            return _compared(np.greater_equal, given, low) & _compared(np.less_equal, given, high)
        case exp.In():
            return _is_in(values(node.this, rows), [values(each, rows) for each in node.expressions])
        case exp.Anonymous() if node.name.lower() == "isnan":
            return _is_nan(node, rows)
    if isinstance(node, exp.Binary) and (compare := _COMPARES.get(type(node))):
        return _compared(compare, values(node.left, rows), values(node.right, rows))
    given = values(node, rows)
    if given.kind is not ArrowKind.TRUTH:
        raise UnableToTell(f"{given.kind} is no condition")
    return Truth(yes=given.numbers & ~given.null, no=~given.numbers & ~given.null)


def values(node: exp.Expr, rows: ArrowRows) -> Values:
    """Of an expression, one for each row or one for all."""
    match node:
        case exp.Paren():
            return values(node.this, rows)
        case exp.Column():
            return rows.column(written(node.name))
        case exp.Boolean():
            return _constant(ArrowKind.TRUTH, np.array([node.this]))
        case exp.Neg() if isinstance(node.this, exp.Literal) and not node.this.is_string:
            number = _number(node.this.name)
            return replace(number, numbers=-number.numbers)
        case exp.Literal():
            return _text(node.name) if node.is_string else _number(node.name)
        case exp.Cast():
            return _cast(node, rows)
        case exp.Mul() if isinstance(node.right, exp.Literal) and node.right.name == _ONE_DOUBLE:
            given = values(node.left, rows)
            return Values(kind=ArrowKind.DOUBLE, numbers=given.doubles(), null=given.null)
        case exp.Anonymous() if node.name.lower() == "char_length":
            return _lengths(node, rows)
        case exp.Case():
            (branch,) = node.args["ifs"]
            given, met = values(branch.args["true"], rows), truth(branch.this, rows).yes
            return replace(given, null=given.null | ~met)
    raise UnableToTell(f"{type(node).__name__} is Spark's to answer")


def _compared(compare: Callable[[Numbers, Numbers], Any], first: Values, second: Values) -> Truth:
    known = ~(first.null | second.null)
    met = compare(*together(first, second))
    return Truth(yes=met & known, no=~met & known)


def _is_in(given: Values, listed: list[Values]) -> Truth:
    """Equal to one of them, once all are of the one type that Spark gives them."""
    if {each.kind for each in (given, *listed)} == {ArrowKind.TEXT} and all(len(each.numbers) == 1 for each in listed):
        known = {text for each in listed for text in each.texts}
        met = np.array([text in known for text in given.texts])[given.numbers]
        return Truth(yes=met & ~given.null, no=~met & ~given.null)
    if any(each.kind is ArrowKind.DOUBLE for each in listed):
        given, *listed = (replace(each, kind=ArrowKind.DOUBLE, numbers=each.doubles()) for each in (given, *listed))
    widest = max((each.digits - each.scale for each in (given, *listed)), default=0)
    if widest + max(each.scale for each in (given, *listed)) > MOST_DIGITS:
        raise UnableToTell("no decimal of Spark's holds all of them")
    return reduce(Truth.__or__, (_compared(np.equal, given, each) for each in listed))


def _is_nan(node: exp.Anonymous, rows: ArrowRows) -> Truth:
    """A null is no NaN."""
    (given,) = (values(each, rows) for each in node.expressions)
    if given.kind is not ArrowKind.DOUBLE:
        raise UnableToTell(f"isnan of {given.kind} is Spark's to answer")
    met = np.isnan(given.numbers) & ~given.null
    return Truth(yes=met, no=~met)


def _lengths(node: exp.Anonymous, rows: ArrowRows) -> Values:
    """Of texts, in characters."""
    (given,) = (values(each, rows) for each in node.expressions)
    if given.kind is not ArrowKind.TEXT:
        raise UnableToTell(f"the length of {given.kind} is Spark's to tell")
    lengths = np.array([len(text) for text in given.texts], dtype=np.int64)[given.numbers]
    return Values(kind=ArrowKind.EXACT, numbers=lengths, null=given.null, digits=10)


def _cast(node: exp.Cast, rows: ArrowRows) -> Values:
    """Texts and whole numbers as texts, and dates and instants that are written out; UnableToTell of others."""
    wanted, given = node.to.this.name, node.this
    if wanted == "TEXT":
        return _as_text(values(given, rows))
    if not isinstance(given, exp.Literal) or not given.is_string:
        raise UnableToTell("a cast of values is Spark's")
    try:
        if wanted == "DATE" and _DAY.fullmatch(given.name):
            return _constant(ArrowKind.DATE, np.array([(date.fromisoformat(given.name) - _FIRST.date()).days]))
        if wanted == "TIMESTAMPTZ" and _INSTANT.fullmatch(given.name):
            since = datetime.fromisoformat(given.name).replace(tzinfo=UTC) - _FIRST
            return _constant(ArrowKind.TIMESTAMP, np.array([since // timedelta(microseconds=1)]))
    except ValueError:
        pass
    raise UnableToTell(f"a cast to {wanted} is Spark's")


def _as_text(given: Values) -> Values:
    if given.kind is ArrowKind.TEXT:
        return given
    if given.kind is not ArrowKind.EXACT or given.scale:
        raise UnableToTell(f"{given.kind} is written by Spark")
    numbers, places = np.unique(given.numbers, return_inverse=True)
    return Values(kind=ArrowKind.TEXT, numbers=places, null=given.null, dictionary=tuple(map(str, numbers.tolist())))


def _number(text: str) -> Values:
    """A number as Spark reads it: whole, decimal, or a double where it has an exponent."""
    if _DOUBLE.fullmatch(text):
        return _constant(ArrowKind.DOUBLE, np.array([float(text)]))
    if not _WHOLE.fullmatch(text) and not _DECIMAL.fullmatch(text):
        raise UnableToTell(f"{text} is Spark's to read")
    _, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits)))
    fits = number < 2**63
    given = _constant(ArrowKind.EXACT, np.array([number], dtype=np.int64 if fits else object))
    widest = 10 if number < 2**31 else 20  # of Spark's int and bigint
    return replace(given, scale=-exponent, digits=max(len(digits), -exponent if exponent else widest))


def _text(text: str) -> Values:
    return replace(_constant(ArrowKind.TEXT, np.zeros(1, dtype=np.int64)), dictionary=(text,))


def _constant(kind: ArrowKind, numbers: Numbers) -> Values:
    return Values(kind=kind, numbers=numbers, null=np.zeros(1, dtype=np.bool_))
