"""A filter of the keys of some columns, in an envelope that is checked before it is believed.

A miss is certain; of the keys that are really missing a Bloom filter hides a share of ``error_rate``, hashes none.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from math import prod
from struct import unpack
from typing import Any

import numpy as np
from pybloom_live import BloomFilter

from .bits import Bits, Hashes, Mask, are_among, are_in, places_of_hashes, set_bits, set_counts
from .digest import Buckets
from .envelope import MAX_BYTES, Facts, UnableToReadKeys, columns, integer, seal, unseal
from .filter_shape import ERROR_RATES, FACTS_BYTES, KIND, FilterShape, Format, estimated_keys, filter_facts

# pybloom_live's Bloom filter of many keys at once: numpy works on the filter's own bits.


class Bloom(BloomFilter):  # type: ignore[misc]  # it has no types
    """pybloom_live's filter; Spark makes the digests of its keys, and each key is the text of ``key_text.encode``."""

    @property
    def bits(self) -> Bits:
        """The filter's own bits: a bit that is set here is set in the filter."""
        return np.frombuffer(self.bitarray, dtype=np.uint8).reshape(self.num_slices, -1)

    def unite(self, parts: Iterable[bytes | Bits]) -> None:
        """Set also the bits of filters of the same shape."""
        bits = self.bits
        for part in parts:
            bits |= np.frombuffer(part, dtype=np.uint8).reshape(bits.shape)

    def file(self) -> bytes:
        """The file that ``tofile`` writes and ``fromfile`` reads."""
        file = BytesIO()
        self.tofile(file)
        return file.getvalue()


class HashBloom(Bloom):
    """The same for keys that are known by one 64-bit hash: no other hash is computed for their bits."""

    def _setup(self, *facts: Any) -> None:
        super()._setup(*facts)

        def bits_of(key: int) -> Iterator[int]:
            """The bit of one key in each slice, as ``add`` and ``in`` ask for them."""
            places = places_of_hashes(np.array([key], dtype=np.uint64))
            return (int(places.of(number, slice(1), self.bits_per_slice)[0]) for number in range(self.num_slices))

        self.make_hashes = bits_of

    def update(self, hashes: Hashes) -> None:
        """Add all these keys."""
        set_bits(self.bits, places_of_hashes(hashes))

    def has(self, hashes: Hashes) -> Mask:
        """For each key whether it is in the filter."""
        return are_in(self.bits, places_of_hashes(hashes))


def _class_of(shape: FilterShape) -> type[Bloom]:
    return Bloom if shape.format is Format.PYBLOOM else HashBloom


def bloom_of_shape(shape: FilterShape) -> Bloom:
    """An empty filter."""
    return _class_of(shape)(shape.capacity, shape.error_rate)


