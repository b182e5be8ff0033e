"""16: the clocks change, in every time zone.

Staged: hourly and daily tests of every zone, scheduled over each change of its clocks in twenty years (pure). Asserted:
one slot for each partition key; slots follow each other strictly, and leave no instant out; each instant lies in the
slot whose key the clock on the wall shows.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from assay.time.windows import Granularity, Partitioning
from execution_engine.planning.schedules import Schedule, Slot, due_slots
from tests.faults.experiment import Alone, Finding, Scale
from tests.unit.assay.reading_clocks import around, keys_by_the_clock
from tests.unit.assay.test_windows_in_every_zone import SAMPLE, changes_of_clocks, distinct_zones

AROUND = {Granularity.HOUR: timedelta(hours=8), Granularity.DAY: timedelta(days=4)}
FRESHNESS = timedelta(hours=1)
QUICK = (*SAMPLE, "America/St_Johns")  # whose clocks changed at one minute past midnight


def run(scale: Scale) -> Finding:
    """Every zone, or the sample."""
    zones = QUICK if scale.is_quick else distinct_zones()
    wrong, changes = list[str](), 0
    for name in zones:
        for change in changes_of_clocks(ZoneInfo(name)):
            changes += 1
            for granularity, reach in AROUND.items():
                partitioning = Partitioning(granularity=granularity, time_zone=name)
                slots = _slots(partitioning, change - reach, change + reach)
                told = f"{name}, {granularity.value}, about {change:%Y-%m-%d}"
                found = (*_uneven(partitioning, slots), *_unlike(partitioning, slots, around(change, reach)))
                wrong += [f"{told}: {each}" for each in found]
    figures = [("zones that differ; changes of clocks", f"{len(zones)}; {changes:,}"), ("wrong", str(len(wrong)))]
    return Finding(violations={"one slot a key": wrong}, figures=figures)


def _slots(partitioning: Partitioning, begin: datetime, end: datetime) -> Sequence[Slot]:
    """The slots of one test between two instants."""
    schedule = Schedule(
        line="partition",
        whole_table=False,
        partitioning=partitioning,
        time_zone=partitioning.time_zone,
        freshness=FRESHNESS,
    )
    first = partitioning.at(begin)
    return due_slots(schedule, Slot(window=first, due_at=first.end + FRESHNESS), now=end).slots


def _uneven(partitioning: Partitioning, slots: Sequence[Slot]) -> Iterator[str]:
    """Keys that have several slots, and slots that do not follow each other."""
    keys = [partitioning.key(slot.window) for slot in slots]
    if len(set(keys)) < len(keys):
        yield f"a key has two slots: {keys}"
    for one, other in pairwise(slots):
        if one.window.end != other.window.start or one.due_at >= other.due_at:
            yield f"{one.window.text} is followed by {other.window.text}"


def _unlike(partitioning: Partitioning, slots: Sequence[Slot], instants: Iterable[datetime]) -> Iterator[str]:
    """Instants that lie in another slot than that whose key the clock shows."""
    rising = list(instants)
    by_clock = keys_by_the_clock(rising, partitioning.zone, partitioning.key_format)
    starts, keys = [slot.window.start for slot in slots], [partitioning.key(slot.window) for slot in slots]
    for instant, key in zip(rising, by_clock, strict=True):
        if starts[0] <= instant < slots[-1].window.end and keys[bisect_right(starts, instant) - 1] != key:
            yield f"{instant:%Y-%m-%d %H:%M} UTC is of {key} by the clock, and lies in another slot"
            return


EXPERIMENT = Alone(number=16, title="changes of clocks in every zone", run=run, minutes=5, is_quick=True)
