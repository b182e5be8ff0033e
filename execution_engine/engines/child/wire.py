"""What goes between the platform and its Spark child: pickled messages, ``(kind, number of the call, content)``.

A process that ran users' SQL is not trusted. It writes records as the dicts that they are made of, so that an answer
needs no class of ours, and none is taken: what is read names only the types of ``DATA``. A result is then checked
against the types of the engine's protocol.
"""

import io
import pickle
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from execution_engine.engines.protocol import CatalogEngine

Message = tuple[str, int, Any]

MOST_BYTES = 1024 * 1024 * 1024  # of one message
DATA = frozenset(
    {
        *(("builtins", name) for name in ("bytes", "dict", "float", "frozenset", "set", "str")),
        ("datetime", "datetime"),
        ("decimal", "Decimal"),
    }
)


class UnableToSend(Exception):
    """The message is too large."""


class _CallPickler(pickle.Pickler):
    """Writes numpy's floats, views of bytes and of mappings as what they hold."""

    def reducer_override(self, obj: Any) -> Any:
        match obj:
            case memoryview():
                return bytes, (bytes(obj),)
            case MappingProxyType():
                return dict, (dict(obj),)
            case float():  # of another class, as its own floats need no reducer
                return float, (float(obj),)
        return NotImplemented


class _AnswerPickler(_CallPickler):
    """Writes records as dicts too, and members of enumerations as their texts."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Enum):
            return str, (str(obj.value),)
        if is_dataclass(obj) and not isinstance(obj, type):
            return dict, (vars(obj),)
        return super().reducer_override(obj)


class _AnswerUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) not in DATA:
            raise pickle.UnpicklingError(f"{module_name}.{global_name} is no data")
        return super().find_class(module_name, global_name)


def write_call(message: Message) -> bytes:
    """A message to the child, in bytes; UnableToSend where the child would refuse it."""
    return _pickle(message, _CallPickler)


def write_answer(message: Message) -> bytes:
    """A message of the child, in bytes and of plain data; UnableToSend where the platform would refuse it."""
    return _pickle(message, _AnswerPickler)


def _pickle(message: Message, pickler: type[pickle.Pickler]) -> bytes:
    content = io.BytesIO()
    pickler(content, pickle.HIGHEST_PROTOCOL).dump(message)
    if content.tell() > MOST_BYTES:
        raise UnableToSend(f"a message of {content.tell()} bytes; at most {MOST_BYTES} are allowed")
    return content.getvalue()


def read_answer(content: bytes) -> Message:
    """A message of the child; any exception where it is none, or holds anything but data."""
    kind, number, data = _AnswerUnpickler(io.BytesIO(content)).load()
    return str(kind), int(number), data


def check_result(method: str, data: Any) -> Any:
    """What a method of the engine gave, of the type that its protocol names; any exception where it is another."""
    return _adapter(method).validate_python(data)


@cache
def _adapter(method: str) -> TypeAdapter[Any]:
    return TypeAdapter(get_type_hints(getattr(CatalogEngine, method))["return"])
