"""A runner process seen from outside: its events, each waited for until a deadline, and its end."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

import psutil

from benchmarks.cache import ROOT, home

Event = dict[str, Any]


class UnableToRun(Exception):
    """The process ended before its time."""


class Child:
    """A process that tells events as lines of JSON; what else it prints goes to a log."""

    def __init__(self, python: Path, module: str, order: Mapping[str, Any]) -> None:
        self.log = home() / "logs" / f"{module.rsplit('.', 1)[-1]}-{'-'.join(order.get('names', ()))}.log"
        self.log.parent.mkdir(exist_ok=True)
        command = [str(python), "-m", module, json.dumps(order)]
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
            )
        self._lines: Queue[bytes] = Queue()
        Thread(target=self._read, daemon=True).start()

    def event(self, seconds: float) -> Event | None:
        """The next event, None at the regular end; TimeoutError when it takes longer, UnableToRun after a crash."""
        try:
            line = self._lines.get(timeout=seconds)
        except Empty:
            raise TimeoutError from None
        if line:
            event: Event = json.loads(line)
            return event
        if self._process.wait():
            raise UnableToRun(f"{self.log} ends with: {_last_line(self.log)}")
        return None

    def close(self) -> None:
        """Ends the process and all that it started."""
        try:
            family = [*psutil.Process(self._process.pid).children(recursive=True), psutil.Process(self._process.pid)]
        except psutil.NoSuchProcess:
            family = []
        for process in family:
            _kill(process)
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in iter(self._process.stdout.readline, b""):
            self._lines.put(line)
        self._lines.put(b"")


def events(child: Child, seconds: float) -> Iterator[Event]:
    """All events until the regular end, each within so many seconds."""
    while (event := child.event(seconds)) is not None:
        yield event


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    return kept | {"PYTHONPATH": f"{ROOT / 'platform'}{os.pathsep}{ROOT}", "TZ": "UTC"}


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.kill()


def _last_line(path: Path) -> str:
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "nothing"
