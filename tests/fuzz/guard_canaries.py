"""What no statement may show, open, change or call, and what tells that one did."""

import re
import secrets
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.guard_watch import Watch
from tests.integration.engines import guarded

SHOWN = ("file", "table", "environment", "user", "path")  # each has a token, which no answer may hold
KINDS = (*SHOWN, "folder", "port", "setting", "catalog")
REAL_FILE = "root:x:0:0:"  # how /etc/passwd starts, for an attack that hides its name from ``aimed``


@dataclass(kw_only=True)
class Canaries:
    """A file, a table, variables, a user, a path, a folder and a port; the child looks after settings and catalog."""

    scratch: Path
    tokens: dict[str, str] = field(
        default_factory=lambda: {name: f"canary{name}{secrets.token_hex(6)}" for name in SHOWN}
    )
    port: int = 0
    calls: int = 0

    def __post_init__(self) -> None:
        self.file = self.scratch / "private" / "secret.txt"  # in the place of /etc/passwd
        self.table = self.scratch / "catalog" / "secret"  # of a table that no user was given
        self.forbidden = self.scratch / "forbidden"  # must stay empty
        self.home = self.scratch / f"home-{self.tokens['environment']}"  # attacks ask for HOME and user.dir
        self.java_home = self.scratch / "java"
        self.watch = Watch(files=self._files)

    def set_out(self) -> None:
        """Makes the folders and the data."""
        data = self.scratch / f"data-{self.tokens['path']}"
        for folder in (self.file.parent, self.table, self.forbidden, self.home, self.java_home, data):
            folder.mkdir(parents=True)
        guarded.write(data)

    def renew(self) -> None:
        """Puts all back as it was before a statement touched it, and watches from now on."""
        self.file.write_text(f"{self.tokens['file']}\n")
        for path in sorted(self.forbidden.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        self.watch.start()

    def aimed(self, sql: str) -> str:
        """The statement with the canaries in place of the real things that the attacks are after, in any case."""
        for old, new in self._aims().items():
            sql = re.sub(old, new.replace("\\", r"\\"), sql, flags=re.IGNORECASE)
        return sql

    def _aims(self) -> Mapping[str, str]:
        return {
            "/etc/passwd": str(self.file),
            "/etc(?=[`'\"])": str(self.file.parent),
            "/tmp/assay-was-here": str(self.forbidden / "was-here"),
            "/tmp/x": str(self.forbidden / "x"),
            r"127\.0\.0\.1:9\b": f"127.0.0.1:{self.port}",
            "using 'id'": "using 'printenv DB_PASSWORD'",
            "'home'": "'HOME'",  # these are known to Java by one spelling alone
            "env:home": "env:HOME",
            "env:db_password": "env:DB_PASSWORD",
            "java.lang.system": "java.lang.System",
        }

    def touched(self, told: Mapping[str, Any], calls: int) -> tuple[str, ...]:
        """The canaries that a statement touched; ``calls``: of the port before it."""
        files = self.watch.touched()
        reached = {
            "file": self.file in files or (told["ended"] == "gave rows" and REAL_FILE in told["text"]),
            "table": bool(files - {self.file}),
            "folder": any(self.forbidden.iterdir()),
            "port": self.calls > calls,
            "setting": told.get("setting", False),
            "catalog": told.get("catalog", False),
        }
        shown = {name for name, token in self.tokens.items() if token in told["text"] and _counts(name, told)}
        return tuple(kind for kind in KINDS if kind in shown or reached.get(kind))

    def _files(self) -> tuple[Path, ...]:
        return tuple(path for path in (self.file, *self.table.rglob("*")) if path.is_file())

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


def _counts(name: str, told: Mapping[str, Any]) -> bool:
    """Spark's errors tell where data lies, and our service keeps them from users; rows must not."""
    return name != "path" or told["ended"] == "gave rows"
