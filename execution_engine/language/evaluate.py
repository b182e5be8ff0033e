"""From a tree and the values of its operands to a verdict: one pass from the leaves up, in SQL's logic.

- Any operand that failed makes the run an error with that failure, the most telling first: one that someone must mend,
  then one that may pass by itself, then one that only wants time. Nothing, ``coalesce`` included, hides a failure.
- A value that is NaN or infinite is such a failure; so is a result too large to be held.
- NULL is not a failure: it goes through the assertion as in SQL, and only a NULL that reaches the root is an error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from typing import cast

from execution_engine.language.compared import Compared, faced
from execution_engine.language.history import aggregate
from execution_engine.language.number import Quantity, calculate, call, compare, negate, quantity
from execution_engine.language.operands import operands
from execution_engine.language.sentence import number_shown, sentence
from execution_engine.language.to_text import to_text
from execution_engine.language.tree import (
    And,
    Arithmetic,
    Between,
    Call,
    Comparator,
    Comparison,
    Condition,
    Duration,
    History,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    Operand,
    Operator,
    Or,
    Percentage,
)
from execution_engine.language.truth import Truth, all_of, any_of, opposite
from execution_engine.language.verdict import Verdict, ZeroDivision, only_predicate
from execution_engine.language.walk import fold
from execution_engine.outcome import Failure, Outcome, Reason

Value = float | Failure | Sequence[float | None] | None  # a sequence, newest last, for a history operand

_WAITING = frozenset({Reason.WARMING_UP, Reason.NOT_DUE})


class UnableToEvaluate(Exception):
    """Values that do not belong to the assertion: one is missing, or is of the wrong shape."""


def evaluate(tree: Condition, values: Mapping[str, Value], *, zero: ZeroDivision = ZeroDivision.NULL) -> Verdict:
    """The verdict on ``tree`` with ``values`` by the text of its operands; raises UnableToEvaluate without one."""
    measured = {operand.text: _measured(operand, values) for operand in operands(tree)}
    known = {text: None if isinstance(value, Failure) else value for text, value in measured.items()}
    failures = [value for value in measured.values() if isinstance(value, Failure)]
    if failures:
        return _error(min(failures, key=_rank), known)
    walk = _Walk(values={text: None if value is None else quantity(value) for text, value in known.items()})
    truth = cast(Truth, fold(tree, walk.visit))
    return _verdict(tree, truth, walk, zero, known)


@dataclass(frozen=True, kw_only=True)
class _Walk:
    """One walk over the tree, and what it met on its way."""

    values: Mapping[str, Quantity]
    compared: list[Compared] = field(default_factory=list)
    zero_divisions: list[tuple[Arithmetic, Decimal]] = field(default_factory=list)  # with the numerator
    overflows: list[Node] = field(default_factory=list)

    def visit(self, node: Node, below: Sequence[Quantity | Truth]) -> Quantity | Truth:
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
        self.compared.append(faced(node, below, truth))
        return truth

    def _number(self, node: Node, below: Sequence[Quantity]) -> Quantity:
        match node:
            case Number(value=value) | Duration(seconds=value):
                return quantity(value)
            case Percentage(percent=percent):
                return calculate(Operator.DIVIDE, quantity(percent), quantity(100))
            case Metric() | History():
                return self.values[node.text]
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


def _measured(operand: Operand, values: Mapping[str, Value]) -> float | Failure | None:
    if operand.text not in values:
        raise UnableToEvaluate(f"{operand.text} has no value: give one, None for NULL, or a Failure")
    value = values[operand.text]
    match operand, value:
        case _, None | Failure():
            return value
        case History(), Sequence():
            number = aggregate(operand, value)
        case Metric(), int() | float():
            number = value
        case _:
            raise UnableToEvaluate(f"{operand.text} cannot have the value {value!r}")
    if isinstance(number, Failure) or isfinite(number):
        return number
    return Failure(reason=Reason.NOT_FINITE, detail=f"{operand.text} is {number}")


def _verdict(
    tree: Condition, truth: Truth, walk: _Walk, zero: ZeroDivision, known: Mapping[str, float | None]
) -> Verdict:
    if walk.overflows:
        detail = f"{to_text(walk.overflows[0])} is too large to be held"
        return _error(Failure(reason=Reason.NOT_FINITE, detail=detail), known)
    if walk.zero_divisions and zero is not ZeroDivision.NULL:
        return _divided_by_zero(tree, walk, zero, known)
    if truth is None:
        return _error(Failure(reason=Reason.UNDEFINED, detail=_why_null(walk)), known)
    return _judged(tree, Outcome.HELD if truth else Outcome.BROKEN, walk, known)


def _divided_by_zero(tree: Condition, walk: _Walk, zero: ZeroDivision, known: Mapping[str, float | None]) -> Verdict:
    if any(numerator != 0 for _, numerator in walk.zero_divisions):
        return _judged(tree, Outcome.BROKEN, walk, known)
    if zero is ZeroDivision.STANDARD_ALLOW_EMPTY:
        return _judged(tree, Outcome.HELD, walk, known)
    detail = f"{to_text(walk.zero_divisions[0][0])} is 0 / 0: there is nothing to compare yet"
    return _error(Failure(reason=Reason.NO_DATA, detail=detail), known)


def _judged(tree: Condition, outcome: Outcome, walk: _Walk, known: Mapping[str, float | None]) -> Verdict:
    only = only_predicate(tree)
    compared = walk.compared[0] if only else None
    said = sentence(walk.compared, negated=bool(only and only[1]))
    return Verdict(
        outcome=outcome,
        sentence="; ".join([said, *_zero_divisions_said(walk)]),
        value=_float(compared.value) if compared else None,
        bound=_float(compared.bound) if compared else None,
        operands=known,
    )


def _error(failure: Failure, known: Mapping[str, float | None]) -> Verdict:
    return Verdict(outcome=Outcome.ERROR, sentence=str(failure), failure=failure, operands=known)


def _zero_divisions_said(walk: _Walk) -> list[str]:
    return [f"{to_text(node)} divides {number_shown(numerator)} by zero" for node, numerator in walk.zero_divisions]


def _why_null(walk: _Walk) -> str:
    nulls = [f"{text} is NULL" for text, value in walk.values.items() if value is None]
    return "; ".join([*nulls, *_zero_divisions_said(walk)])


def _float(value: Quantity) -> float | None:
    return None if value is None else float(value)


def _rank(failure: Failure) -> int:
    return 2 if failure.reason in _WAITING else 1 if failure.transient else 0
