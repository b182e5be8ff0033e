"""What Spark's workers do with batches of keys: fill a filter, or look keys up in one.

Sent to them by value: it may import nothing but numpy, pyarrow and what is sent likewise.
"""

from binascii import unhexlify
from collections.abc import Callable, Iterable, Iterator, Sequence
from struct import pack
from typing import Any

import numpy as np
import pyarrow as pa

from execution_engine.metrics.keys.bits import (
    Bits,
    DigestPlaces,
    Hashes,
    Mask,
    Places,
    are_among,
    are_in,
    bits_of_keys,
    no_bits,
    places_of_hashes,
    set_bits,
    set_counts,
    words_of,
)
from execution_engine.metrics.keys.envelope import seal
from execution_engine.metrics.keys.filter_shape import (
    HELD,
    Format,
    estimated_keys,
    filter_facts,
    largest_shape,
    shape_for,
)

Batches = Iterator[pa.RecordBatch]
Read = Callable[[pa.RecordBatch], Any]  # a batch → an array with a row for each key
Test = Callable[[pa.RecordBatch], Mask]  # a batch → for each of its keys whether it is in the filter
Locate = Callable[[Any], Places]  # such rows → the places of their bits

Task = Callable[[Batches], Batches]

FILLED = "bits binary, rows bigint"
MISSING = "h bigint, named boolean"


def filler(slices: int, bits_per_slice: int, read: Read, locate: Locate) -> Task:
    """A task that turns its keys into the bits of one filter."""

    def fill(batches: Batches) -> Batches:
        bits, rows = bits_of_keys(map(read, batches), slices, bits_per_slice, locate)
        yield pa.RecordBatch.from_pydict({"bits": [bits], "rows": [rows]})

    return fill


def sealed_filter(batches: Iterable[Hashes], names: Sequence[str], head_format: bytes, held: int = HELD) -> bytes:
    """The envelope of the filter of keys, whatever their number: the largest for more than ``held`` keys.

    It takes 64 MB each for hashes and bits. ``head_format``: of the head of pybloom_live's file, which a worker may not
    have.
    """
    bits: Bits | None = None
    pending: list[Hashes] = []
    rows = size = 0
    largest = largest_shape()
    for batch in batches:
        pending.append(batch)
        rows, size = rows + len(batch), size + len(batch)
        if size > held:
            pending = [np.unique(np.concatenate(pending))]
            size = len(pending[0])
        if size > held:
            bits = no_bits(largest.slices, largest.bits_per_slice) if bits is None else bits
            set_bits(bits, places_of_hashes(pending[0]))
            pending, size = [], 0
    hashes = np.unique(np.concatenate(pending)) if pending else np.empty(0, dtype=np.uint64)
    shape = shape_for(len(hashes)) if bits is None else largest
    if shape.format is Format.HASHES:
        return seal(filter_facts(shape, names, len(hashes), rows, counted=True), hashes.astype("<u8").tobytes())
    counted = bits is None
    filled = no_bits(shape.slices, shape.bits_per_slice) if bits is None else bits
    set_bits(filled, places_of_hashes(hashes))
    keys = len(hashes) if counted else estimated_keys(shape, set_counts(filled))
    file = pack(head_format, *shape.file_facts(keys)) + filled.tobytes()
    return seal(filter_facts(shape, names, keys, rows, counted=counted), file)


def prober(has: Test, named: int) -> Task:
    """A task that gives the hashes of the keys it misses, and once more the lowest, which are to be named."""
    schema = pa.schema([("h", pa.int64()), ("named", pa.bool_())])

    def batch_of(missing: Hashes, flag: bool) -> pa.RecordBatch:
        flags = np.full(len(missing), flag)
        return pa.RecordBatch.from_arrays([pa.array(missing.view(np.int64)), pa.array(flags)], schema=schema)

    def probe(batches: Batches) -> Batches:
        lowest = np.empty(0, dtype=np.uint64)
        for batch in batches:
            missing = hashes_in(batch)[~has(batch)]
            if len(missing):
                lowest = np.unique(np.concatenate([lowest, missing]))[:named]
                yield batch_of(missing, False)
        yield batch_of(lowest, True)

    return probe


def hashes_in(batch: pa.RecordBatch) -> Hashes:
    """The first column: hashes."""
    hashes: Hashes = batch.column(0).to_numpy().view(np.uint64)
    return hashes


def digests_in(length: int) -> Read:
    """Reads the last column: digests of so many bytes in hexadecimal, as their 32-bit words."""

    def read(batch: pa.RecordBatch) -> Any:
        column = batch.column(batch.num_columns - 1).cast(pa.binary()).cast(pa.binary(2 * length))
        start = column.offset * 2 * length
        digits = memoryview(column.buffers()[1])[start : start + len(column) * 2 * length]
        return words_of(unhexlify(digits), length)  # for less than Spark takes for its unhex

    return read


def among(hashes: Hashes) -> Test:
    """Looks the hashes up among ``these``, which are sorted."""
    return lambda batch: are_among(hashes, hashes_in(batch))


def in_bits(bits: Bits) -> Test:
    """Looks the hashes up in a Bloom filter of hashes."""
    return lambda batch: are_in(bits, places_of_hashes(hashes_in(batch)))


def in_pybloom(bits: Bits, digest_bytes: int) -> Test:
    """Looks the digests up in pybloom_live's bits."""
    read = digests_in(digest_bytes)
    return lambda batch: are_in(bits, DigestPlaces(words=read(batch)))
