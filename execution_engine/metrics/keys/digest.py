"""The digest of a set of keys: for each of 4,096 buckets how many keys it has, and two fingerprints of them.

Equal digests mean equal sets of keys: two that differ agree in count, exclusive or and sum of a bucket by chance once
in 2^64 or rarer. Equal counts alone prove nothing: a key lost and another one gained leave them as they were.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from execution_engine.metrics.definition import OTHER_SIDE

from .bits import BUCKETS, SHIFT, Hashes
from .envelope import UnableToReadKeys, columns, integer, seal, unseal


@dataclass(frozen=True)
class Buckets:
    """Some of the 4,096 buckets, in order: keys alike in how their hash begins, one run of sorted hashes."""

    numbers: tuple[int, ...]

    @property
    def text(self) -> str:
        """A bit for each bucket, in hexadecimal."""
        bits = np.zeros(BUCKETS, dtype=np.bool_)
        bits[list(self.numbers)] = True
        return np.packbits(bits).tobytes().hex()

    @classmethod
    def from_text(cls, text: object) -> "Buckets":
        """The buckets that ``text`` names; UnableToReadKeys for anything else."""
        if not isinstance(text, str) or len(text) != BUCKETS // 4 or not text.isascii() or not text.isalnum():
            raise UnableToReadKeys(f"{text!r:.50} names no buckets")
        try:
            bits = np.unpackbits(np.frombuffer(bytes.fromhex(text), dtype=np.uint8))
        except ValueError as cause:
            raise UnableToReadKeys(f"{text!r:.50} names no buckets") from cause
        return cls(tuple(np.flatnonzero(bits).tolist()))


KIND = "key_digest"
WORDS = 3  # count, exclusive or, sum
_BODY_BYTES = BUCKETS * WORDS * 8


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyDigest:
    """Of the distinct keys of some columns, known by their hashes."""

    columns: tuple[str, ...]
    rows: int
    words: NDArray[np.uint64]  # bucket × (count, exclusive or, sum modulo 2^64)

    @property
    def keys(self) -> int:
        """The number of distinct keys."""
        return int(self.words[:, 0].sum())

    @cached_property
    def fingerprint(self) -> str:
        """Of the set of keys; equal where the sets are, whatever the number of rows."""
        return blake2b(self.words.astype("<u8").tobytes(), digest_size=16).hexdigest()

    def differing(self, other: "KeyDigest") -> Buckets:
        """The buckets whose keys are not the same on both sides."""
        return Buckets(tuple(np.flatnonzero((self.words != other.words).any(axis=1)).tolist()))

    def to_bytes(self, key: bytes | None = None) -> bytes:
        """The envelope that ``from_bytes`` checks, signed where there is a key."""
        facts = {"kind": KIND, "columns": list(self.columns), "rows": self.rows, "keys": self.keys}
        return seal(facts, self.words.astype("<u8").tobytes(), key)

    @classmethod
    def from_bytes(cls, state: bytes, key: bytes | None = None) -> "KeyDigest":
        """The digest in the envelope; UnableToReadKeys unless every claim of it holds."""
        facts, body = unseal(state, KIND, lambda _: _BODY_BYTES, key)
        words = np.frombuffer(body, dtype="<u8").reshape(BUCKETS, WORDS)
        rows = integer(facts, "rows", 0, 2**62)
        digest = cls(columns=columns(facts), rows=rows, words=words)
        if int(words[:, 0].max()) > rows or digest.keys != integer(facts, "keys", 0, rows):
            raise UnableToReadKeys("the buckets do not add up to the keys that the header claims")
        return digest


def digest_of_hashes(names: tuple[str, ...], hashes: Hashes, rows: int) -> KeyDigest:
    """The digest of keys known by their sorted distinct hashes."""
    words = np.zeros((BUCKETS, WORDS), dtype=np.uint64)
    starts = np.searchsorted(hashes, np.arange(BUCKETS, dtype=np.uint64) << SHIFT)
    ends = np.append(starts[1:], len(hashes))
    words[:, 0] = ends - starts
    held = np.flatnonzero(ends > starts)
    if len(held):
        words[held, 1] = np.bitwise_xor.reduceat(hashes, starts[held])
        words[held, 2] = np.add.reduceat(hashes, starts[held])
    return KeyDigest(columns=names, rows=rows, words=words)


# Counts, hashed buckets, a filter, named keys: the steps of comparing two sets of keys, each only where the one before
# differs.

OWN = KIND  # an input: the digest of the side that is read
OTHER = OWN + OTHER_SIDE  # and of the other


@dataclass(frozen=True, kw_only=True)
class ComparedKeys:
    """Two sides whose digests are known."""

    own: KeyDigest
    other: KeyDigest

    @property
    def equal(self) -> bool:
        """Whether both sides have the same keys: nothing is left to do."""
        return self.own.fingerprint == self.other.fingerprint

    @property
    def differing(self) -> Buckets:
        """The buckets that a filter is built and probed of."""
        return self.own.differing(self.other)

    @property
    def own_keys(self) -> int:
        """How many keys the side that is read has in those buckets."""
        return int(self.own.words[list(self.differing.numbers), 0].sum())


def compared(inputs: Mapping[str, bytes], columns: tuple[str, ...], key: bytes | None) -> ComparedKeys | None:
    """The sides whose digests are among the inputs; UnableToReadKeys where these are no digests of the columns."""
    if OWN not in inputs or OTHER not in inputs:
        return None
    own, other = (KeyDigest.from_bytes(inputs[name], key) for name in (OWN, OTHER))
    if own.columns != columns or other.columns != columns:
        raise UnableToReadKeys(f"the digests are of {', '.join(own.columns)} and {', '.join(other.columns)}")
    return ComparedKeys(own=own, other=other)
