"""2: the kernel kills one process of a worker's pool, as it does when memory is short.

Staged: SIGKILL to a child of the prefork worker in the middle of its work, and to random ones while an hour's tests
are worked; their parent lives on and forks others. Asserted: I1 to I8; what they held is taken over by its lease, not
by the broker's visibility time-out.
"""

import os
import time
from signal import SIGKILL

import psutil

from tests.faults.experiment import STAGED, Experiment, Finding, Scale
from tests.faults.failpoints import arm, in_work
from tests.faults.judging import judge
from tests.faults.scene import Scene


def run(scene: Scene, scale: Scale) -> Finding:
    """Kill so many children, a few in each hour."""
    wanted, killed = scale.of(200, quick=4), 0
    missed: list[str] = []
    while killed < wanted:
        before, point = scene.kills, arm(scene.home, in_work("evaluate"))
        scene.kills += 1
        scene.hour(spoilt=2, meanwhile=lambda: _kill_children(scene))
        killed += scene.kills - before
        missed += [f"in hour {scene.hours} nobody died at {point.name}"] if point.exists() else []
    return judge(scene, [("children killed", str(killed)), ("seed", str(scene.seed))]).also({STAGED: missed})


def _kill_children(scene: Scene, times: int = 4) -> None:
    for _ in range(times):
        time.sleep(scene.chance.uniform(0, 0.8))
        children = psutil.Process(scene.fleet.processes["worker"].pid).children()
        if children:
            os.kill(scene.chance.choice(children).pid, SIGKILL)
            scene.kills += 1


EXPERIMENT = Experiment(number=2, title="children of a worker's pool killed", run=run, minutes=15)
