"""Conditions over rows: what is left to Spark once the types and the rows are known."""

import sqlite3
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.engines.files.footers import spark_type_of
from execution_engine.engines.native import reading
from execution_engine.engines.native.evaluation import RowBatch
from execution_engine.engines.native.language import UnableToTell, compiled
from execution_engine.engines.native.values import values_of
from tests.integration.kernels.by_kernels import Tally, by_kernels, pieces_in
from tests.integration.kernels.documented import CASES, condition, told, write_cases
from tests.integration.kernels.kept import KEPT_TABLES, kept
from tests.integration.kernels.tables import write_drawn

NULLABLE = pa.array([1, None, -1])


def truths(sql: str, **columns: pa.Array) -> list[bool | None]:
    """Of each row, whether it meets the condition; None where that is NULL."""
    rows = len(next(iter(columns.values())))

    def column(name: str) -> Any:
        return values_of(columns[name], spark_type_of(columns[name].type) or "")

    met = RowBatch(rows=rows, columns=column).met(compiled(sql))
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
    found = RowBatch(rows=len(texts), columns=lambda name: values_of(texts, "string")).met(compiled(sql)).yes.tolist()
    return [bool(one) for one in found]


def test_texts_that_are_no_utf_8_have_no_length_and_no_pattern_here() -> None:
    binary = pa.array([b"\xff", b"a"])
    texts = pa.StringArray.from_buffers(2, *binary.buffers()[1:])
    for sql in ("a rlike 'a'", "a like 'a%'", "char_length(a) > 1"):
        with pytest.raises(UnableToTell):
            met(texts, sql)
    assert met(texts, "a = 'a'") == [False, True]


COLUMNS = {
    "whole": NULLABLE,
    "double": pa.array([0.5, None, 1.0]),
    "text": pa.array(["x", None, "y"]),
    "break": pa.array(["x", None, "y\n"]),
    "bad": pa.StringArray.from_buffers(3, *pa.array([b"\xff", b"a", b"b"]).buffers()[1:]),
    "bytes": pa.array([b"x", None, b"y"]),
    "day": pa.array([1, None, 2], pa.int32()).cast(pa.date32()),
    "long": pa.array([Decimal(1), None, Decimal(2)], pa.decimal128(38, 0)),
    "small": pa.array([Decimal("0.5"), None, Decimal("0.25")], pa.decimal128(4, 2)),
    "tiny": pa.array([Decimal("5E-8"), None, Decimal(1)], pa.decimal128(18, 9)),
    "late": pa.array([2_932_897, None, 0], pa.int32()).cast(pa.date32()),
    "nanos": pa.array([1, None, 2], pa.timestamp("ns")),
    "ancient": pa.array([-(2**62), None, 0], pa.int64()).cast(pa.timestamp("ms")),
    "list": pa.array([[1], None, []]),
}
LEFT = {
    "exact is no condition": ("whole", "not whole"),
    "text is no condition": ("text or whole = 1",),
    "exact is not compared with text": ("whole < 'x'", "whole = text", "'x' <> whole", "whole in ('x', 1)"),
    "exact is not compared with date": ("whole = date '2026-01-01'",),
    "text is not compared with exact": ("text = 1", "1 < text"),
    "double is not compared with date": ("double = day",),
    "text is not compared with double": ("text = 1e0",),
    "text is not compared with timestamp": ("text < timestamp '2026-03-01 12:00:00'",),
    "date is not compared with text": ("day = 'x'",),
    "bytes is not compared with text": ("bytes = 'x'", "bytes = text"),
    "exact is not compared with truth": ("whole = true",),
    "bytes are Spark's to compare": ("bytes = bytes",),
    "two literals are Spark's to compare": (
        *("1.5 = 1", "'x' = 'x'", "1e0 = 1", "9223372036854775808 = 1", "-9223372036854775809 = 1"),
    ),
    "Literal alone is Spark's to answer": ("1", "1 is null"),
    "Hashed alone is Spark's to answer": ("xxhash64(whole) = 1",),
    "Compared alone is Spark's to answer": ("(whole = 1) = true",),
    "isnan of exact is Spark's to answer": ("isnan(whole)",),
    "isnan of text is Spark's to answer": ("isnan(text)",),
    "no decimal of Spark's holds both": (
        *("long = small", "small >= long", "long < 0.5", "small = 1234567890123456789012345678901234567"),
    ),
    "no decimal of Spark's holds all of them": ("long in (1, 0.5)", "whole in (0.0000000000000000001)"),
    "beyond 64 bits Spark takes a whole number that is null for a small or a large one": (
        *("whole < 9223372036854775808", "whole >= -9223372036854775809", "whole > 9223372036854775807.5"),
    ),
    "a text is looked for in texts of UTF-8 alone": ("whole like 'x'", "bad like 'x%'", "bytes like 'x'"),
    "a pattern is looked for in texts of UTF-8 alone": ("whole rlike 'x'", "bad rlike 'x'", "bad like '_'"),
    "a text ends with a line break, before which $ may stand": ("break rlike 'x$'",),
    "the length of anything but texts of UTF-8 is Spark's to tell": (
        *("char_length(whole) = 1", "char_length(bad) = 1", "char_length(bytes) = 1"),
    ),
    "double is written as a text by Spark": ("cast(double as string) = 'x'",),
    "bytes is written as a text by Spark": ("cast(bytes as string) = 'x'",),
    "exact is written as a text by Spark": ("cast(case when whole = 1 then 1 end as string) = 'x'",),
    "a small decimal may be written with an exponent": ("cast(tiny as string) = 'x'",),
    "years before 1 or after 9999 are written by Spark": ("cast(late as string) = 'x'",),
    "text is no number": ("text * 1e0 > 1", "text in ('x', 1)"),
    "date is no number": ("day * 1e0 > 1",),
    "bigint of nanoseconds is Spark's to read": ("nanos is null",),
    "instants of more than 64 bits of microseconds are Spark's to read": ("ancient is null",),
    "array<bigint> is Spark's to read": ("list is null",),
}  # fmt: skip


