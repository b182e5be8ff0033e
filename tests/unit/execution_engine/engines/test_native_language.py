"""What of SQL and of patterns is in the closed language, and what is Spark's."""

import re
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from execution_engine.engines.native.language import UnableToTell, compiled, names_in, re2_of, re2_of_like

OURS = (
    *("a = 1", "a <> 1.5", "1 < a", "a >= 1e3", "a between -1 and 2.5", "a in (1, 2)", "a not in (1, 2)", "a is null"),
    *("not (a = 1 or b = 'x')", "flag", "true", "isnan(a)", "a = b", "at < timestamp '2026-03-01 12:00:00'"),
    *("day = date '2026-03-01'", "a like 'x%'", "a not like '_'", "a rlike '^[a-z]+$'", "char_length(a) > 3"),
    *("case when a is not null then 1 end", "flag in (true, false)", "cast(a as string) = 'x'", "1 = 1"),
)
SPARKS: Mapping[str, tuple[str, ...]] = {  # why, and of what
    "Add is Spark's to answer": ("a + 1 > 2", "a between 1 and b + 1"),
    "NullSafeEQ is Spark's to answer": ("a <=> 1",),
    "Null is Spark's to answer": ("a = null",),
    "Case is Spark's to answer": ("case when a then 1 else 2 end = 1", "case a when 1 then 2 end = 1"),
    "CASE of several branches is Spark's to answer": ("case when a then 1 when b then 2 end = 1",),
    "ILike is Spark's to answer": ("a ilike 'x'",),
    "Lambda is Spark's to answer": ("exists(a, x -> x > 1)",),
    "In is Spark's to answer": ("a in (select 1)",),
    "IN of anything but a list of literals is Spark's to answer": ("a in (b, 1)", "a in (true, 1)", "a in (1, true)"),
    "IS of anything but NULL is Spark's to answer": ("a is true",),
    "arithmetic is Spark's": ("-a = 1", "-'x' = a", "a * 2 > 1", "a * b > 1"),
    "upper is Spark's to answer": ("upper(a) = 'X'",),
    "nvl is Spark's to answer": ("nvl(a, 1) = 1",),
    "isnan is Spark's to answer": ("isnan(a, b)", "isnan()"),
    "isnull is Spark's to answer": ("isnull(a, b)",),
    "char_length is Spark's to answer": ("char_length(a, b) > 1",),
    "xxhash64 is Spark's to answer": ("xxhash64(a, b) = 1",),
    "a cast of values is Spark's": ("cast(a as int) = 1", "try_cast(a as int) = 1", "cast(1 as date) = day"),
    "a cast to DATE is Spark's": ("day < date '2026-3-1'", "day < date '2026-02-30'", "day < date '2026-03-01 '"),
    "a cast to TIMESTAMPTZ is Spark's": (
        *("at < timestamp '2026-02-30 12:00:00'", "at < timestamp '2026-03-01'"),
        *("at < timestamp '2026-03-01 12:00:00Z'", "at < timestamp '2026-03-01 12:00:00.1234567'"),
    ),
    "1e999 is Spark's to read": ("a = 1e999",),
    "a pattern that is computed is Spark's": ("a like b", "a like upper('x')", "a rlike b"),
    "RE2 does not take such a pattern": ("a rlike 'x)'", "a rlike '*x'"),
    "look-around, flags and names of groups are Spark's to read": (
        *("a rlike '(?i)x'", "a rlike 'x(?=y)'", "a rlike '(?<n>x)'", "a rlike '(?'"),
    ),
    r"\1 in a pattern is Spark's to read": (r"a rlike '(x)\\1'",),
    r"\b in a pattern is Spark's to read": (r"a rlike '\\bx'",),
    r"\p in a pattern is Spark's to read": (r"a rlike '\\p{L}'",),
    r"\D in a pattern is Spark's to read": (r"a rlike '[\\D]'",),
    r"\X in a pattern is Spark's to read": (r"a rlike '\\X'", r"a rlike '[\\X]'"),
    r"\N in a pattern is Spark's to read": (r"a rlike '\\N'",),
    "a quantifier of a quantifier is Spark's to read": (
        *("a rlike 'x*+'", "a rlike 'x**'", "a rlike 'x+?+'", "a rlike 'x???'", "a rlike 'x{1}{2}'"),
        *("a rlike 'x{2}+'", "a rlike 'x{2}?*'"),
    ),
    "such a class of signs is Spark's to read": (
        *("a rlike '[a&&b]'", "a rlike '[[a]]'", "a rlike '[a'", "a rlike '[]'", "a rlike '[a^]'", "a rlike '['"),
        *("a rlike '[a--]'", "a rlike '[a-c-e]'", "a rlike '[a-'", "a rlike '[^]'"),
    ),
    "such a range of signs is Spark's to read": (*("a rlike '[z-a]'", r"a rlike '[\\d-x]'", r"a rlike '[a-\\d]'"),),
    "such a count in a pattern is Spark's to read": (
        *("a rlike 'x{2,1}'", "a rlike 'x{1001}'", "a rlike 'x{y}'", "a rlike 'x{,1}'", "a rlike 'x{'"),
    ),
    "a ] alone in a pattern is Spark's to read": ("a rlike 'x]'",),
    "a } alone in a pattern is Spark's to read": ("a rlike 'x}'",),
    "a pattern ends with an escape": (r"a rlike 'x\\'", r"a rlike '[\\'"),
    "a pattern of LIKE ends with, or escapes, what it must not": (r"a like 'x\\'", r"a like 'x\\y'", r"a like '\\X_'"),
}


