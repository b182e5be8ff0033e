"""All processes of the service at once, with the means to break them one by one."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.request import urlopen

from . import broker as redis
from . import database as mariadb
from .left import end_left, note
from .lock import alone
from .parts import Size, assay, commands, workers_of
from .process import Process
from .programs import finish, free_port
from .secrets import make_secrets, passwords, url_of, write_state_store, write_urls
from .supervisor import STOP_LIMIT, Supervisor, wait_until

FOREIGN = ("ASSAY_DATABASE_URL", "ASSAY_BROKER_URL", "ASSAY_SECRET_KEY", "ASSAY_STATE_KEY")  # ours are files


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The service in one folder; the names of its processes are those of compose.yaml."""

    home: Path
    size: Size
    web_port: int
    database: mariadb.Database
    broker: redis.Broker
    environment: dict[str, str]  # of every process; for commands of the operator too
    supervisor: Supervisor
    say: Callable[[str], None]  # what is started now

    @property
    def processes(self) -> Mapping[str, Process]:
        """Every process by its name: ``database``, ``redis``, ``web``, ``scheduler``, ``worker``, ``worker-sea`` …"""
        return self.supervisor.processes

    @property
    def web_url(self) -> str:
        """Where API and dashboard are."""
        return f"http://127.0.0.1:{self.web_port}"

    @property
    def database_url(self) -> str:
        """The database as the service sees it: it may read and write rows."""
        return url_of(self.secrets, "assay_database_url")

    @property
    def owner_url(self) -> str:
        """The database as migrations see it: they may change tables."""
        return url_of(self.secrets, "assay_owner_database_url")

    @property
    def broker_url(self) -> str:
        """Redis as the service sees it."""
        return self.broker.url

    @property
    def secrets(self) -> Path:
        """The folder of secrets."""
        return self.home / "service" / "secrets"

    @property
    def logs(self) -> Path:
        """The folder of logs, one for each process."""
        return self.home / "service" / "logs"

    def start(self) -> None:
        """Start everything, each once what it needs is ready; raises UnableToStart."""
        self.start_servers()
        self.say("making the tables, which takes a minute the first time")
        self.assay("migrate", ASSAY_DATABASE_URL=self.owner_url)
        self.start_processes()

    def start_servers(self) -> None:
        """Start database and Redis, with the accounts of the service."""
        self.logs.mkdir(parents=True, exist_ok=True)
        self.database.install()
        self._start("database", self.database.command(), is_ready=self.database.is_ready, is_server=True)
        self.database.create(passwords(self.secrets))
        self.broker.install()
        self._start("redis", self.broker.command(), is_ready=self.broker.is_ready, is_server=True)

    def start_processes(self) -> None:
        """Start all that works on a database whose tables are there; return once the web answers."""
        for name, command in commands(self.size, self.web_port):
            self._start(name, command)
        self.say("waiting until the web answers")
        wait_until(self.web_answers, self.processes["web"])

    def serve_catalog(self) -> tuple[str, ...]:
        """Start workers beside the data of each datacenter of the catalog that has none yet, and name these."""
        rows = self.database.execute(f"select distinct datacenter from {self.database.name}.assay_replica order by 1")
        new = tuple(place for place in rows.split() if f"worker-{place}" not in self.processes)
        for place in new:
            for name, command in workers_of(place, self.size):
                self._start(name, command)
        return new

    def end(self) -> None:
        """End everything, the servers last."""
        self.supervisor.end()
        note(self.home / "service", ())

    def kill(self, name: str) -> None:
        """SIGKILL a process and all that it started; it is started again at once."""
        self.processes[name].signal(signal.SIGKILL)

    def stop(self, name: str) -> None:
        """SIGSTOP: it is there, and does nothing, until ``resume``."""
        self.processes[name].signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """SIGCONT."""
        self.processes[name].signal(signal.SIGCONT)

    def take_down(self, name: str, *, within: float = STOP_LIMIT) -> None:
        """End a process, by force after ``within`` seconds (0: at once), and leave it down until ``restart``."""
        self.processes[name].end(within)

    def restart(self, name: str) -> None:
        """End a process if it is there, and start it; return once it is ready, where that can be told."""
        process = self.processes[name]
        process.end(STOP_LIMIT)
        process.start()
        if is_ready := self._readiness().get(name):
            wait_until(is_ready, process)

    def assay(self, *arguments: str, **variables: str) -> str:
        """What a command of ours prints; raises UnableToStart where it fails."""
        return finish([assay(), *arguments], environment={**self.environment, **variables})

    def web_answers(self) -> bool:
        """Whether the web is there."""
        try:
            with urlopen(f"{self.web_url}/healthz", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _readiness(self) -> dict[str, Callable[[], bool]]:
        return {"database": self.database.is_ready, "redis": self.broker.is_ready, "web": self.web_answers}

    def _start(
        self, name: str, command: list[str], *, is_ready: Callable[[], bool] | None = None, is_server: bool = False
    ) -> None:
        log = self.logs / f"{name}.log"
        self.say(f"starting {name}")
        process = Process(name=name, command=command, environment=self.environment, log=log, is_server=is_server)
        self.supervisor.start(process, is_ready)


@contextmanager
def fleet(
    *,
    home: Path,
    size: Size | None = None,
    environment: Mapping[str, str] | None = None,
    web_port: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Fleet]:
    """The service, ready, until the context ends; raises UnableToStart. ``web_port`` 0 is any free one."""
    with prepared(home=home, size=size, environment=environment, web_port=web_port, say=say) as made:
        made.start()
        yield made


@contextmanager
def prepared(
    *,
    home: Path,
    size: Size | None = None,
    environment: Mapping[str, str] | None = None,
    web_port: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Fleet]:
    """A fleet of which nothing is started yet; what is, has ended when the context does."""
    service = home.resolve() / "service"
    with ExitStack() as stack:
        stack.enter_context(alone(service))
        end_left(service)
        make_secrets(service / "secrets")
        settings = mariadb.SERVICE_SETTINGS
        database = mariadb.Database(folder=service / "database", port=free_port(), settings=settings)
        broker = redis.Broker(folder=service / "redis", port=free_port(), secrets=service / "secrets")
        write_urls(service / "secrets", database, broker)
        write_state_store(service / "secrets", home.resolve() / "states")
        port = web_port or free_port()
        made = Fleet(
            home=home.resolve(),
            size=size or Size(),
            web_port=port,
            database=database,
            broker=broker,
            environment=_environment(home.resolve(), port, environment or {}),
            supervisor=Supervisor(partial(note, service)),
            say=say,
        )
        stack.callback(partial(Fleet.end, made))
        yield made


def _environment(home: Path, web_port: int, given: Mapping[str, str]) -> dict[str, str]:
    """The settings of the service: those of this shell, but for where its servers are and who it is."""
    shell = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    ours = {"ASSAY_HOME": str(home), "ASSAY_SECRETS_DIR": str(home / "service" / "secrets")}
    links = {"ASSAY_PUBLIC_URL": f"http://127.0.0.1:{web_port}"}
    return {**links, **shell, "DJANGO_SETTINGS_MODULE": "assay.settings", **ours, **given}
