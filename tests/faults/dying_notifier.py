"""12: the notifier dies at each point of its work.

Staged: the experiment's workers have four points at which they send SIGKILL to themselves: before the claim of the
notices, after it, after the receiver's answer to a message of several notices, after the commit. One is armed before an
hour's incidents are told, and stays so for two more where nobody came by. Asserted: I1 to I8; what comes again comes
alike, under the same key, and once for each kill at most.
"""

from tests.faults.experiment import STAGED, Experiment, Finding, Scale
from tests.faults.failpoints import POINTS, arm
from tests.faults.judging import judge
from tests.faults.scene import Scene

HOURS = 3  # until somebody has come by
SPOILT = 9  # tables: three of each owner, so that what they are told goes out together


def run(scene: Scene, scale: Scale) -> Finding:
    """Die so often at each point."""
    died = dict.fromkeys(POINTS, 0)
    missed: list[str] = []
    for _ in range(scale.of(50, quick=1)):
        for point in POINTS:
            armed = arm(scene.home, point)
            for _ in range(HOURS):
                if armed.exists():
                    scene.hour(spoilt=SPOILT)
            if armed.exists():
                missed.append(f"nobody came by {point!r}")
            died[point] += 1
            scene.kills += 1
    finding = judge(scene, [("deaths", ", ".join(f"{count} {point}" for point, count in died.items()))])
    return finding.also({STAGED: missed})


EXPERIMENT = Experiment(number=12, title="the notifier dies at four points", run=run, minutes=60, is_quick=True)
