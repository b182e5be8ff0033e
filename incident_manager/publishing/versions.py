"""Copies of what was audited, each in a folder of its own that nobody writes again: what a pointer may safely name."""

import shutil
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from execution_engine.storage import StoredWindow

from .atomic_files import create_folder

CHUNK = 1 << 20  # bytes


class UnableToCopy(Exception):
    """The audited files cannot be copied; the message says why."""


def version_folder(versions: Path, *, dataset: str, partition: str, fingerprint: str) -> Path:
    """Where the copy of a window with this fingerprint lies."""
    return versions / quote(dataset, safe=" ") / quote(partition, safe=" ") / fingerprint


def copy_version(stored: StoredWindow, folder: Path, *, again: Callable[[], StoredWindow]) -> None:
    """Copy the files of a window into the folder, which appears whole; one that is there already stays as it is.

    ``again`` looks at the window once more: files that were written while they were copied make no version. Raises
    UnableToCopy.
    """
    source = _local(stored.location)

    def demand_unchanged() -> None:
        if again().fingerprint != stored.fingerprint:
            raise UnableToCopy("the data was written while it was copied")

    files = {file.path: partial(_copy, source / file.path) for file in stored.files}
    create_folder(folder, files, check=demand_unchanged)


def files_of(stored: StoredWindow) -> list[dict[str, Any]]:
    """The files as the document names them where they lie: their sizes, and when they were written."""
    return [{"path": file.path, "bytes": file.size, "modified_ns": file.modified_ns} for file in stored.files]


def files_of_version(stored: StoredWindow, folder: Path) -> list[dict[str, Any]]:
    """The files of a copy, each with its size and SHA-256: they change no more."""
    return [
        {"path": file.path, "bytes": (folder / file.path).stat().st_size, "sha256": _digest(folder / file.path)}
        for file in stored.files
    ]


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except FileNotFoundError:
        raise UnableToCopy(f"{source} went away while it was copied: the data is being written") from None


def _local(location: str) -> Path:
    if "://" in location and not location.startswith("file://"):
        raise UnableToCopy(f"{location} is no folder of this machine: only such are copied; publish without --versions")
    return Path(location.removeprefix("file://")).absolute()


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
