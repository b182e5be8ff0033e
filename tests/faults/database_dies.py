"""7: MariaDB is killed while it commits.

Staged: while an hour's tests are worked and a client commits rows one after the other, SIGKILL to MariaDB, again and
again; it recovers by its log. Asserted: I1 to I8, and every row whose commit was answered is there.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from signal import SIGKILL
from threading import Event, Thread

from django.db import Error, connection

from tests.faults.experiment import Experiment, Finding, Scale
from tests.faults.history import TABLE
from tests.faults.judging import judge
from tests.faults.scene import Scene, patiently, start_at_once

NAME = "acknowledged"


def run(scene: Scene, scale: Scale) -> Finding:
    """Kill it so often."""
    recoveries: list[float] = []
    with committing() as answered:
        for _ in range(scale.of(100, quick=1)):
            scene.hour(spoilt=2, meanwhile=lambda: recoveries.append(_kill(scene)))
    scene.until_ready()
    lost = patiently(lambda: set(answered) - _kept())
    figures = [
        ("times", str(len(recoveries))),
        (
            "s until it answered, median; worst",
            f"{sorted(recoveries)[len(recoveries) // 2]:.1f}; {max(recoveries):.1f}",
        ),
        ("commits answered; lost", f"{len(answered):,}; {len(lost)}"),
    ]
    finding = judge(scene, figures)
    gone = [f"the answered commit of row {row} is lost" for row in sorted(lost)]
    return finding.also({"no commit lost": gone})


def _kill(scene: Scene) -> float:
    """Seconds from the kill to its first answer."""
    time.sleep(scene.chance.uniform(0, 1.0))
    scene.kills += 2  # a message that was just sent cannot be noted, and comes again
    begun = time.monotonic()
    scene.fleet.processes["database"].signal(SIGKILL)
    start_at_once(scene.fleet, "database")
    connection.close()
    patiently(connection.ensure_connection)
    return time.monotonic() - begun


@contextmanager
def committing() -> Iterator[list[int]]:
    """A client of its own commits numbers meanwhile; those whose commit was answered."""
    answered, ended = list[int](), Event()
    thread = Thread(target=_commit_on, args=(answered, ended), daemon=True)
    thread.start()
    try:
        yield answered
    finally:
        ended.set()
        thread.join()


def _commit_on(answered: list[int], ended: Event) -> None:
    number = 0
    while not ended.wait(0.01):
        number += 1
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"INSERT INTO {TABLE} (name, row_id, old, new) VALUES (%s, %s, '', '')", [NAME, number])
            answered.append(number)
        except Error:
            connection.close()
    connection.close()


def _kept() -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT row_id FROM {TABLE} WHERE name = %s", [NAME])
        return {row for (row,) in cursor.fetchall()}


EXPERIMENT = Experiment(number=7, title="MariaDB killed while it commits", run=run, minutes=80, is_quick=True)
