"""Calls of an engine's methods as frames and back, checked against the types of the protocol's own signatures."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal, InvalidOperation
from functools import cache
from inspect import signature
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from execution_engine.engines.protocol import Engine

from .frames import Frame

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
