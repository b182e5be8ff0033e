from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybloom_live import BloomFilter

from execution_engine.engines.spark.keys.workers import sealed_filter
from execution_engine.metrics.definitions.bloom import problem
from execution_engine.metrics.keys.bits import are_in, set_counts
from execution_engine.metrics.keys.digest import Buckets
from execution_engine.metrics.keys.envelope import MAX_BYTES
from execution_engine.metrics.keys.filter import KeyFilter, bloom_of_shape, filter_of_hashes
from execution_engine.metrics.keys.filter_shape import (
    FilterShape,
    Format,
    Loss,
    UnableToShape,
    estimated_keys,
    largest_shape,
    shape_for,
)
from execution_engine.metrics.spec import Literal, MetricSpec
from tests.unit.execution_engine.metrics.key_files import FORMATS, a_filter, forged, hashes, places


@pytest.mark.parametrize("format_", FORMATS)
def test_a_filter_is_read_back_as_it_was_written(format_: Format) -> None:
    written = replace(a_filter(format_), buckets=Buckets((1, 7, 4095)))
    for key in (None, b"secret"):
        read = KeyFilter.from_bytes(written.to_bytes(key), key)
        assert replace(read, content=written.content).__dict__ == written.__dict__
        assert read.body == written.body


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
    found = BloomFilter.fromfile(BytesIO(KeyFilter.from_bytes(a_filter(Format.PYBLOOM, 30_000).to_bytes()).body))
    assert len(found) == 30_000
    assert all(str(at) in found for at in range(30_000))
    assert sum(f"absent {at}" in found for at in range(20_000)) <= 1.1 * 0.01 * 20_000


def test_a_file_that_pybloom_wrote_is_probed_for_many_keys_at_once() -> None:
    ours, file = a_filter(Format.PYBLOOM, 2_000), BytesIO()
    theirs = BloomFilter(ours.shape.capacity, ours.shape.error_rate)
    for at in range(2_000):
        theirs.add(str(at))
    theirs.tofile(file)
    found = KeyFilter.from_bytes(forged(ours.to_bytes(), body=file.getvalue()))
    assert are_in(found.bits, places(map(str, range(2_000)))).all()
    assert are_in(found.bits, places(f"absent {at}" for at in range(2_000))).sum() <= 2
    assert file.getvalue() == ours.body


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20, unique=True))
def test_keys_added_to_pybloom_s_filter_one_by_one_or_at_once_are_found_either_way(keys: list[int]) -> None:
    shape, every = shape_for(800, format_=Format.XXHASH), np.array(sorted(keys), np.uint64)
    at_once, singly = filter_of_hashes(shape, ("id",), every, len(keys)), bloom_of_shape(shape)
    assert [singly.add(key) for key in keys] == [False] * len(keys)
    assert all(key in at_once.content for key in keys)
    assert at_once.body == singly.file()


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
        shape_for(keys, format_=wanted)


def test_the_bits_tell_how_many_keys_set_them() -> None:
    found = filter_of_hashes(shape_for(300_000, exact_keys=0), ("id",), hashes(200_000), 200_000)
    assert estimated_keys(found.shape, set_counts(found.bits)) == pytest.approx(200_000, rel=0.005)


def test_keys_that_come_in_batches_give_the_filter_of_all() -> None:
    every = hashes(5_000)
    batches = [every[:3000], every[2000:], every[:10]]
    few = KeyFilter.from_bytes(sealed_filter(batches, ("id",), BloomFilter.FILE_FMT))
    many = KeyFilter.from_bytes(sealed_filter(batches, ("id",), BloomFilter.FILE_FMT, held=4_000))
    assert (few.shape.format, few.keys, few.rows) == (Format.HASHES, 5_000, 6_010)
    assert (many.shape, many.counted) == (largest_shape(), False)
    assert few.has(every).all()
    assert many.has(every).all()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), None),
        ((("error_rate", 0.001), ("format", "pybloom")), None),
        ((("format", "pickle"),), "format is 'pickle', not one of hashes, xxhash, pybloom"),
        ((("error_rate", 0.5),), "error_rate is 0.5, not one of 0.001, 0.01"),
    ],
)
def test_a_filter_is_asked_for_in_a_format_and_at_a_rate_that_there_is(
    options: tuple[tuple[str, Literal], ...], expected: str | None
) -> None:
    assert problem(MetricSpec(name="keys_found", columns=("id",), options=options)) == expected


MANY = 10**9


@pytest.mark.thorough
@pytest.mark.parametrize("missed", [0, 1, 50, 1000, 1001, 20_000, 3_000_000])
@pytest.mark.parametrize("error_rate", [0.01, 0.001, 1e-12])
def test_no_more_are_hidden_than_stated_with_a_confidence_of_three_nines(missed: int, error_rate: float) -> None:
    from scipy.stats import nbinom

    stated = Loss(keys=MANY, missed=missed, error_rate=error_rate).hidden_at_most
    assert nbinom.cdf(stated - 1, missed + 1, 1 - error_rate) < 0.999 <= nbinom.cdf(stated, missed + 1, 1 - error_rate)


def test_what_is_found_is_corrected_for_what_is_hidden() -> None:
    loss = Loss(keys=1_000_000, missed=9_900, error_rate=0.01)
    assert (loss.hidden, loss.present_keys) == (100, 990_000)


def test_no_more_are_hidden_than_there_are() -> None:
    loss = Loss(keys=1000, missed=1000, error_rate=0.01)
    assert (loss.hidden, loss.hidden_at_most, loss.present_keys) == (0, 0, 0)
