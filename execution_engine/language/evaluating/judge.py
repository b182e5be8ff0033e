"""One walk over a condition with its values: from the leaves up, in SQL's logic."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from enum import StrEnum
from math import inf, isfinite
from typing import Any, cast

from execution_engine.exact import Number as ExactNumber
from execution_engine.exact import decimal_of, number_of
from execution_engine.language.serialise import UNITS, to_text
from execution_engine.language.tree import (
    And,
    Arithmetic,
    Assertion,
    Between,
    By,
    Call,
    Comparator,
    Comparison,
    Duration,
    Expression,
    Function,
    History,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    Operator,
    Or,
    Percentage,
    Predicate,
    Unfolded,
    fold,
    fold_again,
    operands,
)
from execution_engine.metrics.definition import NOTE
from execution_engine.outcome import Failure, Outcome, Reason

# The arithmetic of assertions: decimal, as people reckon, so that ``1 - 99 / 100 <= 0.01`` holds.
#
# In binary floating point that difference is 0.010000000000000009 and the test would break at its very bound. Here a
# measured value counts as the shortest decimal that names it, or with all its digits (``exact.py``).
# Results keep 80 digits, and two numbers are compared by their first 60, so that (1 / 3) * 3 is 1 and sums of
# decimals
# differ in their last digit. A NULL (None) goes through every operation but ``coalesce``.

Quantity = Decimal | None

_REASONING = Context(prec=80, Emax=9999, Emin=-9999, traps=[])
_COMPARING = Context(prec=60, Emax=9999, Emin=-9999, traps=[])

_ARITHMETIC: dict[Operator, Callable[[Decimal, Decimal], Decimal]] = {
    Operator.ADD: _REASONING.add,
    Operator.SUBTRACT: _REASONING.subtract,
    Operator.MULTIPLY: _REASONING.multiply,
    Operator.DIVIDE: _REASONING.divide,
}

_COMPARISONS: dict[Comparator, Callable[[Decimal, Decimal], bool]] = {
    Comparator.LESS: Decimal.__lt__,
    Comparator.AT_MOST: Decimal.__le__,
    Comparator.GREATER: Decimal.__gt__,
    Comparator.AT_LEAST: Decimal.__ge__,
    Comparator.EQUAL: Decimal.__eq__,
    Comparator.UNEQUAL: Decimal.__ne__,
}


quantity = decimal_of


def calculate(operator: Operator, left: Quantity, right: Quantity) -> Quantity:
    """``left operator right``; NULL for a NULL side and for a division by zero."""
    if left is None or right is None or (operator is Operator.DIVIDE and right == 0):
        return None
    return _ARITHMETIC[operator](left, right)


def negate(value: Quantity) -> Quantity:
    """``-value``."""
    return None if value is None else _REASONING.minus(value)


def call(function: Function, arguments: Sequence[Quantity]) -> Quantity:
    """The function's value; ``least`` and ``greatest`` are NULL where any argument is, as in MySQL and SQLite."""
    known = [argument for argument in arguments if argument is not None]
    if function is Function.COALESCE:
        return known[0] if known else None
    if len(known) < len(arguments):
        return None
    match function:
        case Function.ABS:
            return _REASONING.abs(known[0])
        case Function.LEAST:
            return min(known)
        case Function.GREATEST:
            return max(known)


def compare(comparator: Comparator, left: Quantity, right: Quantity) -> bool | None:
    """Whether the comparison is true; None (unknown) where a side is NULL."""
    if left is None or right is None:
        return None
    return _COMPARISONS[comparator](_COMPARING.plus(left), _COMPARING.plus(right))


# SQL's three-valued logic; None is unknown.

Truth = bool | None


def all_of(terms: Iterable[Truth]) -> Truth:
    """False if any is false, else unknown if any is unknown."""
    known = set(terms)
    return False if False in known else None if None in known else True


def any_of(terms: Iterable[Truth]) -> Truth:
    """True if any is true, else unknown if any is unknown."""
    known = set(terms)
    return True if True in known else None if None in known else False


def opposite(term: Truth) -> Truth:
    """Unknown stays unknown."""
    return None if term is None else not term


# A comparison with the values of its sides, seen from the side that was measured.

