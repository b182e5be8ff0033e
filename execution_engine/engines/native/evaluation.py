"""Conditions and values of the closed language over the rows of a batch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .nodes import (
    And,
    AsDouble,
    AsText,
    CharLength,
    Column,
    Compare,
    Compared,
    Found,
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
)

_UNROUNDED = Context(prec=2 * MOST_DIGITS)  # Python's own context keeps 28 digits
_SIGN = np.int64(2**63 - 1)
_LOW, _HIGH = -(2**63), 2**63 - 1
_BREAKS = ("\n", "\r", "\x85", "\u2028", "\u2029")  # of lines, before the last of which Java's $ may stand
_FLIPPED = {
    Compare.EQ: Compare.EQ,
    Compare.NE: Compare.NE,
    Compare.LT: Compare.GT,
    Compare.LE: Compare.GE,
    Compare.GT: Compare.LT,
    Compare.GE: Compare.LE,
}
_OF_NUMBERS: Mapping[Compare, Callable[..., Any]] = {
    Compare.EQ: np.equal,
    Compare.NE: np.not_equal,
    Compare.LT: np.less,
    Compare.LE: np.less_equal,
    Compare.GT: np.greater,
    Compare.GE: np.greater_equal,
}
_OF_TEXTS: Mapping[Compare, Callable[..., Any]] = {
    Compare.EQ: pc.equal,
    Compare.NE: pc.not_equal,
    Compare.LT: pc.less,
    Compare.LE: pc.less_equal,
    Compare.GT: pc.greater,
    Compare.GE: pc.greater_equal,
}
_LITERALS = {
    LiteralKind.TEXT: Family.TEXT,
    LiteralKind.DATE: Family.DATE,
    LiteralKind.TIMESTAMP: Family.TIMESTAMP,
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
        if self.null is None and other.null is None:
            return Met(yes=yes)
        return Met(yes=yes, null=~(yes | self.no | other.no))

    def __or__(self, other: "Met") -> "Met":
        yes = self.yes | other.yes
        if self.null is None and other.null is None:
            return Met(yes=yes)
        return Met(yes=yes, null=~(yes | (self.no & other.no)))


@dataclass
class Batch:
    """The rows of one batch: the columns as they are asked for, and what was found of the nodes, each once."""

    rows: int
    columns: Callable[[str], Values]
    kept: tuple[tuple[Node, Node | None], Values] | None = None  # the values last taken of a node under a condition
    coupons: dict[int, Any] = field(default_factory=dict)  # by the identity of their column
    _mets: dict[Node, Met] = field(default_factory=dict)
    _values: dict[Node, Values] = field(default_factory=dict)

    def met(self, node: Node) -> Met:
        """Of a condition, on every row."""
        found = self._mets.get(node)  # hashed but once: it may be a large tree
        if found is None:
            found = self._mets[node] = _met(node, self)
        return found

    def values(self, node: Node) -> Values:
        """Of an expression, one for each row."""
        found = self._values.get(node)
        if found is None:
            found = self._values[node] = _values(node, self)
        return found


def _met(node: Node, batch: Batch) -> Met:
    match node:
        case Truth():
            return Met(yes=np.full(batch.rows, node.value))
        case Not():
            return ~batch.met(node.of)
        case And():
            return batch.met(node.left) & batch.met(node.right)
        case Or():
            return batch.met(node.left) | batch.met(node.right)
        case IsNull():
            null = batch.values(node.of).null
            return Met(yes=np.zeros(batch.rows, dtype=np.bool_) if null is None else null)
        case IsNan():
            return _is_nan(batch.values(node.of))
        case Compared():
            return _compared(node, batch)
        case IsIn():
            return _is_in(batch.values(node.of), node.among)
        case Found():
            return _found(batch.values(node.of), node)
        case Holds():
            return _holds(batch.values(node.of), node)
    given = batch.values(node)
    if given.family is not Family.TRUTH:
        raise UnableToTell(f"{given.family} is no condition")
    return _known(given.whole, given.null)


def _values(node: Node, batch: Batch) -> Values:
    match node:
        case Column():
            return batch.columns(node.name)
        case AsDouble():
            return batch.values(node.of).as_doubles()
        case AsText():
            return as_string(batch.values(node.of))
        case CharLength():
            return _lengths(batch.values(node.of))
        case When():
            given, met = _then(node.then, batch), batch.met(node.met).yes
            null = ~met if given.null is None else given.null | ~met
            return replace(given, null=null)
        case Truth():
            return Values(family=Family.TRUTH, array=None, numbers=np.full(batch.rows, node.value))
    raise UnableToTell(f"{type(node).__name__} alone is Spark's to answer")


def _then(node: Node, batch: Batch) -> Values:
    """A value, or one whole number for all rows."""
    return _of_literal(node, batch.rows) if isinstance(node, Literal) else batch.values(node)


def _of_literal(literal: Literal, rows: int) -> Values:
    """A whole number for all rows."""
    if literal.kind is not LiteralKind.EXACT or literal.scale or not _LOW <= int(literal.value) <= _HIGH:
        raise UnableToTell("two literals are Spark's to compare")
    return Values(family=Family.EXACT, array=None, numbers=np.full(rows, int(literal.value)), digits=literal.digits)


def _known(yes: Flags, *nulls: Flags | None) -> Met:
    """Met where it is so and nothing is null."""
    some = [null for null in nulls if null is not None]
    if not some:
        return Met(yes=yes)
    null = some[0] if len(some) == 1 else some[0] | some[1]
    return Met(yes=yes & ~null, null=null)


def _is_nan(given: Values) -> Met:
    """A null is no NaN."""
    if given.family is not Family.DOUBLE:
        raise UnableToTell(f"isnan of {given.family} is Spark's to answer")
    yes = np.isnan(given.whole)
    return Met(yes=yes if given.null is None else yes & ~given.null)


def _compared(node: Compared, batch: Batch) -> Met:
    if isinstance(node.left, Literal):
        if isinstance(node.right, Literal):
            return _with_literal(node.by, _of_literal(node.left, batch.rows), node.right)
        return _with_literal(_FLIPPED[node.by], batch.values(node.right), node.left)
    given = batch.values(node.left)
    if isinstance(node.right, Literal):
        return _with_literal(node.by, given, node.right)
    return _with_values(node.by, given, batch.values(node.right))


def _with_literal(by: Compare, given: Values, literal: Literal) -> Met:
    if given.family is Family.DOUBLE and literal.kind in (LiteralKind.EXACT, LiteralKind.DOUBLE):
        return _known(_of_doubles(by, given.whole, float(literal.value)), given.null)
    if given.family is Family.EXACT and literal.kind is LiteralKind.DOUBLE:
        return _known(_of_doubles(by, given.doubles(), float(literal.value)), given.null)
    if given.family is Family.EXACT and literal.kind is LiteralKind.EXACT:
        return _known(_of_exact(by, given, literal), given.null)
    if _LITERALS.get(literal.kind) is not given.family:
        raise UnableToTell(f"{given.family} is not compared with {literal.kind}")
    if given.family is Family.TEXT:
        return _known(of_texts(given.array, _OF_TEXTS[by], texts_of([str(literal.value)])[0]), given.null)
    return _known(_OF_NUMBERS[by](given.whole, literal.value), given.null)


def _with_values(by: Compare, left: Values, right: Values) -> Met:
    if {left.family, right.family} == {Family.EXACT, Family.DOUBLE}:
        left, right = left.as_doubles(), right.as_doubles()
    if left.family is not right.family:
        raise UnableToTell(f"{left.family} is not compared with {right.family}")
    match left.family:
        case Family.DOUBLE:
            return _known(_OF_NUMBERS[by](in_order(left.whole), in_order(right.whole)), left.null, right.null)
        case Family.TEXT:
            found = of_texts(unpacked(left.array), _OF_TEXTS[by], unpacked(right.array))
            return _known(found, left.null, right.null)
        case Family.EXACT:
            return _known(_OF_NUMBERS[by](*_of_one_scale(left, right)), left.null, right.null)
        case Family.BYTES:
            raise UnableToTell("bytes are Spark's to compare")
    return _known(_OF_NUMBERS[by](left.whole, right.whole), left.null, right.null)


def _of_one_scale(left: Values, right: Values) -> tuple[Numbers, Numbers]:
    """Both as multiples of the same power of ten, where Spark has a decimal wide enough for both."""
    scale, whole = max(left.scale, right.scale), max(left.digits - left.scale, right.digits - right.scale)
    if scale and whole + scale > MOST_DIGITS:
        raise UnableToTell("no decimal of Spark's holds both")
    return _scaled(left, scale), _scaled(right, scale)


def _scaled(given: Values, scale: int) -> Numbers:
    more = scale - given.scale
    if not more:
        return given.whole
    is_long = given.digits + more > LONG_DIGITS
    numbers: Numbers = (given.whole.astype(object) if is_long else given.whole) * 10**more
    return numbers


def _of_doubles(by: Compare, numbers: Doubles, literal: float) -> Flags:
    """A literal is no NaN, so that a NaN is greater than it."""
    yes: Flags = _OF_NUMBERS[by](numbers, literal)
    if by in (Compare.GT, Compare.GE):
        yes = yes | np.isnan(numbers)
    return yes


def _of_exact(by: Compare, given: Values, literal: Literal) -> Flags:
    """Against the nearest number that the column can hold, below or above."""
    scale = max(given.scale, literal.scale)
    if scale and max(given.digits - given.scale, literal.digits - literal.scale) + scale > MOST_DIGITS:
        raise UnableToTell("no decimal of Spark's holds both")
    if by not in (Compare.EQ, Compare.NE) and not given.is_decimal and not _LOW <= Decimal(literal.value) <= _HIGH:
        raise UnableToTell("beyond 64 bits Spark takes a whole number that is null for a small or a large one")
    scaled = Decimal(literal.value).scaleb(given.scale, _UNROUNDED)
    floor, ceiling = int(scaled.to_integral_value(ROUND_FLOOR)), int(scaled.to_integral_value(ROUND_CEILING))
    numbers, is_long = given.whole, given.whole.dtype == object
    if by in (Compare.EQ, Compare.NE):
        same = floor == ceiling and (is_long or _LOW <= floor <= _HIGH)
        found = numbers == floor if same else np.zeros(len(numbers), dtype=np.bool_)
        return found if by is Compare.EQ else ~found
    bound = ceiling if by in (Compare.LT, Compare.GE) else floor
    if not is_long and not _LOW <= bound <= _HIGH:
        return np.full(len(numbers), (bound > 0) is (by in (Compare.LT, Compare.LE)))
    yes: Flags = _OF_NUMBERS[by](numbers, bound)
    return yes


def _is_in(given: Values, among: tuple[Literal, ...]) -> Met:
    """Equal to one of them, once all are of the one type that Spark gives them."""
    if given.family is Family.TEXT and all(each.kind is LiteralKind.TEXT for each in among):
        known = texts_of([str(each.value) for each in among])
        return _known(of_texts(given.array, pc.is_in, known), given.null)
    if given.family is Family.EXACT and any(each.kind is LiteralKind.DOUBLE for each in among):
        given = given.as_doubles()
    if given.family is Family.EXACT:
        every = [(given.digits, given.scale), *((each.digits, each.scale) for each in among)]
        if max(digits - scale for digits, scale in every) + max(scale for _, scale in every) > MOST_DIGITS:
            raise UnableToTell("no decimal of Spark's holds all of them")
    found = np.zeros(len(given.whole), dtype=np.bool_)
    for each in among:
        found |= _with_literal(Compare.EQ, given, each).yes
    return _known(found, given.null)


def _found(given: Values, node: Found) -> Met:
    if given.family is not Family.TEXT or not is_valid_text(given.array):
        raise UnableToTell("a pattern is looked for in texts of UTF-8 alone")
    if node.ends and _end_with(given.array, _BREAKS):
        raise UnableToTell("a text ends with a line break, before which $ may stand")
    return _known(of_texts(given.array, pc.match_substring_regex, node.pattern), given.null)


def _holds(given: Values, node: Holds) -> Met:
    if given.family is not Family.TEXT or not is_valid_text(given.array):
        raise UnableToTell("a text is looked for in texts of UTF-8 alone")
    if node.starts and node.ends:
        return _known(of_texts(given.array, pc.equal, texts_of([node.text])[0]), given.null)
    look = pc.starts_with if node.starts else pc.ends_with if node.ends else pc.match_substring
    return _known(of_texts(given.array, look, node.text), given.null)


def _end_with(array: pa.Array, ends: tuple[str, ...]) -> bool:
    """Whether any text ends with one of these."""
    texts = array.dictionary if pa.types.is_dictionary(array.type) else array
    return any(pc.any(pc.ends_with(texts, pattern=end)).as_py() for end in ends)


def _lengths(given: Values) -> Values:
    """Of texts, in code points."""
    if given.family is not Family.TEXT or not is_valid_text(given.array):
        raise UnableToTell("the length of anything but texts of UTF-8 is Spark's to tell")
    lengths = of_texts(given.array, pc.utf8_length)
    return Values(family=Family.EXACT, array=None, numbers=lengths, null=given.null, digits=10)


def unpacked(array: pa.Array) -> pa.Array:
    """Without a dictionary."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def in_order(doubles: Doubles) -> Numbers:
    """Whole numbers in Spark's order of doubles: -0.0 is 0.0, and NaN the greatest."""
    bits = np.where(np.isnan(doubles), np.nan, doubles + 0.0).view(np.int64)
    ordered: Numbers = np.where(bits < 0, bits ^ _SIGN, bits)
    return ordered
