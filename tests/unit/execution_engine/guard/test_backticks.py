"""A column whose name is a word of SQL: conditions name it in backticks, and refusals tell of them."""

import re

import pytest

from execution_engine.guard import Condition, Query, Refusal, UnableToAllow, in_sql, read_condition, read_query
from execution_engine.guard.query import MOST_TRIALS, MOST_WORDS, advise_backticks
from execution_engine.guard.sql_tree import Plain
from execution_engine.metrics.expressions import path_of

WORDS = sorted({word.lower() for word in Plain.Tokenizer.KEYWORDS if word.isalpha()} | {"if", "interval"})
MEANINGS = ["current_date", "current_timestamp", "false", "null", "true"]  # what a bare word of these is instead
HINT = "; if {0} is a column's name, put it between backticks: `{0}`"


def refusal(text: str, columns: tuple[str, ...] | None = None) -> str:
    """What is said of a text that must be refused."""
    said = answer(text, columns, is_query=text.startswith("select "))
    assert isinstance(said, str), f"{text} is allowed"
    return said


def answer(text: str, columns: tuple[str, ...] | None, *, is_query: bool) -> str | Condition | Query:
    """What a query or a condition is read as, or what is said of it."""
    try:
        return read_query(text, ("t",), columns or ()) if is_query else read_condition(text, columns)
    except UnableToAllow as refused:
        return str(refused)


def test_a_column_called_union_is_told_of_its_backticks() -> None:
    assert refusal("union = 'no'") == (
        "line 1, column 1: it is no SQL: something is missing; mend the syntax; if union is a column's name, "
        "put it between backticks: `union`"
    )
    assert read_condition("`union` = 'no'").columns == ("union",)


@pytest.mark.thorough
@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_sql_is_read_as_a_column_or_its_backticks_are_told(word: str) -> None:
    found = answer(f"{word} = 'x'", None, is_query=False)
    if isinstance(found, str):
        assert found.endswith(HINT.format(word))
        found = read_condition(f"`{word}` = 'x'")
    assert isinstance(found, Condition)
    assert found.columns == (() if word in MEANINGS else (word,))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("union = 'no' or union is null", "union"),
        ("Union = 'no' or UNION is null", "Union"),
        ("like like 'x%'", "like"),
        ("length(from) > 1 and city like 'r%'", "from"),
        ("if = 1", "if"),
        ("show = 'x' and values > 1", "values"),
        ("current_user = 'x'", "current_user"),
        ("select union from t", "union"),
        ("select count(*) from t where values > 1", "values"),
        ("select count(distinct when) from t where city = 'x' and fare between 1 and 2", "when"),
        ("select distinct from t", "distinct"),
    ],
)
def test_the_word_is_found_wherever_it_stands(text: str, word: str) -> None:
    assert refusal(text).endswith(HINT.format(word))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("union = 'no' and values = 1", ("union", "values")),
        ("values = 1 or union", ("values", "union")),
        ("From > 1 and length(WHEN) > 2 and from > 3", ("From", "WHEN")),
        ("union = 1 and values = 2 and case = 3", ("union", "values", "case")),
        ("select count(distinct when) from t where values > 1", ("when", "values")),
    ],
)
def test_several_words_are_told_together(text: str, words: tuple[str, ...]) -> None:
    quoted = ", ".join(f"`{word}`" for word in words)
    hint = f"; if {' and '.join(words)} are names of columns, put them between backticks: {quoted}"
    assert refusal(text).endswith(hint)
    mended = re.sub(rf"(?i)\b({'|'.join(words)})\b", r"`\1`", text)
    assert not isinstance(answer(mended, None, is_query=text.startswith("select ")), str)


@pytest.mark.parametrize(
    "text",
    [
        *("fare >", "fare 1", "city = 'x' and", "fare > 1 union = 'x'"),
        *("union = 'no' and values = 1 and when = 2 and from = 3", "union = 'no' and values 1"),
        *("union = 'no' and values = 1 and (", "reflect('a') and not fare > 1", "union = 'no"),
        *("select count(*) from t where", "select city from t limit", "select from t", "select from"),
    ],
)
def test_a_text_that_backticks_do_not_mend_says_nothing_of_them(text: str) -> None:
    assert "between backticks" not in refusal(text)


def test_where_the_columns_are_known_no_other_word_is_taken_for_one() -> None:
    assert "between backticks" in refusal("union = 'no'", ("city", "Union"))
    assert "between backticks" not in refusal("union = 'no'", ("city",))
    assert "between backticks" in refusal("select union from t", ("union",))
    assert "between backticks" not in refusal("select union from t", ("city",))


def test_the_place_stays_that_of_the_fault() -> None:
    assert refusal("city = 'x'\n  and union = 'no'").startswith("line 2, column 7: it is no SQL")


def test_a_long_text_is_not_tried() -> None:
    text = f"union = 'no'{' and city > 1' * (MOST_WORDS // 4)}"
    assert "between backticks" not in refusal(text)
    assert "between backticks" in refusal(text[: -10 * len(" and city > 1")])


def test_the_words_nearest_to_the_fault_are_tried_and_not_many() -> None:
    text = "case = when = then = else = end = not = and = or = in = is = like"
    tried: list[str] = []

    def names(trial: str) -> list[str]:
        tried.append(trial)
        return ["city"]

    refused = UnableToAllow(Refusal(what="it is", mend="mend it", offset=text.index("and")), text)
    assert advise_backticks(refused, text, names, columns=None) is refused
    assert len(tried) == MOST_TRIALS
    assert tried[0] == text.replace("and", "`and`")
    assert {"`not`", "`or`", "`in`"} <= {trial[trial.index("`") :].split()[0] for trial in tried}


PLACES = ("{} = 'x'", "{} is null", "not {} like 'x'", "{} not in (1)", "length({}) > 1", "{} - 1 between {} and 2")


@pytest.mark.parametrize(
    ("column", "said"),
    [
        *[("city", "city"), ("desc", "desc"), ("date", "date"), ("union", "`union`"), ("if", "`if`")],
        *[("interval", "`interval`"), ("true", "`true`"), ("`order id`", "`order id`"), ("`it``s`", "`it``s`")],
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
