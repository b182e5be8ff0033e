"""One walk over a condition with its values: from the leaves up, in SQL's logic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from typing import cast

from execution_engine.language.to_text import to_text
from execution_engine.language.tree import (
    And,
    Arithmetic,
    Between,
    Call,
    Comparator,
    Comparison,
    Duration,
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
)
from execution_engine.language.walk import Unfolded, fold_again
from execution_engine.outcome import Failure, Outcome, Reason

from .compared import Compared, faced
from .number import Quantity, calculate, call, compare, negate, quantity
from .sentence import number_shown
from .truth import Truth, all_of, any_of, opposite
from .verdict import ZeroDivision


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
