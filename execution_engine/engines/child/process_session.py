"""All processes of a session: Spark's child, its Java and Java's Python workers, which have groups of their own."""

import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

PROC = Path("/proc")
_SWEEPS = 20  # a process may be born while its session is killed
INTERVAL = 0.5  # seconds between two looks at the memory
LEAST = 1024**3  # bytes; what Python, pandas and two workers start with is a part of this


def kill_session(leader: int, *, spare: int | None = None) -> None:
    """SIGKILL every process of the session but ``spare``; the leader must not have been waited for."""
    for _ in range(_SWEEPS):
        alive = [pid for pid in members(leader) if pid != spare]
        if not alive:
            return
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def members(leader: int) -> Iterator[int]:
    """The living processes of the session; where there is no /proc, the leader only."""
    if not PROC.is_dir():
        yield leader
        return
    for folder in PROC.iterdir():
        if folder.name.isdigit() and _session(folder) == leader:
            yield int(folder.name)


def memory_of(leader: int, *, but: str) -> int:
    """The bytes that the session's processes hold for themselves, but for those whose name is ``but``."""
    pages = sum(_private_pages(PROC / str(pid)) for pid in members(leader) if _name(PROC / str(pid)) != but)
    return pages * resource.getpagesize()


def _private_pages(folder: Path) -> int:
    try:
        _, resident, shared = map(int, (folder / "statm").read_text().split()[:3])
    except (OSError, ValueError):
        return 0
    return resident - shared


def _name(folder: Path) -> str:
    try:
        return (folder / "comm").read_text().strip()
    except OSError:
        return ""


def _session(folder: Path) -> int | None:
    """The session of a process; None if it is dead or gone."""
    try:
        state, _, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
    except (OSError, ValueError):
        return None
    return None if state in "ZX" else int(session)


class MemoryWatch:
    """Calls ``overflow`` once the processes of a session, but for Java, hold more than ``bound`` bytes.

    Java bounds its own memory. The others are watched from outside: a bound on the address space (RLIMIT_AS) makes
    allocators fail that only reserve, and a process that is busy filling its memory may not get round to look.
    """

    def __init__(self, leader: int, bound: int, overflow: Callable[[], None]) -> None:
        self._leader = leader
        self._bound = max(bound, LEAST)
        self._overflow = overflow
        self._ended = Event()
        Thread(target=self._watch, name=f"memory of Spark child {leader}", daemon=True).start()

    def end(self) -> None:
        """Stop looking; to be called before the processes are buried."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL):
            if memory_of(self._leader, but="java") > self._bound:
                self._overflow()
                return
