"""A service of real processes with a small company, whose time the experiment sets, and a receiver outside of it."""

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from django.db import Error, connection

from assay import clock
from assay.queue.drain import stages_with_work
from deploy.local.fleet import Fleet, FleetSize, prepared
from deploy.local.process import Process, ProcessState
from test_generator.services import sync
from tests.e2e.set_ups import default_database
from tests.faults import history
from tests.faults.company import DATACENTER, DUE_AFTER, company, table_name
from tests.faults.facts import Facts
from tests.faults.ledger import Receiver, receiver
from tests.faults.rows import facts

FIRST = datetime(2026, 3, 10, tzinfo=UTC)  # a Tuesday: tests of whole tables are due on Mondays
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
TOLD_AFTER, CHECKED_AFTER = 7 * MINUTE, 11 * MINUTE  # of the hour: once the grace is over, after the first check
LEASE = 5.0  # seconds
LIMIT = 300.0  # seconds until nothing is pending; longer, and the experiment is given up
PATIENCE_QUICK = 120.0  # of the short subset
LOOK_EVERY = 0.1
WORKERS = ("worker", f"worker-{DATACENTER}")

T = TypeVar("T")


class UnableToSettle(Exception):
    """Something stays pending, or a process does not come up."""


class Overdue(UnableToSettle):
    """Something stays pending although no fault is staged any more."""


@dataclass(kw_only=True)
class Scene:
    """The service, and what has happened to it so far."""

    fleet: Fleet
    receiver: Receiver
    home: Path
    tables: int
    tests: int  # of each table, with its freshness
    seed: int
    patience: float = LIMIT  # seconds until nothing is pending
    hours: int = 0  # lived through
    kills: int = 0  # after which a message may have come again
    recoveries: list[float] = field(default_factory=list)  # seconds from the end of a fault until nothing was pending
    chance: random.Random = field(default_factory=random.Random)

    def hour(self, spoilt: int = 1, meanwhile: Callable[[], object] | None = None) -> None:
        """One hour of the company: so many tables are spoilt when they are due, told of, and mended at the first check.

        ``meanwhile`` is called once everything is due.
        """
        begins = self.ends()
        self.spoil(spoilt)
        self.go(begins + DUE_AFTER, meanwhile)
        self.go(begins + TOLD_AFTER)
        self.spoil(0)
        self.go(begins + CHECKED_AFTER)
        self.hours += 1

    def ends(self) -> datetime:
        """The end of the window that is due next."""
        return FIRST + (self.hours + 1) * HOUR

    def spoil(self, tables: int) -> None:
        """From now on just so many tables are spoilt, others every hour."""
        place = self.home / "spoilt"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for number in range(tables):
            (place / table_name((self.hours * tables + number) % self.tables)).touch()

    def go(self, instant: datetime, meanwhile: Callable[[], object] | None = None) -> float:
        """Set the company's time, and return once nothing is pending; the seconds that took, without ``meanwhile``.

        Raises Overdue.
        """
        patiently(lambda: clock.simulate(instant))
        if meanwhile:
            meanwhile()
        begun = time.monotonic()
        settle(self.patience)
        if meanwhile:
            self.recoveries.append(time.monotonic() - begun)
        return time.monotonic() - begun

    def is_ready(self, worker: str) -> bool:
        """Whether a worker takes work."""
        path, process = self.home / "ready" / worker, self.fleet.processes[worker]
        try:
            return path.read_text() == str(process.pid) and process.state is ProcessState.RUNS
        except FileNotFoundError:
            return False

    def until_ready(self, *workers: str) -> None:
        """Return once the workers take work, all of them where none is named."""
        wait_until(lambda: all(map(self.is_ready, workers or WORKERS)), "the workers are not ready")

    def kill(self, worker: str) -> None:
        """SIGKILL a worker and all its processes, and start it at once."""
        self.kills += 1
        self.fleet.kill(worker)
        start_at_once(self.fleet, worker)

    @contextmanager
    def spare(self, worker: str) -> Iterator[None]:
        """Another worker of the same kind meanwhile, which takes work when this returns and has ended after."""
        name, twin = f"{worker}-spare", self.fleet.processes[worker]
        command = [part.replace(f"{worker}@", f"{name}@") for part in twin.command]
        spare = Process(name=name, command=command, environment=twin.environment, log=self.fleet.logs / f"{name}.log")
        self.fleet.supervisor.start(spare)
        try:
            self.until_ready(name)
            yield
        finally:
            spare.end(10.0)
            del self.fleet.supervisor.processes[name]

    def facts(self) -> Facts:
        """What is known by now."""
        windows = [FIRST + number * HOUR for number in range(self.hours)]
        return facts(windows=windows, requests=self.receiver.requests(), reads=self.home / "reads")


