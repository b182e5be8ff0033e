"""Redis in a folder of its own."""

from dataclasses import dataclass
from pathlib import Path

import redis

from .programs import DEPLOY, program

SERVICE_SETTINGS = DEPLOY / "redis" / "redis.conf"


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
            text = SERVICE_SETTINGS.read_text().replace("/run/secrets", str(self.secrets))
            self._settings.write_text(text.replace("dir /data", f"dir {self.folder}"))

    def command(self) -> list[str]:
        """What runs the server."""
        server, where = program("redis-server", "redis-server"), ["--port", str(self.port), "--bind", "127.0.0.1"]
        if self.secrets:
            return [server, str(self._settings), *where]
        return [server, *where, "--dir", str(self.folder), "--save", ""]

    def is_ready(self) -> bool:
        """Whether it answers."""
        client = redis.Redis.from_url(self.url, socket_timeout=1, socket_connect_timeout=1)
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False
        finally:
            client.close()

    @property
    def _settings(self) -> Path:
        return self.folder / "redis.conf"
