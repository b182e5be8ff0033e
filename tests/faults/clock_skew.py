"""15: the clocks of workers are ten minutes fast, or slow.

Staged: under libfaketime the worker of the stages is ten minutes fast and the one beside the data ten minutes slow,
then the other way round. Asserted: I1 to I8; leases and due times are the database's, so that nobody takes what another
holds, and hints are heeded whatever the clock says.
"""

import shutil

from deploy.local.programs import UnableToStart
from tests.faults.experiment import Experiment, Finding, Scale
from tests.faults.judging import judge
from tests.faults.scene import WORKERS, Scene

SKEWS = (("+10m", "-10m"), ("-10m", "+10m"))


def run(scene: Scene, scale: Scale) -> Finding:
    """So many hours each way."""
    program, hours = shutil.which("faketime"), scale.of(10, quick=1)
    if program is None:
        raise UnableToStart("faketime is not on this machine; install it: apt-get install faketime")
    commands = {name: scene.fleet.processes[name].command for name in WORKERS}
    for skews in SKEWS:
        for name, skew in zip(WORKERS, skews, strict=True):
            _restart(scene, name, [program, "-f", skew, *commands[name]])
        for _ in range(hours):
            scene.hour(spoilt=2)
    finding = judge(scene, [("hours each way", str(hours))])
    for name in WORKERS:
        _restart(scene, name, commands[name])
    return finding


def _restart(scene: Scene, name: str, command: list[str]) -> None:
    scene.fleet.processes[name].command = command
    scene.kill(name)


EXPERIMENT = Experiment(number=15, title="clocks that are fast or slow", run=run, minutes=5)
