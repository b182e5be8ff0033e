"""Large states as files named by their checksum; the database keeps path, length and checksum."""

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

INLINE_BYTES = 64 * 1024  # states up to here stay in the database


class UnableToLoadState(Exception):
    """The file is gone, or is not what was written."""


@dataclass(frozen=True, kw_only=True)
class StoredState:
    """Where a state lies, and how to know it again."""

    path: str  # below the store's folder
    length: int
    checksum: str  # SHA-256, in hexadecimal


def store_state(folder: Path, state: bytes) -> StoredState:
    """Write a state, whole or not at all; the same bytes are kept once."""
    checksum = sha256(state).hexdigest()
    path = folder / checksum[:2] / checksum
    if path.exists():
        os.utime(path)  # it was orphaned, perhaps, and is not any more
    else:
        write_whole(path, [state])
    return StoredState(path=f"{checksum[:2]}/{checksum}", length=len(state), checksum=checksum)


def load_state(folder: Path, stored: StoredState) -> bytes:
    """The bytes of a stored state; raises UnableToReadState."""
    try:
        state = (folder / stored.path).read_bytes()
    except OSError as error:
        raise UnableToLoadState(f"state {stored.path} cannot be read: {error}") from error
    if len(state) != stored.length or sha256(state).hexdigest() != stored.checksum:
        raise UnableToLoadState(f"state {stored.path} is not the {stored.length} bytes that were written; remove it")
    return state


def write_whole(path: Path, content: Iterable[bytes]) -> None:
    """Write a file of these pieces, whole or not at all, also if others write it at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.writelines(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, path)