@pytest.mark.parametrize(("why", "sql"), [(why, sql) for why, some in LEFT.items() for sql in some])
def test_what_does_not_fit_the_types_or_the_rows_is_left_to_spark_with_the_reason(why: str, sql: str) -> None:
    with pytest.raises(UnableToTell) as left:
        truths(sql, **COLUMNS)
    assert str(left.value) == why


@pytest.mark.parametrize(
    ("sql", "truth"),
    [
        *(("1 = 1", True), ("1 <> 1", False), ("1 < 2", True), ("2 <= 1", False), ("2 > 1", True), ("1 >= 2", False)),
        *(("1 < 1.5", True), ("1 = 1.0", True), ("2 < 1e0", False), ("-9223372036854775808 < 0", True)),
        *(("9223372036854775807 > 9223372036854775806", True), ("true", True), ("not true", False), ("false", False)),
    ],
)
def test_two_numbers_that_are_written_compare_alike_on_every_row(sql: str, truth: bool) -> None:
    assert truths(sql, a=NULLABLE) == [truth] * 3


def test_a_value_where_a_condition_is_met_is_null_elsewhere() -> None:
    flags = pa.array([True, None, False])
    assert truths("case when a = 1 then 7 end = 7", a=NULLABLE) == [True, None, None]
    assert truths("case when b or a = -1 then a end < 0", a=NULLABLE, b=flags) == [False, None, True]
    assert truths("case when not b then true end", b=flags) == [None, None, True]
    assert truths("case when a = 1 then 7 end is null", a=NULLABLE) == [False, True, True]
    assert truths("case when a < 5 then b end = true", a=NULLABLE, b=flags) == [True, None, False]


