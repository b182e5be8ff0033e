"""From the SQL that metrics and conditions are made of to the closed language, or to why Spark must answer it."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache, reduce
from math import isfinite

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp

from execution_engine.guard.sql_tree import Plain

from .nodes import (
    And,
    AsDouble,
    AsText,
    CharLength,
    Column,
    Compare,
    Compared,
    Found,
    Hashed,
    Holds,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    LiteralKind,
    Node,
    Not,
    Or,
    Truth,
    UnableToTell,
    When,
)
from .values import texts_of

# Regular expressions and LIKE as RE2 writes them: those of which Java's and RE2's meanings are surely the same.

_BREAKS = r"\n\r\x{85}\x{2028}\x{2029}"  # what Java's dot leaves out, and may stand behind its $
_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r" \t\n\x0B\f\r"}
_LITERAL = frozenset(r"\.[]{}()*+?^$|/-_@:,;'\"#%&=<>!~ ")
_ENDS = (r"\A", r"\z")  # of the text, whatever stands there
_COUNT = re.compile(r"\{(\d{1,3})(,(\d{1,3})?)?\}")


def re2_of(pattern: str) -> tuple[str, bool]:
    """The pattern for RE2, and whether it looks for the text's end; UnableToTell where it may mean another thing.

    Both find the same texts: of alternatives Java takes the first and RE2 too, and where a match begins or ends is not
    asked. Groups count for nothing, so look-around, backreferences, flags, word borders and possessive quantifiers,
    which alone would tell them apart, are not in the subset; nor are classes within classes.
    """
    written, at, ends = ["(?s)"], 0, False
    while at < len(pattern):
        sign = pattern[at]
        if pattern[at : at + 2] in _ENDS:
            text, at = pattern[at : at + 2], at + 2
        elif sign == "\\":
            text, at = _escaped(pattern, at + 1, in_class=False)
        elif sign == "[":
            text, at = _class(pattern, at + 1)
        elif sign == ".":
            text, at = f"[^{_BREAKS}]", at + 1
        elif sign == "$":
            text, at, ends = r"\z", at + 1, True
        elif sign == "^":
            text, at = r"\A", at + 1
        elif sign == "(":
            text, at = _group(pattern, at)
        elif sign == "{":
            text, at = _counted(pattern, at)
        elif sign in "*+?":
            text, at = _repeated(pattern, at)
        else:
            text, at = (sign if sign in ")|" else _escape_sign(sign)), at + 1
        written.append(text)
    return "".join(written), ends


def re2_of_like(pattern: str) -> str:
    r"""A LIKE pattern, of which the whole text must be, for RE2: % is any text, _ one code point, \ escapes these."""
    written, at = [], 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 1
            if at == len(pattern) or pattern[at] not in "%_\\":
                raise UnableToTell("a pattern of LIKE ends with, or escapes, what it must not")
            written.append(_escape_sign(pattern[at]))
        else:
            written.append({"%": ".*", "_": "."}.get(sign) or _escape_sign(sign))
        at += 1
    return rf"(?s)\A{''.join(written)}\z"


def _escape_sign(sign: str) -> str:
    if sign in "]}":
        raise UnableToTell(f"a {sign} alone in a pattern is Spark's to read")
    if sign.isalnum() and sign.isascii():
        return sign
    return rf"\x{{{ord(sign):x}}}"


def _escaped(pattern: str, at: int, *, in_class: bool) -> tuple[str, int]:
    if at == len(pattern):
        raise UnableToTell("a pattern ends with an escape")
    sign = pattern[at]
    if sign in _CLASSES:
        return (_CLASSES[sign] if in_class else f"[{_CLASSES[sign]}]"), at + 1
    if sign.lower() in _CLASSES and not in_class:
        return f"[^{_CLASSES[sign.lower()]}]", at + 1
    if sign in "tnrf":
        return f"\\{sign}", at + 1
    if sign in _LITERAL:
        return rf"\x{{{ord(sign):x}}}", at + 1
    raise UnableToTell(f"\\{sign} in a pattern is Spark's to read")


def _class(pattern: str, at: int) -> tuple[str, int]:
    """One class of signs and ranges, from behind its bracket."""
    written = ["["]
    if pattern[at : at + 1] == "^":
        written.append("^")
        at += 1
    first = at
    while at == first or pattern[at : at + 1] != "]":
        text, sign, at = _member(pattern, at, may_be_hyphen=at == first or pattern[at + 1 : at + 2] == "]")
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] != "]":
            above, last, at = _member(pattern, at + 1, may_be_hyphen=False)
            if not sign or not last or sign > last:
                raise UnableToTell("such a range of signs is Spark's to read")
            text = f"{text}-{above}"
        written.append(text)
    return "".join([*written, "]"]), at + 1


def _member(pattern: str, at: int, *, may_be_hyphen: bool) -> tuple[str, str, int]:
    """One sign of a class as RE2 writes it, the sign itself (empty: a class of its own), and where the next begins."""
    sign = pattern[at : at + 1]
    if sign in ("", "[", "]", "&", "^") or (sign == "-" and not may_be_hyphen):
        raise UnableToTell("such a class of signs is Spark's to read")
    if sign != "\\":
        return rf"\x{{{ord(sign):x}}}", sign, at + 1
    text, after = _escaped(pattern, at + 1, in_class=True)
    escaped = pattern[at + 1]
    return text, escaped if escaped in _LITERAL else "", after


def _group(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at + 1 : at + 2] != "?":
        return "(?:", at + 1
    if pattern[at + 1 : at + 3] == "?:":
        return "(?:", at + 3
    raise UnableToTell("look-around, flags and names of groups are Spark's to read")


def _counted(pattern: str, at: int) -> tuple[str, int]:
    found = _COUNT.match(pattern, at)
    if found is None or int(found[1]) > int(found[3] or found[1]):
        raise UnableToTell("such a count in a pattern is Spark's to read")
    return _not_possessive(pattern, found.end(), found[0])


def _repeated(pattern: str, at: int) -> tuple[str, int]:
    return _not_possessive(pattern, at + 1, pattern[at])


def _not_possessive(pattern: str, at: int, text: str) -> tuple[str, int]:
    """A reluctant one finds the same texts, so that its ? is left out."""
    if pattern[at : at + 1] == "?":
        at += 1
    if pattern[at : at + 1] in ("+", "*", "?", "{"):
        raise UnableToTell("a quantifier of a quantifier is Spark's to read")
    return text, at


_WHOLE = re.compile(r"\d+")
_DECIMAL = re.compile(r"\d+\.\d*|\.\d+")
_DOUBLE = re.compile(r"(\d+\.?\d*|\.\d+)[eE][+-]?\d+")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?")
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_ONE_DOUBLE = "1e0"  # what metrics multiply a column by to have doubles
_INT, _LONG = 2**31, 2**63
_COMPARES: Mapping[type[exp.Expr], Compare] = {
    exp.EQ: Compare.EQ,
    exp.NEQ: Compare.NE,
    exp.LT: Compare.LT,
    exp.LTE: Compare.LE,
    exp.GT: Compare.GT,
    exp.GTE: Compare.GE,
}
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
    exp.TryCast: frozenset({"this", "to", "safe"}),  # as sqlglot reads Spark's CAST
    **dict.fromkeys((exp.And, exp.Or, exp.Is, exp.Mul, *_COMPARES), frozenset({"this", "expression"})),
    **dict.fromkeys((exp.Like, exp.RegexpLike), frozenset({"this", "expression", "negate"})),
}


@lru_cache(maxsize=4096)
def compiled(sql: str) -> Node:
    """The node of an expression that metrics wrote; UnableToTell where something in it is Spark's alone to answer."""
    return _node(sqlglot.parse_one(sql, dialect=Plain))


