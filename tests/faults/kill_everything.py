"""10: everything is killed at once: servers, scheduler, web and workers.

Staged: while an hour's tests are worked, half the times with a worker in the middle of its work, SIGKILL to every
process group; then all are started in random order, the workers perhaps before the database. Asserted: I1 to I8, and
the first run is finished within 60 s.
"""

import time
from functools import partial
from pathlib import Path
from signal import SIGKILL

from django.db import connection

from execution_engine.models import Run
from tests.faults.experiment import Experiment, Finding, Scale
from tests.faults.failpoints import Fault, arm, in_work
from tests.faults.judging import judge
from tests.faults.scene import Scene, patiently, start_at_once, wait_until

FIRST_RUN_AFTER = 60.0  # seconds


def run(scene: Scene, scale: Scale) -> Finding:
    """Kill everything so many times."""
    firsts: list[float] = []
    for number in range(scale.of(50, quick=1)):
        point = arm(scene.home, in_work("evaluate"), Fault.STANDS_STILL) if number % 2 == 0 else None
        scene.hour(spoilt=2, meanwhile=partial(_kill_and_note, scene, point, firsts))
    scene.until_ready()
    figures = [
        ("times", str(len(firsts))),
        (
            "s until the first run was finished, median; worst",
            f"{sorted(firsts)[len(firsts) // 2]:.1f}; {max(firsts):.1f}",
        ),
    ]
    finding = judge(scene, figures)
    late = [f"the first run took {seconds:.1f} s" for seconds in firsts if seconds > FIRST_RUN_AFTER]
    return finding.also({"first run in 60 s": late})


def _kill_and_note(scene: Scene, point: Path | None, firsts: list[float]) -> None:
    if point is None:
        time.sleep(scene.chance.uniform(0, 1.0))
    else:
        wait_until(lambda: not point.exists(), f"nobody stands still at {point.name}")
    firsts.append(_kill_all(scene))


def _kill_all(scene: Scene) -> float:
    """Seconds from the last start until a run has ended."""
    before = patiently(_ended)
    names = list(scene.fleet.processes)
    for name in names:
        scene.fleet.processes[name].signal(SIGKILL)
    scene.kills += 2
    connection.close()
    scene.chance.shuffle(names)
    for name in names:
        start_at_once(scene.fleet, name)
    return wait_until(lambda: patiently(_ended) > before, "no run has ended")


def _ended() -> int:
    return Run.objects.filter(evaluated_at__isnull=False).count()


EXPERIMENT = Experiment(number=10, title="everything killed at once", run=run, minutes=12, is_quick=True)
