"""What goes through the pipes to the Spark child: calls of an engine's methods as JSON frames and back."""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal, InvalidOperation
from functools import cache
from inspect import signature
from typing import Any, BinaryIO, get_type_hints

from pydantic import TypeAdapter, ValidationError

from execution_engine.engines.protocol import Engine

# What goes through the pipes between the platform and its Spark child: a JSON header, and bytes behind it.
#
# A frame is two lengths (of the header and of all blobs), the header, and the blobs one after the other. Nothing in
# it is
# code: what comes back from a process that ran users' SQL is data to be checked.

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


# Calls of an engine's methods as frames and back, checked against the types of the protocol's own signatures.

BLOB = "$blob"  # stands in the header for bytes behind it
DECIMAL = "$decimal"  # and for a number with more digits than JSON's have
HERE = frozenset({"close", "fingerprint"})  # answered by the platform's own process


class UnableToDecode(Exception):
    """The frame does not hold what the method takes or gives."""


@cache
def methods() -> frozenset[str]:
    """The methods of an engine that a child answers."""
    public = {name for name, value in vars(Engine).items() if callable(value) and not name.startswith("_")}
    return frozenset(public - HERE)


def call_frame(id_: int, method: str, args: tuple[Any, ...]) -> Frame:
    """A call, its arguments by name."""
    bound = signature(getattr(Engine, method)).bind(None, *args)
    named = {name: value for name, value in bound.arguments.items() if name != "self"}
    blobs: list[bytes] = []
    return Frame(header={"id": id_, "method": method, "arguments": _plain(named, blobs)}, blobs=tuple(blobs))


def call_of(frame: Frame) -> tuple[int, str, dict[str, Any]]:
    """The call's number, method and arguments; UnableToDecode."""
    id_, method, given = frame.header.get("id"), frame.header.get("method"), frame.header.get("arguments")
    if not isinstance(id_, int) or method not in methods() or not isinstance(given, dict):
        raise UnableToDecode(f"no call of an engine: {id_!r:.40} {method!r:.40}")
    hints = get_type_hints(getattr(Engine, method))
    if not set(given) <= set(hints) - {"return"}:
        raise UnableToDecode(f"{method} takes no {', '.join(set(given) - set(hints))}")
    return id_, method, {name: _typed(hints[name], value, frame.blobs) for name, value in given.items()}


def result_frame(id_: int, result: Any) -> Frame:
    """What a method gave."""
    blobs: list[bytes] = []
    return Frame(header={"id": id_, "result": _plain(result, blobs)}, blobs=tuple(blobs))


def result_of(frame: Frame, method: str) -> Any:
    """What ``method`` gave, of the very type it promises; UnableToDecode."""
    return _typed(get_type_hints(getattr(Engine, method))["return"], frame.header.get("result"), frame.blobs)


def _plain(value: Any, blobs: list[bytes]) -> Any:
    """As JSON holds it; what it cannot hold raises TypeError when the frame is written."""
    if isinstance(value, bytes | bytearray | memoryview):
        blobs.append(bytes(value))
        return {BLOB: len(blobs) - 1}
    if isinstance(value, Decimal):
        return {DECIMAL: str(value)}
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name), blobs) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item, blobs) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, blobs) for item in value]
    return value


def _typed(type_: Any, value: Any, blobs: tuple[bytes, ...]) -> Any:
    try:
        return _adapter(type_).validate_python(_filled(value, blobs))
    except (ValidationError, RecursionError) as error:
        raise UnableToDecode(f"no {type_}: {str(error)[:300]}") from error


def _filled(value: Any, blobs: tuple[bytes, ...]) -> Any:
    """The value with its bytes back in their places."""
    if isinstance(value, dict):
        at = value.get(BLOB)
        if set(value) == {BLOB} and type(at) is int and 0 <= at < len(blobs):
            return blobs[at]
        if set(value) == {DECIMAL} and isinstance(value[DECIMAL], str):
            return _decimal(value[DECIMAL])
        return {key: _filled(item, blobs) for key, item in value.items()}
    return [_filled(item, blobs) for item in value] if isinstance(value, list) else value


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise UnableToDecode(f"no number: {text:.40}") from error


@cache
def _adapter(type_: Any) -> TypeAdapter[Any]:
    return TypeAdapter(type_)
