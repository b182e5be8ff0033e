"""Counts, hashed buckets, a filter, named keys: the steps of comparing two sets of keys, each only where the one before
differs."""

from collections.abc import Mapping
from dataclasses import dataclass

from execution_engine.metrics.definition import OTHER_SIDE

from .digest import KIND, Buckets, KeyDigest
from .envelope import UnableToReadKeys

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
