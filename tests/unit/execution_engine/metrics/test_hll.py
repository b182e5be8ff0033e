"""Sketches of distinct values: one form for the same values, read and merged as DataSketches does."""

from itertools import pairwise
from struct import unpack

import numpy as np
import pytest
from datasketches import hll_sketch, hll_union, tgt_hll_type
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.metrics.definitions.uniqueness import distinct_of
from execution_engine.metrics.states.hll import LOG2_BUCKETS, MOST_COUPONS, HllState, canonical, from_bytes, merged
from execution_engine.metrics.states.states import merged_hll

SIZES = (0, 1, 7, 8, 9, 24, 25, 100, 383, 384, 385, 386, 500, 5_000, 100_000)


def _sketch(values: range) -> hll_sketch:
    sketch = hll_sketch(LOG2_BUCKETS, tgt_hll_type.HLL_8)
    for value in values:
        sketch.update(value)
    return sketch


def _union(*sketches: hll_sketch) -> hll_sketch:
    union = hll_union(LOG2_BUCKETS)
    for sketch in sketches:
        union.update(sketch)
    return union.get_result(tgt_hll_type.HLL_8)


def test_values_from_32_on_are_added_up_apart() -> None:
    registers = np.zeros(1 << LOG2_BUCKETS, np.uint8)
    registers[:3] = 31, 32, 33
    stored = HllState(registers=registers).to_bytes()
    assert unpack("<dd2i", stored[16:40]) == (len(registers) - 3 + 2.0**-31, 2.0**-32 + 2.0**-33, len(registers) - 3, 0)


@pytest.mark.parametrize("size", SIZES)
def test_all_forms_of_a_sketch_become_one(size: int) -> None:
    forward, backward = _sketch(range(size)), _sketch(range(size - 1, -1, -1))
    forms = [
        form
        for sketch in (forward, backward, _union(forward), _union(forward, backward))
        for form in (sketch.serialize_compact(), sketch.serialize_updatable())
    ]
    assert {canonical(form) for form in forms} == {canonical(canonical(forms[0]))}


@pytest.mark.parametrize("size", SIZES)
def test_the_one_form_is_estimated_as_a_union_in_any_order_is(size: int) -> None:
    both = _sketch(range(size)), _sketch(range(size - 1, -1, -1))
    reference = _union(*both).get_estimate()  # of a sketch that knows of no order
    found = hll_sketch.deserialize(canonical(_sketch(range(size)).serialize_compact())).get_estimate()
    assert found == pytest.approx(reference, rel=1e-9)


@pytest.mark.parametrize("size", SIZES)
def test_the_estimate_is_within_four_standard_errors(size: int) -> None:
    found = distinct_of(canonical(_sketch(range(size)).serialize_compact()))
    assert abs(found - size) <= (0.5 if size <= MOST_COUPONS else 4 * 0.0163 * size)


@given(st.lists(st.integers(0, 900), max_size=4).map(sorted))
def test_a_union_is_what_all_of_its_values_give(cuts: list[int]) -> None:
    parts = [_sketch(range(start, end)).serialize_compact() for start, end in pairwise([0, *cuts, 1_000])]
    assert merged_hll(parts) == canonical(_sketch(range(1_000)).serialize_compact())


def test_sketches_of_before_merge_with_those_of_now() -> None:
    """Of before: as Spark or DataSketches wrote them, in the order of their values."""
    before, now = (
        _sketch(range(3_000)).serialize_updatable(),
        canonical(_sketch(range(2_000, 5_000)).serialize_compact()),
    )
    assert merged_hll([before, now]) == canonical(_sketch(range(5_000)).serialize_compact())


def test_another_size_and_another_packing_are_refused() -> None:
    for other in (hll_sketch(10, tgt_hll_type.HLL_8), hll_sketch(LOG2_BUCKETS, tgt_hll_type.HLL_4)):
        for value in range(5_000):
            other.update(value)
        with pytest.raises(ValueError, match="measure the part again"):
            from_bytes(other.serialize_compact())


def test_what_datasketches_reads_back_has_the_same_buckets() -> None:
    state = from_bytes(_sketch(range(5_000)).serialize_compact())
    again = from_bytes(hll_sketch.deserialize(state.to_bytes()).serialize_updatable())
    assert state.registers is not None
    assert again.registers is not None
    assert np.array_equal(state.registers, again.registers)
    assert merged([state, again]).to_bytes() == state.to_bytes()
