"""Keys are told apart into 4,096 buckets by how their hash begins, so that a bucket is one run of sorted hashes."""

from dataclasses import dataclass

import numpy as np

from .bits import Hashes
from .envelope import UnableToReadKeys

BUCKETS = 4096
SHIFT = np.uint64(52)  # of a hash of 64 bits, to its bucket


@dataclass(frozen=True)
class Buckets:
    """Some of the buckets, in order."""

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

    def of(self, hashes: Hashes) -> Hashes:
        """The hashes that are in these buckets."""
        wanted = np.zeros(BUCKETS, dtype=np.bool_)
        wanted[list(self.numbers)] = True
        return hashes[wanted[(hashes >> SHIFT).view(np.int64)]]