@pytest.mark.parametrize("sql", OURS)
def test_conditions_of_the_closed_language_become_nodes(sql: str) -> None:
    assert set(names_in(compiled(sql))) <= {"a", "b", "flag", "at", "day"}


@pytest.mark.parametrize(("why", "sql"), [(why, sql) for why, some in SPARKS.items() for sql in some])
def test_all_else_is_left_to_spark_with_the_reason(why: str, sql: str) -> None:
    with pytest.raises(UnableToTell) as left:
        compiled(sql)
    assert str(left.value) == why


@pytest.mark.parametrize(
    ("pattern", "ends"),
    [
        *[("^a.c$", True), (r"\Aa.c\z", False), ("a|b", False), (r"\d+(?:x|y){2}", False), ("[a-z._%+-]+", False)],
        ("[^ab]", False),
    ],
)
def test_a_pattern_says_whether_it_looks_for_the_end(pattern: str, ends: bool) -> None:
    assert re2_of(pattern)[1] is ends


SIGNS = (
    *(".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "[^a]", "[a-c]", r"[\d_]", r"[\w.]", "[-a]", "[a-]", "[^-a]"),
    r"[\--a]",
)


@given(st.sampled_from(SIGNS), st.characters(codec="utf-8") | st.characters(max_codepoint=0x7F))
@example(".", "X")
@example(".", "\x85")
@example(".", "\u2029")
@example(r"\s", "\x0b")
@example(r"\d", "\u0661")
@example("[-a]", "-")
@example("[a-]", "-")
@example("[^-a]", "-")
@example(r"[\--a]", "-")
@example(r"[\--a]", "_")
def test_a_class_of_signs_is_that_of_java(pattern: str, sign: str) -> None:
    """Against the definition in Java's Pattern, which knows ASCII alone, written as Python's sets."""
    digits, breaks, spaces = set("0123456789"), set("\n\r\x85\u2028\u2029"), set(" \t\n\x0b\f\r")
    words = digits | set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
    is_met = {
        **{".": sign not in breaks, "[^a]": sign != "a", "[a-c]": sign in "abc"},
        **{r"\d": sign in digits, r"\w": sign in words, r"\s": sign in spaces},
        **{r"\D": sign not in digits, r"\W": sign not in words, r"\S": sign not in spaces},
        **{r"[\d_]": sign in digits | {"_"}, r"[\w.]": sign in words | {"."}},
        **{"[-a]": sign in "-a", "[a-]": sign in "-a", "[^-a]": sign not in "-a", r"[\--a]": "-" <= sign <= "a"},
    }
    found = pc.match_substring_regex(pa.array([sign, f"{sign}{sign}"]), re2_of(f"^{pattern}$")[0]).to_pylist()
    assert found == [is_met[pattern], False]


@pytest.mark.parametrize("sign", r"\.[]{}()*+?^$|/-_@:,;'\"#%&=<>!~ ")
@pytest.mark.parametrize("pattern", ["^\\{}$", "^[\\{}]$", "^[^\\{}]$", "^[x\\{}]$"])
def test_a_sign_that_is_escaped_stands_for_itself(pattern: str, sign: str) -> None:
    found = pc.match_substring_regex(pa.array([sign, "a"]), re2_of(pattern.replace("{}", sign))[0]).to_pylist()
    assert found == ([False, True] if pattern.startswith("^[^") else [True, False])


@pytest.mark.parametrize(("escape", "sign"), [(r"\t", "\t"), (r"\n", "\n"), (r"\r", "\r"), (r"\f", "\f")])
def test_an_escape_for_a_space_stands_for_it(escape: str, sign: str) -> None:
    for pattern in (rf"\A{escape}\z", rf"\A[{escape}]\z"):
        assert pc.match_substring_regex(pa.array([sign, escape[1:], ""]), re2_of(pattern)[0]).to_pylist() == [
            True,
            False,
            False,
        ]


PARTS = ("a", "b", "c", "(a|bc)", "(?:ab)", "[ab]", "[^a]", ".", r"\w", r"\W", "(b|)")
TIMES = ("", "*", "+", "?", "{2}", "{1,}", "{1,2}", "{0}", "*?", "+?", "??", "{2}?", "{1,2}?", "{2,}?", "{10,12}")


@given(
    parts=st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(TIMES)), min_size=1, max_size=4),
    ends=st.tuples(st.sampled_from(["", "^"]), st.sampled_from(["", "$"])),
    texts=st.lists(st.text("abc", max_size=14), min_size=1, max_size=20),
)
def test_a_pattern_is_found_where_python_finds_it(
    parts: list[tuple[str, str]], ends: tuple[str, str], texts: list[str]
) -> None:
    """Of letters alone, in which the two mean the same by what is written here."""
    pattern = ends[0] + "".join(part + times for part, times in parts) + ends[1]
    found = pc.match_substring_regex(pa.array(texts), re2_of(pattern)[0]).to_pylist()
    assert found == [re.search(pattern, text) is not None for text in texts]


