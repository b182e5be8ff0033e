"""MariaDB and Redis, each in a folder of its own, from Debian's packages."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from tempfile import gettempdir

import redis

from .programs import DEPLOY, finish, program, succeeds


@dataclass(frozen=True, kw_only=True)
class Database:
    """Where a MariaDB keeps its files and listens; ``settings`` is a file of options, as that of the service.

    Its administrator is the user who starts it, by the socket alone; with ``root_by_password`` it is root, by TCP too
    and with an empty password, as tests want it.
    """

    folder: Path
    port: int
    settings: Path | None = None
    options: tuple[str, ...] = ()
    root_by_password: bool = False
    name: str = "assay"

    @property
    def socket(self) -> Path:
        """Not in the folder: the path of a socket must be short."""
        return Path(gettempdir()) / f"assay-mariadb-{self.port}.sock"

    @property
    def root_url(self) -> str:
        """The URL of root by TCP, where it has an empty password."""
        return f"mysql://root@127.0.0.1:{self.port}/{self.name}"

    def install(self) -> None:
        """Make the files of an empty server, unless they are there."""
        for name in ("empty", "temporary"):  # a server that starts clears its temporary one, whoever else uses that
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        if (self.folder / "data").exists():
            return
        method = "normal" if self.root_by_password else "socket"
        options = [f"--auth-root-authentication-method={method}", f"--auth-root-socket-user={getuser()}"]
        command = [program("mariadb-install-db", "mariadb-server-core"), "--no-defaults", *self._user()]
        command += [f"--datadir={self.folder / 'data'}", *options, "--skip-test-db"]
        finish(command, environment={**os.environ, "TMPDIR": str(self.folder / "temporary")})

    def command(self) -> list[str]:
        """What runs the server."""
        folder = self.folder
        settings = f"--defaults-file={self.settings}" if self.settings else "--no-defaults"
        places = [f"--datadir={folder / 'data'}", f"--socket={self.socket}", f"--pid-file={folder}/pid"]
        places += [f"--tmpdir={folder / 'temporary'}", f"--secure-file-priv={folder / 'empty'}"]
        network = [f"--port={self.port}", "--bind-address=127.0.0.1", "--skip-log-bin"]
        server = program("mariadbd", "mariadb-server-core")
        return [server, settings, *self._user(), *places, *network, *self.options]

    def is_ready(self) -> bool:
        """Whether it answers."""
        return succeeds([*self.client(), "--execute=select 1"])

    def client(self, tool: str = "mariadb", package: str = "mariadb-client-core") -> list[str]:
        """A client's command, as the administrator."""
        user = "root" if self.root_by_password else getuser()
        return [program(tool, package), "--no-defaults", f"--socket={self.socket}", f"--user={user}"]

    def execute(self, sql: str) -> str:
        """What statements print, one row a line; raises UnableToStart where one fails."""
        return finish([*self.client(), "--batch", "--skip-column-names"], stdin=sql)

    def create(self, passwords: Mapping[str, str] | None = None) -> None:
        """Create the empty database, and the two accounts of the service where their ``passwords`` are given."""
        self.execute(f"create database if not exists {self.name} character set utf8mb4")
        if passwords and "assay_owner" not in self.execute("select user from mysql.global_priv"):
            variables = ", ".join(f"@{name} = '{password}'" for name, password in passwords.items())
            self.execute(f"SET {variables};\n{(DEPLOY / 'mariadb' / 'accounts.sql').read_text()}")

    def _user(self) -> list[str]:
        """MariaDB refuses root unless told; any other user it may only be itself."""
        return ["--user=root"] if os.geteuid() == 0 else []


@dataclass(frozen=True, kw_only=True)
class Broker:
    """Where a Redis keeps its files and listens.

    With ``secrets``, the folder that holds redis_auth.conf, it has the settings of the service; else it keeps nothing.
    """

    folder: Path
    port: int
    secrets: Path | None = None

    @property
    def url(self) -> str:
        """The URL that the services read."""
        password = (self.secrets / "redis_password").read_text().strip() if self.secrets else ""
        return f"redis://{f':{password}@' if password else ''}127.0.0.1:{self.port}/0"

    def install(self) -> None:
        """Make its folder, and the service's settings with the places of this machine."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.secrets:
            text = (DEPLOY / "redis" / "redis.conf").read_text().replace("/run/secrets", str(self.secrets))
            (self.folder / "redis.conf").write_text(text.replace("dir /data", f"dir {self.folder}"))

    def command(self) -> list[str]:
        """What runs the server."""
        server, where = program("redis-server", "redis-server"), ["--port", str(self.port), "--bind", "127.0.0.1"]
        if self.secrets:
            return [server, str(self.folder / "redis.conf"), *where]
        return [server, *where, "--dir", str(self.folder), "--save", ""]

    def is_ready(self) -> bool:
        """Whether it answers."""
        with redis.Redis.from_url(self.url, socket_timeout=1, socket_connect_timeout=1) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False
