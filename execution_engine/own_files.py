"""Files that Assay writes, by their path or their URL in a store: a reader sees all of a file or none of it.

A store is asked for one object at a time, which it takes whole or not at all; what many objects say together counts
once the last of them is there. Which stores there are is said in ``assay.stores``.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from assay.stores import is_store

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_PROBE = "_assay_probe"
PIECE = 1 << 20  # bytes


class UnableToWrite(OSError):
    """Nothing may be written at this place; the sentence says why, and how to mend it."""


def write_file(location: str, content: bytes) -> None:
    """Write a file, whole or not at all, also if others write it at the same time; raises OSError with a sentence."""
    if not is_store(location):
        write_whole(Path(location), [content])
        return
    filesystem, path = _open_to_write(location)
    with _explained(location, "write"), filesystem.open_output_stream(path) as stream:
        stream.write(content)


def write_whole(path: Path, content: Iterable[bytes]) -> None:
    """Write a file of this machine, of these pieces, whole or not at all, also if others write it at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.writelines(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, path)


def read_file(location: str) -> bytes:
    """What a file holds; raises FileNotFoundError where there is none, or OSError with a sentence."""
    if not is_store(location):
        return Path(location).read_bytes()
    from execution_engine.engines.files.stores import UnableToOpenStore, open_file_system

    try:
        filesystem, path = open_file_system(location)
    except UnableToOpenStore as error:
        raise OSError(str(error)) from None
    with _explained(location, "read"), filesystem.open_input_stream(path) as stream:
        return bytes(stream.read())


def copy_file(source: str, target: str) -> None:
    """Copy a file to a place where nobody reads it yet; raises FileNotFoundError without a source, or OSError."""
    if not (is_store(source) or is_store(target)):
        shutil.copyfile(source, target)
        return
    from pyarrow.fs import copy_files

    from execution_engine.engines.files.stores import open_file_system

    (from_system, from_path), (to_system, to_path) = open_file_system(source), _open_to_write(target)
    with _explained(source, "read"):
        size = from_system.get_file_info(from_path).size
        if size is None:
            raise FileNotFoundError(source)
    with _explained(target if is_store(target) else source, "write"):
        copy_files(from_path, to_path, source_filesystem=from_system, destination_filesystem=to_system)
        if to_system.get_file_info(to_path).size != size:
            raise OSError(f"{source} was cut off while it was copied to {target}")


def size_and_checksum(location: str) -> tuple[int, str]:
    """How many bytes a file has, and their SHA-256 in hexadecimal; raises OSError."""
    from execution_engine.engines.files.stores import open_file_system

    filesystem, path = open_file_system(location)
    digest, size = sha256(), 0
    with _explained(location, "read"), filesystem.open_input_stream(path) as stream:
        while piece := stream.read(PIECE):
            digest.update(piece)
            size += len(piece)
    return size, digest.hexdigest()


def old_files(folder: str, seconds: float) -> list[str]:
    """The names of the files right in a folder that nobody has written for so long; none where there is no folder."""
    from pyarrow.fs import FileSelector, FileType

    from execution_engine.engines.files.stores import open_file_system

    filesystem, path = open_file_system(folder)
    with _explained(folder, "read"):
        infos = filesystem.get_file_info(FileSelector(path, allow_not_found=True))
    limit = (time.time() - seconds) * 1e9
    return [info.base_name for info in infos if info.type is FileType.File and (info.mtime_ns or 0) < limit]


def remove_file(location: str) -> None:
    """Remove a file, which may be gone already; raises OSError with a sentence."""
    filesystem, path = _open_to_write(location)
    with _explained(location, "write"):
        try:
            filesystem.delete_file(path)
        except FileNotFoundError:
            return


def write_fault(folder: str) -> str:
    """Why no file can be written in a folder, or removed, found by trying it; empty where it can."""
    probe = f"{folder}/{_PROBE}" if is_store(folder) else f"{folder}/{_PROBE}.{uuid4().hex}"
    try:
        write_file(probe, b"")
        remove_file(probe)
    except OSError as error:
        return str(error) if is_store(folder) else f"{folder} cannot be written: {error}"
    return ""


def _open_to_write(location: str) -> "tuple[FileSystem, str]":
    from execution_engine.engines.files.stores import UnableToOpenStore, open_to_write

    try:
        return open_to_write(location)
    except UnableToOpenStore as error:
        raise UnableToWrite(str(error)) from None


@contextmanager
def _explained(location: str, verb: str) -> Iterator[None]:
    """What a store answers, as the sentence that says how to mend it."""
    from execution_engine.engines.files.stores import store_failure

    try:
        yield
    except OSError as error:
        if verb == "read" and isinstance(error, FileNotFoundError):
            raise
        failure = store_failure(location, error, verb)
        raise OSError(failure.detail if failure else str(error)) from error
