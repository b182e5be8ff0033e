"""A Bloom filter of keys, in an envelope that is checked before it is believed.

The bits are pybloom_live's, so that it can read them. A miss is certain; a share of ``error_rate`` of the keys that
are really missing stays hidden.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from math import ceil, exp, log
from struct import calcsize, error, pack, unpack
from typing import TypedDict

from pybloom_live import BloomFilter

MAGIC = b"ASSAYBLM"
VERSION = 1
MAX_BYTES = 64 * 1024 * 1024
MAX_HEADER_BYTES = 64 * 1024
MIN_CAPACITY = 1000
ERROR_RATES = (0.001, 0.01)  # the second where the first would not fit MAX_BYTES
FILL_TOLERANCE = 0.05  # between the bits set and those that so many keys set on average
_PREFIX = f"<{len(MAGIC)}sBI32s"  # magic, version, header length, sha256 of header and body


class UnableToReadFilter(ValueError):
    """The bytes are no Bloom filter that can be trusted."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How many keys a filter holds at which error rate; its size follows."""

    capacity: int
    error_rate: float

    @property
    def slices(self) -> int:
        """pybloom_live's number of hashes, from its own formula."""
        return ceil(log(1.0 / self.error_rate, 2))

    @property
    def bits_per_slice(self) -> int:
        """pybloom_live's bits for one hash, from its own formula."""
        return ceil((self.capacity * abs(log(self.error_rate))) / (self.slices * (log(2) ** 2)))

    @property
    def body_bytes(self) -> int:
        """The length of what pybloom_live writes."""
        return calcsize(BloomFilter.FILE_FMT) + ceil(self.slices * self.bits_per_slice / 8)


@dataclass(frozen=True, kw_only=True)
class KeyFilter:
    """A Bloom filter of the keys of some columns; ``body`` is a file that pybloom_live reads."""

    columns: tuple[str, ...]
    shape: Shape
    keys: int  # distinct keys inserted
    body: bytes

    def to_bytes(self) -> bytes:
        """The envelope that ``from_bytes`` checks."""
        facts = {"columns": self.columns, "capacity": self.shape.capacity, "error_rate": self.shape.error_rate}
        header = json.dumps({**facts, "keys": self.keys}).encode()
        digest = sha256(header + self.body).digest()
        return pack(_PREFIX, MAGIC, VERSION, len(header), digest) + header + self.body

    @classmethod
    def from_bytes(cls, state: bytes) -> "KeyFilter":
        """The filter in the envelope; UnableToReadFilter unless every claim of it was recomputed and found true."""
        header, body = _opened(state)
        found = cls(
            columns=header["columns"],
            shape=Shape(capacity=header["capacity"], error_rate=header["error_rate"]),
            keys=header["keys"],
            body=body,
        )
        _check_body(found)
        return found


def shape_for(keys: int) -> Shape | None:
    """The shape of a filter for ``keys`` keys, or None where none of at most 64 MB serves."""
    shapes = (Shape(capacity=max(keys, MIN_CAPACITY), error_rate=rate) for rate in ERROR_RATES)
    return next((shape for shape in shapes if shape.body_bytes < MAX_BYTES - MAX_HEADER_BYTES), None)


def filled(shape: Shape, keys: Iterable[str]) -> bytes:
    """pybloom_live's file of a filter of ``keys``."""
    made = BloomFilter(shape.capacity, shape.error_rate)
    for key in keys:
        made.add(key, skip_check=True)
    return _body(made)


def merged(shape: Shape, columns: tuple[str, ...], bodies: Iterable[bytes]) -> KeyFilter:
    """The union of filters of one shape whose keys differ."""
    union = BloomFilter(shape.capacity, shape.error_rate)
    for body in bodies:
        part = opened(body)
        union.bitarray |= part.bitarray
        union.count += part.count
    return KeyFilter(columns=columns, shape=shape, keys=union.count, body=_body(union))


def opened(body: bytes) -> BloomFilter:
    """pybloom_live's filter in ``body``, which must come from here or from a checked envelope."""
    found = BloomFilter.fromfile(BytesIO(body))
    del found.bitarray[found.num_bits :]  # fromfile keeps the padding of the last byte
    return found


def _body(made: BloomFilter) -> bytes:
    file = BytesIO()
    made.tofile(file)
    return file.getvalue()


def _opened(state: bytes) -> tuple["_Header", bytes]:
    if len(state) > MAX_BYTES:
        raise UnableToReadFilter(f"the filter has {len(state)} bytes, more than {MAX_BYTES}")
    try:
        magic, version, length, digest = unpack(_PREFIX, state[: calcsize(_PREFIX)])
    except error as cause:
        raise UnableToReadFilter("the filter is cut off") from cause
    if magic != MAGIC or version != VERSION or length > MAX_HEADER_BYTES:
        raise UnableToReadFilter(f"the bytes are no Bloom filter of version {VERSION}")
    content = state[calcsize(_PREFIX) :]
    if sha256(content).digest() != digest:
        raise UnableToReadFilter("the filter is damaged: its checksum differs")
    return _checked_header(content[:length]), content[length:]


class _Header(TypedDict):
    columns: tuple[str, ...]
    capacity: int
    error_rate: float
    keys: int


def _checked_header(raw: bytes) -> _Header:
    try:
        facts = json.loads(raw)
        header = _Header(
            columns=tuple(str(column) for column in facts["columns"]),
            capacity=int(facts["capacity"]),
            error_rate=float(facts["error_rate"]),
            keys=int(facts["keys"]),
        )
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as cause:
        raise UnableToReadFilter(f"the header of the filter cannot be read: {cause}") from cause
    if header["error_rate"] not in ERROR_RATES or not 0 <= header["keys"] <= header["capacity"] <= 8 * MAX_BYTES:
        raise UnableToReadFilter(f"the header of the filter is not one of ours: {facts}")
    return header


def _check_body(claimed: KeyFilter) -> None:
    """pybloom_live believes the header of its file, so nothing of it may differ from what the claims give."""
    shape, body = claimed.shape, claimed.body
    expected = (shape.error_rate, shape.slices, shape.bits_per_slice, shape.capacity, claimed.keys)
    header = calcsize(BloomFilter.FILE_FMT)
    if len(body) != shape.body_bytes or unpack(BloomFilter.FILE_FMT, body[:header]) != expected:
        raise UnableToReadFilter("the filter is not as large as its capacity and error rate demand")
    found = opened(body)
    fill = found.bitarray.count() / found.num_bits
    if abs(fill - (1 - exp(-claimed.keys / shape.bits_per_slice))) > FILL_TOLERANCE:
        raise UnableToReadFilter(f"{fill:.0%} of the bits are set, which {claimed.keys} keys do not do")
