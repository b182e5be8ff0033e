"""How a condition names a column: in backticks where its name is a word of SQL."""

import pytest

from execution_engine.guard import in_sql, read_condition
from execution_engine.guard.sql_tree import Plain
from execution_engine.metrics.expressions import path_of

PLACES = ("{} = 'x'", "{} is null", "not {} like 'x'", "{} not in (1)", "length({}) > 1", "{} - 1 between {} and 2")
WORDS = sorted({word.lower() for word in Plain.Tokenizer.KEYWORDS if word.isalpha()} | {"if"})


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("city", "city"),
        ("desc", "desc"),
        ("date", "date"),
        ("union", "`union`"),
        ("if", "`if`"),
        ("interval", "`interval`"),
        ("true", "`true`"),
        ("`order id`", "`order id`"),
        ("`it``s`", "`it``s`"),
        ("`item.one`", "`item.one`"),
        ("address.city", "address.city"),
        ("union.case", "`union`.`case`"),
    ],
)
def test_backticks_stand_where_sql_would_read_something_else(column: str, said: str) -> None:
    assert in_sql(column) == said


@pytest.mark.thorough
@pytest.mark.parametrize("column", WORDS)
def test_each_word_of_sql_is_a_column_wherever_a_condition_names_it(column: str) -> None:
    for place in PLACES:
        assert read_condition(place.replace("{}", in_sql(column))).paths == (path_of(column),)