@pytest.mark.parametrize("type_", [pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC")], ids=str)
def test_instants_are_the_same_whatever_they_are_counted_in(type_: pa.DataType) -> None:
    at = pa.array([datetime(1970, 1, 1, 0, 0, 1), None, datetime(1969, 12, 31, 23, 59, 59, 5000)], type_)
    assert truths("a = timestamp '1970-01-01 00:00:01'", a=at) == [True, None, False]
    assert truths("a < timestamp '1969-12-31 23:59:59.006'", a=at) == [False, None, True]
    assert truths("a >= timestamp '1969-12-31T23:59:59.005'", a=at) == [True, None, True]
    assert truths("cast(a as string) = '1969-12-31 23:59:59.005'", a=at) == [False, None, True]


TRUTHS = st.sampled_from([True, False, None])


@given(st.lists(st.tuples(TRUTHS, TRUTHS), min_size=1), st.booleans(), st.booleans())
def test_truths_are_joined_by_sqls_logic(rows: list[tuple[bool | None, bool | None]], left: bool, right: bool) -> None:
    """``left``, ``right``: whether that column is asked of its nulls alone, so that it is never NULL."""
    one, other = ("a is null" if left else "a"), ("b is null" if right else "b")
    columns = {name: pa.array([row[at] for row in rows], pa.bool_()) for at, name in enumerate("ab")}
    for sql in (f"{one} and {other}", f"{one} or {other}", f"not ({one} and not {other})", f"not {one} or not {other}"):
        with closing(sqlite3.connect(":memory:")) as database:
            said = [database.execute(f"select {sql} from (select ? as a, ? as b)", row).fetchone()[0] for row in rows]
        assert truths(sql, **columns) == [None if one is None else bool(one) for one in said]


@given(
    st.lists(st.tuples(st.integers(-(10**18) + 1, 10**18 - 1), st.integers(-(10**18) + 1, 10**18 - 1)), min_size=1),
    st.integers(0, 18),
    st.integers(0, 18),
)
def test_decimals_of_18_digits_and_any_two_scales_compare_as_decimals_do(
    rows: list[tuple[int, int]], first: int, second: int
) -> None:
    lefts = [Decimal(left).scaleb(-first) for left, _ in rows]
    rights = [Decimal(right).scaleb(-second) for _, right in rows]
    columns = {"a": pa.array(lefts, pa.decimal128(18, first)), "b": pa.array(rights, pa.decimal128(18, second))}
    pairs = list(zip(lefts, rights, strict=True))
    assert truths("a < b", **columns) == [left < right for left, right in pairs]
    assert truths("a = b", **columns) == [left == right for left, right in pairs]


def test_a_literal_of_more_digits_than_pythons_decimals_keep_is_not_rounded() -> None:
    tiny = pa.array([1, None, -1], pa.int8())
    assert truths("a = 1.00000000000000000000000000000001", a=tiny) == [False, None, False]
    assert truths("a > -1.00000000000000000000000000000001", a=tiny) == [True, None, True]
    assert truths("a >= 0.99999999999999999999999999999999", a=tiny) == [True, None, False]


@given(
    texts=st.lists(st.none() | st.text("aXé🦉\n", max_size=5), min_size=1),
    pattern=st.text("aXé🦉\n_%", max_size=4) | st.from_regex(r"\A%?[aXé]{0,3}%?\Z"),
)
def test_like_is_met_where_sqlite_says_so(texts: list[str | None], pattern: str) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("pragma case_sensitive_like = on")
        said = [database.execute("select ? like ?", (text, pattern)).fetchone()[0] for text in texts]
    expected = [None if one is None else bool(one) for one in said]
    plain = pa.array(texts, pa.string())
    for column in (plain, plain.dictionary_encode()):
        assert truths(f"a like '{pattern}'", a=column) == expected


@pytest.mark.parametrize("few", [0, 1 << 30], ids=["texts one by one", "texts of a dictionary"])
@pytest.mark.parametrize("seed", KEPT_TABLES)
def test_each_row_meets_the_conditions_that_it_met_in_spark(
    seed: int, few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "FEW_BYTES", few)
    write_drawn(Random(seed), tmp_path)
    said, tally = kept(seed), Tally()
    found = by_kernels(*pieces_in(tmp_path), list(said), tally)
    assert not tally.declined
    assert [sql for sql, truths in said.items() if not np.array_equal(found[sql], truths)] == []


def test_the_examples_of_sparks_documentation_are_answered_as_it_says_or_left(tmp_path: Path) -> None:
    """``kernels/test_scans.py`` asks Spark the same."""
    write_cases(tmp_path)
    answers = by_kernels(*pieces_in(tmp_path), [condition(at, case) for at, case in enumerate(CASES)], Tally())
    assert told(answers) == {
        f"{at}: {case.sql}": list(case.says) if case.native else "no answer" for at, case in enumerate(CASES)
    }
