"""Filters of keys, honest ones and forged ones."""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from struct import pack
from typing import Any

import numpy as np

from execution_engine.metrics.keys.bits import DigestPlaces, Hashes, no_bits, set_bits, words_of
from execution_engine.metrics.keys.filter import KeyFilter, filter_of_hashes, filter_of_parts
from execution_engine.metrics.keys.filter_shape import Format, shape_for

FORMATS = (Format.HASHES, Format.XXHASH, Format.PYBLOOM)


def hashes(count: int, seed: int = 1) -> Hashes:
    """So many sorted distinct hashes."""
    drawn = np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)
    return np.unique(drawn)


def a_filter(format_: Format, keys: int = 800, error_rate: float = 0.01) -> KeyFilter:
    """A filter of so many keys; pybloom_live's of the texts ``0``, ``1``, …"""
    shape = shape_for(keys, format_=format_, error_rate=error_rate)
    if format_ is not Format.PYBLOOM:
        return filter_of_hashes(shape, ("id",), hashes(keys), keys)
    bits = no_bits(shape.slices, shape.bits_per_slice)
    set_bits(bits, places(map(str, range(keys))))
    return filter_of_parts(shape, ("id",), [(bits, keys)], keys=keys)


def places(keys: Iterable[str]) -> DigestPlaces:
    """Where pybloom_live has the bits of some keys: by the digests of its salt and the key."""
    salt = sha256(pack("I", 0)).digest()
    return DigestPlaces(words=words_of(b"".join(sha256(salt + key.encode()).digest() for key in keys), 32))


def facts_of(state: bytes) -> dict[str, Any]:
    """The header of an envelope."""
    length = int.from_bytes(state[9:13], "little")
    return dict(json.loads(state[77 : 77 + length]))


def forged(state: bytes, claims: Mapping[str, Any] | None = None, body: bytes | None = None) -> bytes:
    """The envelope with other claims or another body, under a true checksum."""
    length = int.from_bytes(state[9:13], "little")
    header = json.dumps(facts_of(state) | dict(claims or {})).encode()
    content = state[77 + length :] if body is None else body
    return (
        pack("<8sBI32s32s", b"ASSAYKEY", 2, len(header), sha256(header + content).digest(), bytes(32))
        + header
        + content
    )
