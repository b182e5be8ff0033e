"""What evaluating an assertion gave, and how bad it is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Any

from execution_engine.exact import Number, decimal_of
from execution_engine.language.tree import Assertion, Between, By, Comparison, Not, Predicate
from execution_engine.outcome import Failure, Outcome, Reason

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
    value: Number | None = None
    bound: Number | None = None
    operands: Mapping[str, Number | None] = field(default_factory=dict)
    findings: Mapping[str, Any] = field(default_factory=dict)  # as JSON: the worst groups


def error(failure: Failure, operands: Mapping[str, Number | None]) -> AssertionVerdict:
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