def _node(tree: exp.Expr) -> Node:
    said = {name for name, value in tree.args.items() if value not in (None, [], False)}
    if not isinstance(tree, exp.Null) and not said <= _PARTS.get(type(tree), frozenset()):
        raise UnableToTell(f"{type(tree).__name__} is Spark's to answer")
    if (by := _COMPARES.get(type(tree))) is not None:
        return Compared(by=by, left=_node(tree.this), right=_node(tree.expression))
    if (write := _WRITERS.get(type(tree))) is not None:
        found = write(tree)
        return Not(of=found) if tree.args.get("negate") else found
    raise UnableToTell(f"{type(tree).__name__} is Spark's to answer")


def _is(tree: exp.Expr) -> Node:
    if not isinstance(tree.expression, exp.Null):
        raise UnableToTell("IS of anything but NULL is Spark's to answer")
    return IsNull(of=_node(tree.this))


def _between(tree: exp.Expr) -> Node:
    given = _node(tree.this)
    low = Compared(by=Compare.GE, left=given, right=_node(tree.args["low"]))
    return And(left=low, right=Compared(by=Compare.LE, left=given, right=_node(tree.args["high"])))


def _in(tree: exp.Expr) -> Node:
    given, among = _node(tree.this), list(map(_node, tree.expressions))
    if among and all(isinstance(each, Literal) for each in among):
        return IsIn(of=given, among=tuple(among))  # type: ignore[arg-type]
    if among and all(isinstance(each, Truth) for each in among):
        return reduce(lambda left, right: Or(left=left, right=right), (_same(given, each) for each in among))
    raise UnableToTell("IN of anything but a list of literals is Spark's to answer")


def _same(left: Node, right: Node) -> Node:
    return Compared(by=Compare.EQ, left=left, right=right)


def _call(tree: exp.Expr) -> Node:
    name, given = tree.name.lower(), [_node(each) for each in tree.expressions]
    if name == "isnan" and len(given) == 1:
        return IsNan(of=given[0])
    if name == "isnull" and len(given) == 1:
        return IsNull(of=given[0])
    if name == "xxhash64" and len(given) == 1:
        return Hashed(of=given[0])
    if name == "char_length" and len(given) == 1:
        return CharLength(of=given[0])
    raise UnableToTell(f"{name} is Spark's to answer")


