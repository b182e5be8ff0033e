"""What a reader who wrote something else is told."""

import pytest

from execution_engine.language.parse import describe, mending

OPERAND = {"NAME", "ABS", "CHOICE", "NUMBER", "LENGTH", "STRING", "LPAR", "MINUS", "_NOT"}
SOMETHING = "a metric such as row_count(), a number, a duration or '('"
ARGUMENT = "a column, a number, a text in quotes or name=value"


@pytest.mark.parametrize(
    ("terminals", "said"),
    [
        (OPERAND, SOMETHING),
        (OPERAND - {"_NOT"}, SOMETHING),
        ({"COMPARATOR", "_BETWEEN", "_NOT"}, "a comparison (< <= > >= = != between)"),
        ({"NAME", "QUOTED", "NUMBER", "STRING", "LENGTH", "MINUS", "RPAR"}, f"{ARGUMENT} or ')'"),
        ({"NUMBER", "STRING", "LENGTH", "MINUS"}, "a number, a text in quotes or a step such as 7d"),
        ({"PLUS", "MINUS", "STAR", "SLASH", "RPAR"}, "an operator (+ - * /) or ')'"),
        ({"PLUS", "MINUS"}, "an operator (+ - * /)"),
        (
            {"_AND", "_OR", "$END", "_BY", "PLUS", "MINUS", "STAR", "SLASH", "PERCENT"},
            "an operator (+ - * /), 'and' or 'or' or the end of the assertion",
        ),
        *[({"_AND"}, "'and'"), ({"_OR"}, "'or'"), ({"_BETWEEN"}, "'between'"), ({"NUMBER"}, "a number")],
        ({"COMMA", "_FOR", "$END"}, "',', 'for 95 % of groups' or the end of the assertion"),
        *[({"_OF"}, "'of groups'"), ({"_GROUPS"}, "'groups'"), ({"PERCENT"}, "'%'")],
        ({"NAME", "QUOTED"}, "a column"),
        *[({"EQUAL"}, "'='"), ({"LPAR"}, "'('"), ({"RPAR"}, "')'")],
        ({"$END"}, "the end of the assertion"),
        ({"ELSE"}, "something else"),
        (set(), "something else"),
    ],
)
def test_what_is_expected_is_said_in_words(terminals: set[str], said: str) -> None:
    assert describe(terminals) == said
    assert describe(sorted(terminals)) == said


BY_ONCE = "'by' comes once, after the whole assertion: row_count() > 0 by city"
CONDITION = """write a condition on rows as compliance("status in ('a', 'b')") >= 0.99"""
NULL = "there is no such literal: coalesce(…, 0) replaces a NULL"
BACKTICK = "a column's name ends with the backtick it began with; a backtick inside is doubled"
WHERE = """a condition on rows goes into the metric: completeness(email, where="country = 'US'")"""
GROUPS = "groups are named by 'by', after the whole assertion: row_count() > 0 by city"
IF = """what holds of some rows is said by satisfies_if("country = 'US'", "zip is not null") = 1"""
DURATION = "write a duration as a number and s, m, h, d or w, such as 4h"
ANY = {"RPAR"}


