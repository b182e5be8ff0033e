"""How large a filter of keys is, and in which format: everything follows from capacity and error rate.

Sent to Spark's workers by value: it may not import pybloom_live, and no numpy, which many a command does not need.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, isqrt, log, log1p
from typing import Any

from .envelope import MAX_BYTES, MAX_HEADER_BYTES

MAX_BODY_BYTES = MAX_BYTES - MAX_HEADER_BYTES - 1024
EXACT_KEYS = 1_000_000  # so many keys or fewer are shipped as their hashes: 8 MB
MIN_CAPACITY = 32_768  # below it pybloom_live changes to a hash that Spark does not have
ERROR_RATES = (0.001, 0.01)
DEFAULT_ERROR_RATE = 0.01
HASH_BYTES = 8
FACTS_BYTES = 5 * 8  # before the bits in pybloom_live's file
KIND = "key_filter"
HELD = MAX_BODY_BYTES // HASH_BYTES  # hashes that take as many bytes as the largest filter
_BITS_PER_KEY = 9.6  # a little more than a filter takes at an error rate of 1 %


class Format(StrEnum):
    """What the body of a filter is."""

    HASHES = "hashes"  # the sorted hashes themselves: exact, 8 bytes a key
    XXHASH = "xxhash"  # pybloom_live's file, the bits from one 64-bit hash of Spark's: 1.2 bytes a key at 1 %
    PYBLOOM = "pybloom"  # the same, the bits from pybloom_live's own digest of the key: as small, half as fast


class UnableToShape(ValueError):
    """No filter of at most 64 MB holds so many keys."""


@dataclass(frozen=True, kw_only=True)
class FilterShape:
    """A filter for ``capacity`` keys at an error rate; hashes have none."""

    format: Format
    capacity: int
    error_rate: float = DEFAULT_ERROR_RATE

    @property
    def slices(self) -> int:
        """The number of bits that a key sets, each in a slice of its own; pybloom_live's formula."""
        return 0 if self.format is Format.HASHES else ceil(log(1.0 / self.error_rate, 2))

    @property
    def bits_per_slice(self) -> int:
        """The bits of one slice; pybloom_live's formula."""
        if self.format is Format.HASHES:
            return 0
        return ceil((self.capacity * abs(log(self.error_rate))) / (self.slices * (log(2) ** 2)))

    @property
    def body_bytes(self) -> int:
        """The length of the body."""
        if self.format is Format.HASHES:
            return HASH_BYTES * self.capacity
        return FACTS_BYTES + self.slices * self.bits_per_slice // 8

    def file_facts(self, keys: int) -> tuple[float, int, int, int, int]:
        """What pybloom_live's file says before the bits."""
        return self.error_rate, self.slices, self.bits_per_slice, self.capacity, keys

    @property
    def fill_tolerance(self) -> float:
        """How far the share of bits set in a slice may honestly be from its mean: six standard deviations."""
        return 3 / isqrt(max(self.bits_per_slice, 1))


def filter_facts(
    shape: FilterShape, columns: Sequence[str], keys: int, rows: int, *, counted: bool, buckets: str | None = None
) -> dict[str, Any]:
    """What the envelope of a filter claims."""
    return {
        "kind": KIND,
        "format": shape.format.value,
        "capacity": shape.capacity,
        "error_rate": shape.error_rate,
        "columns": list(columns),
        "keys": keys,
        "rows": rows,
        "counted": counted,
        "buckets": buckets,
    }


def estimated_keys(shape: FilterShape, counts: Sequence[int]) -> int:
    """The number of distinct keys that set so many bits in each slice, on average; the capacity at most."""
    shares = [min(count, shape.bits_per_slice - 1) / shape.bits_per_slice for count in counts]
    return min(round(-shape.bits_per_slice * sum(log1p(-share) for share in shares) / len(shares)), shape.capacity)


def shape_for(
    keys: int, *, format_: Format | None = None, exact_keys: int = EXACT_KEYS, error_rate: float = DEFAULT_ERROR_RATE
) -> FilterShape:
    """The shape that holds ``keys``: hashes up to ``exact_keys``, above them Bloom; UnableToShape beyond 64 MB."""
    if format_ is Format.HASHES or (format_ is None and keys <= exact_keys):
        shape = FilterShape(format=Format.HASHES, capacity=keys, error_rate=0.0)
    else:
        shape = FilterShape(format=format_ or Format.XXHASH, capacity=max(keys, MIN_CAPACITY), error_rate=error_rate)
        while shape.bits_per_slice % 8:  # so that slices end where a byte does, and each is filled by itself
            shape = replace(shape, capacity=shape.capacity + 1)
    if shape.body_bytes > MAX_BODY_BYTES:
        raise UnableToShape(f"{keys} keys need a filter of {shape.body_bytes} bytes, more than {MAX_BODY_BYTES}")
    return shape


def largest_shape() -> FilterShape:
    """The Bloom filter of 64 MB."""
    return shape_for(int(MAX_BODY_BYTES * 8 / _BITS_PER_KEY), format_=Format.XXHASH)


# How many keys are missing, from those that a filter misses: it hides a share of the keys that are really missing.

CONFIDENCE = 0.999


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Of ``keys`` distinct keys, ``missed`` are certainly missing; absent ones pass at ``error_rate``."""

    keys: int
    missed: int
    error_rate: float

    @property
    def hidden(self) -> int:
        """The expected number of missing keys that the filter takes for present."""
        return min(round(self.missed * self.error_rate / (1 - self.error_rate)), self.keys - self.missed)

    @property
    def hidden_at_most(self) -> int:
        """With a confidence of 99.9 %: the passes before the next miss, missed + 1 times, are negative binomial."""
        from scipy.stats import nbinom  # a third of a second, for which no comparison of equal digests waits

        return min(int(nbinom.ppf(CONFIDENCE, self.missed + 1, 1 - self.error_rate)), self.keys - self.missed)

    @property
    def present_keys(self) -> int:
        """The number of keys found, corrected for those hidden."""
        return self.keys - self.missed - self.hidden
