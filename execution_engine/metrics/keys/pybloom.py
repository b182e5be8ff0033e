"""pybloom_live's Bloom filter of many keys at once: numpy works on the filter's own bits."""

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

import numpy as np
from pybloom_live import BloomFilter

from .bits import Bits, Body, Hashes, Mask, are_in, places_of_hashes, set_bits
from .filter_shape import FilterShape, Format


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
        self.make_hashes = self._bits_of

    def update(self, hashes: Hashes) -> None:
        """Add all these keys."""
        set_bits(self.bits, places_of_hashes(hashes))

    def has(self, hashes: Hashes) -> Mask:
        """For each key whether it is in the filter."""
        return are_in(self.bits, places_of_hashes(hashes))

    def _bits_of(self, key: int) -> Iterator[int]:
        """The bit of one key in each slice, as ``add`` and ``in`` ask for them."""
        places = places_of_hashes(np.array([key], dtype=np.uint64))
        return (int(places.of(number, slice(1), self.bits_per_slice)[0]) for number in range(self.num_slices))


def bloom_of_shape(shape: FilterShape) -> Bloom:
    """An empty filter."""
    return _kind(shape)(shape.capacity, shape.error_rate)


def bloom_of_file(shape: FilterShape, file: Body) -> Bloom:
    """The filter in a file, which was checked: pybloom_live believes what it reads."""
    return _kind(shape).fromfile(BytesIO(file))  # type: ignore[no-any-return]


def _kind(shape: FilterShape) -> type[Bloom]:
    return Bloom if shape.format is Format.PYBLOOM else HashBloom
