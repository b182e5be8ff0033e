"""What Spark's workers do with batches of keys: fill a filter, or look keys up in one.

Sent to them by value: it may import nothing but numpy, pyarrow and what is sent likewise.
"""

from binascii import unhexlify
from collections.abc import Callable, Iterator
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
    places_of_hashes,
    words_of,
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
