"""Runs SQL in a process that can be killed, among canaries that tell what it reached."""

import json
import os
import re
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.integration.engines import guarded

ROOT = Path(__file__).parents[2]
START_SECONDS = 90.0
_WRITES = re.compile(
    r"insert|create|load|truncate|alter|analyze|export|replace\s+table|overwrite|directory|location", re.I
)
_PATHS = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_HEAVY = re.compile(
    r"sequence|repeat|range|space|[lr]pad|recursive|stack|format|printf|like|split|regexp|cross|round|natural|window"
    r"|tablesample|union all|join|explode|,\s*trips",
    re.I,
)
_STAYS_LOADED = re.compile(r"\badd\b", re.I)  # a jar that cannot be fetched breaks every job after it


@dataclass(frozen=True, kw_only=True)
class Told:
    """How a statement ended, and the canaries that it touched."""

    ended: str
    touched: tuple[str, ...] = ()
    text: str = ""


@dataclass(kw_only=True)
class Canaries:
    """A file, a folder, a port, a table, a variable, a user and a path that nothing may show, change or call."""

    scratch: Path
    tokens: dict[str, str] = field(
        default_factory=lambda: {
            name: f"canary{name}{secrets.token_hex(6)}" for name in ("file", "table", "environment", "user", "path")
        }
    )
    port: int = 0
    calls: int = 0

    def set_out(self) -> None:
        """Writes the file, the folder and the data."""
        (self.scratch / "secret.txt").write_text(f"{self.tokens['file']}\n")
        data = self.scratch / f"data-{self.tokens['path']}"
        for folder in (self.forbidden, data, self.home):
            folder.mkdir()
        guarded.write(data)

    @property
    def forbidden(self) -> Path:
        """The folder that must stay empty."""
        return self.scratch / "forbidden"

    @property
    def home(self) -> Path:
        """The home and working folder of the process."""
        return self.scratch / f"home-{self.tokens['environment']}"

    def aimed(self, sql: str) -> str:
        """The statement with the canaries in place of the real things that the attacks are after."""
        for old, new in (
            ("/etc/passwd", str(self.scratch / "secret.txt")),
            ("/tmp/assay-was-here", str(self.forbidden / "was-here")),
            ("/tmp/x", str(self.forbidden / "x")),
            ("127.0.0.1:9", f"127.0.0.1:{self.port}"),
        ):
            sql = sql.replace(old, new)
        return sql

    def touched(self, told: dict[str, Any], calls: int) -> tuple[str, ...]:
        """The canaries that a statement touched; ``calls``: of the port before it."""
        shown = [name for name, token in self.tokens.items() if token in told["text"] and _counts(name, told)]
        reached = {"folder": any(self.forbidden.iterdir()), "port": self.calls > calls, "state": told.get("changed")}
        return (*shown, *(name for name, value in reached.items() if value))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Counts the calls of the port."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.port = server.getsockname()[1]
            threading.Thread(target=self._count, args=(server,), daemon=True).start()
            yield

    def _count(self, server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                server.accept()[0].close()
                self.calls += 1


def _counts(name: str, told: dict[str, Any]) -> bool:
    """Spark's errors tell where data lies, and our service keeps them from users; rows must not."""
    return name != "path" or told["ended"] == "gave rows"


class Sandbox:
    """The process, started when first asked and whenever it was killed."""

    def __init__(self, canaries: Canaries) -> None:
        self.canaries = canaries
        self.child: subprocess.Popen[bytes] | None = None
        self.restarts = 0

    def run(self, sql: str, seconds: float, *, fresh: bool = False) -> Told:
        """What became of the statement within ``seconds``; ``fresh``: what it changed must not meet the next."""
        child = self._started()
        calls = self.canaries.calls
        told = self._ask(child, {"sql": self.canaries.aimed(sql), "fresh": fresh}, seconds)
        if told is None:
            self.close()
            return Told(ended="took too long", touched=self.canaries.touched({"text": "", "ended": ""}, calls))
        touched = self.canaries.touched(told, calls)
        if fresh and _STAYS_LOADED.search(sql):
            self.close()
        self._sweep()
        return Told(ended=told["ended"], touched=touched, text=told["text"])

    def may_run(self, sql: str) -> bool:
        """Whether a statement that the guard refused writes nowhere but into the scratch folder, and ends."""
        if _HEAVY.search(sql) or "\0" in sql:
            return False
        if not _WRITES.search(sql):
            return True
        paths = [path[1:-1] for path in _PATHS.findall(self.canaries.aimed(sql)) if "/" in path]
        return "\\" not in sql and all(path.startswith(f"{self.canaries.scratch}/") for path in paths)

    def close(self) -> None:
        """Kills the process and all that it started."""
        if self.child is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
            self.child = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self.child is None:
            self.restarts += 1
            self.child = self._start()
            ready = self._answer(self.child, START_SECONDS)
            assert ready is not None, "Spark did not start; see the errors above"
        return self.child

    def _start(self) -> subprocess.Popen[bytes]:
        tokens = self.canaries.tokens
        kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME", "LANG") if name in os.environ}
        environment = {
            "PYTHONPATH": os.pathsep.join((str(ROOT / "platform"), str(ROOT))),
            "HOME": str(self.canaries.home),
            "DB_PASSWORD": tokens["environment"],
            "HADOOP_USER_NAME": tokens["user"],
            "CANARY_TABLE": tokens["table"],
        }
        return subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.guard_child", str(self.canaries.scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(self.canaries.scratch / "errors.txt").open("ab"),
            cwd=self.canaries.home,
            env=kept | environment,
            start_new_session=True,
        )

    def _ask(self, child: subprocess.Popen[bytes], asked: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        assert child.stdin is not None
        with suppress(BrokenPipeError):
            child.stdin.write(json.dumps(asked).encode() + b"\n")
            child.stdin.flush()
        return self._answer(child, seconds)

    def _answer(self, child: subprocess.Popen[bytes], seconds: float) -> dict[str, Any] | None:
        """The next line, None if it does not come in time or the process is gone."""
        assert child.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                return None
        line = child.stdout.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def _sweep(self) -> None:
        for path in sorted(self.canaries.forbidden.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
