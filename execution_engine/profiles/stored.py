"""Profiles as bytes: an envelope of magic, version, size and checksum around what Zstandard made of it.

A profile of another version, or with a wrong checksum, is refused; its batch must be profiled again.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from struct import calcsize, error, pack, unpack_from
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from xxhash import xxh3_128

from .column import ColumnKind, ColumnProfile
from .distinct import DistinctSample
from .numbers import Numbers
from .points import Points
from .profile import Profile
from .texts import Texts
from .values import ValueCounts

MAGIC = b"ASSAYPRF"
VERSION = 1
MOST_BYTES = 1 << 28  # of one profile before it is compressed
_PREFIX = "<8sHIQ16s"  # magic, version, length of the header, size of all when unpacked, XXH3 of what is behind
_CLASSES = (Profile, ColumnProfile, ValueCounts, DistinctSample, Numbers, Points, Texts)  # by these places
_WHOLE_BELOW = 2.0**53

Array = npt.NDArray[Any]


class UnableToReadProfile(ValueError):
    """The bytes are no profile of this version; the batch must be profiled again."""


def to_bytes(profile: Profile) -> bytes:
    """The bytes that ``from_bytes`` reads back to an equal profile."""
    blobs: list[bytes] = []
    header = json.dumps(_told(profile, blobs), separators=(",", ":")).encode()
    content = b"".join([header, *blobs])
    packed: bytes = pa.Codec("zstd", compression_level=9).compress(content, asbytes=True)
    return pack(_PREFIX, MAGIC, VERSION, len(header), len(content), xxh3_128(packed).digest()) + packed


def from_bytes(stored: bytes) -> Profile:
    """The profile that ``to_bytes`` wrote; UnableToReadProfile for anything else."""
    try:
        magic, version, length, size, digest = unpack_from(_PREFIX, stored)
    except error as cause:
        raise UnableToReadProfile("the profile is cut off: profile the batch again") from cause
    if magic != MAGIC or version != VERSION:
        raise UnableToReadProfile(f"the bytes are no profile of version {VERSION}: profile the batch again")
    packed = stored[calcsize(_PREFIX) :]
    if xxh3_128(packed).digest() != digest:
        raise UnableToReadProfile("the profile is damaged, its checksum differs: profile the batch again")
    try:
        if size > MOST_BYTES or length > size:
            raise ValueError(f"{size} bytes")
        content = pa.Codec("zstd").decompress(packed, size, asbytes=True)
        found = _read(json.loads(content[:length]), memoryview(content)[length:])
    except (ValueError, TypeError, KeyError, IndexError, OSError, RecursionError) as cause:
        raise UnableToReadProfile(f"the bytes are no profile ({cause}): profile the batch again") from cause
    if not isinstance(found, Profile):
        raise UnableToReadProfile("the bytes are no profile: profile the batch again")
    return found


def _told(value: Any, blobs: list[bytes]) -> Any:
    """As JSON: a dataclass as its place and its fields, an array as its form and length, its bytes being in a blob."""
    if is_dataclass(value):
        place = _CLASSES.index(type(value))
        return {"c": [place, *(_told(getattr(value, field.name), blobs) for field in fields(value))]}
    if isinstance(value, np.ndarray):
        return {"o": value.tolist()} if value.dtype == np.object_ else {"a": _written(value, blobs)}
    if isinstance(value, Mapping):
        return {"m": [[name, _told(each, blobs)] for name, each in value.items()]}
    return value


def _written(array: Array, blobs: list[bytes]) -> list[Any]:
    """Type, type in the blob, length: whole numbers in as few bytes as their largest needs, byte by byte."""
    kind, small = array.dtype.str, array
    if array.dtype == np.float64 and (np.abs(array) < _WHOLE_BELOW).all() and (array == np.floor(array)).all():
        small = array.astype(np.int64)
    if small.dtype != np.float64:
        low, high = (int(small.min()), int(small.max())) if len(small) else (0, 0)
        small = small.astype(np.promote_types(np.min_scalar_type(low), np.min_scalar_type(high)))
    small = np.ascontiguousarray(small)
    blobs.append(small.view(np.uint8).reshape(len(small), small.itemsize).T.tobytes())
    return [kind, small.dtype.str, len(small)]


class _Blobs:
    """The arrays one after another."""

    def __init__(self, content: memoryview) -> None:
        self._content = content

    def next(self, kind: str, stored: str, length: int) -> Array:
        """The next one."""
        type_ = np.dtype(stored)
        size = type_.itemsize * length
        if kind not in ("<u8", "<i8", "<f8") or type_.kind not in "iuf" or size > len(self._content):
            raise ValueError(f"an array of {kind} as {stored}")
        planes = np.frombuffer(self._content[:size], np.uint8).reshape(type_.itemsize, length)
        self._content = self._content[size:]
        return np.ascontiguousarray(planes.T).view(type_).reshape(length).astype(kind)


def _read(said: Any, content: memoryview) -> Any:
    return _value(said, _Blobs(content))


def _value(said: Any, blobs: _Blobs) -> Any:
    if not isinstance(said, dict):
        return said
    ((tag, given),) = said.items()
    if tag == "c":
        return _revived(_CLASSES[given[0]], [_value(each, blobs) for each in given[1:]])
    if tag == "a":
        return blobs.next(*given)
    if tag == "m":
        return {name: _value(each, blobs) for name, each in given}
    labels = np.empty(len(given), np.object_)
    labels[:] = given
    return labels


def _revived(type_: type[Any], values: list[Any]) -> Any:
    names = [field.name for field in fields(type_)]
    found = dict(zip(names, values, strict=True))
    if type_ is ColumnProfile:
        found["kind"] = ColumnKind(found["kind"])
    return type_(**found)
