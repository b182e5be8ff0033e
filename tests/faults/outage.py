"""20: the service is down for a day.

Staged: scheduler and workers are ended, the company's time goes on for a day, and they come back. Asserted: I1 to I8:
every slot that the policy makes up for is run, and none twice.
"""

from datetime import datetime

from execution_engine.models import Run
from tests.faults.company import DUE_AFTER
from tests.faults.experiment import Experiment, Finding, Scale
from tests.faults.judging import judge
from tests.faults.scene import HOUR, WORKERS, Scene, wait_until

DOWN = ("scheduler", *WORKERS)


def run(scene: Scene, scale: Scale) -> Finding:
    """Be down for so many hours."""
    hours = scale.of(24, quick=4)
    scene.hour(spoilt=2)
    for name in DOWN:
        scene.fleet.take_down(name)
    scene.hours += hours
    newest = scene.ends() - HOUR
    fresh: list[float] = []
    took = scene.go(scene.ends() + DUE_AFTER, lambda: fresh.append(_return(scene, newest)))
    scene.hours += 1
    figures = [
        ("hours down; slots made up for", f"{hours}; {hours * scene.tables * scene.tests:,}"),
        ("s until all newest windows had a result", f"{fresh[0]:.1f}"),
        ("s until all were made up for", f"{took:.1f}"),
    ]
    return judge(scene, figures)


def _return(scene: Scene, newest: datetime) -> float:
    """Seconds until each test has a result for the newest window."""
    for name in DOWN:
        scene.fleet.processes[name].start()
    wanted = scene.tables * scene.tests
    ended = Run.objects.filter(window_start=newest, evaluated_at__isnull=False)
    return wait_until(lambda: ended.count() >= wanted, "the newest windows have no result", limit=1800)


EXPERIMENT = Experiment(number=20, title="a day's outage", run=run, minutes=15, tables=300)
