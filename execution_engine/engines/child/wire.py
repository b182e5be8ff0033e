"""What goes between the platform and its Spark child: pickled messages, ``(kind, number of the call, content)``.

What comes back from a process that ran users' SQL is data, and nothing in it is code: no class but those named here is
taken.
"""

import io
import pickle
from types import MappingProxyType
from typing import Any

from execution_engine.engines import protocol

Message = tuple[str, int, Any]

MOST_BYTES = 1024 * 1024 * 1024  # of one message
DATA = frozenset(
    {
        *((protocol.__name__, name) for name in ("FailingRow", "FailingRows", "Measured", "ScanReport")),
        *(("execution_engine.outcome", name) for name in ("Failure", "Reason")),
        *(("execution_engine.read_by", name) for name in ("Kind", "Left", "ReadBy")),
        *(("builtins", name) for name in ("bytes", "dict", "float", "frozenset", "set")),
        ("datetime", "datetime"),
        ("decimal", "Decimal"),
    }
)


class UnableToSend(Exception):
    """The message is too large."""


class _Pickler(pickle.Pickler):
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


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) not in DATA:
            raise pickle.UnpicklingError(f"{module_name}.{global_name} is no data")
        return super().find_class(module_name, global_name)


def packed(message: Message) -> bytes:
    """The message in bytes; UnableToSend where the other side would refuse it."""
    content = io.BytesIO()
    _Pickler(content, pickle.HIGHEST_PROTOCOL).dump(message)
    if content.tell() > MOST_BYTES:
        raise UnableToSend(f"a message of {content.tell()} bytes; at most {MOST_BYTES} are allowed")
    return content.getvalue()


def unpacked_data(content: bytes) -> Message:
    """A message of the child; any exception where it is none, or holds anything but data."""
    kind, number, data = _Unpickler(io.BytesIO(content)).load()
    return str(kind), int(number), data
