"""The logic of NULL, arithmetic and comparison against an independent reference: SQLite.

Values are few and small, so that they meet often, NULL and zero above all. SQLite reckons in binary, so both sides of
its comparisons are rounded where a division may have left noise that decimal reckoning does not have.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from execution_engine.language.evaluate import evaluate
from execution_engine.language.operands import operands
from execution_engine.language.tree import (
    And,
    Arithmetic,
    Between,
    Call,
    Comparison,
    Condition,
    Function,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    Or,
)
from execution_engine.language.walk import fold
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Outcome
from tests.unit.execution_engine.language.trees import conditions, expressions

SQLITE = sqlite3.connect(":memory:", check_same_thread=False)
NAMES = ("a", "b", "c")
FUNCTIONS = {Function.ABS: "abs", Function.LEAST: "min", Function.GREATEST: "max", Function.COALESCE: "coalesce"}
TRUTHS = {1: Outcome.HELD, 0: Outcome.BROKEN, None: Outcome.ERROR}

small = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0])
leaves = st.builds(Number, value=small) | st.sampled_from([Metric(spec=MetricSpec(name=name)) for name in NAMES])
VALUES = (None, 0.0, 1.0, -2.0)


def sql(node: Node, below: Sequence[str]) -> str:
    """The node in SQLite's language, everything in parentheses."""
    match node:
        case Number(value=value):
            return repr(value)
        case Metric():
            return f":{node.spec.name}"
        case Negative():
            return f"(- {below[0]})"
        case Arithmetic(operator=operator):
            return f"({below[0]} {operator} {below[1]})"
        case Call(function=function):
            return f"{FUNCTIONS[function]}({', '.join(below)})"
        case Comparison(comparator=comparator):
            return f"(round({below[0]}, 9) {comparator} round({below[1]}, 9))"
        case Between(negated=negated):
            side, low, high = (f"round({side}, 9)" for side in below)
            return f"({side} {'not' if negated else ''} between {low} and {high})"
        case Not():
            return f"(not {below[0]})"
        case And() | Or():
            return f"({f' {type(node).__name__} '.join(below)})"
    raise AssertionError(node)


def by_sqlite(tree: Condition, bound: Mapping[str, float | None]) -> Outcome:
    """What SQLite makes of the assertion, its numbers bound as REAL."""
    parameters = {text.removesuffix("()"): value for text, value in bound.items()}
    (truth,) = SQLITE.execute(f"select {fold(tree, sql)}", parameters).fetchone()
    return TRUTHS[truth]


@settings(max_examples=300, deadline=None)
@given(tree=conditions(expressions(leaves, max_leaves=4)))
def test_random_assertions_agree_with_sqlite_for_every_value_of_their_operands(tree: Condition) -> None:
    texts = [operand.text for operand in operands(tree)]
    for values in product(VALUES, repeat=len(texts)):
        bound = dict(zip(texts, values, strict=True))
        assert (bound, evaluate(tree, bound).outcome) == (bound, by_sqlite(tree, bound))
