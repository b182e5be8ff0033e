"""The bits of a Bloom filter, set and looked up for many keys at once.

Sent to Spark's workers by value: it may import nothing but numpy.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Bits = NDArray[np.uint8]  # slices × bytes of a slice; bit i of a slice is bit i % 8 of byte i // 8
Mask = NDArray[np.bool_]
Words = NDArray[np.uint32]  # of digests: digests × words
BLOCK = 1 << 16  # keys at a time, so that what is computed on the way stays in the processor's cache
LEAST_CHUNK, MOST_CHUNK = 16 * 1024 * 1024, 128 * 1024 * 1024  # bytes of keys that are held to be set at once
BUCKETS, SHIFT = 4096, np.uint64(52)  # of keys, and from a hash to the number of its bucket
HALF, THREE, SEVEN = np.uint64(32), np.uint64(3), np.uint64(7)


class Places(Protocol):
    """Where the bits of some keys are."""

    def __len__(self) -> int: ...

    def of(self, number: int, keys: slice, bits_per_slice: int) -> Hashes:
        """For each of these keys its bit in the slice ``number``."""
        ...


@dataclass(frozen=True)
class HashPlaces:
    """Of keys known by one 64-bit hash: its halves a and b give place a + i·b in slice i (Kirsch, Mitzenmacher)."""

    high: Words
    low: Words

    def __len__(self) -> int:
        return len(self.high)

    def of(self, number: int, keys: slice, bits_per_slice: int) -> Hashes:
        """For each of these keys its bit in the slice ``number``: the sum's share of 2^32 is its share of the slice."""
        place = self.high[keys] + np.uint32(number) * self.low[keys]
        return np.multiply(place, np.uint64(bits_per_slice), dtype=np.uint64) >> HALF


@dataclass(frozen=True)
class DigestPlaces:
    """Of keys known by a digest: its 32-bit words, one for each slice, as pybloom_live takes them."""

    words: Words

    def __len__(self) -> int:
        return len(self.words)

    def of(self, number: int, keys: slice, bits_per_slice: int) -> Hashes:
        """For each of these keys its bit in the slice ``number``."""
        return (self.words[keys, number] % np.uint32(bits_per_slice)).astype(np.uint64)


def places_of_hashes(hashes: Hashes) -> HashPlaces:
    """Mixed anew (splitmix64), so that keys of one bucket, whose hashes begin alike, spread over every slice."""
    mixed = hashes ^ (hashes >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return HashPlaces(high=(mixed >> HALF).astype(np.uint32), low=mixed.astype(np.uint32) | np.uint32(1))


def words_of(digests: bytes | memoryview, digest_bytes: int) -> Words:
    """The 32-bit words of digests laid end to end."""
    return np.frombuffer(digests, dtype="<u4").reshape(-1, digest_bytes // 4)


def no_bits(slices: int, bits_per_slice: int) -> Bits:
    """An empty filter."""
    return np.zeros((slices, bits_per_slice // 8), dtype=np.uint8)


def set_bits(bits: Bits, places: Places) -> None:
    """Add the keys, slice by slice: a byte for each bit of one slice is all the memory that it takes."""
    bits_per_slice = bits.shape[1] * 8
    scratch = np.empty(bits_per_slice, dtype=np.bool_)
    for number in range(len(bits)):
        scratch[:] = False
        for block in _blocks(len(places)):
            scratch[places.of(number, block, bits_per_slice).view(np.int64)] = True
        bits[number] |= np.packbits(scratch, bitorder="little")


def are_in(bits: Bits, places: Places) -> Mask:
    """For each key whether all its bits are set."""
    present = np.ones(len(places), dtype=np.bool_)
    for block in _blocks(len(places)):
        for number in range(len(bits)):
            place = places.of(number, block, bits.shape[1] * 8)
            byte = bits[number][(place >> THREE).view(np.int64)]
            present[block] &= ((byte >> (place & SEVEN).astype(np.uint8)) & np.uint8(1)).view(np.bool_)
    return present


def in_buckets(hashes: Hashes, numbers: Sequence[int]) -> Hashes:
    """The hashes that are in these buckets."""
    counting = np.zeros(BUCKETS, dtype=np.bool_)
    counting[list(numbers)] = True
    return hashes.compress(counting[(hashes >> SHIFT).view(np.int64)])


def are_among(ordered: Hashes, hashes: Hashes) -> Mask:
    """For each hash whether it is among the known ones, which are sorted."""
    if not len(ordered):
        return np.zeros(len(hashes), dtype=np.bool_)
    at = np.searchsorted(ordered, hashes).clip(max=len(ordered) - 1)
    present: Mask = ordered[at] == hashes
    return present


def set_counts(bits: Bits) -> list[int]:
    """The number of bits set in each slice."""
    return [sum(int(np.bitwise_count(row[block]).sum()) for block in _blocks(len(row), BLOCK * 16)) for row in bits]


def bits_of_keys(
    keys: Iterable[Any], slices: int, bits_per_slice: int, locate: Callable[[Any], Places] = places_of_hashes
) -> tuple[bytes, int]:
    """The bits that all these keys set, laid end to end, and how many keys they are."""
    bits, count = no_bits(slices, bits_per_slice), 0
    chunk_bytes = min(max(bits_per_slice, LEAST_CHUNK), MOST_CHUNK)  # setting bits costs less for many keys at once
    pending: list[Any] = []
    size = 0
    for part in chain(keys, [None]):
        if part is not None:
            pending.append(part)
            size += part.nbytes
        if pending and (part is None or size >= chunk_bytes):
            chunk = np.concatenate(pending)
            set_bits(bits, locate(chunk))
            count, pending, size = count + len(chunk), [], 0
    return bits.tobytes(), count


def _blocks(length: int, size: int = BLOCK) -> Iterator[slice]:
    return (slice(start, min(start + size, length)) for start in range(0, length, size))
