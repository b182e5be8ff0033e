"""From a tree and the values of its operands to a verdict.

- Any operand that failed makes the run an error with that failure, the most telling first: one that someone must mend,
  then one that may pass by itself, then one that only wants time. Nothing, ``coalesce`` included, hides a failure.
- A value that is NaN or infinite is such a failure; so is a result too large to be held.
- NULL is not a failure: it goes through the assertion as in SQL, and only a NULL that reaches the root is an error.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from math import isfinite
from typing import Any, cast

from execution_engine.exact import Number, is_whole, number_of
from execution_engine.language.tree import (
    Arithmetic,
    Assertion,
    By,
    Condition,
    History,
    Metric,
    Operand,
    Operator,
    operands,
    postorder,
    unfolded,
)
from execution_engine.outcome import Failure, Reason

from .groups import Groups, judge_groups
from .judge import (
    AssertionVerdict,
    ConditionJudgement,
    Quantity,
    UnableToEvaluate,
    ZeroDivision,
    error,
    gravest,
    judge,
    only_predicate,
    quantity,
    sentence,
)
from .past import EXPECTED, NOVEL, Anomaly, BesidePast, Novelty, WithPast, aggregate, anomaly, novelty

__all__ = ["UnableToEvaluate", "Value", "evaluate"]

# A sequence, newest last, for a history operand, with the value now for an anomaly, and profiles for novelty; of each
# group its own under ``by``.
Value = (
    Number
    | Failure
    | Sequence[Number | None]
    | WithPast[Number | None]
    | Groups
    | Sequence[Groups | None]
    | WithPast[Groups]
    | BesidePast
    | None
)


def evaluate(
    tree: Assertion, values: Mapping[str, Value], *, zero: ZeroDivision = ZeroDivision.NULL
) -> AssertionVerdict:
    """The verdict on ``tree`` with ``values`` by the text of its operands; raises UnableToEvaluate without one."""
    if isinstance(tree, By):
        return judge_groups(tree, values, zero)
    found = {operand.text: _measured(operand, values) for operand in operands(tree)}
    judged = [value for value in found.values() if isinstance(value, Anomaly | Novelty)]
    measured = {text: value.score if isinstance(value, Anomaly | Novelty) else value for text, value in found.items()}
    known = {text: None if isinstance(value, Failure) else value for text, value in measured.items()}
    failures = [value for value in measured.values() if isinstance(value, Failure)]
    if failures:
        return error(gravest(failures), known)
    verdict = of_known(tree, known, zero=zero)
    if not judged or verdict.failure is not None:
        return verdict
    said = "; ".join([verdict.sentence, *(one.sentence for one in judged if one.sentence)])
    findings: dict[str, list[Any]] = defaultdict(list)
    for one in judged:
        findings[EXPECTED if isinstance(one, Anomaly) else NOVEL].append(one.finding)
    return replace(verdict, sentence=said, findings=dict(findings))


def of_known(tree: Condition, known: Mapping[str, Number | None], *, zero: ZeroDivision) -> AssertionVerdict:
    """The verdict on a condition whose operands have these values, histories and anomalies already reckoned."""
    quantities = {text: None if value is None else quantity(value) for text, value in known.items()}
    return _verdict(tree, judge(unfolded(tree), quantities, zero), known)


def _measured(operand: Operand, values: Mapping[str, Value]) -> Number | Anomaly | Novelty | Failure | None:
    if operand.text not in values:
        raise UnableToEvaluate(f"{operand.text} has no value: give one, None for NULL, or a Failure")
    value = values[operand.text]
    match operand, value:
        case _, None | Failure():
            return value
        case History(), WithPast():
            return anomaly(operand, cast("WithPast[Number | None]", value))
        case History(), BesidePast():
            return novelty(operand, value)
        case History(), Sequence():
            number = aggregate(operand, cast(Sequence[Number | None], value))
        case Metric(), int() | float() | Decimal():
            number = value
        case _:
            raise UnableToEvaluate(f"{operand.text} cannot have the value {value!r}")
    if isinstance(number, Failure) or isfinite(number):
        return number
    return Failure(reason=Reason.NOT_FINITE, detail=f"{operand.text} is {number}")


def _verdict(tree: Condition, found: ConditionJudgement, known: Mapping[str, Number | None]) -> AssertionVerdict:
    if found.failure is not None:
        return error(found.failure, known)
    only = only_predicate(tree)
    all_compared = found.compared
    compared = all_compared[0] if only else None
    said = sentence(all_compared, negated=bool(only and only[1]))
    return AssertionVerdict(
        outcome=found.outcome,
        sentence="; ".join([said, *found.zero_divisions_said]),
        value=_number(compared.value, tree) if compared else None,
        bound=_number(compared.bound, tree) if compared else None,
        operands=known,
    )


def _number(value: Quantity, tree: Condition) -> Number | None:
    """With every digit, but of a quotient that is no whole number: few of its digits say anything."""
    if value is None:
        return None
    divides = any(isinstance(node, Arithmetic) and node.operator is Operator.DIVIDE for node in postorder(tree))
    return float(value) if divides and not is_whole(value) else number_of(value)
