"""Large states as files named by their checksum; the database keeps path, length and checksum."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from assay.config import config
from assay.stores import is_store
from execution_engine.own_files import read_file, write_file

INLINE_BYTES = 64 * 1024  # states up to here stay in the database


class UnableToLoadState(Exception):
    """The file is gone, or is not what was written."""


def store_state(folder: str, state: bytes) -> tuple[str, str]:
    """Write a state, whole or not at all; the same bytes are kept once. Its path below ``folder``, and its SHA-256."""
    checksum = sha256(state).hexdigest()
    name = f"{checksum[:2]}/{checksum}"
    if not is_store(folder) and (path := Path(folder, name)).exists():
        os.utime(path)  # it was orphaned, perhaps, and is not any more
    else:
        write_file(f"{folder}/{name}", state)
    return name, checksum


def load_state(folder: str, path: str, length: int, checksum: str) -> bytes:
    """The bytes of a stored state; raises UnableToLoadState."""
    try:
        state = read_file(f"{folder}/{path}")
    except OSError as error:
        raise UnableToLoadState(f"state {path} cannot be read: {error}") from error
    if len(state) != length or sha256(state).hexdigest() != checksum:
        raise UnableToLoadState(f"state {path} is not the {length} bytes that were written; remove it")
    return state


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
