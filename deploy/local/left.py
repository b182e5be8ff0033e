"""What an earlier fleet of the same folder left when it was killed itself: found by its note of process ids."""

import json
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from .process import Process

NOTE = "processes.json"


def note(folder: Path, processes: Iterable[Process]) -> None:
    """Write down the id and the beginning of each process that runs."""
    found = {process.name: (process.pid, _begun(process.pid)) for process in processes if process.pid}
    unfinished = folder / f"{NOTE}.unfinished"
    unfinished.write_text(json.dumps(found))
    unfinished.replace(folder / NOTE)


def end_left(folder: Path) -> list[str]:
    """SIGKILL what is noted and still there, each with all that it started; the names."""
    path = folder / NOTE
    known: dict[str, tuple[int, str]] = json.loads(path.read_text()) if path.exists() else {}
    left = {name: pid for name, (pid, begun) in known.items() if begun and _begun(pid) == begun}
    for pid in left.values():
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    path.unlink(missing_ok=True)
    return sorted(left)


def _begun(pid: int) -> str:
    """When a process began, in ticks since the machine did: another with the same id began later; empty for none."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return told.rpartition(")")[2].split()[19]
