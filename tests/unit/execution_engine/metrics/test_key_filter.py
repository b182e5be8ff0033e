from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybloom_live import BloomFilter

from execution_engine.metrics.keys.bits import set_counts
from execution_engine.metrics.keys.buckets import Buckets
from execution_engine.metrics.keys.envelope import MAX_BYTES
from execution_engine.metrics.keys.filter import KeyFilter, estimated_keys, filter_of_hashes
from execution_engine.metrics.keys.filter_shape import FilterShape, Format, UnableToShape, shape_for
from execution_engine.metrics.keys.growing_filter import gathered, largest_shape
from execution_engine.metrics.keys.pybloom import as_pybloom
from tests.unit.execution_engine.metrics.key_files import FORMATS, a_filter, hashes


@pytest.mark.parametrize("format_", FORMATS)
def test_a_filter_is_read_back_as_it_was_written(format_: Format) -> None:
    written = replace(a_filter(format_), buckets=Buckets((1, 7, 4095)))
    assert KeyFilter.from_bytes(written.to_bytes()) == written
    assert KeyFilter.from_bytes(written.to_bytes(b"secret"), b"secret") == written


def test_hashes_are_exact() -> None:
    found = a_filter(Format.HASHES)
    assert found.has(hashes(800)).all()
    assert not found.has(hashes(100_000, seed=2)).any()


@pytest.mark.thorough
@pytest.mark.parametrize("error_rate", [0.01, 0.001])
def test_a_bloom_filter_takes_for_present_as_few_absent_keys_as_it_claims(error_rate: float) -> None:
    found = filter_of_hashes(shape_for(200_000, exact_keys=0, error_rate=error_rate), ("id",), hashes(200_000), 200_000)
    assert found.has(hashes(200_000)).all()
    passed = found.has(hashes(1_000_000, seed=2)).mean()
    assert passed <= 1.1 * error_rate
    assert found.error_rate == pytest.approx(passed, rel=0.15)


def test_keys_of_one_bucket_fill_every_slice_as_evenly() -> None:
    of_one = np.unique(np.random.default_rng(1).integers(0, 2**52, 50_000, dtype=np.uint64))
    absent = np.random.default_rng(2).integers(0, 2**52, 500_000, dtype=np.uint64)
    found = filter_of_hashes(shape_for(50_000, exact_keys=0), ("id",), of_one, 50_000)
    assert found.has(absent).mean() <= 1.1 * 0.01


def test_pybloom_reads_every_key_and_few_others() -> None:
    found = as_pybloom(KeyFilter.from_bytes(a_filter(Format.PYBLOOM, 30_000).to_bytes()))
    assert len(found) == 30_000
    assert all(str(at) in found for at in range(30_000))
    assert sum(f"absent {at}" in found for at in range(20_000)) <= 1.1 * 0.01 * 20_000


@given(st.integers(1, 50_000), st.sampled_from([0.001, 0.01]))
def test_the_shape_follows_the_formulas_of_pybloom(capacity: int, error_rate: float) -> None:
    shape, made = (
        FilterShape(format=Format.PYBLOOM, capacity=capacity, error_rate=error_rate),
        BloomFilter(capacity, error_rate),
    )
    assert (shape.slices, shape.bits_per_slice) == (made.num_slices, made.bits_per_slice)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [(0, Format.HASHES), (1_000_000, Format.HASHES), (1_000_001, Format.XXHASH), (55_000_000, Format.XXHASH)],
)
def test_few_keys_are_shipped_as_hashes_and_many_as_a_bloom_filter(keys: int, expected: Format) -> None:
    shape = shape_for(keys)
    assert shape.format is expected
    assert shape.body_bytes < MAX_BYTES
    assert shape.bits_per_slice % 8 == 0


@pytest.mark.parametrize(("keys", "wanted"), [(60_000_000, None), (9_000_000, Format.HASHES)])
def test_too_many_keys_have_no_filter(keys: int, wanted: Format | None) -> None:
    with pytest.raises(UnableToShape):
        shape_for(keys, wanted=wanted)


def test_the_bits_tell_how_many_keys_set_them() -> None:
    found = filter_of_hashes(shape_for(300_000, exact_keys=0), ("id",), hashes(200_000), 200_000)
    assert estimated_keys(found.shape, set_counts(found.bits)) == pytest.approx(200_000, rel=0.005)


def test_keys_that_come_in_batches_give_the_filter_of_all() -> None:
    every = hashes(5_000)
    few = gathered([every[:3000], every[2000:], every[:10]], ("id",))
    many = gathered([every[:3000], every[2000:]], ("id",), held=4_000)
    assert (few.shape.format, few.keys, few.rows) == (Format.HASHES, 5_000, 6_010)
    assert (many.shape, many.counted) == (largest_shape(), False)
    assert few.has(every).all()
    assert many.has(every).all()
