"""4: Redis is killed, and comes back empty.

Staged: once an hour's tests are due, and all processes of one kind of worker have a message in hand, SIGKILL to Redis;
they end what they have, and cannot say so; it stays down, its files are deleted, it starts empty. Asserted: I1 to I8:
every run is still made, as its row is in the database.
"""

import time
from functools import partial

from tests.faults.experiment import Experiment, Finding, Scale
from tests.faults.failpoints import hands_full, holding
from tests.faults.judging import judge
from tests.faults.scene import WORKERS, Scene, wait_until

HANDS = 2  # messages that each worker has at once


def run(scene: Scene, scale: Scale) -> Finding:
    """Lose Redis so many times, each kind of worker in turn."""
    times, down = scale.of(20, quick=2), scale.of(30, quick=3)
    for number in range(times):
        worker = WORKERS[number % len(WORKERS)]
        holding(scene.home, worker).parent.mkdir(exist_ok=True)
        holding(scene.home, worker).touch()
        scene.hour(spoilt=2, meanwhile=partial(_lose, scene, worker, down))
    scene.until_ready()
    return judge(scene, [("times", str(times)), ("s that Redis was away, each", str(down))])


def _lose(scene: Scene, worker: str, seconds: int) -> None:
    wait_until(lambda: hands_full(scene.home, worker) >= HANDS, f"{worker} has no {HANDS} messages in hand")
    scene.fleet.take_down("redis", within=0)
    holding(scene.home, worker).unlink()
    for path in scene.fleet.broker.folder.glob("appendonlydir/*"):
        path.unlink()
    time.sleep(seconds)
    scene.fleet.restart("redis")


EXPERIMENT = Experiment(number=4, title="Redis killed, back empty", run=run, minutes=25, is_quick=True)