@pytest.mark.parametrize(
    ("before", "after", "mend"),
    [
        *[("f() ", "by city", BY_ONCE), ("f() ", "BY\ncity", BY_ONCE), ("f() ", "bye", None)],
        ("2 *", "* 3", "there is no power operator: multiply"),
        ("2 <", "> 3", "write != for unequal"),
        ("1 < 2 ", "&& 3", "write 'and'"),
        ("1 < 2 ", "|| 3", "write 'or'"),
        ("", "!x", "write 'not', or != for unequal"),
        *[("a ", "in (1)", CONDITION), ("a ", "is null", CONDITION), ("a ", "LIKE 'x'", CONDITION)],
        *[("a ", "rlike 'x'", CONDITION), ("a ", "inside", None), ("a ", "null", NULL), ("a ", "NaN", NULL)],
        *[("a ", "true", NULL), ("a ", "False", NULL)],
        *[
            ("4 ", unit, "write a duration without a space, such as 4h")
            for unit in ("s", "m", "h", "d", "w", "y", "mo")
        ],
        ("4 ", "x", None),
        ("f(", "`a b)", BACKTICK),
        ("f(", "``)", "a column has a name: write it between the backticks"),
        ("f(", "'a", "a text ends with the quote it began with; a quote inside is doubled"),
        ("f(", '"a', "a text ends with the quote it began with; a quote inside is doubled"),
        ("f", "[0]", "there is no index"),
        ("raw", ".trips", "there are no attributes: a dataset's full name goes in quotes, dataset='raw.trips'"),
        ("f()", ";", "an assertion ends without a semicolon: leave it out"),
        ("f(", "*)", "rows are counted by row_count()"),
        ("f() =", "> 3", "write >= for at least"),
        ("f() =", "< 3", "write <= for at most"),
        ("f() = ", "> 3", None),
        *[
            ("f() > 1", rest, "write a number without signs between its digits, such as 1000")
            for rest in (",000", "_000")
        ],
        ("f() > 1", ", 2", None),
        ("f() > 0 ", "where a = 1", WHERE),
        ("f() > 0 ", "group by city", GROUPS),
        ("f() > 0 ", "PARTITION by city", GROUPS),
        ("f() > 0 ", "if b = 2", IF),
        ("f() > 0 ", "when b = 2", IF),
        ("f() ", "for city", "'for' follows 'by': row_count() > 0 by city for 95 % of groups"),
        ("4", "hours", DURATION),
        *[("4 ", unit, DURATION) for unit in ("sec", "min", "hr", "hours", "Days", "weeks", "month", "years")],
        ("f() ", "% 2", "'%' stands behind a number only: there is no remainder"),
    ],
)
def test_what_people_write_instead_is_mended(before: str, after: str, mend: str | None) -> None:
    assert mending(before + after, len(before), ANY) == mend


FOR = "'by city' stands at the end, after every condition"
COMPARES = "an assertion compares, such as row_count() > 0"
OPTION = """an option stands behind a comma as name=value, such as where="country = 'US'" or last=7"""
LITERAL = {"NUMBER", "STRING", "LENGTH", "MINUS"}
QUOTES = """a text stands in quotes, such as where="country = 'US'\""""
PIECES = "a column of another name than letters, digits and _ stands between backticks, such as `order id`"


@pytest.mark.parametrize(
    ("source", "at", "terminals", "mend"),
    [
        ("f() > 0 by 'city'", 11, {"NAME", "QUOTED"}, "name columns without quotes, such as by city, `order id`"),
        ("f() > 0 by a and", 13, {"_FOR", "COMMA", "$END"}, FOR),
        ("row_count() ", 11, {"COMPARATOR", "_NOT"}, COMPARES),
        ("row_count()", 11, {"COMPARATOR"}, COMPARES),
        ("row_count() >", 13, OPERAND, None),
        ("row_count()!", 11, {"COMPARATOR"}, "write 'not', or != for unequal"),
        ("f(order id)", 8, {"COMMA", "RPAR"}, PIECES),
        ("f(a, order id)", 11, {"COMMA", "RPAR", "EQUAL"}, PIECES),
        ("f(1 id)", 4, {"COMMA", "RPAR"}, None),
        ("f(order id)", 8, {"COMMA"}, None),
        ("f(distinct city)", 11, {"COMMA", "RPAR"}, "distinct values are counted by count_distinct(city)"),
        ("f(a where b = 1)", 4, {"COMMA", "RPAR"}, OPTION),
        ("f(a, where b = 1)", 11, {"COMMA", "RPAR"}, OPTION),
        ("f(a, last 7)", 10, {"COMMA", "RPAR"}, OPTION),
        ("f(a whereabouts)", 4, {"COMMA", "RPAR"}, PIECES),
        ("f(a, where=b)", 11, LITERAL, QUOTES),
        ("f(a, where=`b`)", 11, LITERAL, QUOTES),
        ("f(a, where=)", 11, LITERAL, None),
        ("f(" + "x" * 125 + " id)", 128, {"COMMA", "RPAR"}, PIECES),
        ("f(" + "x" * 126 + "  id)", 130, {"COMMA", "RPAR"}, None),
    ],
)
def test_what_is_expected_tells_the_mistake(source: str, at: int, terminals: set[str], mend: str | None) -> None:
    assert mending(source, at, terminals) == mend
