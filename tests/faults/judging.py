"""After a fault: until nothing is overdue, and what the invariants say of all that happened."""

import re
from collections import Counter
from statistics import median

from tests.faults.experiment import Figure, Finding
from tests.faults.facts import Facts
from tests.faults.invariants import all_of
from tests.faults.scene import Overdue, Scene, settle

NONE_OVERDUE_AFTER = 120.0  # seconds after the service is whole again


def judge(scene: Scene, figures: list[Figure] | None = None) -> Finding:
    """The finding over everything that the scene has seen."""
    overdue = _overdue()
    overdue += [
        f"nothing was overdue after {each:.0f} s only" for each in scene.recoveries if each > NONE_OVERDUE_AFTER
    ]
    facts = scene.facts()
    violations = {**all_of(facts, repeats=scene.kills), "I8": overdue}
    return Finding(violations=violations, figures=[*(figures or []), *_recovered(scene), *_common(scene, facts)])


def _overdue() -> list[str]:
    """What is not done in time now that all faults are over."""
    try:
        settle(NONE_OVERDUE_AFTER)
    except Overdue as late:
        return [str(late)]
    return []


def _recovered(scene: Scene) -> list[Figure]:
    """From the end of each fault until nothing was overdue, where faults and recoveries took turns."""
    if not scene.recoveries:
        return []
    recoveries, scene.recoveries = scene.recoveries, []
    told = f"{median(recoveries):.1f}; {max(recoveries):.1f}"
    return [("s from the end of a fault until nothing was overdue, median; worst", told)]


def _common(scene: Scene, facts: Facts) -> list[Figure]:
    """Figures of every experiment, since its service began: the quick ones share one."""
    outcomes = Counter(run.outcome for run in facts.runs)
    keys = Counter(request.key for request in facts.requests if request.taken)
    return [
        ("runs; of these errors", f"{len(facts.runs):,}; {outcomes['error']}"),
        ("incidents; notices sent", f"{len(facts.incidents)}; {sum(notice.sent for notice in facts.notices)}"),
        ("messages that came; again", f"{len(keys)}; {sum(keys.values()) - len(keys)}"),
        ("writes under a lost lease, refused", f"{refused_writes(scene)}"),
    ]


def refused_writes(scene: Scene) -> int:
    """How often a worker was refused to write what it had done under a lease that was no longer its own."""
    logs = scene.fleet.logs.glob("worker*.log*")
    return sum(len(re.findall("lease lost", path.read_text(errors="replace"))) for path in logs)