def _case(tree: exp.Expr) -> Node:
    (branch, *others) = tree.args["ifs"]
    if others:
        raise UnableToTell("CASE of several branches is Spark's to answer")
    return When(met=_node(branch.this), then=_node(branch.args["true"]))


def _mul(tree: exp.Expr) -> Node:
    if not isinstance(tree.expression, exp.Literal) or tree.expression.name != _ONE_DOUBLE:
        raise UnableToTell("arithmetic is Spark's")
    return AsDouble(of=_node(tree.this))


def _neg(tree: exp.Expr) -> Node:
    given = _node(tree.this)
    if not isinstance(given, Literal) or isinstance(given.value, str):
        raise UnableToTell("arithmetic is Spark's")
    value = given.value.copy_negate() if isinstance(given.value, Decimal) else -given.value  # - rounds to 28 digits
    return Literal(kind=given.kind, value=value, digits=given.digits, scale=given.scale)


def _cast(tree: exp.Expr) -> Node:
    """Values as texts, and dates and instants that are written out; UnableToTell of anything else."""
    wanted, given = tree.args["to"].this.name, tree.this
    if wanted == "TEXT" and not tree.args["to"].expressions:
        return AsText(of=_node(given))
    if not isinstance(given, exp.Literal) or not given.is_string:
        raise UnableToTell("a cast of values is Spark's")
    try:
        if wanted == "DATE" and _DAY.fullmatch(given.name):
            days = (date.fromisoformat(given.name) - _FIRST.date()).days
            return Literal(kind=LiteralKind.DATE, value=days)
        if wanted == "TIMESTAMPTZ" and _INSTANT.fullmatch(given.name):
            since = datetime.fromisoformat(given.name).replace(tzinfo=UTC) - _FIRST
            return Literal(kind=LiteralKind.TIMESTAMP, value=since // timedelta(microseconds=1))
    except ValueError:
        pass
    raise UnableToTell(f"a cast to {wanted} is Spark's")


def _literal(tree: exp.Expr) -> Node:
    """A text, or a number as Spark reads it: whole, decimal, or a double where it has an exponent."""
    text = tree.name
    if tree.is_string:
        return Literal(kind=LiteralKind.TEXT, value=text)
    if _DOUBLE.fullmatch(text) and isfinite(float(text)):
        return Literal(kind=LiteralKind.DOUBLE, value=float(text))
    if not _WHOLE.fullmatch(text) and not _DECIMAL.fullmatch(text):
        raise UnableToTell(f"{text} is Spark's to read")
    number = Decimal(text)
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits)))
    if exponent:
        return Literal(kind=LiteralKind.EXACT, value=number, digits=max(len(digits), -exponent), scale=-exponent)
    widest = 10 if unscaled < _INT else 20 if unscaled < _LONG else len(digits)
    return Literal(kind=LiteralKind.EXACT, value=number, digits=max(len(digits), widest))


def _like(tree: exp.Expr) -> Node:
    of, pattern = _node(tree.this), _pattern(tree)
    text = pattern.strip("%")
    if not any(sign in text for sign in "%_\\"):  # bytes are compared ten times faster than patterns are looked for
        return Holds(of=of, text=text, starts=not pattern.startswith("%"), ends=not pattern.endswith("%"))
    return Found(of=of, pattern=_checked(re2_of_like(pattern)))


def _rlike(tree: exp.Expr) -> Node:
    pattern, ends = re2_of(_pattern(tree))
    return Found(of=_node(tree.this), pattern=_checked(pattern), ends=ends)


def _pattern(tree: exp.Expr) -> str:
    if not isinstance(tree.expression, exp.Literal) or not tree.expression.is_string:
        raise UnableToTell("a pattern that is computed is Spark's")
    return str(tree.expression.name)


def _checked(pattern: str) -> str:
    """The pattern, if RE2 takes it."""
    try:
        pc.match_substring_regex(texts_of([""]), pattern)
    except pa.ArrowException as error:
        raise UnableToTell("RE2 does not take such a pattern") from error
    return pattern


_WRITERS: Mapping[type[exp.Expr], Callable[[exp.Expr], Node]] = {
    exp.Paren: lambda tree: _node(tree.this),
    exp.Not: lambda tree: Not(of=_node(tree.this)),
    exp.And: lambda tree: And(left=_node(tree.this), right=_node(tree.expression)),
    exp.Or: lambda tree: Or(left=_node(tree.this), right=_node(tree.expression)),
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.RegexpLike: _rlike,
    exp.Anonymous: _call,
    exp.Case: _case,
    exp.Mul: _mul,
    exp.Neg: _neg,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Literal: _literal,
    exp.Boolean: lambda tree: Truth(value=tree.this),
    exp.Column: lambda tree: Column(name=tree.name.lower()),
}
