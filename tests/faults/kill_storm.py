"""1: workers are killed, process group and all, at random moments of their work.

Staged: a thread for each worker waits until it takes work, and sends SIGKILL to its whole group within the next 0.8 s,
again and again, while the company lives hour after hour; the first of each kind dies in the middle of its work.
Asserted: I1 to I8; no healthy test is quarantined.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from threading import Event

from execution_engine.models import Run, Suspect
from tests.faults.experiment import STAGED, Experiment, Finding, Scale
from tests.faults.failpoints import Fault, arm, in_work
from tests.faults.judging import judge
from tests.faults.scene import WORKERS, Scene

LONGEST_WORK = 0.8  # seconds between taking work and being killed


@dataclass
class Storm:
    """How far it has come."""

    kills: int = 0
    most: int = 0

    @property
    def is_over(self) -> bool:
        """Whether enough were killed."""
        return self.kills >= self.most


def run(scene: Scene, scale: Scale) -> Finding:
    """Kill so many while so many runs are worked."""
    kills, runs = scale.of(300, quick=4), scale.of(20_000, quick=100)
    points = [arm(scene.home, in_work(stage), Fault.ALL_DIE) for stage in ("evaluate", "scan")]
    scene.kills += len(points)
    with storm(scene, kills) as blowing:
        while not blowing.is_over or Run.objects.count() < runs:
            scene.hour(spoilt=2)
    scene.until_ready()
    finding = judge(scene, [("workers killed", str(blowing.kills + len(points))), ("seed", str(scene.seed))])
    quarantined = [f"{suspect}" for suspect in Suspect.objects.filter(quarantined_at__isnull=False)]
    missed = [f"nobody died at {point.name}" for point in points if point.exists()]
    return finding.also({"none quarantined": quarantined, STAGED: missed})


@contextmanager
def storm(scene: Scene, most: int) -> Iterator[Storm]:
    """Kills workers meanwhile, in all so many; whatever it kills is started again."""
    blowing, ended = Storm(most=most), Event()
    with ThreadPoolExecutor(len(WORKERS)) as threads:
        killers = [
            threads.submit(_kill_again, scene, name, blowing, ended, Random(scene.chance.random())) for name in WORKERS
        ]
        try:
            yield blowing
        finally:
            ended.set()
    for killer in killers:
        killer.result()


def _kill_again(scene: Scene, name: str, blowing: Storm, ended: Event, chance: Random) -> None:
    while not blowing.is_over:
        scene.until_ready(name)
        if ended.wait(chance.uniform(0, LONGEST_WORK)):
            return
        blowing.kills += 1
        scene.kill(name)


EXPERIMENT = Experiment(number=1, title="workers killed in a storm", run=run, minutes=12, is_quick=True)
