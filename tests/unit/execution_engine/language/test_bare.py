"""A name that stands by itself, such as a column, where only the call of a metric stands: what its writer is told."""

import re

import pytest

from execution_engine.guard import read_condition
from execution_engine.language.parse import UnableToParse, parse
from execution_engine.language.tree import Comparison, Metric
from execution_engine.metrics.registry import SIGNATURES
from tests.unit.execution_engine.guard.test_backticks import WORDS


def said(text: str) -> str:
    """What is said of a text that must be refused, without the drawing."""
    with pytest.raises(UnableToParse) as refused:
        parse(text)
    return refused.value.problem.message


def marked(text: str) -> str:
    """What the carets stand under."""
    with pytest.raises(UnableToParse) as refused:
        parse(text)
    place = refused.value.problem.place
    assert place is not None
    return text[place.start : place.end]


def of_a_column(column: str, condition: str) -> str:
    """The mending of a column."""
    rows = f'a condition on rows, compliance("{condition}") = 1'
    return f"{column} stands by itself: a column goes into a metric, completeness({column}) = 1, or {rows}"


COLUMNS = [word for word in WORDS if word not in ("not", "null", "true", "false", "select", "with", "case")]
CONDITIONS = [
    *("fare > 0", "fare = -1.5", "fare is null", "fare is not null", "fare between 1 and 100"),
    *("fare not between 'a' and 'b'", "fare in ('a', 'b', 3)", "fare not in (1)", "fare like 'a%'", "`order id` > 0"),
    *("trips.fare > 0", "`Order Id`.`unit price` != 'x'"),
]


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_on_a_column_is_written_where_it_belongs(text: str) -> None:
    column = marked(text)
    assert text.startswith(f"{column} ")
    assert said(text) == of_a_column(column, text)


@pytest.mark.parametrize(
    "text",
    ["fare", "fare > tip", "fare + 1 > 3", "fare > 2024-01-01", "fare % 2 = 0", "fare in (1, 2, 3, 4)", "fare > 10 %"],
)
def test_of_what_says_more_the_column_alone_is_written(text: str) -> None:
    assert (marked(text), said(text)) == ("fare", of_a_column("fare", "fare is not null"))


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("max(fare) < ceiling", "ceiling"),
        ("row_count() > 0 and not fare > 1", "fare"),
        ("abs(fare) > 1", "fare"),
        ("least(max(fare), fare) > 1", "fare"),
        ("row_count() > 0 and\n  fare # the price\n  > 1", "fare"),
        ("-fare > 1", "fare"),
        ("1 < `order id`", "`order id`"),
    ],
)
def test_the_carets_stand_under_the_column_wherever_it_is(text: str, column: str) -> None:
    assert marked(text) == column
    assert said(text).startswith(f"{column} stands by itself: a column goes into a metric, completeness({column}) = 1")


@pytest.mark.thorough
@pytest.mark.parametrize("word", COLUMNS)
def test_what_is_told_of_a_word_of_sql_can_be_written_as_it_stands(word: str) -> None:
    told = said(f"{word} > 1")
    assert marked(f"{word} > 1") == word
    found = re.search(r"(completeness\(.*\) = 1), or a condition on rows, (compliance.*)$", told)
    assert found, told
    metrics = [node.left for node in map(parse, found.groups()) if isinstance(node, Comparison)]
    first, second = (metric.spec for metric in metrics if isinstance(metric, Metric))
    assert first.columns == (word,)
    assert read_condition(str(second.arguments[0])).columns == (word,)


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_a_metric_is_called(name: str) -> None:
    signature = SIGNATURES[name]
    takes = "…" if signature.min_columns or signature.arguments else ""
    assert said(f"{name} > 1").startswith(f"{name} stands by itself: call the metric with parentheses, {name}({takes})")
    assert ("a column goes into" in said(f"{name} > 1")) is bool(takes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "completeness email > 0.9",
            "completeness stands by itself: call the metric with parentheses, completeness(email)",
        ),
        ("lag > 1", "lag stands by itself: call the function with parentheses, lag(…); a column goes into a metric"),
        ("ABS > 1", "ABS stands by itself: call the function with parentheses, ABS(…); a column goes into a metric"),
        (
            "compleetness > 1",
            "compleetness stands by itself: did you mean completeness(…)?; a column goes into a metric",
        ),
        ("order id > 0", "order stands by itself: a name of several words stands between backticks in a metric, comp"),
        (
            "assert row_count() > 0",
            "leave assert out: an assertion begins with what it compares, such as row_count(…) > 0",
        ),
        (
            "select count(*) from t",
            'SQL stands in quotes, in query("select count(*) from …") > 0 or compliance("…") = 1',
        ),
        ("1 < null", "there is no literal null: coalesce(…, 0) replaces a NULL"),
        *[
            (f"1 < {name}", f"there is no literal {name}: compare with a number, such as completeness(email) = 1")
            for name in ("NaN", "true", "FALSE", "inf")
        ],
        ("row_count() > and 1 < 2", "something is missing before 'and'"),
        ("row_count() > 0 and by city", "something is missing before 'by'"),
        ("row_count() > OR row_count() > 1", "something is missing before 'OR'"),
        ("by > 1", "by stands by itself: a column goes into a metric, completeness(by) = 1"),
        ("x" * 200, f"{'x' * 128} stands by itself: a name of several words"),
        (f"`{'x' * 200}` > 1", f"`{'x' * 59}… stands by itself: a column goes into a metric, completeness(…) = 1"),
    ],
)
def test_a_name_is_told_what_it_may_have_meant(text: str, message: str) -> None:
    assert said(text).startswith(message)