Part = tuple[bytes | Bits, int]  # bits that some rows set, and how many rows these are


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyFilter:
    """The keys of some columns; of ``buckets`` only, where there are any."""

    columns: tuple[str, ...]
    shape: FilterShape
    keys: int  # distinct keys inserted: counted, or else estimated from the bits
    rows: int  # that the keys were read from
    counted: bool = True
    buckets: Buckets | None = None
    content: Hashes | Bloom = field(repr=False)  # the sorted hashes, or pybloom_live's filter

    def to_bytes(self, key: bytes | None = None) -> bytes:
        """The envelope that ``from_bytes`` checks, signed where there is a key."""
        buckets = None if self.buckets is None else self.buckets.text
        facts = filter_facts(self.shape, self.columns, self.keys, self.rows, counted=self.counted, buckets=buckets)
        return seal(facts, self.body, key)

    @classmethod
    def from_bytes(cls, state: bytes, key: bytes | None = None) -> "KeyFilter":
        """The filter in the envelope; UnableToReadKeys unless every claim of it was recomputed and found true."""
        facts, body = unseal(state, KIND, lambda facts: _shape(facts).body_bytes, key)
        shape = _shape(facts)
        keys = integer(facts, "keys", 0, shape.capacity)
        content: Hashes | Bloom
        if shape.format is Format.HASHES:
            content = np.frombuffer(body, dtype="<u8")
            if keys != len(content) or not bool(np.all(content[1:] > content[:-1])):
                raise UnableToReadKeys("the hashes are not as many as claimed, in order and each once")
        else:
            if unpack(BloomFilter.FILE_FMT, body[:FACTS_BYTES]) != shape.file_facts(keys):
                raise UnableToReadKeys("the header of pybloom_live's file differs from that of the envelope")
            # the bits must be those that so many keys set: all ones would say yes to everything and hide every loss
            expected = 1 - (1 - 1 / shape.bits_per_slice) ** keys
            for count in set_counts(np.frombuffer(body[FACTS_BYTES:], dtype=np.uint8).reshape(shape.slices, -1)):
                fill = count / shape.bits_per_slice
                if count > keys or (keys and not count) or abs(fill - expected) > shape.fill_tolerance:
                    raise UnableToReadKeys(f"{fill:.2%} of the bits of a slice are set, which {keys} keys do not do")
            content = _class_of(shape).fromfile(BytesIO(body))  # which believes what it reads
        return cls(
            columns=columns(facts),
            shape=shape,
            keys=keys,
            rows=integer(facts, "rows", 0, 2**62),
            counted=facts.get("counted") is True,
            buckets=None if facts.get("buckets") is None else Buckets.from_text(facts["buckets"]),
            content=content,
        )

    @property
    def body(self) -> bytes:
        """What travels in the envelope: the hashes, or pybloom_live's file."""
        return self.content.file() if isinstance(self.content, Bloom) else self.content.astype("<u8").tobytes()

    @property
    def hashes(self) -> Hashes:
        """The sorted hashes of a filter of hashes."""
        assert not isinstance(self.content, Bloom)
        return self.content

    @property
    def bits(self) -> Bits:
        """The bits of a Bloom filter."""
        assert isinstance(self.content, Bloom)
        return self.content.bits

    @property
    def error_rate(self) -> float:
        """The share of absent keys taken for present, as the bits are set."""
        if self.shape.format is Format.HASHES:
            return self.keys / 2**64
        return prod(count / self.shape.bits_per_slice for count in set_counts(self.bits))

    def has(self, hashes: Hashes) -> Mask:
        """For each key, known by its hash, whether it is in a filter that knows keys by their hashes."""
        return self.content.has(hashes) if isinstance(self.content, HashBloom) else are_among(self.hashes, hashes)


def filter_of_hashes(
    shape: FilterShape, names: Sequence[str], hashes: Hashes, rows: int, buckets: Buckets | None = None
) -> KeyFilter:
    """The filter of keys known by their sorted distinct hashes."""
    content: Hashes | Bloom = hashes
    if shape.format is Format.XXHASH:
        content = bloom_of_shape(shape)
        content.update(hashes)
        content.count = len(hashes)
    return KeyFilter(columns=tuple(names), shape=shape, keys=len(hashes), rows=rows, buckets=buckets, content=content)


def filter_of_parts(
    shape: FilterShape,
    names: Sequence[str],
    parts: Sequence[Part],
    buckets: Buckets | None = None,
    keys: int | None = None,
) -> KeyFilter:
    """The filter of the bits of all parts; the number of keys is estimated from them where it was not counted."""
    bloom = bloom_of_shape(shape)
    bloom.unite(bits for bits, _ in parts)
    bloom.count = estimated_keys(shape, set_counts(bloom.bits)) if keys is None else min(keys, shape.capacity)
    return KeyFilter(
        columns=tuple(names),
        shape=shape,
        keys=bloom.count,
        rows=sum(rows for _, rows in parts),
        counted=keys is not None,
        buckets=buckets,
        content=bloom,
    )


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
    if shape.bits_per_slice % 8 or (format_ is not Format.HASHES and not shape.bits_per_slice):
        raise UnableToReadKeys(f"a filter for {shape.capacity} keys is none of ours: its slices end within a byte")
    return shape
