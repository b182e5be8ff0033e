"""20: the service is down for a day.

Staged: scheduler and workers are ended, the company's time goes on for a day, and they come back. Asserted: I1 to I8:
every slot that the policy makes up for is run, and none twice; of each test the newest comes first.
"""

from datetime import datetime

from execution_engine.models import Run
from tests.faults.company import DUE_AFTER
from tests.faults.experiment import Experiment, Finding, Scale
from tests.faults.judging import judge
from tests.faults.scene import HOUR, WORKERS, Scene, wait_until

DOWN = ("scheduler", *WORKERS)
LIMIT = 1800.0  # seconds


def run(scene: Scene, scale: Scale) -> Finding:
    """Be down for so many hours."""
    hours = scale.of(24, quick=4)
    scene.hour(spoilt=2)
    for name in DOWN:
        scene.fleet.take_down(name)
    scene.hours += hours
    newest = scene.ends() - HOUR
    took: list[float] = []
    scene.go(scene.ends() + DUE_AFTER, lambda: took.extend(_return(scene, newest)))
    scene.hours += 1
    fresh, rest = took
    figures = [
        ("hours down; slots made up for", f"{hours}; {hours * scene.tables * scene.tests:,}"),
        ("s until all newest windows had a result", f"{fresh:.1f}"),
        ("s until all were made up for", f"{fresh + rest:.1f}"),
    ]
    finding = judge(scene, figures)
    late = [] if scale.is_quick or fresh < rest else [f"the newest after {fresh:.0f} s, the others {rest:.0f} s later"]
    return finding.also({"newest first": late})


def _return(scene: Scene, newest: datetime) -> tuple[float, float]:
    """Seconds until each test has a result for the newest window; and from then until it has all others."""
    for name in DOWN:
        scene.fleet.processes[name].start()
    wanted = scene.tables * scene.tests
    pending = Run.objects.filter(evaluated_at__isnull=True)
    ended = Run.objects.filter(window_start=newest, evaluated_at__isnull=False)
    fresh = wait_until(lambda: ended.count() >= wanted, "the newest windows have no result", limit=LIMIT)
    return fresh, wait_until(lambda: not pending.exists(), "older windows have no result", limit=LIMIT)


EXPERIMENT = Experiment(number=20, title="a day's outage", run=run, minutes=15, tables=300)
