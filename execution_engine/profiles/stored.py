"""Profiles as bytes; those that cannot be read are of batches that must be profiled again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from io import BytesIO
from math import prod
from struct import calcsize, error, pack, unpack_from
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from xxhash import xxh3_128

from .profile import ColumnProfile, TableProfile, ValueKind
from .texts import Texts
from .values import WHOLE_BELOW, DistinctSample, Numbers, Points, ValueCounts

# Dataclasses of arrays as bytes: an envelope of magic, version, size and checksum around what Zstandard made of them.
#
# Bytes of another version, or with a wrong checksum, are refused. Only classes that an envelope names are ever made.

MOST_BYTES = 1 << 31  # before they are compressed: 366 batches of 2,000 columns take 1.6 GB
_PREFIX = "<8sHIQ16s"  # magic, version, length of the header, size of all when unpacked, XXH3 of what is behind
_ARRAYS = ("<u8", "<i8", "<f8")

Array = npt.NDArray[Any]


class UnableToRead(ValueError):
    """The bytes are not what they should be, or of another version; what they stand for must be made anew."""


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """Writes and reads values of the first class; ``classes`` are written as their places, so new ones go last.

    New fields of a class go last too, and have defaults: bytes that were written before them are read.

    A field holds a number, a text, None, an array, or a tuple or mapping of such or of the classes.
    """

    magic: bytes  # eight of them
    version: int
    what: str  # in messages
    classes: tuple[type[Any], ...]
    enums: tuple[type[StrEnum], ...] = ()

    def to_bytes(self, value: Any) -> bytes:
        """The bytes that ``from_bytes`` reads back to an equal value."""
        blobs: list[bytes] = []
        header = json.dumps(self._tagged(value, blobs), separators=(",", ":")).encode()
        content = b"".join([header, *blobs])
        packed: bytes = pa.Codec("zstd", compression_level=9).compress(content, asbytes=True)
        digest = xxh3_128(packed).digest()
        return pack(_PREFIX, self.magic, self.version, len(header), len(content), digest) + packed

    def from_bytes(self, stored: bytes) -> Any:
        """What ``to_bytes`` wrote; UnableToRead for anything else."""
        try:
            magic, version, length, size, digest = unpack_from(_PREFIX, stored)
        except error as cause:
            raise UnableToRead(f"the {self.what} is cut off: make it anew") from cause
        if magic != self.magic or version != self.version:
            raise UnableToRead(f"the bytes are no {self.what} of version {self.version}: make it anew")
        packed = stored[calcsize(_PREFIX) :]
        if xxh3_128(packed).digest() != digest:
            raise UnableToRead(f"the {self.what} is damaged, its checksum differs: make it anew")
        try:
            if size > MOST_BYTES or length > size:
                raise ValueError(f"{size} bytes")
            content = pa.Codec("zstd").decompress(packed, size, asbytes=True)
            value = self._value(json.loads(content[:length]), BytesIO(content[length:]))
        except (ValueError, TypeError, KeyError, IndexError, OSError, RecursionError) as cause:
            raise UnableToRead(f"the bytes are no {self.what} ({cause}): make it anew") from cause
        if not isinstance(value, self.classes[0]):
            raise UnableToRead(f"the bytes are no {self.what}: make it anew")
        return value

    def _tagged(self, value: Any, blobs: list[bytes]) -> Any:
        """As JSON: c a class, o labels, m a mapping, e an enum, t a tuple; a an array, whose bytes are in a blob.

        Of an array its type, that in the blob, and its shape.
        """
        if is_dataclass(value):
            place = self.classes.index(type(value))
            return {"c": [place, *(self._tagged(getattr(value, field.name), blobs) for field in fields(value))]}
        if isinstance(value, np.ndarray) and value.dtype == np.object_:
            return {"o": value.tolist()}
        if isinstance(value, np.ndarray):  # whole numbers in as few bytes as their largest needs, byte by byte
            small = value.reshape(-1)
            if value.dtype == np.float64 and (np.abs(small) < WHOLE_BELOW).all() and (small == np.floor(small)).all():
                small = small.astype(np.int64)
            if small.dtype != np.float64:
                low, high = (int(small.min()), int(small.max())) if len(small) else (0, 0)
                small = small.astype(np.promote_types(np.min_scalar_type(low), np.min_scalar_type(high)))
            small = np.ascontiguousarray(small)
            blobs.append(small.view(np.uint8).reshape(len(small), small.itemsize).T.tobytes())
            return {"a": [value.dtype.str, small.dtype.str, *value.shape]}
        if isinstance(value, Mapping):
            return {"m": [[name, self._tagged(member, blobs)] for name, member in value.items()]}
        if isinstance(value, StrEnum):
            return {"e": [self.enums.index(type(value)), str(value)]}
        return {"t": [self._tagged(member, blobs) for member in value]} if isinstance(value, tuple) else value

    def _value(self, tagged: Any, content: BytesIO) -> Any:
        if not isinstance(tagged, dict):
            return tagged
        ((tag, items),) = tagged.items()
        match tag:
            case "c":
                class_, values = self.classes[items[0]], [self._value(member, content) for member in items[1:]]
                names = [field.name for field in fields(class_)]
                if len(values) > len(names):
                    raise ValueError(f"a {class_.__name__} of {len(values)} fields")
                return class_(**dict(zip(names, values, strict=False)))
            case "a":
                kind, stored, *shape = items
                type_, length = np.dtype(stored), prod(shape)
                size = type_.itemsize * length
                is_there = 0 <= size <= content.getbuffer().nbytes - content.tell()
                if kind not in _ARRAYS or type_.kind not in "iuf" or not is_there:
                    raise ValueError(f"an array of {kind} as {stored}")
                planes = np.frombuffer(content.read(size), np.uint8).reshape(type_.itemsize, length)
                return np.ascontiguousarray(planes.T).view(type_).reshape(shape).astype(kind)
            case "m":
                return {name: self._value(member, content) for name, member in items}
            case "t":
                return tuple(self._value(member, content) for member in items)
            case "e":
                return self.enums[items[0]](items[1])
        labels = np.empty(len(items), np.object_)
        labels[:] = items
        return labels


ENVELOPE = Envelope(
    magic=b"ASSAYPRF",
    version=1,
    what="profile",
    classes=(TableProfile, ColumnProfile, ValueCounts, DistinctSample, Numbers, Points, Texts),
    enums=(ValueKind,),
)


def to_bytes(profile: TableProfile) -> bytes:
    """The bytes that ``from_bytes`` reads back to an equal profile."""
    return ENVELOPE.to_bytes(profile)


def from_bytes(stored: bytes) -> TableProfile:
    """The profile that ``to_bytes`` wrote; UnableToRead for anything else."""
    profile: TableProfile = ENVELOPE.from_bytes(stored)
    return profile
