"""What was written is read once more: a text whose second reading differs is refused."""

import pytest

from execution_engine.guard import UnableToAllow, read_condition, read_query
from execution_engine.guard.query import read_inside
from execution_engine.guard.sql_tree import read_again

TWO_WAYS = "it can be read in two ways; write it more plainly"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("city .5bd > 1", "line 1, column 1: "),  # the reader drops what stands before a number's type
        ("fare > 1 and\n  city.5bd > 1", "line 2, column 3: "),
        ("fare > interval 10d 10", ""),  # written otherwise the second time
        ("fare > 1 . riders > 1", ""),  # written as what cannot be read
    ],
)
def test_a_condition_that_is_read_otherwise_the_second_time_is_refused(text: str, place: str) -> None:
    with pytest.raises(UnableToAllow) as refused:
        read_condition(text)
    assert str(refused.value) == f"{place}{TWO_WAYS}"


def test_so_is_a_query() -> None:
    with pytest.raises(UnableToAllow) as refused:
        read_query("select count(*) .5bd from trips", ("trips",))
    assert str(refused.value) == f"line 1, column 8: {TWO_WAYS}"


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT `a`", "select a, b"),  # a name is gone
        ("SELECT `a`", "select 'a', 'a'"),  # a text is gone, its like stays
        ("SELECT 1; SELECT 2", "select 1"),  # two statements
        ("", "select 1"),
        ("SELECT (", "select ("),
        ("SELECT a", "select a"),  # another writing
    ],
)
def test_what_was_written_must_say_all_that_was_read_and_only_that(sql: str, text: str) -> None:
    with pytest.raises(UnableToAllow, match=TWO_WAYS):
        read_again(sql, text)
    assert read_again("SELECT `a`", "select a -- as it is").sql() == 'SELECT "a"'


def test_a_condition_that_leaves_its_brackets_is_refused_although_it_is_written_the_same_again() -> None:
    assert read_inside("`a` = 1 OR `b` = 1", "a = 1 or b = 1").key == "or"
    for sql in ("`a` = 1) OR (`b` = 1", "`a` = 1) AND NOT (`b` = 1"):
        with pytest.raises(UnableToAllow, match=TWO_WAYS):
            read_inside(sql, sql)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("coalesce(fare, all) > 1", "line 1, column 16: it can be read in two ways; write it more plainly"),
        ("abs(all - 1) > 2", "line 1, column 5: it can be read in two ways; write it more plainly"),
        ("coalesce(fare, as) > 1", "line 1, column 16: no name stands behind as; write it, or leave as out"),
        ("array(as, 1)[0] = 1", "line 1, column 7: no name stands behind as; write it, or leave as out"),
        ("coalesce(fare, distinct) > 1", "nothing stands behind distinct; name what is to be distinct"),
    ],
)
def test_no_column_is_passed_over_because_its_name_is_a_word_of_sql(text: str, said: str) -> None:
    with pytest.raises(UnableToAllow) as refused:
        read_condition(text)
    assert str(refused.value).startswith(f"{said}; if ")


def test_words_that_stay_are_no_columns() -> None:
    text = "select distinct city from trips union all select city from trips where fare > all (select 1)"
    assert read_query(text, ("trips",)).sql.count("ALL") == 2
    assert read_query("select count(distinct city, fare), struct(fare as x).x as y from trips", ("trips",))
