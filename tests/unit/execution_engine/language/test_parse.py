"""Reading an assertion: what is accepted, how it is understood, and what is said of the rest."""

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from execution_engine.language.parse import UnableToParse, parse
from execution_engine.language.serialise import to_text
from execution_engine.language.tree import (
    And,
    Arithmetic,
    Comparator,
    Comparison,
    History,
    HistoryFunction,
    Metric,
    Node,
    Not,
    Number,
    Operator,
    Or,
    Span,
    children,
    operands,
    postorder,
)
from execution_engine.metrics.spec import MetricSpec
from tests.unit.execution_engine.language.golden import pairs
from tests.unit.execution_engine.language.trees import assertions

WORDS = [*"+-*/()<>=!,'\"%#.", "and", "or", "not", "between", "by", "abs", "row_count()", "x", "7d", "1", "last=", "\n"]
OWN_WORDS = ["and", "or", "not", "between", "by", "for", "of", "groups", "abs", "least", "coalesce", "last", "ago"]


@pytest.mark.parametrize(("text", "canonical"), pairs("assertions.txt"))
def test_an_assertion_is_read_and_written_in_its_canonical_form(text: str, canonical: str) -> None:
    assert to_text(parse(text)) == canonical
    assert parse(canonical) == parse(text)


@pytest.mark.parametrize(("text", "message"), pairs("refusals.txt"))
def test_a_text_that_is_no_assertion_is_refused_with_a_caret_under_the_place(text: str, message: str) -> None:
    with pytest.raises(UnableToParse) as refused:
        parse(text)
    assert str(refused.value) == message


def test_a_call_becomes_a_metric_with_where_and_when_apart() -> None:
    tree = parse("quantile(fare, 0.99, where='x', dataset='raw.trips', datacenter='phx', ago=7d) > 1")
    spec = MetricSpec(name="quantile", columns=("fare",), arguments=(0.99,), where="x")
    metric = Metric(spec=spec, dataset="raw.trips", datacenter="phx", ago="7d")
    assert tree == Comparison(comparator=Comparator.GREATER, left=metric, right=Number(value=1.0))
    assert metric.text == "quantile(fare, 0.99, where='x', dataset='raw.trips', datacenter='phx', ago=7d)"


def test_a_function_of_a_metric_call_is_over_history_and_of_a_column_a_metric() -> None:
    history, metric = operands(parse("mean(row_count(), last=7) > mean(fare)"))
    inner = Metric(spec=MetricSpec(name="row_count"))
    assert history == History(function=HistoryFunction.MEAN, metric=inner, last=7)
    assert metric == Metric(spec=MetricSpec(name="mean", columns=("fare",)))


@pytest.mark.parametrize("word", ["union", "desc", "set", "from", "null", "true", *OWN_WORDS])
def test_a_word_of_sql_or_of_the_language_is_a_column_wherever_a_metric_takes_one(word: str) -> None:
    text = "mean({0}) > 1 and distinct_count(city, {0}, address.{0}) > 1 by city, {0}"
    assert parse(text.format(word)) == parse(text.format(f"`{word}`"))


def test_half_of_the_past_windows_are_needed_unless_min_says_otherwise() -> None:
    found = operands(parse("mean(row_count(), last=7) > mean(row_count(), last=7, min=2)"))
    assert [history.needed for history in found if isinstance(history, History)] == [4, 2]


def test_operations_of_one_rank_bind_from_the_left() -> None:
    one, two, three = (Number(value=value) for value in (1.0, 2.0, 3.0))
    left = Arithmetic(operator=Operator.SUBTRACT, left=one, right=two)
    whole = Arithmetic(operator=Operator.SUBTRACT, left=left, right=three)
    assert parse("1 - 2 - 3 < 1") == Comparison(comparator=Comparator.LESS, left=whole, right=one)


def test_not_binds_tighter_than_and_and_and_than_or() -> None:
    tree = parse("1 < 2 or not 1 < 2 and 1 < 2")
    term = Comparison(comparator=Comparator.LESS, left=Number(value=1.0), right=Number(value=2.0))
    assert tree == Or(terms=(term, And(terms=(Not(term=term), term))))


def test_each_distinct_operand_is_named_once_in_the_order_it_is_written() -> None:
    tree = parse("row_count() > row_count(ago=7d) and Row_Count( ) < mean(row_count(), last=7)")
    assert [operand.text for operand in operands(tree)] == [
        "row_count()",
        "row_count(ago=7d)",
        "mean(row_count(), last=7)",
    ]


def test_places_span_the_text_of_each_node() -> None:
    text = "row_count()  > (1 +  2) # or so"
    shown = [(type(node).__name__, text[node.place.start : node.place.end]) for node in postorder(parse(text))]
    assert shown == [
        *[("Metric", "row_count()"), ("Number", "1"), ("Number", "2"), ("Arithmetic", "1 +  2")],
        ("Comparison", "row_count()  > (1 +  2)"),
    ]


def test_places_of_arguments_are_known_to_the_call() -> None:
    text = "quantile(fare, 0.5, ago=7d) > 1"
    (metric,) = operands(parse(text))
    places = [metric.at(part) for part in ("column 0", "argument 0", "ago", "where")]
    assert [text[place.start : place.end] for place in places] == [
        *("fare", "0.5", "ago=7d", "quantile(fare, 0.5, ago=7d)"),
    ]


def test_a_caret_points_into_the_right_line_of_several() -> None:
    with pytest.raises(UnableToParse) as refused:
        parse("row_count() > 0\nand row_count() !\nand 1 < 2")
    assert str(refused.value).endswith("\n  and row_count() !\n                  ^")


def test_a_long_line_is_cropped_around_the_caret() -> None:
    with pytest.raises(UnableToParse) as refused:
        parse(" or ".join(["1 < 2"] * 20) + " or ) or " + " or ".join(["1 < 2"] * 20))
    _, line, caret = str(refused.value).split("\n")
    start = caret.index("^")
    assert line.startswith("  …")
    assert line.endswith("…")
    assert line[start] == ")"
    assert len(line) <= 104


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])  # a tree may be too large
@given(assertions)
def test_every_tree_reads_back_from_its_canonical_text(tree: Node) -> None:
    try:
        assert parse(to_text(tree)) == tree
    except UnableToParse as refused:
        assume("it may" not in str(refused))
        raise


@given(st.text() | st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
def test_any_text_is_an_assertion_or_unable_to_parse(text: str) -> None:
    try:
        tree = parse(text)
    except UnableToParse:
        return
    assert children(tree)
    assert tree.place != Span(start=0, end=0)


def test_what_is_missing_at_the_end_is_missing_behind_the_last_word() -> None:
    text = "  row_count() >   "
    with pytest.raises(UnableToParse) as caught:
        parse(text)
    assert caught.value.problem.place == Span(start=len("  row_count() >"), end=len("  row_count() >"))
