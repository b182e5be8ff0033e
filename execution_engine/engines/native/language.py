"""The closed language of conditions and values, and how the SQL of metrics is read into it.

It holds what means the same here as in Spark's ANSI mode and cannot fail: no cast of values but to texts, no arithmetic
but the one to doubles, so that nothing can raise or overflow on one row and not on another. All else is Spark's.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache, reduce
from math import isfinite

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp

from execution_engine.guard.sql_tree import Plain


class UnableToTell(Exception):
    """What is asked is not surely the same here as by Spark; Spark must answer it."""


class Compare(StrEnum):
    """How two values are compared, by numpy's and Arrow's names; NaN is the greatest number and 0.0 is -0.0."""

    EQ = "equal"
    NE = "not_equal"
    LT = "less"
    LE = "less_equal"
    GT = "greater"
    GE = "greater_equal"


class LiteralKind(StrEnum):
    """What a literal is; ``EXACT`` are whole numbers and decimals, ``DATE`` days, the timestamps microseconds."""

    EXACT = "exact"
    DOUBLE = "double"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"


@dataclass(frozen=True, kw_only=True)
class Node:
    """One of the language."""


@dataclass(frozen=True, kw_only=True)
class ColumnNode(Node):
    """The column, or the field of a struct as ``a.b``, with this name in lower case."""

    name: str


@dataclass(frozen=True, kw_only=True)
class Literal(Node):
    """One value for all rows; ``digits`` and ``scale`` are of the decimal that Spark reads an exact one as."""

    kind: LiteralKind
    value: int | float | str | Decimal
    digits: int = 0
    scale: int = 0


@dataclass(frozen=True, kw_only=True)
class Truth(Node):
    """TRUE or FALSE, for all rows."""

    value: bool


@dataclass(frozen=True, kw_only=True)
class When(Node):
    """The value where the condition is met, null elsewhere."""

    met: Node
    then: Node


@dataclass(frozen=True, kw_only=True)
class _OfOne(Node):
    of: Node


class AsDouble(_OfOne):
    """A number as the nearest double."""


class AsText(_OfOne):
    """A value as the text that Spark casts it to."""


class CharLength(_OfOne):
    """How many code points a text has."""


class Hashed(_OfOne):
    """Spark's hash of a value, as a sketch takes it."""


class Negation(_OfOne):
    """Not met; NULL stays NULL."""


class Surely(_OfOne):
    """Met, and not NULL: what is NULL is not met."""


class IsNull(_OfOne):
    """Whether there is no value."""


class IsNan(_OfOne):
    """Whether a double is NaN; a null is not."""


@dataclass(frozen=True, kw_only=True)
class _OfTwo(Node):
    left: Node
    right: Node


class Conjunction(_OfTwo):
    """Both, by SQL's logic of three values."""


class Disjunction(_OfTwo):
    """Either, by SQL's logic of three values."""


@dataclass(frozen=True, kw_only=True)
class Compared(_OfTwo):
    """A value beside another one or a literal."""

    by: Compare


@dataclass(frozen=True, kw_only=True)
class IsIn(_OfOne):
    """Whether a value is one of the literals."""

    among: tuple[Literal, ...]

    def __hash__(self) -> int:
        """Of a long list the hash would cost as much as to look for its values."""
        return hash((self.of, len(self.among)))


@dataclass(frozen=True, kw_only=True)
class RegexMatch(_OfOne):
    """Whether a regular expression of RE2's is found in a text.

    ``ends``: whether it holds for texts alone that do not end with a line break, as ``$`` means another thing then.
    """

    pattern: str
    ends: bool = False


@dataclass(frozen=True, kw_only=True)
class TextContainment(_OfOne):
    """Whether a text holds another one: anywhere, where it starts, where it ends, or as the whole of it."""

    text: str
    starts: bool
    ends: bool


def names_in(node: Node) -> Iterator[str]:
    """The columns that a node names."""
    if isinstance(node, ColumnNode):
        yield node.name
    for member in fields(node):
        if isinstance(value := getattr(node, member.name), Node):
            yield from names_in(value)


# From SQL.

