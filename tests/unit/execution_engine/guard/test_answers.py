"""What the guard says of a text, word for word, and the SQL that it writes for one that it allows."""

import re

import pytest
from sqlglot import exp

from execution_engine.guard import Refusal, UnableToAllow, read_condition, read_query
from execution_engine.guard.sql_tree import UnableToTakeText, statements
from tests.unit.execution_engine.guard import golden

COLUMNS = ("trip_id", "city", "fare", "odd name", "user", "tags")


def answer(text: str) -> str:
    """What is refused and how to mend it, or what is run."""
    condition = text.removeprefix("where ")
    try:
        found = read_query(text, golden.TABLES, COLUMNS) if condition == text else read_condition(condition, COLUMNS)
    except UnableToAllow as refused:
        return str(refused)
    return f"allowed: {found.sql}"


@pytest.mark.parametrize(("text", "said"), golden.answers())
def test_a_text_is_answered_word_for_word(text: str, said: str) -> None:
    assert answer(text) == said


def test_an_unknown_column_is_told_with_the_first_that_there_are() -> None:
    known = [f"c{at:03}" for at in range(200)]
    with pytest.raises(UnableToAllow) as refused:
        read_condition("fair > 1", known[::-1])
    said = ", ".join(known)[:120]
    assert str(refused.value) == f"line 1, column 1: the table has no column fair; it has {said}"
    with pytest.raises(UnableToAllow, match=re.escape("the table has no column fair; it has none")):
        read_condition("fair > 1", ())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *[("a b", None), ("a\u00a0b", None), ("a" * 128, None)],
        ("a" * 129, f"{'a' * 60}… is no name"),
        ("a\tb", "a�b is no name"),
        ("a\u2028b", "a�b is no name"),
    ],
)
def test_without_columns_a_name_is_judged_by_its_letters_alone(name: str, said: str | None) -> None:
    if said is None:
        assert read_condition(f"`{name}` = 1").columns == (name,)
        return
    with pytest.raises(UnableToAllow, match=said):
        read_condition(f"`{name}` = 1")


def test_a_condition_knows_the_paths_of_its_columns_in_their_order() -> None:
    condition = read_condition(
        "place.city = 'x' and fare > 1 and place.zip = 1 and fare < 9 and place.city is not null"
    )
    assert condition.paths == (("place", "city"), ("fare",), ("place", "zip"))
    assert condition.columns == ("place", "fare")


def test_a_query_names_its_tables_once_in_their_order() -> None:
    query = read_query("select count(*) from zones join trips using (city) join raw.trips using (city)", golden.TABLES)
    assert query.names == ("zones", "trips", "raw.trips")
    with pytest.raises(UnableToAllow, match=r"no table zones; tables it may read: none$"):
        read_query("select count(*) from zones", ())


def test_a_view_stands_under_the_alias_that_its_table_had() -> None:
    query = read_query("select raw.trips.city, t.city from raw.trips join trips t using (city)", golden.TABLES)
    assert query.over({"raw.trips": "v1", "trips": "v2"}) == (
        "SELECT `trips`.`city`, `t`.`city` FROM `v1` AS `trips` JOIN `v2` AS `t` USING (`city`)"
    )
    assert query.sql.startswith("SELECT `raw`.`trips`.`city`"), "the query itself stays as it is"


def test_statements_are_read_to_be_looked_at() -> None:
    assert [type(tree) for tree in statements("select 1; ; insert into t select 2")] == [exp.Select, exp.Insert]
    assert len(statements("select a", most_words=2)) == 1
    with pytest.raises(UnableToTakeText) as too_long:
        statements("select a, b", most_words=3)
    assert str(too_long.value) == "4 words, names and signs, and at most 3 are read"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select (\n  from", "line 2, column 3: it is no SQL: Expected table name; mend the syntax"),
        ("select 'a", "a quote, a backtick or a comment is not closed; close it"),
    ],
)
def test_a_statement_that_is_no_sql_is_refused_at_its_place(text: str, said: str) -> None:
    with pytest.raises(UnableToAllow) as refused:
        statements(text)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("offset", "skipped", "place"),
    [
        *[(None, 0, ""), (0, 0, "line 1, column 1: "), (3, 0, "line 2, column 1: "), (5, 0, "line 2, column 3: ")],
        *[(6, 0, ""), (3, 3, "line 1, column 1: "), (2, 3, "")],
    ],
)
def test_a_place_counts_lines_and_columns_of_what_the_user_wrote(offset: int | None, skipped: int, place: str) -> None:
    refusal = Refusal(what="it is", mend="mend it", offset=offset)
    assert str(UnableToAllow(refusal, "ab\ncde", skipped=skipped)) == f"{place}it is; mend it"


