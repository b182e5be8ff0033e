"""Random trees of assertions, for properties."""

from hypothesis import strategies as st

from execution_engine.language.tree import (
    ONE_VALUE,
    And,
    Arithmetic,
    Assertion,
    Between,
    By,
    Call,
    Comparator,
    Comparison,
    Condition,
    Duration,
    Expression,
    Function,
    History,
    HistoryFunction,
    Metric,
    Negative,
    Not,
    Number,
    Operator,
    Or,
    Percentage,
    Text,
)
from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import MetricSpec

shown = st.characters(exclude_categories=["Cc", "Cf", "Cs"])  # what an assertion may hold
odd_names = st.text(shown, min_size=1, max_size=12) | st.text("a.` '\"\n#,=()é🚕", min_size=1, max_size=6)
plain_names = st.sampled_from(
    ["a", "b_2", "Fare", "and", "abs", "between", "by", "for", "least", "7d", "where", "last"]
)
paths = st.lists(plain_names | odd_names, min_size=1, max_size=3)
names = paths.map(lambda path: written(*path))
texts = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=12)
positive = st.floats(0, 1e300, allow_nan=False) | st.integers(0, 10**6).map(float)
whole = st.integers(-(10**6), 10**6)
specs = st.builds(
    MetricSpec,
    name=st.sampled_from(["row_count", "mean", "quantile"]),
    columns=st.lists(names, max_size=2).map(tuple),
    arguments=st.lists(whole | texts | positive.filter(lambda x: not x.is_integer()), max_size=2).map(tuple),
    options=st.dictionaries(st.sampled_from(["n", "complete"]), whole | texts).map(lambda d: tuple(sorted(d.items()))),
    where=st.none() | texts,
)
metrics = st.builds(
    Metric,
    spec=specs,
    dataset=st.none() | texts,
    datacenter=st.none() | texts,
    ago=st.sampled_from([None, "7d", "1mo", "4h"]),
)
every = st.none() | st.sampled_from(["1d", "7d", "1mo", "1y"])
many = st.sampled_from([function for function in HistoryFunction if function not in ONE_VALUE])
histories = st.builds(
    History, function=many, metric=metrics, last=st.integers(1, 1000), min=st.none() | st.integers(1, 1000), every=every
) | st.builds(
    History, function=st.sampled_from(sorted(ONE_VALUE)), metric=metrics, last=st.integers(1, 1000), every=every
)
leaves = st.one_of(
    st.builds(Number, value=positive),
    st.builds(Percentage, percent=positive),
    st.builds(Duration, seconds=st.integers(0, 10**9).map(float) | st.floats(1e-6, 1e6)),
    st.builds(Text, value=texts),
    metrics,
    histories,
)


def expressions(leaf: st.SearchStrategy[Expression], max_leaves: int = 6) -> st.SearchStrategy[Expression]:
    """Arithmetic over the given leaves."""
    return st.recursive(leaf, _grown, max_leaves=max_leaves)


def _grown(below: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.sampled_from([function for function in Function if function is not Function.ABS])
    return st.one_of(
        st.builds(Negative, value=below),
        st.builds(Arithmetic, operator=st.sampled_from(Operator), left=below, right=below),
        st.builds(Call, function=st.just(Function.ABS), arguments=st.tuples(below)),
        st.builds(Call, function=several, arguments=st.lists(below, min_size=2, max_size=3).map(tuple)),
    )


def conditions(expression: st.SearchStrategy[Expression], max_leaves: int = 4) -> st.SearchStrategy[Condition]:
    """Comparisons of the given expressions, joined."""
    comparison = st.builds(Comparison, comparator=st.sampled_from(Comparator), left=expression, right=expression)
    between = st.builds(Between, value=expression, low=expression, high=expression, negated=st.booleans())
    return st.recursive(comparison | between, _joined, max_leaves=max_leaves)


def _joined(below: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    terms = st.lists(below, min_size=2, max_size=3).map(tuple)
    return st.builds(And, terms=terms) | st.builds(Or, terms=terms) | st.builds(Not, term=below)


def grouped(condition: st.SearchStrategy[Condition]) -> st.SearchStrategy[Assertion]:
    """The given conditions by columns."""
    columns = st.lists(names, min_size=1, max_size=3).map(tuple)
    return st.builds(By, condition=condition, columns=columns, percent=st.none() | positive)


assertions = conditions(expressions(leaves)) | grouped(conditions(expressions(leaves)))
