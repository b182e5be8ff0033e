"""Hashes and coupons of many rows are those of the reference libraries, one row at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from datasketches import hll_sketch, tgt_hll_type
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.engines.native import hashing
from execution_engine.engines.native.hashing import AT_ONCE, MOST_BYTES, coupons_of, hashes
from execution_engine.engines.native.language import UnableToTell
from execution_engine.engines.native.values import Values, places_of, values_of
from execution_engine.metrics.states.hll import LOG2_BUCKETS, canonical, state_of

BYTES = st.lists(st.none() | st.binary(max_size=100), max_size=40)
TEXTS = st.lists(st.text(max_size=40), max_size=60)
LONGS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=1_000)


def _column(values: Sequence[Any], arrow: pa.DataType, spark: str) -> Values:
    return values_of(pa.array(values, arrow), spark)


@given(BYTES)
def test_bytes_are_hashed_as_xxh64_hashes_each_and_a_null_is_the_seed(values: list[bytes | None]) -> None:
    found = hashes([_column(values, pa.binary(), "binary")])
    assert found.tolist() == [42 if value is None else xxhash.xxh64(value, seed=42).intdigest() for value in values]


@given(BYTES, st.integers(0, 5))
def test_a_slice_is_hashed_as_its_rows_are(values: list[bytes | None], first: int) -> None:
    array = pa.array(values, pa.binary())
    whole, part = (hashes([values_of(each, "binary")]).tolist() for each in (array, array.slice(first)))
    assert part == whole[first:]


@given(TEXTS)
def test_a_text_of_a_dictionary_is_hashed_as_the_text(values: list[str]) -> None:
    plain = pa.array(values, pa.string())
    found = [hashes([values_of(array, "string")]).tolist() for array in (plain, plain.dictionary_encode())]
    assert found[0] == found[1]


@given(LONGS)
def test_long_numbers_are_hashed_as_eight_bytes_and_short_ones_as_four(values: list[int]) -> None:
    found = hashes([_column(values, pa.int64(), "bigint")]).tolist()
    assert found == [xxhash.xxh64(value.to_bytes(8, "little", signed=True), seed=42).intdigest() for value in values]
    short = [value % 2**31 for value in values]
    found = hashes([_column(short, pa.int32(), "int")]).tolist()
    assert found == [xxhash.xxh64(value.to_bytes(4, "little"), seed=42).intdigest() for value in short]


def test_the_hash_of_one_column_is_the_seed_of_the_next() -> None:
    one, other = _column([1, None], pa.int64(), "bigint"), _column(["a", "a"], pa.string(), "string")
    first = hashes([one]).tolist()
    assert hashes([one, other]).tolist() == [xxhash.xxh64(b"a", seed=seed).intdigest() for seed in first]


def test_zeros_of_both_signs_and_all_nans_have_one_hash() -> None:
    odd = pa.array([0.0, -0.0, float("nan"), -float("nan")])
    first, second, third, fourth = hashes([values_of(odd, "double")]).tolist()
    assert (first, third) == (second, fourth)


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 64)), max_size=30))
def test_leading_zeros_are_those_of_the_bits(drawn: list[tuple[int, int]]) -> None:
    words = [number >> shift for number, shift in drawn]
    found = hashing._leading_zeros(np.array(words, np.uint64))
    assert found.tolist() == [64 - word.bit_length() for word in words]


def test_what_a_dictionary_has_under_a_null_is_no_text() -> None:
    indices = pa.Array.from_buffers(
        pa.int32(), 3, [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([0, 99, 1], np.int32))]
    )
    packed = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    assert packed.null_count == 1
    assert places_of(packed).tolist() == [0, 0, 1]
    plain = pa.array(["a", None, "b"])
    assert hashes([values_of(packed, "string")]).tolist() == hashes([values_of(plain, "string")]).tolist()


def test_a_text_of_thousands_of_bytes_is_left_to_spark() -> None:
    longest = "x" * MOST_BYTES
    assert (
        hashes([_column(["a", longest], pa.string(), "string")])[1]
        == xxhash.xxh64(longest.encode(), seed=42).intdigest()
    )
    with pytest.raises(UnableToTell, match=r"^texts of thousands of bytes are Spark's to hash$"):
        hashes([_column(["a", f"{longest}x"], pa.string(), "string")])


def test_values_of_which_spark_has_other_bytes_are_left_to_it() -> None:
    with pytest.raises(UnableToTell, match=r"^int64 is Spark's to hash$"):
        hashes([_column([1], pa.int64(), "bigint").as_doubles()])
    with pytest.raises(UnableToTell, match=r"^fixed_size_binary\[2\] is Spark's to hash$"):
        hashes([_column([b"ab"], pa.binary(2), "binary")])


@pytest.mark.parametrize("type_", [pa.large_string(), pa.large_binary(), pa.binary()], ids=str)
def test_texts_of_any_layout_are_hashed_as_their_bytes(type_: pa.DataType) -> None:
    values = [b"", b"a", None, b"abcdefgh" * 9]
    array = pa.array(values, pa.binary()).cast(type_)
    found = hashes([values_of(array.slice(1), "string" if type_ == pa.large_string() else "binary")])
    assert found.tolist() == [42 if each is None else xxhash.xxh64(each, seed=42).intdigest() for each in values[1:]]


@pytest.mark.parametrize("rows", [AT_ONCE - 1, AT_ONCE, 2 * AT_ONCE + 1])
def test_more_rows_than_are_hashed_at_once_are_hashed_alike(rows: int) -> None:
    numbers = [at % 7 for at in range(rows)]
    of_numbers = [xxhash.xxh64(number.to_bytes(8, "little"), seed=42).intdigest() for number in range(7)]
    assert hashes([_column(numbers, pa.int64(), "bigint")]).tolist() == [of_numbers[number] for number in numbers]
    of_texts = [xxhash.xxh64(b"text" * number, seed=42).intdigest() for number in range(7)]
    texts = _column(["text" * number for number in numbers], pa.string(), "string")
    assert hashes([texts]).tolist() == [of_texts[number] for number in numbers]
    assert state_of(coupons_of(texts, None, {})).to_bytes() == _of_reference(["text" * number for number in range(7)])
    found = coupons_of(_column(numbers, pa.int64(), "bigint"), None, {})
    assert (len(found), state_of(found).to_bytes()) == (rows, _of_reference(range(7)))


def _of_reference(values: Sequence[Any]) -> bytes:
    sketch = hll_sketch(LOG2_BUCKETS, tgt_hll_type.HLL_8)
    for value in values:
        sketch.update(value)
    return canonical(sketch.serialize_compact())


@given(LONGS)
def test_coupons_of_numbers_are_those_of_datasketches(values: list[int]) -> None:
    found = coupons_of(_column(values, pa.int64(), "bigint"), None, {})
    assert state_of(found).to_bytes() == _of_reference(values)


@given(TEXTS, st.booleans())
def test_coupons_of_texts_are_those_of_datasketches(values: list[str], packed: bool) -> None:
    array = pa.array(values, pa.string())
    found = coupons_of(values_of(array.dictionary_encode() if packed else array, "string"), None, {})
    assert state_of(found).to_bytes() == _of_reference(values)
