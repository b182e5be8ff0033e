"""MariaDB in a folder of its own."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from tempfile import gettempdir

from .programs import DEPLOY, finish, program, succeeds

SERVICE_SETTINGS = DEPLOY / "mariadb" / "assay.cnf"
ACCOUNTS = DEPLOY / "mariadb" / "accounts.sql"


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
        if self._data.exists():
            return
        method = "normal" if self.root_by_password else "socket"
        options = [f"--auth-root-authentication-method={method}", f"--auth-root-socket-user={getuser()}"]
        install = program("mariadb-install-db", "mariadb-server-core")
        command = [install, "--no-defaults", *_user(), f"--datadir={self._data}", *options, "--skip-test-db"]
        finish(command, environment={**os.environ, "TMPDIR": str(self._made("temporary"))})

    def command(self) -> list[str]:
        """What runs the server."""
        empty, temporary = self._made("empty"), self._made("temporary")
        settings = f"--defaults-file={self.settings}" if self.settings else "--no-defaults"
        places = [f"--datadir={self._data}", f"--socket={self.socket}", f"--pid-file={self.folder}/pid"]
        places.append(f"--tmpdir={temporary}")
        bounds = [f"--port={self.port}", "--bind-address=127.0.0.1", f"--secure-file-priv={empty}", "--skip-log-bin"]
        return [program("mariadbd", "mariadb-server-core"), settings, *_user(), *places, *bounds, *self.options]

    def is_ready(self) -> bool:
        """Whether it answers."""
        return succeeds([*self.client(), "--execute=select 1"])

    def client(self, tool: str = "mariadb", package: str = "mariadb-client-core") -> list[str]:
        """A client's command, as the administrator."""
        user = "root" if self.root_by_password else getuser()
        return [program(tool, package), "--no-defaults", f"--socket={self.socket}", f"--user={user}"]

    def execute(self, sql: str) -> str:
        """What statements print, one row a line; raises UnableToStart where one fails."""
        return finish([*self.client(), "--batch", "--skip-column-names"], sent=sql)

    def create(self, passwords: Mapping[str, str] | None = None) -> None:
        """Create the empty database, and the two accounts of the service where their ``passwords`` are given."""
        self.execute(f"create database if not exists {self.name} character set utf8mb4")
        if passwords and "assay_owner" not in self.execute("select user from mysql.global_priv"):
            told = ", ".join(f"@{name} = '{password}'" for name, password in passwords.items())
            self.execute(f"SET {told};\n{ACCOUNTS.read_text()}")

    def _made(self, name: str) -> Path:
        """A folder of its own: a server that starts clears its temporary one, whoever else uses that."""
        place = self.folder / name
        place.mkdir(parents=True, exist_ok=True)
        return place

    @property
    def _data(self) -> Path:
        return self.folder / "data"


def _user() -> list[str]:
    """MariaDB refuses root unless told; any other user it may only be itself."""
    return ["--user=root"] if os.geteuid() == 0 else []