_WHOLE = re.compile(r"\d+")
_DECIMAL = re.compile(r"\d+\.\d*|\.\d+")
_DOUBLE = re.compile(r"(\d+\.?\d*|\.\d+)[eE][+-]?\d+")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?")
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_TIMESTAMPS = {"TIMESTAMPTZ": LiteralKind.TIMESTAMP, "TIMESTAMPNTZ": LiteralKind.TIMESTAMP_NTZ}  # by sqlglot's names
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
_CALLS = {"isnan": IsNan, "isnull": IsNull, "xxhash64": Hashed, "char_length": CharLength, "length": CharLength}
_PARTS: Mapping[type[exp.Expr], frozenset[str]] = {  # of each node that is known, all that may be said in it
    **dict.fromkeys((exp.Paren, exp.Not, exp.Neg, exp.Boolean), frozenset({"this"})),
    **dict.fromkeys((exp.And, exp.Or, exp.Is, exp.Mul, *_COMPARES), frozenset({"this", "expression"})),
    **dict.fromkeys((exp.Like, exp.RegexpLike), frozenset({"this", "expression", "negate"})),
    **dict.fromkeys((exp.In, exp.Anonymous), frozenset({"this", "expressions"})),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),  # of a field, the structs that it lies in
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.Case: frozenset({"ifs"}),
    exp.If: frozenset({"this", "true"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe"}),  # as sqlglot reads Spark's CAST
}


@lru_cache(maxsize=4096)
def compiled(sql: str) -> Node:
    """The node of an expression that metrics wrote; UnableToTell where something in it is Spark's alone to answer."""
    return _node(sqlglot.parse_one(sql, dialect=Plain))


def _node(tree: exp.Expr) -> Node:
    parts = {name for name, value in tree.args.items() if value not in (None, [], False)}
    if not parts <= _PARTS.get(type(tree), frozenset()):
        raise UnableToTell(f"{type(tree).__name__} is Spark's to answer")
    node = _plain_node(tree)
    return Negation(of=node) if tree.args.get("negate") else node


def _plain_node(tree: exp.Expr) -> Node:
    match tree:
        case exp.Paren():
            return _node(tree.this)
        case exp.Not():
            return Negation(of=_node(tree.this))
        case exp.And() | exp.Or():
            both = Conjunction if isinstance(tree, exp.And) else Disjunction
            return both(left=_node(tree.this), right=_node(tree.expression))
        case exp.Is():
            if not isinstance(tree.expression, exp.Null):
                raise UnableToTell("IS of anything but NULL is Spark's to answer")
            return IsNull(of=_node(tree.this))
        case exp.Between():
            of = _node(tree.this)
            low = Compared(by=Compare.GE, left=of, right=_node(tree.args["low"]))
            return Conjunction(left=low, right=Compared(by=Compare.LE, left=of, right=_node(tree.args["high"])))
        case exp.In():
            of, among = _node(tree.this), list(map(_node, tree.expressions))
            if among and all(isinstance(node, Literal) for node in among):
                return IsIn(of=of, among=tuple(among))  # type: ignore[arg-type]
            if among and all(isinstance(node, Truth) for node in among):
                same = (Compared(by=Compare.EQ, left=of, right=node) for node in among)
                return reduce(lambda left, right: Disjunction(left=left, right=right), same)  # type: ignore[arg-type, return-value]
            raise UnableToTell("IN of anything but a list of literals is Spark's to answer")
        case exp.Like():
            of, pattern = _node(tree.this), _pattern(tree)
            text = pattern.strip("%")
            if any(sign in text for sign in "%_\\"):
                return RegexMatch(of=of, pattern=_checked(re2_of_like(pattern)))
            # bytes are compared ten times faster than patterns are looked for
            return TextContainment(of=of, text=text, starts=not pattern.startswith("%"), ends=not pattern.endswith("%"))
        case exp.RegexpLike():
            pattern, ends = re2_of(_pattern(tree))
            return RegexMatch(of=_node(tree.this), pattern=_checked(pattern), ends=ends)
    if (by := _COMPARES.get(type(tree))) is not None:
        return Compared(by=by, left=_node(tree.this), right=_node(tree.expression))
    return _value_node(tree)


def _value_node(tree: exp.Expr) -> Node:
    match tree:
        case exp.Boolean():
            return Truth(value=tree.this)
        case exp.Column():
            return ColumnNode(name=".".join(part.name.lower() for part in tree.parts))
        case exp.Anonymous():
            name, arguments = tree.name.lower(), [_node(argument) for argument in tree.expressions]
            if name == "coalesce" and arguments[1:] == [Truth(value=False)]:
                return Surely(of=arguments[0])
            if (call := _CALLS.get(name)) is None or len(arguments) != 1:
                raise UnableToTell(f"{name} is Spark's to answer")
            return call(of=arguments[0])
        case exp.Case():
            (branch, *branches) = tree.args["ifs"]
            if branches:
                raise UnableToTell("CASE of several branches is Spark's to answer")
            return When(met=_node(branch.this), then=_node(branch.args["true"]))
        case exp.Mul():
            if not isinstance(tree.expression, exp.Literal) or tree.expression.name != _ONE_DOUBLE:
                raise UnableToTell("arithmetic is Spark's")
            return AsDouble(of=_node(tree.this))
        case exp.Neg():
            match _node(tree.this):
                case Literal(value=Decimal() as number) as literal:
                    return replace(literal, value=number.copy_negate())  # - rounds to 28 digits
                case Literal(value=int() | float() as number) as literal:
                    return replace(literal, value=-number)
            raise UnableToTell("arithmetic is Spark's")
        case exp.Cast() | exp.TryCast():
            return _cast(tree)
        case exp.Literal():
            return _literal(tree)
    raise UnableToTell(f"{type(tree).__name__} is Spark's to answer")


def _cast(tree: exp.Expr) -> Node:
    """Values as texts, and dates and instants that are written out; UnableToTell of anything else."""
    type_, of = tree.args["to"].this.name, tree.this
    if type_ == "TEXT" and not tree.args["to"].expressions:
        return AsText(of=_node(of))
    if not isinstance(of, exp.Literal) or not of.is_string:
        raise UnableToTell("a cast of values is Spark's")
    try:
        if type_ == "DATE" and _DAY.fullmatch(of.name):
            days = (date.fromisoformat(of.name) - _FIRST.date()).days
            return Literal(kind=LiteralKind.DATE, value=days)
        if (kind := _TIMESTAMPS.get(type_)) and _INSTANT.fullmatch(of.name):
            since = datetime.fromisoformat(of.name).replace(tzinfo=UTC) - _FIRST
            return Literal(kind=kind, value=since // timedelta(microseconds=1))
    except ValueError:
        pass
    raise UnableToTell(f"a cast to {type_} is Spark's")


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
    if exponent:
        return Literal(kind=LiteralKind.EXACT, value=number, digits=max(len(digits), -exponent), scale=-exponent)
    widest = 10 if number < _INT else 20 if number < _LONG else len(digits)
    return Literal(kind=LiteralKind.EXACT, value=number, digits=max(len(digits), widest))


def _pattern(tree: exp.Expr) -> str:
    if not isinstance(tree.expression, exp.Literal) or not tree.expression.is_string:
        raise UnableToTell("a pattern that is computed is Spark's")
    return str(tree.expression.name)


def _checked(pattern: str) -> str:
    """The pattern, if RE2 takes it."""
    try:
        pc.match_substring_regex(pa.nulls(1, pa.string()), pattern)
    except pa.ArrowException as error:
        raise UnableToTell("RE2 does not take such a pattern") from error
    return pattern


# Regular expressions and LIKE as RE2 writes them: those of which Java's and RE2's meanings are surely the same.

_BREAKS = r"\n\r\x{85}\x{2028}\x{2029}"  # what Java's dot leaves out, and may stand behind its $
_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r" \t\n\x0B\f\r"}
_ESCAPABLE = frozenset(r"\.[]{}()*+?^$|/-_@:,;'\"#%&=<>!~ ")
_SIGNS = {".": f"[^{_BREAKS}]", "$": r"\z", "^": r"\A", ")": ")", "|": "|"}
_QUANTIFIER = re.compile(r"([*+?]|\{(\d{1,3})(?:,(\d{1,3})?)?\})\??([+*?{]?)")  # a reluctant one finds the same texts


def re2_of(pattern: str) -> tuple[str, bool]:
    """The pattern for RE2, and whether it looks for the text's end; UnableToTell where it may mean another thing.

    Both find the same texts: of alternatives Java takes the first and RE2 too, and where a match begins or ends is not
    asked. Groups count for nothing, so look-around, backreferences, flags, word borders and possessive quantifiers,
    which alone would tell them apart, are not in the subset; nor are classes within classes.
    """
    written, at, ends = ["(?s)"], 0, False
    while at < len(pattern):
        sign, at = pattern[at], at + 1
        match sign:
            case "\\" if pattern[at : at + 1] in ("A", "z"):  # of the text, whatever stands there
                text, at = f"\\{pattern[at]}", at + 1
            case "\\":
                text, at = _escaped(pattern, at, in_class=False)
            case "[":
                text, at = _class(pattern, at)
            case "(":
                is_plain = pattern[at : at + 2] == "?:"
                if pattern[at : at + 1] == "?" and not is_plain:
                    raise UnableToTell("look-around, flags and names of groups are Spark's to read")
                text, at = "(?:", at + 2 if is_plain else at
            case "{" | "*" | "+" | "?":
                quantifier = _QUANTIFIER.match(pattern, at - 1)
                if quantifier is None or int(quantifier[2] or 0) > int(quantifier[3] or quantifier[2] or 0):
                    raise UnableToTell("such a count in a pattern is Spark's to read")
                if quantifier[4]:
                    raise UnableToTell("a quantifier of a quantifier is Spark's to read")
                text, at = quantifier[1], quantifier.end()
            case _:
                text, ends = _SIGNS.get(sign) or _escape_sign(sign), ends or sign == "$"
        written.append(text)
    return "".join(written), ends


def re2_of_like(pattern: str) -> str:
    r"""A LIKE pattern, of which the whole text must be, for RE2: % is any text, _ one code point, \ escapes these."""
    written, signs = [], iter(pattern)
    for sign in signs:
        if sign == "\\":
            if (escaped := next(signs, "")) not in ("%", "_", "\\"):
                raise UnableToTell("a pattern of LIKE ends with, or escapes, what it must not")
            written.append(_escape_sign(escaped))
        else:
            written.append({"%": ".*", "_": "."}.get(sign) or _escape_sign(sign))
    return rf"(?s)\A{''.join(written)}\z"


def _escape_sign(sign: str) -> str:
    if sign in "]}":
        raise UnableToTell(f"a {sign} alone in a pattern is Spark's to read")
    return sign if sign.isalnum() and sign.isascii() else rf"\x{{{ord(sign):x}}}"


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
    if sign in _ESCAPABLE:
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
    return text, pattern[at + 1] if pattern[at + 1] in _ESCAPABLE else "", after
