"""Real servers for the tests: private, on free ports, in temporary folders, gone when the context ends.

``python tests/servers.py COMMAND…`` runs a command with a MariaDB behind ASSAY_DATABASE_URL.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SEARCH_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/local/sbin"
START_LIMIT = 60.0  # seconds
STOP_LIMIT = 10.0


class UnableToStartServer(Exception):
    """A server the tests need is missing or did not come up."""


@dataclass(frozen=True, kw_only=True)
class MariaDB:
    """A running MariaDB: a URL for Django and SQLAlchemy's ``mysql`` dialect, and its parts."""

    url: str
    host: str
    port: int
    socket: Path
    database: str


@dataclass(frozen=True, kw_only=True)
class Redis:
    """A running Redis."""

    url: str
    port: int


@contextmanager
def mariadb() -> Iterator[MariaDB]:
    """A fresh MariaDB with an empty database ``assay`` and a root user without a password."""
    install, server = program("mariadb-install-db", "mariadb-server-core"), program("mariadbd", "mariadb-server-core")
    with tempfile.TemporaryDirectory(prefix="mariadb-") as place:
        data, sock, port = Path(place) / "data", Path(place) / "my.sock", free_port()
        # MariaDB refuses root unless told; any other user it may only be itself
        user = ["--user=root"] if os.geteuid() == 0 else []
        common = ["--no-defaults", *user, f"--datadir={data}"]
        finish([install, *common, "--auth-root-authentication-method=normal", "--skip-test-db"])
        options = [f"--socket={sock}", f"--pid-file={place}/pid", f"--port={port}", "--bind-address=127.0.0.1"]
        options += ["--skip-log-bin", "--character-set-server=utf8mb4", "--innodb-flush-log-at-trx-commit=0"]
        client = [program("mariadb", "mariadb-client-core"), "--no-defaults", f"--socket={sock}", "--user=root"]
        with running([server, *common, *options], ready=lambda: succeeds([*client, "--execute=select 1"])):
            finish([*client, "--execute=create database assay character set utf8mb4"])
            yield MariaDB(
                url=f"mysql://root@127.0.0.1:{port}/assay", host="127.0.0.1", port=port, socket=sock, database="assay"
            )


@contextmanager
def redis() -> Iterator[Redis]:
    """A fresh, empty Redis that keeps nothing on disk."""
    server, port = program("redis-server", "redis-server"), free_port()
    with tempfile.TemporaryDirectory(prefix="redis-") as place:
        command = [server, "--port", str(port), "--bind", "127.0.0.1", "--dir", place, "--save", ""]
        with running(command, ready=lambda: answers_ping(port)):
            yield Redis(url=f"redis://127.0.0.1:{port}/0", port=port)


def chromium() -> str:
    """The path of a Chromium for playwright's ``executable_path``."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name, path=SEARCH_PATH):
            return found
    return program("chromium", "chromium")


def program(name: str, package: str) -> str:
    """The path of a program; raises UnableToStartServer naming the Debian package that holds it."""
    if found := shutil.which(name, path=SEARCH_PATH):
        return found
    raise UnableToStartServer(f"{name} is not on this machine; install it: apt-get install {package}")


def free_port() -> int:
    """A TCP port of the loopback interface that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: list[str], *, ready: Callable[[], bool]) -> Iterator[None]:
    """Runs a server from the moment it answers until the context ends."""
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + START_LIMIT
            while not ready():
                if server.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    raise UnableToStartServer(f"{command[0]} did not come up:\n{log.read()[-4000:]}")
                time.sleep(0.05)
            yield
        finally:
            stop(server)


def stop(server: subprocess.Popen[bytes]) -> None:
    """Asks a server to end, and ends it when it does not."""
    server.terminate()
    try:
        server.wait(STOP_LIMIT)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def finish(command: list[str]) -> None:
    """Runs a command to its end; raises UnableToStartServer with what it printed."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise UnableToStartServer(f"{command[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def succeeds(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True).returncode == 0


def answers_ping(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def main(command: list[str]) -> int:
    """The exit code of a command that was run with a private MariaDB as Assay's database."""
    with mariadb() as server:
        return subprocess.run(command, env={**os.environ, "ASSAY_DATABASE_URL": server.url}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
