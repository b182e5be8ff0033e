"""Conditions and values of the closed language over the rows of a batch."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .language import (
    AsDouble,
    AsText,
    CharLength,
    ColumnNode,
    Compare,
    Compared,
    Conjunction,
    Disjunction,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    LiteralKind,
    Negation,
    Node,
    RegexMatch,
    Surely,
    TextContainment,
    Truth,
    UnableToTell,
    When,
)
from .values import (
    LONG_DIGITS,
    MOST_DIGITS,
    Doubles,
    Family,
    Flags,
    Numbers,
    Values,
    as_string,
    is_valid_text,
    of_texts,
    texts_of,
    unpacked,
)

_UNROUNDED = Context(prec=2 * MOST_DIGITS)  # Python's own context keeps 28 digits
_SIGN = np.int64(2**63 - 1)
_LOW, _HIGH = -(2**63), 2**63 - 1
_BREAKS = ("\n", "\r", "\x85", "\u2028", "\u2029")  # of lines, before the last of which Java's $ may stand
_MIRRORED = {Compare.LT: Compare.GT, Compare.LE: Compare.GE, Compare.GT: Compare.LT, Compare.GE: Compare.LE}
_LITERALS = {
    LiteralKind.TEXT: Family.TEXT,
    LiteralKind.DATE: Family.DATE,
    LiteralKind.TIMESTAMP: Family.TIMESTAMP,
    LiteralKind.TIMESTAMP_NTZ: Family.TIMESTAMP_NTZ,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Met:
    """On which rows a condition is met; ``null``: on which it is NULL, None for no row. No row is both."""

    yes: Flags
    null: Flags | None = None

    @property
    def no(self) -> Flags:
        """On which rows it is not met, and not NULL."""
        return ~self.yes if self.null is None else ~(self.yes | self.null)

    def __invert__(self) -> "Met":
        return Met(yes=self.no, null=self.null)

    def __and__(self, other: "Met") -> "Met":
        yes = self.yes & other.yes
        is_known = self.null is None and other.null is None
        return Met(yes=yes, null=None if is_known else ~(yes | self.no | other.no))

    def __or__(self, other: "Met") -> "Met":
        yes = self.yes | other.yes
        is_known = self.null is None and other.null is None
        return Met(yes=yes, null=None if is_known else ~(yes | (self.no & other.no)))


@dataclass
class RowBatch:
    """The rows of one batch: the columns as they are asked for, and what was computed of the nodes, each once."""

    rows: int
    columns: Callable[[str], Values]
    last_values: tuple[Any, Any] | None = None  # the values last taken of nodes under a condition, for who takes them
    coupons: dict[int, Any] = field(default_factory=dict)  # by the identity of their column
    _mets: dict[Node, Met] = field(default_factory=dict)
    _values: dict[Node, Values] = field(default_factory=dict)

    def met(self, node: Node) -> Met:
        """Of a condition, on every row."""
        met = self._mets.get(node)  # hashed but once: it may be a large tree
        if met is None:
            met = self._mets[node] = _met(node, self)
        return met

    def values(self, node: Node) -> Values:
        """Of an expression, one for each row."""
        values = self._values.get(node)
        if values is None:
            values = self._values[node] = _values(node, self)
        return values


def _met(node: Node, batch: RowBatch) -> Met:
    match node:
        case Truth():
            return Met(yes=np.full(batch.rows, node.value))
        case Negation():
            return ~batch.met(node.of)
        case Surely():
            return Met(yes=batch.met(node.of).yes)
        case Conjunction():
            return batch.met(node.left) & batch.met(node.right)
        case Disjunction():
            return batch.met(node.left) | batch.met(node.right)
        case IsNull():
            null = batch.values(node.of).null
            return Met(yes=np.zeros(batch.rows, dtype=np.bool_) if null is None else null)
        case IsNan():  # a null is none
            values = batch.values(node.of)
            if values.family is not Family.DOUBLE:
                raise UnableToTell(f"isnan of {values.family} is Spark's to answer")
            return Met(yes=_met_without_null(np.isnan(values.whole), values.null).yes)
        case Compared(left=Literal() as left, right=Literal() as right):
            return _with_literal(node.by, _of_literal(left, batch.rows), right)
        case Compared(left=Literal() as left):
            return _with_literal(_MIRRORED.get(node.by, node.by), batch.values(node.right), left)
        case Compared(right=Literal() as right):
            return _with_literal(node.by, batch.values(node.left), right)
        case Compared():
            return _with_values(node.by, batch.values(node.left), batch.values(node.right))
        case IsIn():
            return _is_in(batch.values(node.of), node.among)
        case RegexMatch():
            values = _valid_texts(batch.values(node.of), "a pattern is looked for in texts of UTF-8 alone")
            texts = values.array.dictionary if pa.types.is_dictionary(values.array.type) else values.array
            if node.ends and any(pc.any(pc.ends_with(texts, pattern=end)).as_py() for end in _BREAKS):
                raise UnableToTell("a text ends with a line break, before which $ may stand")
            return _met_without_null(of_texts(values.array, pc.match_substring_regex, node.pattern), values.null)
        case TextContainment():
            values = _valid_texts(batch.values(node.of), "a text is looked for in texts of UTF-8 alone")
            if node.starts and node.ends:
                return _met_without_null(of_texts(values.array, pc.equal, texts_of([node.text])[0]), values.null)
            look = pc.starts_with if node.starts else pc.ends_with if node.ends else pc.match_substring
            return _met_without_null(of_texts(values.array, look, node.text), values.null)
    values = batch.values(node)
    if values.family is not Family.TRUTH:
        raise UnableToTell(f"{values.family} is no condition")
    return _met_without_null(values.whole, values.null)


def _values(node: Node, batch: RowBatch) -> Values:
    match node:
        case ColumnNode():
            return batch.columns(node.name)
        case AsDouble():
            return batch.values(node.of).as_doubles()
        case AsText():
            return as_string(batch.values(node.of))
        case CharLength():
            why = "the length of anything but texts of UTF-8 is Spark's to tell"
            texts = _valid_texts(batch.values(node.of), why)
            lengths = of_texts(texts.array, pc.utf8_length)
            return Values(family=Family.EXACT, array=None, numbers=lengths, null=texts.null, digits=10)
        case When():
            is_literal = isinstance(node.then, Literal)
            values = _of_literal(node.then, batch.rows) if is_literal else batch.values(node.then)
            other = ~batch.met(node.met).yes
            return replace(values, null=other if values.null is None else values.null | other)
        case Truth():
            return Values(family=Family.TRUTH, array=None, numbers=np.full(batch.rows, node.value))
    raise UnableToTell(f"{type(node).__name__} alone is Spark's to answer")


def _of_literal(literal: Any, rows: int) -> Values:
    """A whole number for all rows."""
    if literal.kind is not LiteralKind.EXACT or literal.scale or not _LOW <= int(literal.value) <= _HIGH:
        raise UnableToTell("two literals are Spark's to compare")
    return Values(family=Family.EXACT, array=None, numbers=np.full(rows, int(literal.value)), digits=literal.digits)


def _met_without_null(yes: Flags, *nulls: Flags | None) -> Met:
    flags = [null for null in nulls if null is not None]
    if not flags:
        return Met(yes=yes)
    null = flags[0] if len(flags) == 1 else flags[0] | flags[1]
    return Met(yes=yes & ~null, null=null)


def _valid_texts(values: Values, why: str) -> Values:
    if values.family is not Family.TEXT or not is_valid_text(values.array):
        raise UnableToTell(why)
    return values


def _with_literal(by: Compare, values: Values, literal: Literal) -> Met:
    is_exact = values.family is Family.EXACT
    if literal.kind is LiteralKind.DOUBLE and is_exact:
        values, is_exact = values.as_doubles(), False
    if values.family is Family.DOUBLE and literal.kind in (LiteralKind.EXACT, LiteralKind.DOUBLE):
        yes = getattr(np, by)(values.whole, float(literal.value))
        # a literal is no NaN, so that a NaN is greater than it
        return _met_without_null(yes | np.isnan(values.whole) if by in (Compare.GT, Compare.GE) else yes, values.null)
    if is_exact and literal.kind is LiteralKind.EXACT:
        return _met_without_null(_with_exact(by, values, literal), values.null)
    if _LITERALS.get(literal.kind) is not values.family:
        raise UnableToTell(f"{values.family} is not compared with {literal.kind}")
    if values.family is Family.TEXT:
        return _met_without_null(
            of_texts(values.array, getattr(pc, by), texts_of([str(literal.value)])[0]), values.null
        )
    return _met_without_null(getattr(np, by)(values.whole, literal.value), values.null)


def _with_values(by: Compare, left: Values, right: Values) -> Met:
    if {left.family, right.family} == {Family.EXACT, Family.DOUBLE}:
        left, right = left.as_doubles(), right.as_doubles()
    if left.family is not right.family:
        raise UnableToTell(f"{left.family} is not compared with {right.family}")
    match left.family:
        case Family.BYTES:
            raise UnableToTell("bytes are Spark's to compare")
        case Family.TEXT:
            return _met_without_null(
                of_texts(unpacked(left.array), getattr(pc, by), unpacked(right.array)), left.null, right.null
            )
        case Family.DOUBLE:
            both: tuple[Numbers, Numbers] = in_order(left.whole), in_order(right.whole)
        case Family.EXACT:  # as multiples of the same power of ten, where Spark has a decimal wide enough for both
            scale, whole = max(left.scale, right.scale), max(left.digits - left.scale, right.digits - right.scale)
            if scale and whole + scale > MOST_DIGITS:
                raise UnableToTell("no decimal of Spark's holds both")
            both = _scaled(left, scale), _scaled(right, scale)
        case _:
            both = left.whole, right.whole
    return _met_without_null(getattr(np, by)(*both), left.null, right.null)


def _scaled(values: Values, scale: int) -> Numbers:
    more = scale - values.scale
    if not more:
        return values.whole
    is_long = values.digits + more > LONG_DIGITS
    numbers: Numbers = (values.whole.astype(object) if is_long else values.whole) * 10**more
    return numbers


def _with_exact(by: Compare, values: Values, literal: Literal) -> Flags:
    """Against the nearest number that the column can hold, below or above."""
    number, is_equality = Decimal(literal.value), by in (Compare.EQ, Compare.NE)
    scale = max(values.scale, literal.scale)
    if scale and max(values.digits - values.scale, literal.digits - literal.scale) + scale > MOST_DIGITS:
        raise UnableToTell("no decimal of Spark's holds both")
    if not is_equality and not values.is_decimal and not _LOW <= number <= _HIGH:
        raise UnableToTell("beyond 64 bits Spark takes a whole number that is null for a small or a large one")
    scaled = number.scaleb(values.scale, _UNROUNDED)
    floor, ceiling = int(scaled.to_integral_value(ROUND_FLOOR)), int(scaled.to_integral_value(ROUND_CEILING))
    numbers, is_long = values.whole, values.whole.dtype == object
    if is_equality:
        may_equal = floor == ceiling and (is_long or _LOW <= floor <= _HIGH)
        equal = numbers == floor if may_equal else np.zeros(len(numbers), dtype=np.bool_)
        return equal if by is Compare.EQ else ~equal
    bound = ceiling if by in (Compare.LT, Compare.GE) else floor
    if not is_long and not _LOW <= bound <= _HIGH:
        return np.full(len(numbers), (bound > 0) is (by in (Compare.LT, Compare.LE)))
    yes: Flags = getattr(np, by)(numbers, bound)
    return yes


def _is_in(values: Values, among: tuple[Literal, ...]) -> Met:
    """Equal to one of them, once all are of the one type that Spark gives them."""
    if values.family is Family.TEXT and all(literal.kind is LiteralKind.TEXT for literal in among):
        texts = texts_of([str(literal.value) for literal in among])
        return _met_without_null(of_texts(values.array, pc.is_in, texts), values.null)
    if values.family is Family.EXACT and any(literal.kind is LiteralKind.DOUBLE for literal in among):
        values = values.as_doubles()
    if values.family is Family.EXACT:
        types = [(values.digits, values.scale), *((literal.digits, literal.scale) for literal in among)]
        if max(digits - scale for digits, scale in types) + max(scale for _, scale in types) > MOST_DIGITS:
            raise UnableToTell("no decimal of Spark's holds all of them")
    yes = np.zeros(len(values.whole), dtype=np.bool_)
    for literal in among:
        yes |= _with_literal(Compare.EQ, values, literal).yes
    return _met_without_null(yes, values.null)


def in_order(doubles: Doubles) -> Numbers:
    """Whole numbers in Spark's order of doubles: -0.0 is 0.0, and NaN the greatest."""
    bits = np.where(np.isnan(doubles), np.nan, doubles + 0.0).view(np.int64)
    ordered: Numbers = np.where(bits < 0, bits ^ _SIGN, bits)
    return ordered
