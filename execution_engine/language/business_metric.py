"""The expression of a business metric (pure): whose data its operands measure, its value, and what adds up to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from execution_engine.exact import Number as Exact
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

from .evaluate import Value, evaluate
from .parse import parse_expression
from .serialise import to_text
from .tree import (
    Arithmetic,
    Comparator,
    Comparison,
    Expression,
    History,
    Metric,
    Negative,
    Node,
    Number,
    Operator,
    Percentage,
    fields_of,
    fold,
    operands,
    postorder,
)

ZERO = Number(value=0.0)


@lru_cache(maxsize=1024)
def expression_of(text: str) -> Expression:
    """The tree of an expression that is known to be right; else raises UnableToParse."""
    return parse_expression(text)


def metrics_of(tree: Node) -> tuple[Metric, ...]:
    """What the expression is computed from, each once, in the order it is written; histories are none of it."""
    return tuple(operand for operand in operands(tree) if isinstance(operand, Metric))


def histories_of(tree: Node) -> tuple[History, ...]:
    """What an expression must not hold: the past of its value is what its own tests compare it with."""
    return tuple(operand for operand in operands(tree) if isinstance(operand, History))


def with_datasets(tree: Expression, home: str) -> Expression:
    """The same with a dataset in every operand: one that names none is of ``home``."""
    return _mapped(tree, lambda metric: metric if metric.dataset else replace(metric, dataset=home))


def only_where(tree: Expression, condition: str) -> Expression:
    """The same over those rows alone that meet a condition of SQL."""

    def narrow(metric: Metric) -> Metric:
        where = f"({metric.spec.where}) and ({condition})" if metric.spec.where else condition
        return replace(metric, spec=replace(metric.spec, where=where))

    return _mapped(tree, narrow)


def not_additive(tree: Expression) -> str | None:
    """Why its values over parts of the rows do not add up to its value over all of them; None where they do."""
    for node in postorder(tree):
        match node:
            case Metric(spec=MetricSpec(name=name)):
                is_sum = METRICS[name].adds_up
            case Arithmetic(operator=Operator.MULTIPLY, left=left, right=right):
                is_sum = _degree(left) + _degree(right) <= 1
            case Arithmetic(operator=Operator.DIVIDE, right=right):
                is_sum = _degree(right) <= 0
            case _:
                is_sum = isinstance(node, Arithmetic | Negative | Number | Percentage)
        if not is_sum:
            return f"{to_text(node)} over all rows is not the sum of what it is over parts of them"
    return None if _degree(tree) == 1 else f"{to_text(tree)} holds a number that is no part of any row"


def value_of(tree: Expression, values: Mapping[str, Value]) -> Exact | Failure | None:
    """The number that the values of its operands, by their texts, come to; None for NULL."""
    verdict = evaluate(Comparison(comparator=Comparator.EQUAL, left=tree, right=ZERO), values)
    if verdict.failure is None:
        return verdict.value
    return None if verdict.failure.reason is Reason.UNDEFINED else verdict.failure


def _mapped(tree: Expression, of_metric: Callable[[Metric], Metric]) -> Expression:
    """The tree with other metrics at its leaves."""

    def rebuild(node: Any, below: Sequence[Expression]) -> Expression:
        if isinstance(node, Metric):
            return of_metric(node)
        return replace(node, **fields_of(type(node), below)) if below else node  # type: ignore[no-any-return]

    return fold(tree, rebuild)


def _degree(node: Node) -> int:
    """1 where it grows with the rows, 0 for a plain number; 2 for what mixes both or multiplies two of the former."""
    match node:
        case Number() | Percentage():
            return 0
        case Arithmetic(operator=Operator.MULTIPLY | Operator.DIVIDE, left=left, right=right):
            return _degree(left) + _degree(right)
        case Arithmetic(left=left, right=right):
            return _degree(left) if _degree(left) == _degree(right) else 2
        case Negative(value=value):
            return _degree(value)
    return 1
