"""What goes through the pipes between the platform and its Spark child: a JSON header, and bytes behind it.

A frame is two lengths (of the header and of all blobs), the header, and the blobs one after the other. Nothing in it is
code: what comes back from a process that ran users' SQL is data to be checked.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

MAX_HEADER = 64 * 1024 * 1024
MAX_BLOBS = 1024 * 1024 * 1024
_LENGTHS = struct.Struct(">QQ")


class UnableToReadFrame(Exception):
    """The pipe holds something else than frames of ours."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One message."""

    header: Mapping[str, Any]
    blobs: tuple[bytes, ...] = ()


def write_frame(pipe: BinaryIO, frame: Frame) -> None:
    """Send it; OSError where nobody reads any more, UnableToReadFrame if the other side would refuse it."""
    header = json.dumps({"header": frame.header, "lengths": [len(blob) for blob in frame.blobs]}).encode()
    total = sum(len(blob) for blob in frame.blobs)
    _check_lengths(len(header), total)
    pipe.write(_LENGTHS.pack(len(header), total) + header)
    for blob in frame.blobs:
        pipe.write(blob)
    pipe.flush()


def read_frame(pipe: BinaryIO) -> Frame | None:
    """The next message, or None where the pipe was closed between two."""
    start = pipe.read(_LENGTHS.size)
    if not start:
        return None
    if len(start) < _LENGTHS.size:
        raise UnableToReadFrame("the pipe ends inside of a frame")
    header_length, total = _LENGTHS.unpack(start)
    _check_lengths(header_length, total)
    envelope = _envelope(_exactly(pipe, header_length))
    lengths = envelope["lengths"]
    if sum(lengths) != total:
        raise UnableToReadFrame(f"the blobs are announced as {total} bytes and listed as {sum(lengths)}")
    return Frame(header=envelope["header"], blobs=tuple(_exactly(pipe, length) for length in lengths))


def _check_lengths(header: int, blobs: int) -> None:
    if header > MAX_HEADER or blobs > MAX_BLOBS:
        raise UnableToReadFrame(
            f"a frame of {header} and {blobs} bytes; at most {MAX_HEADER} and {MAX_BLOBS} are allowed"
        )


def _exactly(pipe: BinaryIO, length: int) -> bytes:
    data = pipe.read(length)
    if len(data) < length:
        raise UnableToReadFrame("the pipe ends inside of a frame")
    return data


def _envelope(data: bytes) -> dict[str, Any]:
    try:
        envelope = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UnableToReadFrame(f"the header is no JSON: {error}") from error
    if not isinstance(envelope, dict) or not isinstance(envelope.get("header"), dict):
        raise UnableToReadFrame("the header is no JSON object")
    lengths = envelope.get("lengths")
    if not isinstance(lengths, list) or not all(type(length) is int and length >= 0 for length in lengths):
        raise UnableToReadFrame("the lengths of the blobs are no list of numbers")
    return envelope