def start_at_once(fleet: Fleet, name: str) -> None:
    """Start a process that was killed, without the supervisor's growing delay."""
    process = fleet.processes[name]
    process.end(5.0)
    process.start()


def settle(limit: float = LIMIT) -> None:
    """Return once nothing is pending; raises Overdue."""
    until = time.monotonic() + limit
    while busy := patiently(lambda: stages_with_work(clock.now())):
        if time.monotonic() > until:
            raise Overdue(f"after {limit:.0f} s these still have work: {[stage.name for stage in busy]}")
        time.sleep(LOOK_EVERY)


def patiently(ask: Callable[[], T], limit: float = LIMIT) -> T:
    """What the database answers, however often it is away meanwhile."""
    until = time.monotonic() + limit
    while True:
        try:
            return ask()
        except Error as error:
            connection.close()
            if time.monotonic() > until:
                raise UnableToSettle(f"the database is away: {error}") from error
            time.sleep(LOOK_EVERY)


def wait_until(is_so: Callable[[], bool], otherwise: str, limit: float = LIMIT) -> float:
    """Return once it is so, with the seconds that took; raises UnableToSettle."""
    begun = time.monotonic()
    while not is_so():
        if time.monotonic() - begun > limit:
            raise UnableToSettle(f"after {limit:.0f} s {otherwise}")
        time.sleep(LOOK_EVERY)
    return time.monotonic() - begun


@contextmanager
def scene(
    home: Path,
    *,
    tables: int,
    seed: int,
    environment: Mapping[str, str] | None = None,
    pace: float = 0.0,
    tests: int = 3,
    patience: float = LIMIT,
) -> Iterator[Scene]:
    """A fresh service whose tests are written; Django here uses its database meanwhile."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    size = FleetSize(datacenters=(DATACENTER,), sweep_every=0.2, app="tests.faults.worker")
    with receiver(home / "ledger") as outside:
        given = {**_settings(home, outside.url, pace), **(environment or {})}
        with prepared(home=home, size=size, environment=given) as fleet:
            fleet.start_servers()
            fleet.assay("migrate", ASSAY_DATABASE_URL=fleet.owner_url)
            history.install(fleet.database)
            fleet.start_processes()
            with default_database(fleet.database_url):
                made = Scene(fleet=fleet, receiver=outside, home=home, tables=tables, tests=tests + 1, seed=seed)
                made.patience = patience
                made.chance.seed(seed)
                _found(made)
                yield made


def _found(scene: Scene) -> None:
    """The company begins."""
    scene.spoil(0)
    clock.simulate(FIRST)
    sync(company(scene.tables, tests=scene.tests - 1), source="faults", now=FIRST)
    settle()
    scene.until_ready()


def _settings(home: Path, url: str, pace: float) -> dict[str, str]:
    return {
        "ASSAY_LEASE_SECONDS": str(LEASE),
        "ASSAY_JITTER_SECONDS": "0",
        "ASSAY_LOG_LEVEL": "WARNING",
        "ASSAY_WEBHOOK_URL": url,
        "ASSAY_WEBHOOK_PRIVATE": "true",  # the receiver is on this machine
        "ASSAY_BROKER_VISIBILITY_TIMEOUT": "30",
        "FAULTS_HOME": str(home.resolve()),
        "FAULTS_SCAN_SECONDS": str(pace),
        "PYTHONPATH": os.pathsep.join(["platform", "."]),
    }
