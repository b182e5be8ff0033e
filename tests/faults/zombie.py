"""3: a worker stands still for longer than its lease, is replaced, and goes on.

Staged: SIGSTOP to a worker's whole group in the middle of its work, until another has claimed what it held; then
SIGCONT. A second worker of each kind does the work meanwhile, as the service would have. Asserted: I1 to I8; what the
late one writes is refused.
"""

import time
from functools import partial

from tests.faults.experiment import Experiment, Finding, Scale
from tests.faults.judging import judge
from tests.faults.scene import LEASE, WORKERS, Scene


def run(scene: Scene, scale: Scale) -> Finding:
    """Let a worker stand still so many times, each kind in turn."""
    times = scale.of(40, quick=1)
    for number in range(times):
        stall = partial(_stand_still, scene, WORKERS[number % len(WORKERS)])
        scene.hour(spoilt=2, meanwhile=stall)
    return judge(scene, [("times that a worker stood still", str(times))])


def _stand_still(scene: Scene, name: str) -> None:
    """The lease runs out, its rows are worked by another, and it goes on."""
    time.sleep(scene.chance.uniform(0, 0.8))
    scene.fleet.stop(name)
    with scene.spare(name):
        time.sleep(LEASE + 3)
    scene.kills += 1  # a message that it was sending comes again
    scene.fleet.resume(name)


EXPERIMENT = Experiment(number=3, title="a worker stands still past its lease", run=run, minutes=20, is_quick=True)
