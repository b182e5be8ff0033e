"""The processes of the service: workers and the sweep, each with a log of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

STOP_LIMIT = 30.0  # seconds
SWEEP_EVERY = 0.2  # seconds


@dataclass(frozen=True, kw_only=True)
class Processes:
    """Processes by name; those that were neither stopped nor killed are to be alive."""

    environment: Mapping[str, str]
    logs: Path
    alive: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start_worker(self, name: str, queue: str, *more: str, app: str = "assay.celery", pool: str = "threads") -> None:
        """A worker of one queue that does one thing at a time, whose node is ``name@assay``; ``more`` are options."""
        worker = ["celery", "-A", app, "worker", "--hostname", f"{name}@assay", "--queues", queue]
        how = ["--pool", pool, "--concurrency", "1", "--without-gossip", "--without-mingle", "--loglevel", "INFO"]
        self._start(name, [sys.executable, "-m", *worker, *how, *more])

    def start_sweep(self, name: str = "sweep") -> None:
        """The scheduler."""
        self._start(name, [assay(), "sweep", "--every", str(SWEEP_EVERY)])

    def stop(self, name: str) -> None:
        """Ask a process to end, and wait until it has."""
        process = self.alive.pop(name)
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_LIMIT)
        _end(process)

    def kill(self, name: str) -> None:
        """SIGKILL: it can tell nobody, and gives nothing back."""
        process = self.alive.pop(name)
        process.kill()
        _end(process)

    def stop_all(self) -> None:
        """End whatever still runs."""
        for process in self.alive.values():
            process.terminate()
        for name in list(self.alive):
            self.stop(name)

    def dead(self) -> list[str]:
        """Those that ended by themselves."""
        return [name for name, process in self.alive.items() if process.poll() is not None]

    def told(self) -> str:
        """The ends of all logs."""
        return "\n".join(f"--- {log.stem}\n{log.read_text()[-3000:]}" for log in sorted(self.logs.iterdir()))

    def _start(self, name: str, command: list[str]) -> None:
        self.logs.mkdir(exist_ok=True)
        with (self.logs / f"{name}.log").open("wb") as log:
            self.alive[name] = subprocess.Popen(
                command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def assay() -> str:
    """The path of the command that users call."""
    return str(Path(sys.executable).with_name("assay"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """What a process started, such as Spark's, goes with it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
