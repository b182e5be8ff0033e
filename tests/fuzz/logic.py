"""Random assertions over random values, evaluated by the language, by SQLite and in exact fractions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

from execution_engine.language.evaluate import all_of, any_of, evaluate, opposite
from execution_engine.language.serialise import to_text
from execution_engine.language.tree import (
    And,
    Arithmetic,
    Between,
    Call,
    Comparator,
    Comparison,
    Condition,
    Expression,
    Function,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    Operator,
    Or,
    fold,
    operands,
)
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Outcome
from tests.unit.execution_engine.language.sqlite_reference import TRUTHS, by_sqlite

OPERANDS = tuple(Metric(spec=MetricSpec(name=name)) for name in "abcd")
CONSTANTS = (0.0, 0.5, 1.0, 2.0, 3.0, 10.0, 0.25)
VALUES = (None, None, 0.0, 1.0, -2.0, 3.0, 0.5, 100.0)
SEVERAL = (Function.LEAST, Function.GREATEST, Function.COALESCE)


@dataclass(kw_only=True)
class Agreement:
    """How often the three agreed, by outcome; picklable."""

    outcomes: Counter[str] = field(default_factory=Counter)
    noise: int = 0  # SQLite's binary numbers are off the exact ones at a bound, or a zero of theirs is none
    differences: list[str] = field(default_factory=list)

    def add(self, other: "Agreement") -> None:
        """Add another count to this one."""
        self.outcomes += other.outcomes
        self.noise += other.noise
        self.differences += other.differences


def compare_with_sqlite(start: int, count: int) -> Agreement:
    """``count`` assertions, each made from its own number, from ``start`` on."""
    found = Agreement()
    for number in range(start, start + count):
        random = Random(number)
        tree = condition(random, random.choice((1, 2, 3)))
        values = {operand.text: random.choice(VALUES) for operand in operands(tree)}
        ours, theirs, exact = evaluate(tree, values).outcome, by_sqlite(tree, values), in_fractions(tree, values)
        if ours is theirs:
            found.outcomes[ours] += 1
        elif ours is exact:
            found.noise += 1
        else:
            found.differences.append(f"{number}: {to_text(tree)} with {values} is {ours}, by SQLite {theirs}")
    return found


def condition(random: Random, depth: int) -> Condition:
    """Comparisons, joined."""
    kind = random.randrange(6) if depth else random.randrange(3)
    if kind < 2:
        left, right = _expression(random, depth), _expression(random, depth)
        return Comparison(comparator=random.choice(list(Comparator)), left=left, right=right)
    if kind == 2:
        value, low, high = (_expression(random, max(0, depth - 1)) for _ in range(3))
        return Between(value=value, low=low, high=high, negated=random.random() < 0.5)
    if kind == 3:
        return Not(term=condition(random, depth - 1))
    terms = tuple(condition(random, depth - 1) for _ in range(random.choice((2, 2, 3))))
    return And(terms=terms) if kind == 4 else Or(terms=terms)


def _expression(random: Random, depth: int) -> Expression:
    kind = random.randrange(8) if depth else random.randrange(3)
    if kind < 2:
        return random.choice(OPERANDS)
    if kind == 2:
        return Number(value=random.choice(CONSTANTS))
    if kind < 6:
        left, right = _expression(random, depth - 1), _expression(random, depth - 1)
        return Arithmetic(operator=random.choice(list(Operator)), left=left, right=right)
    if kind == 6:
        value = _expression(random, depth - 1)
        return random.choice((Negative(value=value), Call(function=Function.ABS, arguments=(value,))))
    arguments = tuple(_expression(random, depth - 1) for _ in range(random.choice((2, 3))))
    return Call(function=random.choice(SEVERAL), arguments=arguments)


def in_fractions(tree: Condition, values: Mapping[str, float | None]) -> Outcome:
    """The outcome in exact rational numbers."""

    def visit(node: Node, below: Sequence[Any]) -> Any:
        match node:
            case Number(value=value):
                return Fraction(value)
            case Metric():
                value_of = values[node.text]
                return None if value_of is None else Fraction(value_of)
            case And():
                return all_of(below)
            case Or():
                return any_of(below)
            case Not():
                return opposite(below[0])
            case Between(negated=negated):
                value, low, high = below
                inside = all_of(
                    (_compared(Comparator.AT_LEAST, value, low), _compared(Comparator.AT_MOST, value, high))
                )
                return opposite(inside) if negated else inside
            case Comparison(comparator=comparator):
                return _compared(comparator, *below)
        return _exact(node, below)

    return TRUTHS[fold(tree, visit)]


def _exact(node: Node, below: Sequence[Fraction | None]) -> Fraction | None:
    known = [value for value in below if value is not None]
    if isinstance(node, Call) and node.function is Function.COALESCE:
        return known[0] if known else None
    if len(known) < len(below):
        return None
    match node:
        case Negative():
            return -known[0]
        case Call(function=function):
            return {Function.ABS: lambda: abs(known[0]), Function.LEAST: lambda: min(known)}.get(
                function, lambda: max(known)
            )()
        case Arithmetic(operator=Operator.ADD):
            return known[0] + known[1]
        case Arithmetic(operator=Operator.SUBTRACT):
            return known[0] - known[1]
        case Arithmetic(operator=Operator.MULTIPLY):
            return known[0] * known[1]
    return known[0] / known[1] if known[1] else None


def _compared(comparator: Comparator, left: Fraction | None, right: Fraction | None) -> bool | None:
    if left is None or right is None:
        return None
    order = (left > right) - (left < right)
    return order in {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (1, 0), "=": (0,), "!=": (-1, 1)}[comparator.value]
