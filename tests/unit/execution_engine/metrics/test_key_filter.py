import json
from dataclasses import replace
from hashlib import sha256
from struct import pack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybloom_live import BloomFilter

from execution_engine.metrics.key_filter import (
    MAX_BYTES,
    KeyFilter,
    Shape,
    UnableToReadFilter,
    filled,
    merged,
    opened,
    shape_for,
)

SHAPE = Shape(capacity=1000, error_rate=0.001)


def a_filter(keys: int = 800) -> KeyFilter:
    halves = [filled(SHAPE, (str(at) for at in range(start, keys, 2))) for start in (0, 1)]
    return merged(SHAPE, ("id",), halves)


def sealed(header: dict[str, Any], body: bytes) -> bytes:
    """An envelope with a true checksum, whatever it claims."""
    raw = json.dumps(header).encode()
    return pack("<8sBI32s", b"ASSAYBLM", 1, len(raw), sha256(raw + body).digest()) + raw + body


def honest() -> dict[str, Any]:
    return {"columns": ["id"], "capacity": 1000, "error_rate": 0.001, "keys": 800}


def test_a_filter_is_read_back_as_it_was_written() -> None:
    assert KeyFilter.from_bytes(a_filter().to_bytes()) == a_filter()
    assert KeyFilter.from_bytes(sealed(honest(), a_filter().body)) == a_filter()


def test_merged_filters_hold_the_keys_of_all() -> None:
    union = a_filter()
    assert union.keys == 800
    assert all(str(at) in opened(union.body) for at in range(800))


@given(st.integers(1, 10**8), st.sampled_from([0.001, 0.01]))
def test_the_shape_follows_the_formulas_of_pybloom(capacity: int, error_rate: float) -> None:
    shape = Shape(capacity=capacity, error_rate=error_rate)
    small = BloomFilter(min(capacity, 10_000), error_rate)
    expected = replace(shape, capacity=min(capacity, 10_000))
    assert (expected.slices, expected.bits_per_slice) == (small.num_slices, small.bits_per_slice)


@pytest.mark.parametrize(("keys", "error_rate"), [(0, 0.001), (30_000_000, 0.001), (50_000_000, 0.01)])
def test_a_filter_is_as_exact_as_64_mb_allow(keys: int, error_rate: float) -> None:
    shape = shape_for(keys)
    assert shape is not None
    assert shape.error_rate == error_rate
    assert shape.body_bytes < MAX_BYTES


def test_too_many_keys_have_no_filter() -> None:
    assert shape_for(100_000_000) is None


@pytest.mark.parametrize(
    "claim",
    [
        {"capacity": 2**40},
        {"capacity": 999},
        {"capacity": -1},
        {"capacity": "many"},
        {"error_rate": float("nan")},
        {"error_rate": -0.5},
        {"error_rate": 0.01},
        {"keys": 801},
        {"keys": -1},
        {"keys": 1001},
        {"columns": 7},
    ],
)
def test_a_false_claim_is_refused(claim: dict[str, Any]) -> None:
    with pytest.raises(UnableToReadFilter):
        KeyFilter.from_bytes(sealed(honest() | claim, a_filter().body))


def test_a_filter_that_says_yes_to_everything_is_refused() -> None:
    body = a_filter().body
    with pytest.raises(UnableToReadFilter, match="bits are set"):
        KeyFilter.from_bytes(sealed(honest(), body[:40] + b"\xff" * (len(body) - 40)))


def test_a_body_that_claims_other_slices_than_its_header_is_refused() -> None:
    body = a_filter().body
    hostile = pack("<dQQQQ", 0.001, 2**40, SHAPE.bits_per_slice, 1000, 800) + body[40:]
    with pytest.raises(UnableToReadFilter, match="not as large"):
        KeyFilter.from_bytes(sealed(honest(), hostile))


@pytest.mark.parametrize("cut", [0, 1, 44, 45, 100, -1])
def test_a_filter_cut_short_is_refused(cut: int) -> None:
    with pytest.raises(UnableToReadFilter):
        KeyFilter.from_bytes(a_filter().to_bytes()[:cut])


@settings(max_examples=300)
@given(st.integers(0, 2000), st.integers(1, 255))
def test_any_changed_byte_is_noticed(at: int, change: int) -> None:
    state = bytearray(a_filter(50).to_bytes())
    state[at % len(state)] ^= change
    with pytest.raises(UnableToReadFilter):
        KeyFilter.from_bytes(bytes(state))


@given(st.binary(max_size=200))
def test_no_bytes_give_another_error(state: bytes) -> None:
    with pytest.raises(UnableToReadFilter):
        KeyFilter.from_bytes(state)
