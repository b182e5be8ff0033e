"""Texts and hashes of keys, against the xxhash library and texts that Python writes, one value at a time."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.engines.native.evaluation import RowBatch
from execution_engine.engines.native.key_tasks import (
    Among,
    Distinct,
    Filled,
    KeyRows,
    Lowest,
    Named,
    canonical,
    joined,
    key_hashes,
    lowest_of,
)
from execution_engine.engines.native.language import ColumnNode, Compare, Compared, Literal, LiteralKind, UnableToTell
from execution_engine.engines.native.values import Values, as_string, values_of
from execution_engine.metrics.keys.bits import no_bits, places_of_hashes, set_bits
from execution_engine.metrics.keys.key_text import decode, encode
from tests.unit.execution_engine.engines.key_hash import key_hash, rank

Write = Callable[[Any], str | bytes]
TENTHS = st.decimals(-(10**9), 10**9, places=2)


def _trimmed(value: Decimal) -> str:
    whole, _, rest = f"{value:f}".partition(".")
    return f"{whole}.{rest.rstrip('0')}" if rest.rstrip("0") else whole


def _instant(value: datetime) -> str:
    text = f"{value:%H:%M:%S}" + (f".{value.microsecond:06d}".rstrip("0") if value.microsecond else "")
    return f"{value.date().isoformat()} {text}"


KINDS: dict[str, tuple[pa.DataType, str, st.SearchStrategy[Any], Write]] = {
    "bigint": (pa.int64(), "bigint", st.integers(-(2**63), 2**63 - 1), str),
    "tinyint": (pa.int8(), "tinyint", st.integers(-128, 127), str),
    "unsigned": (pa.uint64(), "decimal(20,0)", st.integers(0, 2**64 - 1), str),
    "boolean": (pa.bool_(), "boolean", st.booleans(), lambda value: str(value).lower()),
    "text": (pa.string(), "string", st.text(max_size=40), str),
    "large text": (pa.large_string(), "string", st.text(max_size=40), str),
    "decimal": (pa.decimal128(12, 2), "decimal(12,2)", TENTHS, _trimmed),
    "long decimal": (pa.decimal128(38, 6), "decimal(38,6)", st.decimals(-(10**31), 10**31, places=6), _trimmed),
    "date": (pa.date32(), "date", st.dates(), date.isoformat),
    "timestamp": (pa.timestamp("us", "UTC"), "timestamp", st.datetimes(timezones=st.just(UTC)), _instant),
    "double": (pa.float64(), "double", st.integers(1 - 2**53, 2**53 - 1).map(float), lambda value: str(int(value))),
    "float": (pa.float32(), "float", st.integers(1 - 2**24, 2**24 - 1).map(float), lambda value: str(int(value))),
    "binary": (pa.binary(), "binary", st.binary(max_size=20), lambda value: value.hex().upper()),
}


@st.composite
def _keys(draw: st.DrawFn) -> tuple[list[Values], list[tuple[str | bytes | None, ...]]]:
    """Columns of one to three kinds, some as dictionaries or as slices, and the texts of each row."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))
    rows, skipped = draw(st.integers(0, 30)), draw(st.integers(0, 3))
    columns, texts = [], []
    for kind in kinds:
        arrow, spark, values, write = KINDS[kind]
        drawn = draw(st.lists(st.none() | values, min_size=rows + skipped, max_size=rows + skipped))
        array = pa.array(drawn, arrow)
        if arrow == pa.string() and draw(st.booleans()):
            array = array.dictionary_encode()
        columns.append(values_of(array.slice(skipped), spark))
        texts.append([None if value is None else write(value) for value in drawn[skipped:]])
    return columns, list(zip(*texts, strict=True))


@given(_keys())
def test_a_key_is_hashed_as_the_library_hashes_its_canonical_texts(
    drawn: tuple[list[Values], list[tuple[str | bytes | None, ...]]],
) -> None:
    columns, texts = drawn
    assert key_hashes(columns).tolist() == [key_hash(row) for row in texts]


@given(st.lists(st.tuples(st.none() | st.text(max_size=9), st.none() | st.integers(-99, 99)), min_size=1, max_size=20))
def test_the_text_of_a_key_is_the_one_that_python_writes_and_reads(rows: list[tuple[str | None, int | None]]) -> None:
    texts, numbers = zip(*rows, strict=True)
    columns = values_of(pa.array(texts, pa.string()), "string"), values_of(pa.array(numbers, pa.int64()), "bigint")
    keys = [(text, None if number is None else str(number)) for text, number in rows]
    found = joined([as_string(column) for column in columns]).to_pylist()
    assert found == [encode(key) for key in keys]
    assert [decode(text) for text in found] == keys


@given(_keys())
def test_the_canonical_texts_of_a_key_are_joined_into_one_whatever_types_hold_them(
    drawn: tuple[list[Values], list[tuple[str | bytes | None, ...]]],
) -> None:
    columns, texts = drawn
    found = joined([canonical(column) for column in columns])
    assert found.type == pa.string()
    assert found.to_pylist() == [encode([None if text is None else str(text) for text in row]) for row in texts]


