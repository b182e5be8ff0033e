"""3: a worker stands still for longer than its lease, is replaced, and goes on.

Staged: a worker that has claimed rows of a stage and begins on them stands still with all its processes, until another
of its kind has claimed these rows and ended them, a second of the company's time later; then it goes on. Asserted: I1
to I8; what the late one writes is refused.
"""

from functools import partial
from pathlib import Path

from assay import clock
from tests.faults.company import DATACENTER
from tests.faults.experiment import STAGED, Experiment, Finding, Scale
from tests.faults.failpoints import Fault, arm, in_work
from tests.faults.judging import judge
from tests.faults.leases import held, taken_over
from tests.faults.scene import SECOND, Scene, patiently, wait_until

STALLS = (  # who stands still, in the work of which stage
    ("worker", "evaluate"),
    (f"worker-{DATACENTER}", "scan"),
    ("worker", "plan"),
    ("worker", "judge"),
)


def run(scene: Scene, scale: Scale) -> Finding:
    """Let a worker stand still so many times, in each stage in turn."""
    times, rows = scale.of(40, quick=2), list[int]()
    for number in range(times):
        worker, stage = STALLS[number % len(STALLS)]
        point = arm(scene.home, in_work(stage), Fault.STANDS_STILL)
        scene.hour(spoilt=2, meanwhile=partial(_replace, scene, worker, stage, point, rows))
    figures = [("times that a worker stood still", str(times)), ("rows that another took over", f"{sum(rows):,}")]
    missed = [f"time {number}: nobody took over what it held" for number, count in enumerate(rows, 1) if not count]
    return judge(scene, figures).also({STAGED: missed})


def _replace(scene: Scene, worker: str, stage: str, point: Path, rows: list[int]) -> None:
    """The lease runs out, its rows are worked by another, and it goes on."""
    wait_until(lambda: not point.exists(), f"nobody stands still at {point.name}")
    before = patiently(lambda: held(stage))
    patiently(lambda: clock.simulate(clock.now() + SECOND))
    with scene.spare(worker):
        wait_until(
            lambda: patiently(lambda: taken_over(stage, before)) == len(before), f"nobody took over the work of {stage}"
        )
    rows.append(len(before))
    scene.kills += 1  # a message that it was sending comes again
    scene.fleet.resume(worker)


EXPERIMENT = Experiment(number=3, title="a worker stands still past its lease", run=run, minutes=20, is_quick=True)
