"""All processes of the service at once, by the commands of compose.yaml, with the means to break them one by one."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from .process import STOP_LIMIT, Process, Supervisor, alone, end_left, wait_until
from .programs import DEPLOY, finish, free_port
from .servers import Broker, Database

FOREIGN = ("ASSAY_DATABASE_URL", "ASSAY_BROKER_URL", "ASSAY_SECRET_KEY", "ASSAY_STATE_KEY")  # ours are files


@dataclass(frozen=True, kw_only=True)
class FleetSize:
    """How many processes there are; ``app`` is the Celery application that the workers run."""

    workers: int = 1  # of the stages
    concurrency: int = 2  # processes of each
    datacenters: Sequence[str] = ("sea",)
    scanners: int = 1  # workers of each datacenter
    threads: int = 2  # of each
    sweep_every: float = 1.0  # seconds
    app: str = "assay.celery"


def commands(size: FleetSize, web_port: int) -> Iterator[tuple[str, list[str]]]:
    """Every process by name: ``web``, ``scheduler``, ``worker``, ``worker-2`` …, ``worker-sea``, ``worker-sea-2`` …"""
    yield "web", web(web_port)
    yield "scheduler", [assay(), "sweep", "--every", str(size.sweep_every)]
    how = ["--concurrency", str(size.concurrency), "--max-tasks-per-child", "200"]
    yield from _workers(size.app, "worker", size.workers, "assay", how)
    for datacenter in size.datacenters:
        yield from workers_of(datacenter, size)


def workers_of(datacenter: str, size: FleetSize) -> Iterator[tuple[str, list[str]]]:
    """The workers beside the data of one datacenter, by name."""
    how = ["--pool", "threads", "--concurrency", str(size.threads)]
    yield from _workers(size.app, f"worker-{datacenter}", size.scanners, f"assay.{datacenter}", how)


def _workers(app: str, name: str, count: int, queue: str, how: list[str]) -> Iterator[tuple[str, list[str]]]:
    for worker in (name if number == 1 else f"{name}-{number}" for number in range(1, count + 1)):
        celery = [sys.executable, "-m", "celery", "-A", app, "worker", "--hostname", f"{worker}@assay", "-Q", queue]
        yield worker, [*celery, *how, "--without-gossip", "--without-mingle", "--loglevel", "INFO"]


def web(port: int) -> list[str]:
    """The API and the dashboard."""
    gunicorn = [sys.executable, "-m", "gunicorn", "web.wsgi:application", f"--bind=127.0.0.1:{port}"]
    shared = ["--worker-tmp-dir=/dev/shm"] if Path("/dev/shm").is_dir() else []
    return [*gunicorn, "--workers=3", "--threads=4", *shared, "--no-control-socket", "--graceful-timeout=25"]


def assay() -> str:
    """The path of the command that users call."""
    return str(Path(sys.executable).with_name("assay"))


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The service in one folder; the names of its processes are those of compose.yaml."""

    home: Path
    size: FleetSize
    web_port: int
    database: Database
    broker: Broker
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
        return self.secret("assay_database_url")

    @property
    def owner_url(self) -> str:
        """The database as migrations see it: they may change tables."""
        return self.secret("assay_owner_database_url")

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

    def secret(self, name: str) -> str:
        """What a file of the folder of secrets holds."""
        return (self.secrets / name).read_text().strip()

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
        files = {"owner_password": "database_owner_password", "service_password": "database_password"}
        self.database.create({account: self.secret(file) for account, file in files.items()})
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
        checks = {"database": self.database.is_ready, "redis": self.broker.is_ready, "web": self.web_answers}
        if name in checks:
            wait_until(checks[name], process)

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

    def _start(
        self, name: str, command: list[str], *, is_ready: Callable[[], bool] | None = None, is_server: bool = False
    ) -> None:
        self.say(f"starting {name}")
        log = self.logs / f"{name}.log"
        process = Process(name=name, command=command, environment=self.environment, log=log, is_server=is_server)
        self.supervisor.start(process, is_ready)


@contextmanager
def fleet(
    *,
    home: Path,
    size: FleetSize | None = None,
    environment: Mapping[str, str] | None = None,
    web_port: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Fleet]:
    """The service, ready, until the context ends; raises UnableToStart. ``web_port`` 0 is any free one."""
    with prepared(home=home, size=size, environment=environment, web_port=web_port, say=say) as service:
        service.start()
        yield service


@contextmanager
def prepared(
    *,
    home: Path,
    size: FleetSize | None = None,
    environment: Mapping[str, str] | None = None,
    web_port: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Fleet]:
    """A fleet of which nothing is started yet; what is, has ended when the context does."""
    home = home.resolve()
    folder = home / "service"
    secrets = folder / "secrets"
    with alone(folder):
        end_left(folder)
        finish([str(DEPLOY / "secrets.sh"), str(secrets)])  # makes what is missing
        port = web_port or free_port()
        # the settings of this shell, but for where the servers are and who the service is
        shell = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        ours = {"ASSAY_HOME": str(home), "ASSAY_SECRETS_DIR": str(secrets), **(environment or {})}
        links = {"ASSAY_PUBLIC_URL": f"http://127.0.0.1:{port}"}
        service = Fleet(
            home=home,
            size=size or FleetSize(),
            web_port=port,
            database=Database(folder=folder / "database", port=free_port(), settings=DEPLOY / "mariadb" / "assay.cnf"),
            broker=Broker(folder=folder / "redis", port=free_port(), secrets=secrets),
            environment={**links, **shell, "DJANGO_SETTINGS_MODULE": "assay.settings", **ours},
            supervisor=Supervisor(folder),
            say=say,
        )
        secret = service.secret
        place = f"127.0.0.1:{service.database.port}/{service.database.name}"
        for name, text in {
            "assay_database_url": f"mysql://assay:{secret('database_password')}@{place}",
            "assay_owner_database_url": f"mysql://assay_owner:{secret('database_owner_password')}@{place}",
            "assay_broker_url": service.broker_url,
            "assay_state_store": str(home / "states"),  # shared by all workers here, and by commands in other shells
        }.items():
            (secrets / name).write_text(f"{text}\n")
        try:
            yield service
        finally:
            service.supervisor.end()
