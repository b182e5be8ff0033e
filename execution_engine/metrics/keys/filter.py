"""A filter of the keys of some columns, in an envelope that is checked before it is believed.

A miss is certain; of the keys that are really missing a Bloom filter hides a share of ``error_rate``, hashes none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log1p, prod
from struct import calcsize, pack

import numpy as np

from .bits import Bits, Hashes, Mask, are_among, are_in, no_bits, places_of_hashes, set_bits, set_counts
from .buckets import Buckets
from .envelope import MAX_BYTES, Facts, UnableToReadKeys, columns, integer, seal, unseal
from .filter_shape import ERROR_RATES, PYBLOOM_HEADER, FilterShape, Format

KIND = "key_filter"
Body = bytes | memoryview


@dataclass(frozen=True, kw_only=True)
class KeyFilter:
    """The keys of some columns; of ``buckets`` only, where there are any."""

    columns: tuple[str, ...]
    shape: FilterShape
    keys: int  # distinct keys inserted: counted, or else estimated from the bits
    rows: int  # that the keys were read from
    counted: bool = True
    buckets: Buckets | None = None
    body: Body = field(repr=False)

    def to_bytes(self, key: bytes | None = None) -> bytes:
        """The envelope that ``from_bytes`` checks, signed where there is a key."""
        facts = {
            "kind": KIND,
            "format": self.shape.format.value,
            "capacity": self.shape.capacity,
            "error_rate": self.shape.error_rate,
            "slices": self.shape.slices,
            "bits_per_slice": self.shape.bits_per_slice,
            "columns": list(self.columns),
            "keys": self.keys,
            "rows": self.rows,
            "counted": self.counted,
            "buckets": None if self.buckets is None else self.buckets.text,
        }
        return seal(facts, bytes(self.body), key)

    @classmethod
    def from_bytes(cls, state: bytes, key: bytes | None = None) -> "KeyFilter":
        """The filter in the envelope; UnableToReadKeys unless every claim of it was recomputed and found true."""
        facts, body = unseal(state, KIND, lambda facts: _shape(facts).body_bytes, key)
        shape = _shape(facts)
        found = cls(
            columns=columns(facts),
            shape=shape,
            keys=integer(facts, "keys", 0, shape.capacity),
            rows=integer(facts, "rows", 0, 2**62),
            counted=facts.get("counted") is True,
            buckets=None if facts.get("buckets") is None else Buckets.from_text(facts["buckets"]),
            body=body,
        )
        _check_hashes(found) if shape.format is Format.HASHES else _check_bits(found)
        return found

    @property
    def hashes(self) -> Hashes:
        """The sorted hashes of a filter of hashes."""
        return np.frombuffer(self.body, dtype="<u8")

    @property
    def bits(self) -> Bits:
        """The bits of a Bloom filter."""
        packed = np.frombuffer(self.body, dtype=np.uint8)[_header_bytes(self.shape) :]
        return packed.reshape(self.shape.slices, -1)

    @property
    def error_rate(self) -> float:
        """The share of absent keys taken for present, as the bits are set."""
        if self.shape.format is Format.HASHES:
            return self.keys / 2**64
        return prod(count / self.shape.bits_per_slice for count in set_counts(self.bits))

    def has(self, hashes: Hashes) -> Mask:
        """For each key, known by its hash, whether it is in a filter that is not pybloom_live's."""
        if self.shape.format is not Format.HASHES:
            return are_in(self.bits, places_of_hashes(hashes))
        return are_among(self.hashes, hashes)


def filter_of_hashes(
    shape: FilterShape, names: Sequence[str], hashes: Hashes, rows: int, buckets: Buckets | None = None
) -> KeyFilter:
    """The filter of keys known by their sorted distinct hashes."""
    if shape.format is Format.HASHES:
        body = hashes.astype("<u8", copy=False).tobytes()
    else:
        bits = no_bits(shape.slices, shape.bits_per_slice)
        set_bits(bits, places_of_hashes(hashes))
        body = bits.tobytes()
    return KeyFilter(columns=tuple(names), shape=shape, keys=len(hashes), rows=rows, buckets=buckets, body=body)


