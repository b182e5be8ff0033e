"""Real servers for the tests: private, on free ports, in temporary folders, gone when the context ends.

``python tests/servers.py COMMAND…`` runs a command with a MariaDB behind ASSAY_DATABASE_URL.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from deploy.local.process import Process, Supervisor
from deploy.local.programs import SEARCH_PATH, finish, free_port, program
from deploy.local.servers import Broker, Database

CHROMIUM_ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking")


@dataclass(frozen=True, kw_only=True)
class MariaDB:
    """A running MariaDB: a URL for Django and SQLAlchemy's ``mysql`` dialect, and its parts."""

    url: str
    host: str
    port: int
    socket: Path
    database: str


@dataclass(frozen=True, kw_only=True)
class PostgreSQL:
    """A running PostgreSQL: a URL for SQLAlchemy's ``postgresql+psycopg`` dialect, and its port."""

    url: str
    port: int


@dataclass(frozen=True, kw_only=True)
class Redis:
    """A running Redis."""

    url: str
    port: int


@contextmanager
def mariadb(*more: str) -> Iterator[MariaDB]:
    """A fresh MariaDB with an empty database ``assay`` and a root user without a password; ``more`` are its options."""
    options = ("--character-set-server=utf8mb4", "--innodb-flush-log-at-trx-commit=0", *more)
    with tempfile.TemporaryDirectory(prefix="mariadb-") as place:
        server = Database(folder=Path(place), port=free_port(), options=options, root_by_password=True)
        server.install()
        with running(server.command(), ready=server.is_ready):
            server.create()
            yield MariaDB(
                url=server.root_url, host="127.0.0.1", port=server.port, socket=server.socket, database=server.name
            )


@contextmanager
def postgresql() -> Iterator[PostgreSQL]:
    """A fresh PostgreSQL with an empty database ``lake`` and an administrator ``assay`` without a password."""
    with tempfile.TemporaryDirectory(prefix="postgresql-") as place:
        data, port = f"{place}/data", free_port()
        is_root = os.geteuid() == 0  # whom PostgreSQL refuses
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if is_root else []
        if is_root:
            shutil.chown(place, "nobody", "nogroup")
        initdb, server = ([*user, program(name, "postgresql"), f"--pgdata={data}"] for name in ("initdb", "pg_ctl"))
        finish([*initdb, "--username=assay", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"])
        options = f"-p {port} -k {place} -c listen_addresses=127.0.0.1 -c fsync=off"
        finish([*server, f"--log={place}/log", f"--options={options}", "--wait", "start"])
        try:
            client = [program("psql", "postgresql-client"), f"--host={place}", f"--port={port}", "--username=assay"]
            finish([*client, "--dbname=postgres", "--command=create database lake"])
            yield PostgreSQL(url=f"postgresql+psycopg://assay@127.0.0.1:{port}/lake", port=port)
        finally:
            finish([*server, "--mode=immediate", "stop"])


@contextmanager
def redis() -> Iterator[Redis]:
    """A fresh, empty Redis that keeps nothing on disk."""
    with tempfile.TemporaryDirectory(prefix="redis-") as place:
        server = Broker(folder=Path(place), port=free_port())
        with running(server.command(), ready=server.is_ready):
            yield Redis(url=server.url, port=server.port)


@contextmanager
def s3() -> Iterator[str]:
    """A fresh, empty store that speaks S3, without keys of its own; its endpoint, http://…."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with running(command, ready=lambda: listens(port)):
        yield f"http://127.0.0.1:{port}"


def listens(port: int) -> bool:
    """Whether somebody takes connections at a port of this machine."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def chromium() -> str:
    """The path of a Chromium for playwright's ``executable_path``."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name, path=SEARCH_PATH):
            return found
    return program("chromium", "chromium")


@contextmanager
def running(command: list[str], *, ready: Callable[[], bool]) -> Iterator[None]:
    """Runs a server from the moment it answers until the context ends."""
    with tempfile.TemporaryDirectory(prefix="server-") as place:
        supervisor = Supervisor()
        name = Path(command[0]).name
        server = Process(name=name, command=command, environment=os.environ, log=Path(place) / "log")
        try:
            supervisor.start(server, ready)
            yield
        finally:
            supervisor.end()


def main(command: list[str]) -> int:
    """The exit code of a command that was run with a private MariaDB as Assay's database."""
    with mariadb() as server:
        return subprocess.run(command, env={**os.environ, "ASSAY_DATABASE_URL": server.url}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
