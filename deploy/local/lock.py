"""One fleet in a folder at a time."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .programs import UnableToStart


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keeps a second fleet out of the folder; raises UnableToStart where one is there."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        _lock(lock, folder)
        yield


def _lock(lock: IO[str], folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UnableToStart(f"a service runs in {folder} already: end that, or set ASSAY_HOME") from None
