"""Conditions over rows: what is left to Spark once the types and the rows are known."""

import sqlite3
from contextlib import closing
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.engines.files.footers import spark_type_of
from execution_engine.engines.native.compiled import compiled
from execution_engine.engines.native.evaluation import Batch
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.native.values import values_of

NULLABLE = pa.array([1, None, -1])


def truths(sql: str, **columns: pa.Array) -> list[bool | None]:
    """Of each row, whether it meets the condition; None where that is NULL."""
    rows = len(next(iter(columns.values())))

    def column(name: str) -> Any:
        return values_of(columns[name], spark_type_of(columns[name].type) or "")

    met = Batch(rows=rows, columns=column).met(compiled(sql))
    null = [False] * rows if met.null is None else met.null.tolist()
    return [None if unknown else yes for yes, unknown in zip(met.yes.tolist(), null, strict=True)]


@pytest.mark.parametrize("number", ["9223372036854775808", "-9223372036854775809", "9223372036854775807.5"])
@pytest.mark.parametrize("by", ["<", "<=", ">", ">="])
def test_an_order_beyond_64_bits_is_left_to_spark_which_answers_it_for_null_too(by: str, number: str) -> None:
    with pytest.raises(UnableToTell):
        truths(f"a {by} {number}", a=NULLABLE)


def test_all_else_beyond_64_bits_is_null_where_the_number_is() -> None:
    assert truths("a = 9223372036854775808", a=NULLABLE) == [False, None, False]
    assert truths("a <> 9223372036854775808", a=NULLABLE) == [True, None, True]
    assert truths("a in (1, 9223372036854775808)", a=NULLABLE) == [True, None, False]
    assert truths("a < 9223372036854775807", a=NULLABLE) == [True, None, True]
    decimals = pa.array([Decimal(1), None, Decimal(-1)], pa.decimal128(18, 0))
    assert truths("a < 9223372036854775808", a=decimals) == [True, None, True]


@pytest.mark.parametrize("ending", ["\n", "\r", "\x85", "\u2028", "\u2029"])
def test_a_text_before_whose_last_break_javas_end_may_stand_is_left_to_spark(ending: str) -> None:
    for texts in (pa.array(["b", f"a{ending}"]), pa.array(["b", f"a{ending}"]).dictionary_encode()):
        with pytest.raises(UnableToTell):
            met(texts, "a rlike 'a$'")
        assert met(texts, "a rlike '^a'") == [False, True]
    assert truths("a rlike 'a$'", a=pa.array([f"{ending}a", None, "ab"])) == [True, None, False]


def met(texts: pa.Array, sql: str) -> list[bool]:
    found = Batch(rows=len(texts), columns=lambda name: values_of(texts, "string")).met(compiled(sql)).yes.tolist()
    return [bool(one) for one in found]


def test_texts_that_are_no_utf_8_have_no_length_and_no_pattern_here() -> None:
    binary = pa.array([b"\xff", b"a"])
    texts = pa.StringArray.from_buffers(2, *binary.buffers()[1:])
    for sql in ("a rlike 'a'", "a like 'a%'", "char_length(a) > 1"):
        with pytest.raises(UnableToTell):
            met(texts, sql)
    assert met(texts, "a = 'a'") == [False, True]


@pytest.mark.parametrize(
    "sql",
    ["a < 'x'", "a = date '2026-01-01'", "isnan(a)", "a like 'x'", "char_length(a) = 1", "a = true", "a", "1 = 'x'"],
)
def test_what_does_not_fit_the_type_of_a_column_is_left_to_spark(sql: str) -> None:
    with pytest.raises(UnableToTell):
        truths(sql, a=NULLABLE)


def test_a_literal_of_more_digits_than_pythons_decimals_keep_is_not_rounded() -> None:
    tiny = pa.array([1, None, -1], pa.int8())
    assert truths("a = 1.00000000000000000000000000000001", a=tiny) == [False, None, False]
    assert truths("a > -1.00000000000000000000000000000001", a=tiny) == [True, None, True]
    assert truths("a >= 0.99999999999999999999999999999999", a=tiny) == [True, None, False]


@given(
    texts=st.lists(st.none() | st.text("abé🦉\n", max_size=5), min_size=1),
    pattern=st.text("abé🦉\n_%", max_size=4) | st.from_regex(r"\A%?[abé]{0,3}%?\Z"),
)
def test_like_is_met_where_sqlite_says_so(texts: list[str | None], pattern: str) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("pragma case_sensitive_like = on")
        said = [database.execute("select ? like ?", (text, pattern)).fetchone()[0] for text in texts]
    expected = [None if one is None else bool(one) for one in said]
    plain = pa.array(texts, pa.string())
    for column in (plain, plain.dictionary_encode()):
        assert truths(f"a like '{pattern}'", a=column) == expected