@pytest.mark.parametrize("text", ["a", "a\n", "\na", "a\r\n", "aa", r"\z"])
def test_the_ends_of_a_text_are_met_whatever_stands_there(text: str) -> None:
    found = [
        pc.match_substring_regex(pa.array([text]), re2_of(each)[0])[0].as_py() for each in (r"\Aa", r"a\z", r"\\z")
    ]
    assert found == [text.startswith("a"), text.endswith("a"), text == r"\z"]


@pytest.mark.parametrize("sign", ["é", " ", "/", "🦉", "'", "X", "x"])
@pytest.mark.parametrize("pattern", ["^{}$", "^[{}]$", "^(?:{}|{}{})$"])
def test_a_sign_that_stands_for_itself_is_found_alone(pattern: str, sign: str) -> None:
    found = pc.match_substring_regex(pa.array([sign, "a", "", "X"]), re2_of(pattern.replace("{}", sign))[0])
    assert found.to_pylist() == [True, False, False, sign == "X"]


@pytest.mark.parametrize("text", ["", "a", "abc", "a%c", "a_c", "a\nc", "é", "aXXc"])
@pytest.mark.parametrize("like", ["", "%", "a%c", "a_c", r"a\%c", r"a\_c", "_", "%c"])
def test_a_pattern_of_like_is_met_by_the_whole_text(like: str, text: str) -> None:
    """Against the definition, written as a regular expression of Python's."""
    parts = {"%": ".*", "_": ".", r"\%": "%", r"\_": "_"}
    expected = "".join(parts.get(part, re.escape(part)) for part in re.findall(r"\\.|.", like, re.DOTALL))
    ours = re.sub(r"\\x\{([0-9a-f]+)\}", lambda found: re.escape(chr(int(found[1], 16))), re2_of_like(like))
    python = ours.replace(r"\z", r"\Z")
    assert bool(re.search(python, text)) is bool(re.fullmatch(expected, text, re.DOTALL))