def refusal_of(text: str, *, condition: bool = False) -> str:
    columns = ("city", "fare")
    try:
        read_condition(text, columns) if condition else read_query(text, ("trips", "zones"), columns)
    except UnableToAllow as refused:
        return str(refused)
    raise AssertionError(f"{text} was allowed")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("select city,\n  foo(fare)\nfrom trips", "line 2, column 3: foo is not allowed; docs/security.md lists"),
        (
            "select 'it\\d'",
            "line 1, column 8: the literal 'it\\d' has an escape that readers of SQL understand differently",
        ),
        ("select a.city from trips a cross join zones z", "a join says nothing about which rows belong together"),
        ("select city like '%a%b%c%d%e' from trips", "column 18: a pattern has more than 4 wildcards %; use several"),
        ("select repeat(city, 1001) from trips", "column 8: repeat must say its size, at most 1,000"),
        ("select count(*) from trips qualify 1 = 1", "Select with qualify is not allowed; filter in an outer SELECT"),
        (f"select '{'a' * 20_000}'", "it has 20,009 bytes, more than 20,000; shorten it"),
    ],
)
def test_an_error_says_what_and_where_and_how_to_mend_it(text: str, error: str) -> None:
    assert error in refusal_of(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("city = 'rome'\nand reflect('a')", "line 2, column 5: reflect is not allowed"),
        ("fare > (select 1)", "a query belongs into query(…)"),
        ("fare > 1, city", "it is not one condition; write one expression over the columns"),
    ],
)
def test_an_error_in_a_condition_counts_from_its_own_start(text: str, error: str) -> None:
    assert error in refusal_of(text, condition=True)


def test_an_error_repeats_no_character_that_a_log_or_terminal_obeys() -> None:
    assert refusal_of("select `a\nINFO ok\x1b[2J`").isprintable()
    assert len(refusal_of(f"select `{'a' * 9_000}`")) < 300


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *[("show tables", "SHOW"), ("describe trips", "DESCRIBE"), ("desc trips", "DESC"), ("set x = 1", "SET")],
        ("use db", "USE"),
        ("explain select 1", "EXPLAIN"),
        ("cache table trips", "CACHE"),
        ("insert into trips select 1", "INSERT"),
        *[("Drop Table trips", "DROP"), ("call f()", "CALL"), ("add jar 'x'", "ADD JAR")],
        ("execute immediate 'x'", "EXECUTE"),
    ],
)
def test_a_command_is_called_one(text: str, name: str) -> None:
    with pytest.raises(UnableToAllow) as refused:
        read_query(text, ("trips",))
    said = f"line 1, column 1: {name} is a command, not a query; only select … from … can be asked"
    assert str(refused.value) == said


def test_so_is_one_behind_a_query_or_a_condition() -> None:
    with pytest.raises(UnableToAllow, match=r"^line 1, column 11: SHOW is a command"):
        read_query("select 1; show tables", ())
    with pytest.raises(UnableToAllow, match=r"^line 1, column 11: DROP is a command"):
        read_condition("fare > 1; drop table trips")


def test_words_of_commands_are_names_where_no_statement_begins() -> None:
    assert read_condition("show = 1 and comment = 'x' and set = 1").columns == ("show", "comment", "set")
    assert read_query("select desc, comment from trips where load > 1", ("trips",)).names == ("trips",)
