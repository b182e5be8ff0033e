"""A filter of keys that come in batches, nobody knows how many: in bounded memory, whatever their number."""

from collections.abc import Iterable

import numpy as np

from .bits import Bits, Hashes, no_bits, places_of_hashes, set_bits
from .filter import KeyFilter, filter_of_bits, filter_of_hashes
from .filter_shape import MAX_BODY_BYTES, FilterShape, Format, shape_for

HELD = MAX_BODY_BYTES // 8  # hashes that are held: as many bytes as the largest filter has
_BITS_PER_KEY = 9.6  # a little more than a filter takes at an error rate of 1 %


def gathered(batches: Iterable[Hashes], names: tuple[str, ...], held: int = HELD) -> KeyFilter:
    """Hashes up to the limit for these, above it a Bloom filter; at worst 64 MB of both."""
    bits: Bits | None = None
    known: list[Hashes] = []
    rows = size = 0
    for batch in batches:
        known.append(batch)
        rows, size = rows + len(batch), size + len(batch)
        if size > held:
            known = [np.unique(np.concatenate(known))]
            size = len(known[0])
        if size > held:
            bits = _with(bits, known)
            known, size = [], 0
    if bits is None:
        hashes = np.unique(np.concatenate(known)) if known else np.empty(0, dtype=np.uint64)
        return filter_of_hashes(shape_for(len(hashes)), names, hashes, rows)
    return filter_of_bits(largest_shape(), names, _with(bits, known), rows)


def largest_shape() -> FilterShape:
    """The Bloom filter of 64 MB."""
    return shape_for(int(MAX_BODY_BYTES * 8 / _BITS_PER_KEY), wanted=Format.XXHASH)


def _with(bits: Bits | None, known: list[Hashes]) -> Bits:
    shape = largest_shape()
    filled = no_bits(shape.slices, shape.bits_per_slice) if bits is None else bits
    for hashes in known:
        set_bits(filled, places_of_hashes(hashes))
    return filled
