"""16: the clocks change, in every time zone.

Staged: hourly and daily tests of every zone, scheduled over each change of its clocks in twenty years (pure). Asserted:
one slot for each partition key; slots follow each other strictly, and leave no instant out.
"""

from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from assay.windows import Granularity, Partitioning
from execution_engine.schedules import Schedule, Slot, due_slots
from tests.faults.experiment import Alone, Finding, Scale
from tests.unit.assay.test_windows_in_every_zone import SAMPLE, changes_of_clocks, distinct_zones

AROUND = {Granularity.HOUR: timedelta(hours=8), Granularity.DAY: timedelta(days=4)}
FRESHNESS = timedelta(hours=1)


def run(scale: Scale) -> Finding:
    """Every zone, or the sample."""
    zones = SAMPLE if scale.is_quick else distinct_zones()
    wrong, changes = list[str](), 0
    for name in zones:
        for change in changes_of_clocks(ZoneInfo(name)):
            changes += 1
            for granularity, around in AROUND.items():
                partitioning = Partitioning(granularity=granularity, time_zone=name)
                wrong += _wrong(partitioning, change - around, change + around)
    figures = [("zones that differ; changes of clocks", f"{len(zones)}; {changes:,}"), ("wrong", str(len(wrong)))]
    return Finding(violations={"one slot a key": wrong}, figures=figures)


def _wrong(partitioning: Partitioning, begin: datetime, end: datetime) -> list[str]:
    """What is not right about the slots of one test between two instants."""
    schedule = Schedule(
        line="partition",
        whole_table=False,
        partitioning=partitioning,
        time_zone=partitioning.time_zone,
        freshness=FRESHNESS,
    )
    first = partitioning.at(begin)
    slots = due_slots(schedule, Slot(window=first, due_at=first.end + FRESHNESS), now=end).slots
    keys = [partitioning.key(slot.window) for slot in slots]
    told = f"{partitioning.time_zone}, {partitioning.granularity.value}, about {begin:%Y-%m-%d}"
    wrong = [] if len(set(keys)) == len(keys) else [f"{told}: a key has two slots: {keys}"]
    for one, other in pairwise(slots):
        if one.window.end != other.window.start or one.due_at >= other.due_at:
            wrong.append(f"{told}: {one.window.text} is followed by {other.window.text}")
    return wrong


EXPERIMENT = Alone(number=16, title="changes of clocks in every zone", run=run, minutes=5, is_quick=True)
