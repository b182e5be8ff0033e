"""Texts of keys, and samples of keys."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.metrics.definitions.sample import Sample, UnableToReadSample, bottom_keys
from execution_engine.metrics.keys.key_text import Key, UnableToReadKey, as_text, decode, encode

KEYS = st.lists(st.none() | st.text(alphabet="a1:-|é\n'", max_size=12), max_size=4).map(tuple)


@given(KEYS)
def test_a_key_is_read_back_as_it_was_written(key: Key) -> None:
    assert decode(encode(key)) == key


@given(KEYS, KEYS)
def test_different_keys_have_different_texts(one: Key, other: Key) -> None:
    assert (encode(one) == encode(other)) == (one == other)


@pytest.mark.parametrize("text", ["3:ab", "x", ":a", "99999999999:a", "1:a2"])
def test_a_text_that_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(UnableToReadKey):
        decode(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(None, None), (True, "true"), (7, "7"), (Decimal("1.50"), "1.50")],
        (date(2013, 1, 2), "2013-01-02"),
        (datetime(2013, 1, 2, 3), "2013-01-02 03:00:00"),
        (datetime(2013, 1, 2, 3, 4, 5, 120_000), "2013-01-02 03:04:05.12"),
        (b"ab", "ab"),
    ],
)
def test_a_value_is_written_as_spark_casts_it(value: Any, text: str | None) -> None:
    assert as_text(value) == text


PAIRS = st.lists(st.tuples(st.none() | st.text(max_size=5), st.text(max_size=5)), max_size=40)


@given(PAIRS)
def test_a_sample_is_read_back_as_it_was_written(keys: list[Key]) -> None:
    sample = Sample(columns=("a", "b"), keys=tuple(keys))
    assert Sample.from_bytes(sample.to_bytes()) == sample


@pytest.mark.parametrize(
    "state",
    [
        *(b"", b"{}", b"[1]", b"\xff", b'{"assay_sample": 2, "columns": ["a"], "size": 0}'),
        b'{"assay_sample": 1, "columns": ["a"], "size": 2}\n["x"]',
        b'{"assay_sample": 1, "columns": ["a"], "size": 1}\n["x", "y"]',
        b'{"assay_sample": 1, "columns": ["a"], "size": 1}\n[{"x": 1}]',
        b'{"assay_sample": 1, "columns": 7, "size": 0}',
        b"[" * 100_000,
    ],
)
def test_bytes_that_are_no_sample_are_refused(state: bytes) -> None:
    with pytest.raises(UnableToReadSample):
        Sample.from_bytes(state)


@given(PAIRS, st.integers(1, 10), st.randoms())
def test_the_sample_depends_on_the_set_of_keys_alone(keys: list[Key], size: int, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = keys * 3
    random.shuffle(shuffled)
    sampled = bottom_keys(shuffled, size, "a")
    assert sampled == bottom_keys(keys, size, "a")
    assert len(sampled) == min(size, len(set(keys)))
    assert set(sampled) <= set(keys)


def test_every_key_is_about_as_likely_to_be_sampled() -> None:
    sampled = bottom_keys(((str(at),) for at in range(10_000)), 1000, "a")
    early = sum(int(key[0] or 0) < 5_000 for key in sampled)
    assert 420 < early < 580  # five standard deviations of a fair draw; the hash is fixed


def test_another_draw_samples_other_keys() -> None:
    keys = [(str(at),) for at in range(10_000)]
    first, second = (set(bottom_keys(keys, 1000, draw)) for draw in "ab")
    assert 50 < len(first & second) < 150  # a tenth, by chance
