"""8: somebody locks the service's rows in another order, and holds them.

Staged: innodb_lock_wait_timeout is 1 s; a second client locks runs and scans from the newest to the oldest, holds them
for up to 2 s and lets go, again and again. Asserted: I1 to I8: what is refused for it is done again as a whole.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from threading import Event, Thread

from django.db import Error, connection, transaction

from execution_engine.models import Run, Scan
from tests.faults.experiment import Experiment, Finding, Scale
from tests.faults.judging import judge
from tests.faults.scene import Scene

REFUSALS = re.compile(r"\b(?:1213|1205|1020)\b")


def run(scene: Scene, scale: Scale) -> Finding:
    """Live so many hours with such a neighbour."""
    hours = scale.of(30, quick=2)
    scene.fleet.database.execute("SET GLOBAL innodb_lock_wait_timeout = 1")
    try:
        with locking(Random(scene.seed)) as locked:
            for _ in range(hours):
                scene.hour(spoilt=2)
    finally:
        scene.fleet.database.execute("SET GLOBAL innodb_lock_wait_timeout = 50")
    logs = [path.read_text(errors="replace") for path in scene.fleet.logs.glob("worker*.log")]
    figures = [
        ("times that rows were locked", str(locked[0])),
        ("refusals in the logs", str(sum(len(REFUSALS.findall(text)) for text in logs))),
    ]
    return judge(scene, figures)


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
