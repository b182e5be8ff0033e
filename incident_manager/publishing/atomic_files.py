"""Files and folders that appear whole or not at all, and are still there after the machine has lost its power."""

import os
import shutil
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

STALE_AFTER = 3600.0  # seconds; what a process that died has left is removed by a later one


def replace_file(path: Path, content: bytes) -> None:
    """The file with this content: a reader sees all of the old one or all of the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    temporary = _temporary(path)
    try:
        _write(temporary, content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def create_folder(
    path: Path, files: Mapping[str, Callable[[Path], object]], *, check: Callable[[], None] = lambda: None
) -> None:
    """The folder with these files, each written by its function; a reader sees all of it or none of it.

    Where the folder is there already it stays as it is. ``check`` may raise before the folder appears.
    """
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    temporary = _temporary(path)
    try:
        for name, write in files.items():
            file = temporary / name
            file.parent.mkdir(parents=True, exist_ok=True)
            write(file)
            _sync(file)
            sync_folder(file.parent)
        sync_folder(temporary)
        check()
        try:
            os.rename(temporary, path)
        except OSError:
            if not path.exists():  # else another was first, with the same content
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """See to it that the names in a folder are kept."""
    _sync(path)


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary(path: Path) -> Path:
    """A name beside the path that engines do not read, as it begins with a dot."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")


def _sweep(path: Path) -> None:
    """Remove what processes that died have left beside the path."""
    for left in path.parent.glob(f".{_plain(path.name)}.*.tmp"):
        if time.time() - left.stat().st_mtime > STALE_AFTER:
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)


def _plain(name: str) -> str:
    """The name as a pattern that matches it alone."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)
