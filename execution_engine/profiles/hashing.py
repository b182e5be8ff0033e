"""Values as keys of 48 bits, alike wherever and whenever they are computed.

Any two of 4,096 values share a key with a probability of 3 in 100 million; among 300,000 values, of one in 6,000.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

Keys = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BITS = 48
_SHIFT = np.uint64(64 - BITS)

WHOLE_BELOW = 2.0**53  # doubles below it tell neighbouring whole numbers apart
_NOT_WHOLE = np.uint64(0x9E3779B97F4A7C15)


def keys_of_texts(texts: Iterable[bytes], count: int) -> Keys:
    """The keys of ``count`` byte strings."""
    return np.fromiter(map(xxh3_64_intdigest, texts), np.uint64, count) >> _SHIFT


def keys_of_numbers(numbers: npt.NDArray[Any]) -> Keys:
    """The keys of int64 or float64 numbers: 1 and 1.0 share theirs, and so do both zeros, and all that are NaN."""
    if numbers.dtype != np.float64:
        return _mixed(numbers.astype(np.int64).view(np.uint64))
    plain = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    with np.errstate(invalid="ignore"):
        whole = (np.abs(plain) < WHOLE_BELOW) & (plain == np.floor(plain))
    words = plain.view(np.uint64) ^ _NOT_WHOLE
    words[whole] = plain[whole].astype(np.int64).view(np.uint64)
    return _mixed(words)


def joined_keys(keys: Keys, name: str) -> Keys:
    """What a column's keys add to those of its rows: alike in any order of columns, and nothing of a null."""
    of_name = np.uint64(xxh3_64_intdigest(name.encode()))
    return np.where(keys > 0, _mixed(keys ^ of_name), np.uint64(0))


def _mixed(words: Keys) -> Keys:
    """SplitMix64's finalizer, which spreads neighbours over all bits."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (words ^ (words >> np.uint64(31))) >> _SHIFT


def added_up(keys: Keys, counts: Ints) -> tuple[Keys, Ints, Ints]:
    """Distinct keys in order, the sum of each one's counts, and a place of each in what was given."""
    order = np.argsort(keys)
    ordered = keys[order]
    if len(ordered) < 2 or (ordered[1:] != ordered[:-1]).all():
        return ordered, counts[order], order
    firsts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[firsts], np.add.reduceat(counts[order], firsts), order[firsts]
