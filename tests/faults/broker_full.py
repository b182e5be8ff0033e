"""6: Redis is full and refuses every hint.

Staged: its bound of memory is set below what it holds already, under the service's policy ``noeviction``; later the
bound is lifted. Asserted: I1 to I8; what is due waits in the database, and no process ends for it.
"""

import time

import redis

from tests.faults.experiment import STAGED, Experiment, Finding, Scale
from tests.faults.judging import judge
from tests.faults.scene import Scene

TOO_LITTLE, ENOUGH = "1mb", "256mb"


def run(scene: Scene, scale: Scale) -> Finding:
    """Fill it so often, for some seconds each."""
    times, seconds = scale.of(20, quick=1), scale.of(30, quick=5)
    before, starts = _refusals(scene), _starts(scene)
    for _ in range(times):
        scene.hour(spoilt=2, meanwhile=lambda: _fill(scene, seconds))
    refused = _refusals(scene) - before
    ended = [f"{name} was started again" for name, count in _starts(scene).items() if count > starts[name]]
    figures = [
        ("times", str(times)),
        ("s that it was full, each", str(seconds)),
        ("sweeps that could send no hint", str(refused)),
    ]
    missed = [] if refused or ended else ["no hint was refused"]
    return judge(scene, figures).also({"none ends": ended, STAGED: missed})


def _refusals(scene: Scene) -> int:
    logs = [path.read_text(errors="replace") for path in scene.fleet.logs.glob("*.log")]
    return sum(text.count("hints not sent") for text in logs)


def _starts(scene: Scene) -> dict[str, int]:
    return {name: process.restarts for name, process in scene.fleet.processes.items()}


def _fill(scene: Scene, seconds: int) -> None:
    client = redis.Redis.from_url(scene.fleet.broker_url)
    client.config_set("maxmemory", TOO_LITTLE)
    time.sleep(seconds)
    client.config_set("maxmemory", ENOUGH)
    client.close()


EXPERIMENT = Experiment(number=6, title="Redis is full", run=run, minutes=20)
