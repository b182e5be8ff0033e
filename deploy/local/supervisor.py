"""Looks after processes from a thread until it is told to end them."""

import time
from collections.abc import Callable, Iterable
from threading import Event, Thread

from .process import Process, State
from .programs import SHOWN, UnableToStart

LOOK_EVERY = 0.1  # seconds
START_LIMIT = 180.0  # a busy machine is no reason; one that ends is seen at once
STOP_LIMIT = 30.0


class Supervisor:
    """Processes by name, in the order in which they were started."""

    def __init__(self, changed: Callable[[Iterable[Process]], None] = lambda processes: None) -> None:
        """``changed`` is told of all processes whenever one was started."""
        self._changed, self._told = changed, [0]
        self.processes: dict[str, Process] = {}
        self._ended = Event()
        self._thread = Thread(target=self._look_after, name="supervisor", daemon=True)

    def start(self, process: Process, is_ready: Callable[[], bool] | None = None) -> None:
        """Start a process and look after it; return once it is ready, or raise UnableToStart with what it said."""
        self.processes[process.name] = process
        process.start()
        self._tell()
        if not self._thread.is_alive():
            self._thread.start()
        if is_ready:
            wait_until(is_ready, process)

    def end(self) -> None:
        """End all: those that were started last are asked first, and together where they do not serve others."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        until = time.monotonic() + STOP_LIMIT
        servers = [process for process in self.processes.values() if process.is_server]
        for process in [each for each in self.processes.values() if not each.is_server]:
            process.ask_to_end()
        for process in [each for each in reversed(self.processes.values()) if not each.is_server]:
            process.end(max(0.0, until - time.monotonic()))
        for process in reversed(servers):
            process.end(STOP_LIMIT)

    def _look_after(self) -> None:
        while not self._ended.wait(LOOK_EVERY):
            for process in list(self.processes.values()):
                process.look_after()
            self._tell()

    def _tell(self) -> None:
        """Tell of the processes, where there are others than the last time."""
        processes = list(self.processes.values())
        if (ids := [process.pid for process in processes]) != self._told:
            self._told = ids
            self._changed(processes)


def wait_until(is_ready: Callable[[], bool], process: Process) -> None:
    """Return once it is ready; raises UnableToStart with the end of its log."""
    deadline, restarts = time.monotonic() + START_LIMIT, process.restarts
    while not is_ready():
        has_ended = process.restarts > restarts or process.state in (State.WAITS, State.ENDED)
        if has_ended or time.monotonic() > deadline:
            process.end(0)
            raise UnableToStart(f"{process.name} did not come up:\n{process.log.read_text()[-SHOWN:]}")
        time.sleep(0.05)
