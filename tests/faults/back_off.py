"""14: windows are checked by exponential back-off, across restarts of everything that works them.

Staged: all tables are spoilt and stay so; the company's time goes on in steps, and in between scheduler and workers
are killed. Asserted: I1 to I8; no check comes before its interval is over, and none later than one step after.
"""

from collections import defaultdict
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise

from alerting.verdicts.sustain import INITIAL_INTERVAL, JITTER
from execution_engine.models import Run
from tests.faults.company import DUE_AFTER
from tests.faults.experiment import Experiment, Finding, Scale
from tests.faults.judging import judge
from tests.faults.scene import HOUR, MINUTE, WORKERS, Scene, start_at_once

STEP, KILLED_EVERY = 5 * MINUTE, 4  # steps


def run(scene: Scene, scale: Scale) -> Finding:
    """For so many steps, killing everything now and then."""
    steps, begins = scale.of(60, quick=10), scene.ends() + DUE_AFTER
    scene.spoil(scene.tables)
    for step in range(steps):
        scene.go(begins + step * STEP, partial(_kill, scene) if step % KILLED_EVERY == 0 else None)
    scene.spoil(0)
    scene.go(begins + steps * STEP + 12 * HOUR)
    scene.hours += int((steps * STEP + 12 * HOUR) / HOUR) + 1
    early, late = _gaps(begins + (steps - 1) * STEP)
    figures = [
        ("checks", f"{Run.objects.filter(reason='check').count():,}"),
        ("early; most late, in simulated min", f"{len(early)}; {max(late, default=timedelta()) / MINUTE:.1f}"),
    ]
    finding = judge(scene, figures)
    too_late = [f"{each} late" for each in late if each > STEP + MINUTE]
    return finding.also({"not early": early, "not late": too_late})


def _kill(scene: Scene) -> None:
    for name in ("scheduler", *WORKERS):
        scene.kills += 1
        scene.fleet.kill(name)
        start_at_once(scene.fleet, name)


def _gaps(until: datetime) -> tuple[list[str], list[timedelta]]:
    """Checks that came too early, and how late each came after the longest that its interval can be."""
    asked: dict[tuple[int, datetime], list[datetime]] = defaultdict(list)
    runs = Run.objects.filter(reason__in=("schedule", "check"), requested_at__lte=until).order_by("requested_at")
    for test, start, at in runs.values_list("data_test_id", "window_start", "requested_at"):
        asked[test, start].append(at)
    early, late = list[str](), list[timedelta]()
    for place, instants in asked.items():
        for attempt, (one, other) in enumerate(pairwise(instants)):
            interval = INITIAL_INTERVAL * 2**attempt
            if other - one < interval * (1 - JITTER):
                early.append(f"test {place[0]}: check {attempt} after {other - one}, not {interval}")
            late.append(max(timedelta(), other - one - interval * (1 + JITTER)))
    return early, late


EXPERIMENT = Experiment(number=14, title="back-off across restarts", run=run, minutes=20, tables=20)
