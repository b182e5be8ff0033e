"""Keys are told apart into 4,096 buckets by how their hash begins, so that a bucket is one run of sorted hashes."""

from dataclasses import dataclass

import numpy as np

from .bits import BUCKETS
from .envelope import UnableToReadKeys


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
