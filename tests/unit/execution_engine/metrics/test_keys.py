from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        (None, None),
        (True, "true"),
        (7, "7"),
        (Decimal("1.50"), "1.50"),
        (date(2013, 1, 2), "2013-01-02"),
        (datetime(2013, 1, 2, 3), "2013-01-02 03:00:00"),
        (datetime(2013, 1, 2, 3, 4, 5, 120_000), "2013-01-02 03:04:05.12"),
        (b"ab", "ab"),
    ],
)
def test_a_value_is_written_as_spark_casts_it(value: Any, text: str | None) -> None:
    assert as_text(value) == text