def filter_of_bits(
    shape: FilterShape,
    names: Sequence[str],
    bits: Bits,
    rows: int,
    buckets: Buckets | None = None,
    keys: int | None = None,
) -> KeyFilter:
    """The filter whose bits were set; the number of keys is estimated from them where it was not counted."""
    number = min(estimated_keys(shape, set_counts(bits)) if keys is None else keys, shape.capacity)
    body = bits.tobytes()
    if shape.format is Format.PYBLOOM:
        body = _pybloom_header(shape, number) + body
    return KeyFilter(
        columns=tuple(names),
        shape=shape,
        keys=number,
        rows=rows,
        counted=keys is not None,
        buckets=buckets,
        body=body,
    )


def estimated_keys(shape: FilterShape, counts: Sequence[int]) -> int:
    """The number of distinct keys that set so many bits in each slice, on average."""
    shares = [min(count, shape.bits_per_slice - 1) / shape.bits_per_slice for count in counts]
    return round(-shape.bits_per_slice * sum(log1p(-share) for share in shares) / len(shares))


def _shape(facts: Facts) -> FilterShape:
    """The shape that the header claims; UnableToReadKeys unless its bits follow from capacity and error rate."""
    try:
        format_ = Format(str(facts.get("format")))
    except ValueError as cause:
        raise UnableToReadKeys(f"there is no format {facts.get('format')!r:.50}") from cause
    rates = (0.0,) if format_ is Format.HASHES else ERROR_RATES
    rate = facts.get("error_rate")
    if type(rate) is not float or rate not in rates:
        raise UnableToReadKeys(f"the error rate is {rate!r:.50}, not one of {', '.join(map(str, rates))}")
    shape = FilterShape(format=format_, capacity=integer(facts, "capacity", 0, 8 * MAX_BYTES), error_rate=rate)
    integer(facts, "slices", shape.slices, shape.slices)
    integer(facts, "bits_per_slice", shape.bits_per_slice, shape.bits_per_slice)
    if shape.bits_per_slice % 8 or (format_ is not Format.HASHES and not shape.bits_per_slice):
        raise UnableToReadKeys(f"a filter for {shape.capacity} keys is none of ours: its slices end within a byte")
    return shape


def _check_hashes(claimed: KeyFilter) -> None:
    hashes = claimed.hashes
    if claimed.keys != len(hashes) or not bool(np.all(hashes[1:] > hashes[:-1])):
        raise UnableToReadKeys("the hashes are not as many as claimed, in order and each once")


def _check_bits(claimed: KeyFilter) -> None:
    """The bits must be those that so many keys set: all ones would say yes to everything and hide every loss."""
    shape = claimed.shape
    if shape.format is Format.PYBLOOM and claimed.body[: _header_bytes(shape)] != _pybloom_header(shape, claimed.keys):
        raise UnableToReadKeys("the header of pybloom_live's file differs from that of the envelope")
    expected = 1 - (1 - 1 / shape.bits_per_slice) ** claimed.keys
    for count in set_counts(claimed.bits):
        fill = count / shape.bits_per_slice
        if count > claimed.keys or (claimed.keys and not count) or abs(fill - expected) > shape.fill_tolerance:
            raise UnableToReadKeys(f"{fill:.2%} of the bits of a slice are set, which {claimed.keys} keys do not do")


def _header_bytes(shape: FilterShape) -> int:
    return calcsize(PYBLOOM_HEADER) if shape.format is Format.PYBLOOM else 0


def _pybloom_header(shape: FilterShape, keys: int) -> bytes:
    return pack(PYBLOOM_HEADER, shape.error_rate, shape.slices, shape.bits_per_slice, shape.capacity, keys)