def test_decimals_keep_their_zeros_in_texts_and_lose_them_in_hashes() -> None:
    price = values_of(pa.array([Decimal("-0.50"), Decimal("100.00")], pa.decimal128(9, 2)), "decimal(9,2)")
    assert as_string(price).array.to_pylist() == ["-0.50", "100.00"]
    assert canonical(price).array.to_pylist() == ["-0.5", "100"]


@pytest.mark.parametrize("scale", [7, 9, 12, 18])
@pytest.mark.parametrize("sign", [1, -1])
def test_decimals_below_a_millionth_are_left_to_spark_and_others_written_with_all_places(scale: int, sign: int) -> None:
    type_, spark = pa.decimal128(30, scale), f"decimal(30,{scale})"
    millionth = Decimal(sign) / 10**6
    written = as_string(values_of(pa.array([millionth, None, Decimal(sign)], type_), spark))
    assert written.array.to_pylist() == [f"{millionth:.{scale}f}", None, f"{sign}.{'0' * scale}"]
    with pytest.raises(UnableToTell, match=r"^a small decimal may be written with an exponent$"):
        as_string(values_of(pa.array([Decimal(sign), millionth - Decimal(sign).scaleb(-scale)], type_), spark))


@pytest.mark.parametrize(
    ("first", "last", "type_", "spark"),
    [
        (date(1, 1, 1), date(9999, 12, 31), pa.date32(), "date"),
        (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), pa.timestamp("us"), "timestamp_ntz"),
    ],
)
def test_years_of_four_digits_are_written_and_no_others(
    first: date, last: date, type_: pa.DataType, spark: str
) -> None:
    known = pa.array([first, None, last], type_)
    texts = as_string(values_of(known, spark)).array.to_pylist()
    assert (texts[0], texts[2]) == (str(first).rjust(10, "0"), str(last))
    numbers = known.cast(pa.int32()).cast(pa.int64()) if type_ == pa.date32() else known.cast(pa.int64())
    for number in (numbers[0].as_py() - 1, numbers[2].as_py() + 1):
        beyond = pa.array([number], pa.int64())
        array = (beyond.cast(pa.int32()) if type_ == pa.date32() else beyond).cast(type_)
        with pytest.raises(UnableToTell, match=r"^years before 1 or after 9999 are written by Spark$"):
            as_string(values_of(array, spark))


def test_both_zeros_are_one_key() -> None:
    zeros = values_of(pa.array([0.0, -0.0]), "double")
    assert canonical(zeros).array.to_pylist() == ["0", "0"]


DOUBLES = "doubles that are no whole numbers are written by Spark"
YEARS = "years before 1 or after 9999 are written by Spark"
EXPONENT = "a small decimal may be written with an exponent"


@pytest.mark.parametrize(
    ("array", "spark", "why"),
    [
        *[(pa.array([number]), "double", DOUBLES) for number in (0.5, float("inf"), float("nan"), 2.0**53)],
        (pa.array([2.0**24], pa.float32()), "float", DOUBLES),
        (pa.array([Decimal("1e-9")], pa.decimal128(18, 9)), "decimal(18,9)", EXPONENT),
        *[(pa.array([day], pa.date32()), "date", YEARS) for day in (2_932_897, -719_163)],
        (pa.array([253_402_300_800_000_000], pa.timestamp("us")), "timestamp_ntz", YEARS),
        (pa.array([-62_135_596_800_000_001], pa.timestamp("us")), "timestamp_ntz", YEARS),
    ],
)
def test_what_spark_alone_writes_is_left_to_it(array: pa.Array, spark: str, why: str) -> None:
    with pytest.raises(UnableToTell) as raised:
        canonical(values_of(array, spark))
    assert str(raised.value) == why


def test_the_length_of_a_text_that_is_no_utf_8_is_left_to_spark() -> None:
    text = pa.StringArray.from_buffers(1, *pa.array([b"\xff"]).buffers()[1:])
    with pytest.raises(UnableToTell) as raised:
        joined([values_of(text, "string")])
    assert str(raised.value) == "the length of a text that is no UTF-8 is Spark's to tell"


def test_what_lies_under_a_null_is_not_looked_at() -> None:
    nothing = pa.py_buffer(bytes([0b10]))
    for type_, number, spark in (
        (pa.float64(), 0.5, "double"),
        (pa.date32(), 3_000_000, "date"),
        (pa.timestamp("us"), 10**18, "timestamp_ntz"),
    ):
        plain = pa.array([number, 0], pa.float64() if type_ == pa.float64() else pa.int64())
        content = plain.cast(pa.int32()) if type_ == pa.date32() else plain
        given_ = values_of(pa.Array.from_buffers(type_, 2, [nothing, content.buffers()[1]]), spark)
        assert key_hashes([given_]).tolist()[0] == key_hash([None])


