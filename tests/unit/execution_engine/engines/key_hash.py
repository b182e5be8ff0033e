"""Hashes of keys, by the xxhash library."""

from collections.abc import Sequence

import xxhash


def key_hash(texts: Sequence[str | bytes | None]) -> int:
    """As Spark chains xxhash64(text, isnull, text, isnull, …): a null leaves the hash as it is."""
    seed = 42
    for text in texts:
        if text is not None:
            content = text.encode() if isinstance(text, str) else text
            seed = xxhash.xxh64(content, seed=seed).intdigest()
        seed = xxhash.xxh64((text is None).to_bytes(4, "little"), seed=seed).intdigest()
    return seed


def rank(text: str) -> int:
    """Of the text of a whole key: what a sample is ordered by, a number with a sign."""
    found = xxhash.xxh64(text.encode(), seed=42).intdigest()
    return found - 2**64 if found >= 2**63 else found
