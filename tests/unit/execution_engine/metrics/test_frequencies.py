from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.metrics.states.frequencies import (
    Counts,
    Frequencies,
    arrays,
    from_arrays,
    merged,
    starts,
    summary_of_union,
)
from execution_engine.metrics.states.statistics import Summary

HASHES = st.lists(st.integers(-5, 30) | st.integers(-(2**63), 2**63 - 1), max_size=60)


def frequencies(keys: list[int], with_nulls: list[int]) -> Frequencies:
    return Frequencies(whole=counts(keys), with_nulls=counts(with_nulls))


def counts(keys: list[int]) -> Counts:
    return Counts.of(np.array(keys, np.int64))


def occurrences(found: Counts) -> Counter[int]:
    repeated = dict(zip(found.repeated.tolist(), found.times.tolist(), strict=True))
    return Counter(dict.fromkeys(found.single.tolist(), 1) | repeated)


@given(keys=HASHES)
def test_each_key_is_counted(keys: list[int]) -> None:
    found = counts(keys)
    assert occurrences(found) == Counter(keys)
    assert (found.rows, found.distinct) == (len(keys), len(set(keys)))
    assert list(found.single) == sorted(found.single)
    assert list(found.repeated) == sorted(found.repeated)


@given(parts=st.lists(HASHES, max_size=6))
def test_merged_counts_are_those_of_all_keys(parts: list[list[int]]) -> None:
    whole = merged([frequencies(part, part[:3]) for part in parts])
    assert occurrences(whole.whole) == Counter(key for part in parts for key in part)
    assert occurrences(whole.with_nulls) == Counter(key for part in parts for key in part[:3])


@given(
    large=st.lists(st.integers(0, 10**6), min_size=200, max_size=400), small=st.lists(st.integers(0, 10**6), max_size=9)
)
def test_a_small_part_is_probed_into_a_large_one(large: list[int], small: list[int]) -> None:
    small += large[:5]
    whole = merged([frequencies(small, []), frequencies(large, [])]).whole
    assert occurrences(whole) == Counter(large + small)
    assert list(whole.single) == sorted(whole.single)


@given(large=st.lists(st.integers(-200, 300), min_size=300, max_size=600), small=st.lists(HASHES, max_size=3))
def test_the_summary_of_a_union_is_known_without_making_it(large: list[int], small: list[list[int]]) -> None:
    parts = [frequencies(keys, keys[:2]) for keys in [large, *small]]
    known, made = summary_of_union(parts), merged(parts).summary
    assert replace(known, weighted_logs=0) == replace(made, weighted_logs=0)
    assert known.weighted_logs == pytest.approx(made.weighted_logs)


@pytest.mark.thorough
@given(keys=HASHES, with_nulls=HASHES)
def test_the_summary_says_what_the_keys_say(keys: list[int], with_nulls: list[int]) -> None:
    from scipy import stats

    summary, times = frequencies(keys, with_nulls).summary, list(Counter(keys).values())
    assert (summary.rows, summary.distinct, summary.single) == (len(keys), len(times), times.count(1))
    assert summary.most == max(times, default=0)
    assert summary.distinct_with_nulls == len(set(with_nulls))
    assert summary.entropy == (pytest.approx(stats.entropy(times), abs=1e-9) if keys else None)


@given(keys=HASHES, with_nulls=HASHES)
def test_arrays_are_put_together_again(keys: list[int], with_nulls: list[int]) -> None:
    given_ = frequencies(keys, with_nulls)
    again = from_arrays(arrays(given_))
    assert occurrences(again.whole) == occurrences(given_.whole)
    assert occurrences(again.with_nulls) == occurrences(given_.with_nulls)


def test_counts_worked_out_by_hand() -> None:
    found = counts([7, -1, 7, 3, 3, 3])
    assert (list(found.single), list(found.repeated), list(found.times)) == ([-1], [3, 7], [3, 2])
    assert [array.dtype for array in arrays(frequencies([1, 1], []))] == [np.dtype(np.int64)] * 6
    summary = frequencies([7, -1, 7, 3, 3, 3], [4, 4, 5]).summary
    assert replace(summary, weighted_logs=0) == Summary(
        rows=6, distinct=3, single=1, most=3, distinct_with_nulls=2, rows_with_nulls=3
    )
    assert summary.weighted_logs == pytest.approx(3 * np.log(3) + 2 * np.log(2))
    assert (frequencies([], []).summary, frequencies([1, 2], []).summary.most) == (Summary(), 1)


def test_the_arrays_stand_in_their_order() -> None:
    given_ = frequencies([7, -1, 7], [4, 5, 5, 5])
    assert [list(array) for array in arrays(given_)] == [[-1], [7], [2], [4], [5], [3]]
    assert from_arrays(arrays(given_)).summary == given_.summary


@pytest.mark.parametrize(("ordered", "begins"), [([], []), ([5], [0]), ([5, 5], [0]), ([1, 2, 2, 3], [0, 1, 3])])
def test_each_distinct_value_begins_somewhere(ordered: list[int], begins: list[int]) -> None:
    found = starts(np.array(ordered, np.int64))
    assert (list(found), found.dtype) == (begins, np.dtype(np.int64))
