"""A watch over the memory of a child's Python processes; Java bounds its own.

From outside, as a bound on the address space (RLIMIT_AS) makes allocators fail that only reserve, and as a process that
is busy filling its memory may not get round to look.
"""

from collections.abc import Callable
from threading import Event, Thread

from .process_session import memory_of

INTERVAL = 0.5  # seconds
LEAST = 1024**3  # what Python, pandas and two workers start with is a part of this


class MemoryWatch:
    """Calls ``overflow`` once the processes of a session hold more than ``bound`` bytes."""

    def __init__(self, leader: int, bound: int, overflow: Callable[[], None]) -> None:
        self._leader = leader
        self._bound = max(bound, LEAST)
        self._overflow = overflow
        self._ended = Event()
        Thread(target=self._watch, name=f"memory of Spark child {leader}", daemon=True).start()

    def end(self) -> None:
        """Look no more; to be called before the processes are buried."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL):
            if memory_of(self._leader, but="java") > self._bound:
                self._overflow()
                return
