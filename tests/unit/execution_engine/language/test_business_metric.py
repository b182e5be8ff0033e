"""Expressions of business metrics: what they may be, whose data they read, and which of them add up."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.language.business_metric import (
    expression_of,
    histories_of,
    metrics_of,
    not_additive,
    only_where,
    value_of,
    with_datasets,
)
from execution_engine.language.parse import UnableToParse, parse_expression
from execution_engine.language.serialise import to_text
from execution_engine.outcome import Failure, Reason

TAKINGS = "sum(fare, where=\"status = 'done'\") / row_count(dataset='raw.visits')"


@pytest.mark.parametrize("text", ["sum(fare) > 3", "sum(fare) between 1 and 2", "sum(fare) not between 1 and 2"])
def test_an_expression_has_no_bound(text: str) -> None:
    with pytest.raises(UnableToParse, match=r"(?s)Cannot read the expression: .*an expression has no bound.*\^"):
        parse_expression(text)


@pytest.mark.parametrize("text", ["", "sum(fare) by city", "sum(fare", "sum(fare) sum(fare)"])
def test_what_is_no_number_is_told_with_its_place(text: str) -> None:
    with pytest.raises(UnableToParse, match="Cannot read the expression"):
        parse_expression(text)


def test_an_operand_that_names_no_dataset_is_of_the_first_source() -> None:
    tree = with_datasets(expression_of(TAKINGS), "raw.rides")
    assert [metric.dataset for metric in metrics_of(tree)] == ["raw.rides", "raw.visits"]
    assert parse_expression(to_text(tree)) == tree


def test_the_past_is_found_wherever_it_stands() -> None:
    assert [each.call for each in histories_of(expression_of("1 + abs(mean(row_count(), last=7))"))] == [
        "mean(row_count(), last=7)"
    ]


def test_a_part_keeps_the_condition_of_the_whole() -> None:
    assert to_text(only_where(expression_of("2 * sum(fare, where='a or b')"), "city is not null")) == (
        "2 * sum(fare, where='(a or b) and (city is not null)')"
    )


@pytest.mark.parametrize(
    "text", ["row_count()", "sum(a) + sum(b)", "2 * sum(a) - row_count() / 3", "-sum(a)", "sum(a) * 5 %"]
)
def test_sums_and_counts_add_up(text: str) -> None:
    assert not_additive(expression_of(text)) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mean(fare)", "mean(fare) over all rows"),
        ("sum(a) / row_count()", "sum(a) / row_count() over all rows"),
        ("sum(a) * sum(b)", "sum(a) * sum(b) over all rows"),
        ("abs(sum(a))", "abs(sum(a)) over all rows"),
        ("sum(a) + 1", "sum(a) + 1 holds a number that is no part of any row"),
        ("1 / sum(a)", "1 / sum(a) over all rows"),
    ],
)
def test_what_does_not_add_up_is_told_with_its_part(text: str, told: str) -> None:
    assert told in (not_additive(expression_of(text)) or "")


def leaves() -> st.SearchStrategy[str]:
    return st.sampled_from(["row_count()", "sum(a)", "sum(b)", "max(a)", "1", "2", "0.5"])


@given(
    text=st.recursive(
        leaves(),
        lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda each: f"({' '.join(each)})"),
        max_leaves=6,
    ),
    rows=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9), st.booleans()), min_size=2, max_size=9),
)
def test_what_is_called_additive_adds_up_over_any_parts(text: str, rows: list[tuple[int, int, bool]]) -> None:
    tree = expression_of(text)
    if not_additive(tree) is not None:
        return
    whole, first, second = (_value(text, part) for part in _parts(rows))
    if None not in (whole, first, second):
        assert first + second == pytest.approx(whole)  # type: ignore[operator]


def _parts(rows: list[tuple[int, int, bool]]) -> tuple[list[tuple[int, int, bool]], ...]:
    return rows, [row for row in rows if row[2]], [row for row in rows if not row[2]]


def _value(text: str, rows: list[tuple[int, int, bool]]) -> float | None:
    values = {
        "row_count()": float(len(rows)),
        "sum(a)": float(sum(a for a, _, _ in rows)),
        "sum(b)": float(sum(b for _, b, _ in rows)),
        "max(a)": float(max((a for a, _, _ in rows), default=0)),
    }
    found = value_of(expression_of(text), values)
    assert not isinstance(found, Failure)
    return None if found is None else float(found)


@given(a=st.floats(-1e6, 1e6), b=st.integers(1, 1000))
def test_a_value_is_that_of_a_database(a: float, b: int) -> None:
    with sqlite3.connect(":memory:") as database:
        (expected,) = database.execute("select (? - 1) / ? * 2.0", (a, b)).fetchone()
    found = value_of(expression_of("(sum(x) - 1) / row_count() * 2"), {"sum(x)": a, "row_count()": b})
    assert found == pytest.approx(expected, abs=1e-9)


def test_null_and_a_division_by_0_are_no_value() -> None:
    tree = expression_of("sum(x) / row_count()")
    assert value_of(tree, {"sum(x)": None, "row_count()": 3}) is None
    assert value_of(tree, {"sum(x)": 1, "row_count()": 0}) is None


def test_a_failure_below_stays_that_failure() -> None:
    lost = Failure(reason=Reason.CRASHED)
    assert value_of(expression_of("sum(x)"), {"sum(x)": lost}) == lost
