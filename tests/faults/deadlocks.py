"""8: somebody locks the service's rows in another order, and holds them.

Staged: innodb_lock_wait_timeout is 1 s; a second client locks the scans and runs that workers hold just then, and the
newest others, from the newest to the oldest, holds them for up to 3 s and lets go, again and again. Asserted: I1 to
I8: what is refused for it is done again as a whole, and at once: hardly any row waits until its lease has run out.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import Random
from threading import Event, Thread

from django.db import Error, connection, transaction

from execution_engine.models import Run, Scan
from tests.faults.experiment import STAGED, Experiment, Finding, Scale
from tests.faults.judging import judge
from tests.faults.leases import held
from tests.faults.scene import Scene

REFUSAL = re.compile(r"\b(?:1213|1205|1020)\b")
GIVEN_BACK = re.compile(r"stage failed|scan failed")
LONGEST = 3.0  # seconds that rows are held: two waits for a lock, and less than the five tries of a transaction
MOST_GIVEN_BACK = 0.1  # of the times that rows were locked in the middle of work


@dataclass
class Locked:
    """How often rows were locked, and how often of these a worker was at work on some of them."""

    times: int = 0
    in_work: int = 0


def run(scene: Scene, scale: Scale) -> Finding:
    """Live so many hours with such a neighbour."""
    hours, before = scale.of(30, quick=2), _given_back(scene)
    scene.fleet.database.execute("SET GLOBAL innodb_lock_wait_timeout = 1")
    try:
        with locking(Random(scene.seed)) as locked:
            for _ in range(hours):
                scene.hour(spoilt=2)
    finally:
        scene.fleet.database.execute("SET GLOBAL innodb_lock_wait_timeout = 50")
    left = _given_back(scene) - before
    figures = [
        ("times that rows were locked; in work", f"{locked.times}; {locked.in_work}"),
        ("tries that were given back to the lease", str(left)),
    ]
    late = [f"{left} tries were given back"] if left > MOST_GIVEN_BACK * locked.in_work else []
    missed = [] if locked.in_work else ["no row was locked that a worker held"]
    return judge(scene, figures).also({"again at once": late, STAGED: missed})


def _given_back(scene: Scene) -> int:
    """How often a worker has given a row back to its lease for a refusal, by the logs."""
    blocks = [
        block
        for path in scene.fleet.logs.glob("worker*.log")
        for block in re.split(r"(?m)^(?=\S*\d{4}-\d\d-\d\dT)", path.read_text(errors="replace"))
    ]
    return sum(bool(GIVEN_BACK.search(block) and REFUSAL.search(block)) for block in blocks)


@contextmanager
def locking(chance: Random) -> Iterator[Locked]:
    """A client of its own locks rows meanwhile; how often it got them."""
    locked, ended = Locked(), Event()
    thread = Thread(target=_lock_on, args=(chance, locked, ended), daemon=True)
    thread.start()
    try:
        yield locked
    finally:
        ended.set()
        thread.join()


def _lock_on(chance: Random, locked: Locked, ended: Event) -> None:
    while not ended.wait(chance.uniform(0, 0.1)):
        with suppress(Error), transaction.atomic():
            leased = held("evaluate") or held("plan")
            for rows in (Scan.objects.order_by("-pk"), Run.objects.filter(pk__in=leased).order_by("-pk")):
                list(rows.select_for_update()[:50])
            locked.times += 1
            caught = bool(leased and (held("evaluate").keys() | held("plan").keys()) & leased.keys())
            locked.in_work += caught
            ended.wait(LONGEST if caught else chance.uniform(0, 0.1))
    connection.close()


EXPERIMENT = Experiment(number=8, title="locks in another order", run=run, minutes=20)
