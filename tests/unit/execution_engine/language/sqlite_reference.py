"""What SQLite makes of an assertion: an independent reference for NULL, arithmetic and comparison.

SQLite reckons in binary, so both sides of its comparisons are rounded where a division may have left noise that
decimal reckoning does not have.
"""

import sqlite3
from collections.abc import Mapping, Sequence

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
    fold,
)
from execution_engine.outcome import Outcome

SQLITE = sqlite3.connect(":memory:", check_same_thread=False)
FUNCTIONS = {Function.ABS: "abs", Function.LEAST: "min", Function.GREATEST: "max", Function.COALESCE: "coalesce"}
TRUTHS = {1: Outcome.HELD, 0: Outcome.BROKEN, None: Outcome.ERROR}


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
