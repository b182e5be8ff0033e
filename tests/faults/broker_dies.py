"""4: Redis is killed, and comes back empty.

Staged: once an hour's tests are due, SIGKILL to Redis; it stays down, its files are deleted, it starts empty. Asserted:
I1 to I8: every run is still made, as its row is in the database.
"""

import time

from tests.faults.experiment import Experiment, Finding, Scale
from tests.faults.judging import judge
from tests.faults.scene import Scene


def run(scene: Scene, scale: Scale) -> Finding:
    """Lose Redis so many times."""
    times, down = scale.of(20, quick=1), scale.of(30, quick=3)
    for _ in range(times):
        scene.hour(spoilt=2, meanwhile=lambda: _lose(scene, down))
    scene.until_ready()
    return judge(scene, [("times", str(times)), ("s that Redis was away, each", str(down))])


def _lose(scene: Scene, seconds: int) -> None:
    time.sleep(scene.chance.uniform(0, 0.5))
    scene.fleet.take_down("redis", within=0)
    for path in scene.fleet.broker.folder.glob("appendonlydir/*"):
        path.unlink()
    time.sleep(seconds)
    scene.fleet.restart("redis")


EXPERIMENT = Experiment(number=4, title="Redis killed, back empty", run=run, minutes=25, is_quick=True)
