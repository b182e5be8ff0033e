import pytest

from execution_engine.guard import UnableToAllow, read_condition, read_query


def said(text: str, *, condition: bool = False) -> str:
    columns = ("city", "fare")
    try:
        read_condition(text, columns) if condition else read_query(text, ("trips", "zones"), columns)
    except UnableToAllow as refused:
        return str(refused)
    raise AssertionError(f"{text} was allowed")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("select reflect('a')", "line 1, column 8: reflect is not allowed; it runs code on the machine"),
        ("select city,\n  foo(fare)\nfrom trips", "line 2, column 3: foo is not allowed; docs/security.md lists"),
        ("select count(*) from trip", "line 1, column 22: there is no table trip; tables it may read: trips, zones"),
        ("select user from trips", "line 1, column 8: user is not allowed: it tells about the session; for a column"),
        (
            "select 'it\\d'",
            "line 1, column 8: the literal 'it\\d' has an escape that readers of SQL understand differently",
        ),
        ("select 'a", "a quote, a backtick or a comment is not closed; close it"),
        ("select 1; select 2", "it must be exactly one SELECT; write select … from …"),
        ("select city from trips where (", "column 30: it is no SQL: something is missing; mend the syntax"),
        ("select a.city from trips a cross join zones z", "a join says nothing about which rows belong together"),
        ("select city like '%a%b%c%d%e' from trips", "column 18: a pattern has more than 4 wildcards %; use several"),
        ("select repeat(city, 1001) from trips", "column 8: repeat must say its size, at most 1,000"),
        ("select count(*) from trips qualify 1 = 1", "Select with qualify is not allowed; filter in an outer SELECT"),
        (f"select '{'a' * 20_000}'", "it has 20,009 bytes, more than 20,000; shorten it"),
    ],
)
def test_an_error_says_what_and_where_and_how_to_mend_it(text: str, error: str) -> None:
    assert error in said(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("city = 'rome'\nand reflect('a')", "line 2, column 5: reflect is not allowed"),
        ("fair > 1", "line 1, column 1: the table has no column fair; it has city, fare"),
        ("sum(fare) > 1", "sum is not allowed; what looks at more than one row belongs into query(…)"),
        ("fare > (select 1)", "a query belongs into query(…)"),
        ("fare > 1, city", "it is not one condition; write one expression over the columns"),
    ],
)
def test_an_error_in_a_condition_counts_from_its_own_start(text: str, error: str) -> None:
    assert error in said(text, condition=True)


def test_an_error_repeats_no_character_that_a_log_or_terminal_obeys() -> None:
    assert said("select `a\nINFO ok\x1b[2J`").isprintable()
    assert len(said(f"select `{'a' * 9_000}`")) < 300