_FLIPPED = {
    Comparator.LESS: Comparator.GREATER,
    Comparator.AT_MOST: Comparator.AT_LEAST,
    Comparator.GREATER: Comparator.LESS,
    Comparator.AT_LEAST: Comparator.AT_MOST,
}


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What was measured, the bounds it was held against (two for between), and what came out."""

    node: Predicate
    wanted: str  # the comparator or ``between``, as it stands behind the measured side
    measured: Expression
    limits: tuple[Expression, ...]
    value: Quantity
    bounds: tuple[Quantity, ...]
    truth: Truth

    @property
    def bound(self) -> Quantity:
        """The bound nearest to the value; when broken, the one it violates."""
        known = [bound for bound in self.bounds if bound is not None]
        if self.value is None or not known:
            return known[0] if known else None
        value = self.value
        return min(known, key=lambda bound: abs(value - bound))


def faced(node: Predicate, values: Sequence[Quantity], truth: Truth) -> Compared:
    """``node`` with its values; ``0.99 <= completeness(email)`` is turned round, so that the measured side is left."""
    match node:
        case Between(value=measured, low=low, high=high, negated=negated):
            wanted, limits = f"{'not ' * negated}between", (low, high)
            return _compared(node, wanted, (measured, *limits), values, truth)
        case Comparison(comparator=comparator, left=left, right=right):
            if operands(left) or not operands(right):
                return _compared(node, comparator, (left, right), values, truth)
            flipped = _FLIPPED.get(comparator, comparator)
            return _compared(node, flipped, (right, left), values[::-1], truth)


def _compared(
    node: Predicate, wanted: str, sides: tuple[Expression, ...], values: Sequence[Quantity], truth: Truth
) -> Compared:
    return Compared(
        node=node,
        wanted=wanted,
        measured=sides[0],
        limits=sides[1:],
        value=values[0],
        bounds=tuple(values[1:]),
        truth=truth,
    )


# A verdict in words: ``completeness(email) = 0.93, wanted >= 0.99``.

MOST_DIGITS = 40  # of a number that is shown whole: a quotient has more


def sentence(compared: Sequence[Compared], *, negated: bool = False) -> str:
    """One comparison with its value and what was wanted; of several, which are true."""
    if len(compared) == 1:
        return _one(compared[0], negated)
    return "; ".join(f"{to_text(one.node)} is {_TRUTHS[one.truth]} ({_value(one)})" for one in compared)


def with_notes(said: str, details: Iterable[Mapping[str, Any]]) -> str:
    """A sentence, and what must be known of the measurements behind it: rows left out, a constant column."""
    return "; ".join(dict.fromkeys([said, *(str(detail[NOTE]) for detail in details if NOTE in detail)]))


def number_shown(value: Quantity, bound: Quantity = None) -> str:
    """A number in six digits; in all where six would make it look like its bound, or where no float holds it."""
    if value is None:
        return "NULL"
    if value == value.to_integral_value() and abs(value) < 10**15:
        return str(int(value))
    few = len(value.as_tuple().digits) <= MOST_DIGITS
    if abs(value) >= 10**6 and few and not isinstance(number_of(value), float):
        return f"{value:f}"
    short = f"{value:.6g}" if abs(value) < 10**6 else f"{value:.0f}"
    hides = bound is not None and value != bound and float(short) == float(bound)
    if not hides:
        return short
    return f"{value:f}" if few else repr(float(value))


def length_shown(value: Quantity) -> str:
    """Seconds in their two largest units: ``5h 12m``."""
    if value is None:
        return "NULL"
    left, parts = round(abs(value)), []
    for unit, size in UNITS:
        count, left = divmod(left, size)
        parts += [f"{count}{unit}"] if count else []
    return ("-" if value < 0 else "") + (" ".join(parts[:2]) or "0s")


def _one(compared: Compared, negated: bool) -> str:
    limits = " and ".join(_limit(*pair, compared) for pair in zip(compared.limits, compared.bounds, strict=True))
    wanted = f"wanted {'not ' * negated}{compared.wanted} {limits}"
    return f"{to_text(compared.measured)} = {_value(compared)}, {wanted}"


def _limit(limit: Expression, bound: Quantity, compared: Compared) -> str:
    text = to_text(limit)
    return text if _is_constant(limit) else f"{text} ({_shown(bound, compared)})"


def _value(compared: Compared) -> str:
    return _shown(compared.value, compared)


def _shown(value: Quantity, compared: Compared) -> str:
    if any(is_length(side) for side in (compared.measured, *compared.limits)):
        return length_shown(value)
    return number_shown(value, compared.bound)


def _is_constant(node: Expression) -> bool:
    return isinstance(node, Number | Percentage | Duration)


def is_length(tree: Expression) -> bool:
    """Whether an expression is a length of time, as far as it says so itself."""
    return fold(tree, _length)


def _length(node: Node, below: Sequence[bool]) -> bool:
    match node:
        case Duration():
            return True
        case Arithmetic(operator=Operator.DIVIDE):
            return below[0] and not below[1]
        case Arithmetic() | Call() | Negative():
            return any(below)
    return False


_TRUTHS = {True: "true", False: "false", None: "unknown"}


# What evaluating an assertion gave, and how bad it is.

_WAITING = frozenset({Reason.WARMING_UP, Reason.NOT_DUE})


class ZeroDivision(StrEnum):
    """What a division by zero means: NULL as in SQL, or what the standard ratios of two counts say."""

    NULL = "null"
    STANDARD = "standard"  # 0/0: error, no data; x/0: broken
    STANDARD_ALLOW_EMPTY = "standard_allow_empty"  # 0/0: held; x/0: broken


@dataclass(frozen=True, kw_only=True)
class AssertionVerdict:
    """An evaluated assertion; ``value`` and ``bound`` are those of its only comparison, None when it has several.

    Under ``by`` they are the share of the groups that hold, and the share that must.
    """

    outcome: Outcome
    sentence: str
    failure: Failure | None = None
    value: ExactNumber | None = None
    bound: ExactNumber | None = None
    operands: Mapping[str, ExactNumber | None] = field(default_factory=dict)
    findings: Mapping[str, Any] = field(default_factory=dict)  # as JSON: the worst groups


def error(failure: Failure, operands: Mapping[str, ExactNumber | None]) -> AssertionVerdict:
    """The verdict on an assertion that could not be evaluated."""
    return AssertionVerdict(outcome=Outcome.ERROR, sentence=str(failure), failure=failure, operands=operands)


def gravest(failures: Iterable[Failure]) -> Failure:
    """The most telling failure: one to be mended, then one that may pass, then one that only wants time."""
    return min(failures, key=_rank)


def _rank(failure: Failure) -> int:
    return 2 if failure.reason in _WAITING else 1 if failure.transient else 0


def only_predicate(tree: Assertion) -> tuple[Predicate, bool] | None:
    """The comparison that is the whole assertion, and whether it is negated; None where there are several."""
    negated = False
    while isinstance(tree, Not):
        tree, negated = tree.term, not negated
    return (tree, negated) if isinstance(tree, Comparison | Between) else None


def excess(tree: Assertion, verdict: AssertionVerdict) -> float | None:
    """How far beyond its bound the value lies, in the value's own unit: the less, the better.

    Comparable between runs of one test: 0 when held, infinite for a broken division by zero, None where there is
    no single value to compare (an error, or several comparisons).
    """
    if verdict.outcome is Outcome.HELD:
        return 0.0
    if verdict.outcome is Outcome.ERROR or not (isinstance(tree, By) or only_predicate(tree)):
        return None
    if verdict.value is None or verdict.bound is None:
        return inf
    return float(abs(decimal_of(verdict.value) - decimal_of(verdict.bound)))


class UnableToEvaluate(Exception):
    """Values that do not belong to the assertion: one is missing, or is of the wrong shape."""


@dataclass(frozen=True, kw_only=True)
class ConditionJudgement:
    """What a condition came to: held, broken, or the failure for which it could not be told."""

    outcome: Outcome
    failure: Failure | None
    walk: "Walk"

    @property
    def compared(self) -> list[Compared]:
        """Its comparisons with their values, in the order they are written."""
        return [faced(node, below, truth) for node, below, truth in self.walk.compared]

    @property
    def zero_divisions_said(self) -> list[str]:
        """Each division by zero in words."""
        return _zero_divisions_said(self.walk)


@dataclass(frozen=True, kw_only=True)
class Walk:
    """One walk over the tree, and what it met on its way."""

    values: Mapping[str, Quantity]  # by the call of each operand
    compared: list[tuple[Predicate, Sequence[Quantity], Truth]] = field(default_factory=list)
    zero_divisions: list[tuple[Arithmetic, Decimal]] = field(default_factory=list)  # with the numerator
    overflows: list[Node] = field(default_factory=list)

    def visit(self, node: Node, below: Sequence[Quantity | Truth]) -> Quantity | Truth:
        """The value of a node from those below it."""
        match node:
            case And():
                return all_of(cast(Sequence[Truth], below))
            case Or():
                return any_of(cast(Sequence[Truth], below))
            case Not():
                return opposite(cast(Truth, below[0]))
            case Comparison() | Between():
                return self._compare(node, cast(Sequence[Quantity], below))
        result = self._number(node, cast(Sequence[Quantity], below))
        if result is not None and not isfinite(float(result)):
            self.overflows.append(node)
            return None
        return result

    def _compare(self, node: Comparison | Between, below: Sequence[Quantity]) -> Truth:
        if isinstance(node, Comparison):
            truth = compare(node.comparator, below[0], below[1])
        else:
            value, low, high = below
            inside = (compare(Comparator.AT_LEAST, value, low), compare(Comparator.AT_MOST, value, high))
            truth = opposite(all_of(inside)) if node.negated else all_of(inside)
        self.compared.append((node, below, truth))
        return truth

    def _number(self, node: Node, below: Sequence[Quantity]) -> Quantity:
        match node:
            case Number(value=value) | Duration(seconds=value):
                return quantity(value)
            case Percentage(percent=percent):
                return calculate(Operator.DIVIDE, quantity(percent), quantity(100))
            case Metric() | History():
                return self.values[node.call]
            case Negative():
                return negate(below[0])
            case Call(function=function):
                return call(function, below)
            case Arithmetic(operator=operator):
                left, right = below
                if operator is Operator.DIVIDE and right == 0 and left is not None:
                    self.zero_divisions.append((node, left))
                return calculate(operator, left, right)
        raise UnableToEvaluate(f"{to_text(node)} has no value in an assertion; it should not have passed the check")


def judge(nodes: Unfolded, values: Mapping[str, Quantity], zero: ZeroDivision) -> ConditionJudgement:
    """What the unfolded condition comes to with the values of its operands, by their calls."""
    walk = Walk(values=values)
    truth = cast(Truth, fold_again(nodes, walk.visit))
    found = _outcome(truth, walk, zero)
    if isinstance(found, Failure):
        return ConditionJudgement(outcome=Outcome.ERROR, failure=found, walk=walk)
    return ConditionJudgement(outcome=found, failure=None, walk=walk)


def _outcome(truth: Truth, walk: Walk, zero: ZeroDivision) -> Outcome | Failure:
    if walk.overflows:
        return Failure(reason=Reason.NOT_FINITE, detail=f"{to_text(walk.overflows[0])} is too large to be held")
    if walk.zero_divisions and zero is not ZeroDivision.NULL:
        return _divided_by_zero(walk, zero)
    if truth is None:
        return Failure(reason=Reason.UNDEFINED, detail=_why_null(walk))
    return Outcome.HELD if truth else Outcome.BROKEN


def _divided_by_zero(walk: Walk, zero: ZeroDivision) -> Outcome | Failure:
    if any(numerator != 0 for _, numerator in walk.zero_divisions):
        return Outcome.BROKEN
    if zero is ZeroDivision.STANDARD_ALLOW_EMPTY:
        return Outcome.HELD
    detail = f"{to_text(walk.zero_divisions[0][0])} is 0 / 0: there is nothing to compare yet"
    return Failure(reason=Reason.NO_DATA, detail=detail)


def _zero_divisions_said(walk: Walk) -> list[str]:
    return [f"{to_text(node)} divides {number_shown(numerator)} by zero" for node, numerator in walk.zero_divisions]


def _why_null(walk: Walk) -> str:
    nulls = [f"{text} is NULL" for text, value in walk.values.items() if value is None]
    return "; ".join([*nulls, *_zero_divisions_said(walk)])
