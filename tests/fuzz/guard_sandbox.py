"""Runs SQL in a process that can be killed, among canaries that tell what it reached."""

import json
import os
import re
import selectors
import signal
import subprocess
import sys
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fuzz.guard_canaries import Canaries

ROOT = Path(__file__).parents[2]
START_SECONDS = 90.0
_WRITES = re.compile(
    r"insert|create|load|truncate|alter|analyze|export|replace\s+table|overwrite|directory|location", re.I
)
_PATHS = re.compile(r"(?<!\*)/(?!\*)[\w./-]*")  # but not the signs of a comment
_HIDES = ("\\", "..", "%")  # what may make another path of it
_HEAVY = re.compile(
    r"sequence|repeat|range|space|[lr]pad|recursive|stack|format|printf|like|split|regexp|cross|round|natural|window"
    r"|tablesample|union all|join|explode|,\s*trips",
    re.I,
)
_LOADS = re.compile(r"\badd\b", re.I)  # a jar that cannot be fetched breaks every job after it


@dataclass(frozen=True, kw_only=True)
class Told:
    """How a statement ended, and the canaries that it touched."""

    ended: str
    touched: tuple[str, ...] = ()
    text: str = ""


class Sandbox:
    """The process, started when first asked and whenever it was killed; ``is_open``: without Spark's own settings."""

    def __init__(self, canaries: Canaries, *, is_open: bool = False) -> None:
        self.canaries = canaries
        self.is_open = is_open
        self.child: subprocess.Popen[bytes] | None = None
        self.restarts = 0

    def run(self, sql: str, seconds: float, *, fresh: bool = False) -> Told:
        """What became of the statement within ``seconds``; ``fresh``: what it changed must not meet the next."""
        child = self._started()
        calls = self.canaries.calls
        told = self._ask(child, {"sql": self.canaries.aimed(sql)}, seconds)
        if told is None:
            self.close()
            return Told(ended="took too long", touched=self.canaries.touched({"text": "", "ended": ""}, calls))
        touched = self.canaries.touched(told, calls)
        if _LOADS.search(sql) and "port" in touched:
            self.close()
        elif touched or (fresh and told["ended"] == "gave rows"):
            self._renew(child, touched)
        return Told(ended=told["ended"], touched=touched, text=told["text"])

    def may_run(self, sql: str) -> bool:
        """Whether a statement that the guard refused writes nowhere but into the scratch folder, and ends."""
        if _HEAVY.search(sql) or "\0" in sql:
            return False
        if not _WRITES.search(sql):
            return True
        paths = _PATHS.findall(self.canaries.aimed(sql))
        return not any(sign in sql for sign in _HIDES) and all(map(self._is_ours, paths))

    def _is_ours(self, path: str) -> bool:
        return path.startswith(f"{self.canaries.scratch}/")

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
            assert ready is not None, f"Spark did not start; see {self._errors}"
            self.canaries.renew()
        return self.child

    def _renew(self, child: subprocess.Popen[bytes], touched: Collection[str]) -> None:
        if (
            self._ask(child, {"renew": "catalog" if {"catalog", "table"} & {*touched} else "session"}, START_SECONDS)
            is None
        ):
            self.close()
        else:
            self.canaries.renew()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.guard_child", *self._arguments()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors.open("ab"),
            cwd=self.canaries.home,
            env=self._environment(),
            start_new_session=True,
        )

    @property
    def _errors(self) -> Path:
        return self.canaries.scratch / "errors.txt"

    def _arguments(self) -> tuple[str, ...]:
        return (str(self.canaries.scratch), str(self.canaries.port), "open" if self.is_open else "hardened")

    def _environment(self) -> dict[str, str]:
        tokens = self.canaries.tokens
        kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME", "LANG") if name in os.environ}
        return kept | {
            "PYTHONPATH": os.pathsep.join((str(ROOT / "platform"), str(ROOT))),
            "HOME": str(self.canaries.home),
            "DB_PASSWORD": tokens["environment"],
            "HADOOP_USER_NAME": tokens["user"],
            "CANARY_TABLE": tokens["table"],
        }

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
