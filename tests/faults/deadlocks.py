"""8: somebody locks the service's rows in another order, and holds them.

Staged: workers wait 1 s for a lock; a second client locks runs and scans from the newest to the oldest, holds them
for up to 2 s and lets go, again and again. Then, hour by hour, it waits until a worker has all but the last of the runs
that it ends, asks for the others as the heavier of the two, so that MariaDB ends the worker's transaction, and keeps
them until MariaDB has refused the worker so often that one transaction at least was refused twice, and none five times.
Asserted: I1 to I8; what is refused is done again as a whole, and at once: the worker's lease is of a minute, and no run
waits for its end.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from threading import Event, Thread

from django.db import Error, connection, transaction

from assay.queue.claims import pending
from assay.queue.flow import stage
from execution_engine.models import Run, Scan
from tests.faults.experiment import STAGED, Experiment, Finding, Scale
from tests.faults.failpoints import Fault, arm, in_work
from tests.faults.history import TABLE
from tests.faults.judging import judge
from tests.faults.leases import held
from tests.faults.scene import LOOK_EVERY, WORKERS, Scene, patiently, wait_until

WORKER, STAGE = "worker", "evaluate"
LONG_LEASE, AT_ONCE = 60, 30.0  # seconds; a row that is not ended within the second waits for the end of the first
REFUSALS = 4  # together once, and three of the five tries of a run alone
HEAVY = 2_000  # rows that the client has written: of two transactions that block each other the lighter one is ended
PATIENCE = 30.0  # seconds until MariaDB has refused so often
COUNTERS = "SELECT SUM(count) FROM information_schema.innodb_metrics WHERE name IN ({})"


def run(scene: Scene, scale: Scale) -> Finding:
    """Live so many hours with such a neighbour, and so many in which a worker is refused."""
    hours, late, deadlocks = scale.of(30, quick=1), list[str](), list[int]()
    with _impatient_workers(scene):
        with locking(Random(scene.seed)) as locked:
            for _ in range(hours):
                scene.hour(spoilt=2)
        for _ in range(hours):
            point = arm(scene.home, in_work(STAGE), Fault.STANDS_STILL)
            scene.hour(spoilt=2, meanwhile=partial(_refuse_and_note, scene, point, deadlocks, late))
    figures = [
        ("times that rows were locked", str(locked[0])),
        ("times that a worker was refused; deadlocks", f"{hours}; {sum(deadlocks)}"),
    ]
    missed = [f"time {number}: no deadlock" for number, count in enumerate(deadlocks, 1) if not count]
    return judge(scene, figures).also({"again at once": late, STAGED: missed})


@contextmanager
def _impatient_workers(scene: Scene) -> Iterator[None]:
    """Meanwhile workers are refused a lock after a second, and keep for long what they claim."""
    settings = {"ASSAY_LEASE_SECONDS": str(LONG_LEASE), "FAULTS_LOCK_WAIT_SECONDS": "1"}
    _restart(scene, {**scene.fleet.environment, **settings})
    try:
        yield
    finally:
        _restart(scene, scene.fleet.environment)


def _restart(scene: Scene, environment: dict[str, str]) -> None:
    for name in WORKERS:
        scene.fleet.processes[name].environment = environment
        scene.kill(name)
    scene.until_ready()


def _refuse_and_note(scene: Scene, point: Path, deadlocks: list[int], late: list[str]) -> None:
    wait_until(lambda: not point.exists(), f"nobody stands still at {point.name}")
    before, rows = _count(scene, "lock_deadlocks"), patiently(lambda: list(held(STAGE)))
    _refuse(scene, rows)
    deadlocks.append(_count(scene, "lock_deadlocks") - before)
    left, until = pending(stage(STAGE), None).filter(pk__in=rows), time.monotonic() + AT_ONCE
    while left.exists() and time.monotonic() < until:
        time.sleep(LOOK_EVERY)
    if waiting := left.count():
        late.append(f"{waiting} of {len(rows)} runs had no end {AT_ONCE:.0f} s after they were free")


def _refuse(scene: Scene, rows: list[int]) -> None:
    """Let the worker that holds these rows go on, into a deadlock and then into locks."""
    mine = Run.objects.filter(pk__in=rows).select_for_update()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET SESSION innodb_lock_wait_timeout = {PATIENCE:.0f}")
        last = Run.objects.filter(pk__in=rows).select_for_update(skip_locked=True).order_by(*_reversed())[:1].get()
        cursor.executemany(f"INSERT INTO {TABLE} (name) VALUES (%s)", [["weight"]] * HEAVY)
        before = _refusals(scene)
        scene.fleet.resume(WORKER)
        wait_until(lambda: _waiting(scene) > 0, f"nobody waits for run {last.pk}", limit=PATIENCE)
        list(mine.order_by("pk"))
        wait_until(lambda: _refusals(scene) - before >= REFUSALS, "nobody was refused often enough", limit=PATIENCE)
        transaction.set_rollback(True)


def _reversed() -> list[str]:
    """The order of the rows of a worker, the last first."""
    return [name.removeprefix("-") if name.startswith("-") else f"-{name}" for name in stage(STAGE).order]


def _refusals(scene: Scene) -> int:
    """How many transactions MariaDB has refused since it was started."""
    return _count(scene, "lock_deadlocks", "lock_timeouts")


def _count(scene: Scene, *names: str) -> int:
    told = ", ".join(f"'{name}'" for name in names)
    return int(scene.fleet.database.execute(COUNTERS.format(told)))


def _waiting(scene: Scene) -> int:
    return int(scene.fleet.database.execute("SELECT COUNT(*) FROM information_schema.innodb_lock_waits"))


@contextmanager
def locking(chance: Random) -> Iterator[list[int]]:
    """A client of its own locks rows meanwhile; how often it got them."""
    locked, ended = [0], Event()
    thread = Thread(target=_lock_on, args=(chance, locked, ended), daemon=True)
    thread.start()
    try:
        yield locked
    finally:
        ended.set()
        thread.join()


def _lock_on(chance: Random, locked: list[int], ended: Event) -> None:
    while not ended.wait(chance.uniform(0, 0.5)):
        with suppress(Error), transaction.atomic():
            for rows in (Scan.objects.order_by("-pk"), Run.objects.order_by("-pk")):
                list(rows.select_for_update()[:50])
            locked[0] += 1
            ended.wait(chance.uniform(0, 2.0))
    connection.close()


EXPERIMENT = Experiment(number=8, title="locks in another order", run=run, minutes=20)
