"""Large states as files named by their checksum; the database keeps path, length and checksum."""

import os
import tempfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from assay.config import config

INLINE_BYTES = 64 * 1024  # states up to here stay in the database


class UnableToLoadState(Exception):
    """The file is gone, or is not what was written."""


def store_state(folder: Path, state: bytes) -> tuple[str, str]:
    """Write a state, whole or not at all; the same bytes are kept once. Its path below ``folder``, and its SHA-256."""
    checksum = sha256(state).hexdigest()
    path = folder / checksum[:2] / checksum
    if path.exists():
        os.utime(path)  # it was orphaned, perhaps, and is not any more
    else:
        write_whole(path, [state])
    return f"{checksum[:2]}/{checksum}", checksum


def load_state(folder: Path, path: str, length: int, checksum: str) -> bytes:
    """The bytes of a stored state; raises UnableToLoadState."""
    try:
        state = (folder / path).read_bytes()
    except OSError as error:
        raise UnableToLoadState(f"state {path} cannot be read: {error}") from error
    if len(state) != length or sha256(state).hexdigest() != checksum:
        raise UnableToLoadState(f"state {path} is not the {length} bytes that were written; remove it")
    return state


def write_whole(path: Path, content: Iterable[bytes]) -> None:
    """Write a file of these pieces, whole or not at all, also if others write it at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.writelines(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, path)


# The state that a row has: in the row itself, or in the state store where it is large.

STATE = ("state", "state_path", "state_length", "state_checksum")  # the columns


class Stateful(Protocol):
    """A row with these columns."""

    state: "bytes | memoryview[int] | None"
    state_path: str
    state_length: int
    state_checksum: str


def state_of(row: Stateful) -> bytes:
    """The state of a row, wherever it is kept, empty where there is none; raises UnableToLoadState."""
    if not row.state_path:
        return bytes(row.state or b"")
    return load_state(config().states, row.state_path, row.state_length, row.state_checksum)


def keep_state(row: Stateful, state: bytes | None) -> None:
    """Give a row its state; whoever calls writes the row."""
    row.state, row.state_path, row.state_length, row.state_checksum = state, "", 0, ""
    if state is not None and len(state) > INLINE_BYTES:
        row.state, row.state_length = None, len(state)
        row.state_path, row.state_checksum = store_state(config().states, state)
