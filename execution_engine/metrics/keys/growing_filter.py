"""A filter of keys that come in batches to one of Spark's workers: in bounded memory, whatever their number.

Sent to the worker by value: it may not import pybloom_live, and is given the format of its file's head.
"""

from collections.abc import Iterable, Sequence
from struct import pack

import numpy as np

from .bits import Bits, Hashes, no_bits, places_of_hashes, set_bits, set_counts
from .envelope import seal
from .filter_shape import HELD, Format, estimated_keys, filter_facts, largest_shape, shape_for


def sealed_filter(batches: Iterable[Hashes], names: Sequence[str], head_format: bytes, held: int = HELD) -> bytes:
    """The envelope of the filter, the largest for more than ``held`` keys; it takes 64 MB each for hashes and bits."""
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