NUMBERS = st.lists(st.none() | st.integers(-50, 50), min_size=1, max_size=60)


def _batches(numbers: list[int | None], size: int) -> list[RowBatch]:
    parts = (numbers[at : at + size] for at in range(0, len(numbers), size))
    return [
        RowBatch(rows=len(part), columns=lambda name, part=part: values_of(pa.array(part, pa.int64()), "bigint"))  # type: ignore[misc]
        for part in parts
    ]


ABOVE = Compared(
    by=Compare.GT, left=ColumnNode(name="a"), right=Literal(kind=LiteralKind.EXACT, value=Decimal(-10), digits=10)
)


@given(NUMBERS, st.integers(1, 60), st.booleans(), st.integers(1, 9))
def test_each_gatherer_takes_just_the_keys_that_count(
    numbers: list[int | None], size: int, is_filtered: bool, most: int
) -> None:
    rows = KeyRows(columns=("a",), where=ABOVE if is_filtered else None)
    counting = [each for each in numbers if not is_filtered or (each is not None and each > -10)]
    texts = {each: None if each is None else str(each) for each in counting}
    by_hash = {key_hash([text]): encode((text,)).encode() for text in texts.values()}
    hashes, count = Distinct().gather(rows, _batches(numbers, size))
    assert np.frombuffer(hashes, np.uint64).tolist() == sorted(by_hash)
    assert count == len(counting)

    some = tuple(sorted({each >> 52 for each in list(by_hash)[::2]}))
    hashes, count = Distinct(buckets=some).gather(rows, _batches(numbers, size))
    assert np.frombuffer(hashes, np.uint64).tolist() == [each for each in sorted(by_hash) if each >> 52 in some]
    assert count == sum((key_hash([texts[each]]) >> 52) in some for each in counting)

    filled, expected = Filled(slices=3, bits_per_slice=256).gather(rows, _batches(numbers, size)), no_bits(3, 256)
    set_bits(expected, places_of_hashes(np.array(sorted(by_hash), np.uint64)))
    assert filled == (expected.tobytes(), len(counting))

    ranks = {encode((text,)).encode(): rank(encode((text,))) for text in texts.values()}
    lowest = sorted(ranks, key=lambda text: (ranks[text], text))[:most]
    assert list(Lowest(size=most).gather(rows, _batches(numbers, size))) == lowest
    wanted = {text: of_text for at, (text, of_text) in enumerate(ranks.items()) if at % 2}
    known = tuple(sorted(each % 2**64 for each in wanted.values()))
    assert Among(hashes=known).gather(rows, _batches(numbers, size)) == wanted
    named = tuple(sorted(by_hash)[::2])
    assert set(Named(hashes=named).gather(rows, _batches(numbers, size))) == {by_hash[each] for each in named}


@given(NUMBERS, NUMBERS, st.integers(1, 9))
def test_the_lowest_keys_of_several_tasks_are_those_of_all_their_rows(
    first: list[int | None], second: list[int | None], size: int
) -> None:
    parts = [Lowest(size=size).gather(KeyRows(columns=("a",)), _batches(some, 60)) for some in (first, second)]
    texts = {encode((None if each is None else str(each),)) for each in (*first, *second)}
    assert lowest_of(parts, size) == sorted(texts, key=rank)[:size]


def test_hashes_that_lie_side_by_side_are_told_apart() -> None:
    rows = KeyRows(columns=("a",))
    for number in range(20):
        text = str(number)
        of_key, of_text = key_hash([text]), rank(encode((text,))) % 2**64
        named = Named(hashes=(of_key - 1, of_key)).gather(rows, _batches([number], 1))
        assert list(named) == [encode((text,)).encode()]
        among = Among(hashes=(of_text - 1, of_text)).gather(rows, _batches([number], 1))
        assert list(among) == [encode((text,)).encode()]


@pytest.mark.parametrize("times", [1, 50])
def test_a_task_sends_many_hashes_once_where_they_are_repeated(times: int) -> None:
    numbers = np.random.default_rng(1).permutation(np.repeat(np.arange(100_000 // times), times))
    batch = RowBatch(rows=len(numbers), columns=lambda name: values_of(pa.array(numbers), "bigint"))
    hashes, count = Distinct().gather(KeyRows(columns=("a",)), [batch])
    found = np.frombuffer(hashes, np.uint64)
    assert count == len(numbers)
    assert len(found) == 100_000 // times
    assert set(found.tolist()) == {key_hash([str(number)]) for number in range(100_000 // times)}


def test_a_task_sends_a_few_thousand_hashes_once_if_any_key_is_repeated() -> None:
    numbers = np.array([7, 7, *range(10_000, 14_998)])
    batch = RowBatch(rows=5_000, columns=lambda name: values_of(pa.array(numbers), "bigint"))
    hashes, count = Distinct().gather(KeyRows(columns=("a",)), [batch])
    assert count == 5_000
    assert np.frombuffer(hashes, np.uint64).tolist() == sorted({key_hash([str(number)]) for number in numbers})
