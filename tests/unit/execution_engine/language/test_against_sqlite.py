"""The logic of NULL, arithmetic and comparison against an independent reference: SQLite.

Values are few and small, so that they meet often, NULL and zero above all.
"""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from execution_engine.language.evaluate import evaluate
from execution_engine.language.tree import Condition, Metric, Number, operands
from execution_engine.metrics.spec import MetricSpec
from tests.unit.execution_engine.language.sqlite_reference import by_sqlite
from tests.unit.execution_engine.language.trees import conditions, expressions

NAMES = ("a", "b", "c")

small = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0])
leaves = st.builds(Number, value=small) | st.sampled_from([Metric(spec=MetricSpec(name=name)) for name in NAMES])
VALUES = (None, 0.0, 1.0, -2.0)


@settings(max_examples=3 * settings().max_examples)
@given(tree=conditions(expressions(leaves, max_leaves=4)))
def test_random_assertions_agree_with_sqlite_for_every_value_of_their_operands(tree: Condition) -> None:
    texts = [operand.text for operand in operands(tree)]
    for values in product(VALUES, repeat=len(texts)):
        bound = dict(zip(texts, values, strict=True))
        assert (bound, evaluate(tree, bound).outcome) == (bound, by_sqlite(tree, bound))
