"""Which window a test runs over next, and when; and whose turn it is (pure).

A schedule is ``partition`` (every partition, once its freshness SLA has passed), ``weekly`` (the whole table, Mondays
00:00 local time plus the SLA) or a cron line in the dataset's zone. A firing of a cron line runs over the latest
partition that is due by then, as no scheduled test runs before its partition's freshness SLA.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2s

from cronsim import CronSim, CronSimError

from assay.catalog.tiers import TIERS, CatchUp
from assay.time.durations import Step, UnableToStep
from assay.time.windows import Granularity, Partitioning, Window, zone
from execution_engine.language.templates import fits, no_multiple
from execution_engine.language.tree import History, HistoryFunction

PARTITION = "partition"
WEEKLY = "weekly"
MONDAYS = "0 0 * * 1"
MOST_CAUGHT_UP = 31  # slots of a test that are made up for after an outage; older ones stay UNTESTED
MISSED_AFTER = timedelta(minutes=15)  # after which a slot is one that an outage swallowed
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)  # where the window of a table without partitions starts
_INSTANT = timedelta(microseconds=1)
_NEVER = datetime.max.replace(tzinfo=UTC)


class UnableToSchedule(ValueError):
    """A schedule that cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Slot:
    """A window to test, and the instant from which to."""

    window: Window
    due_at: datetime


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When a test runs, with what that depends on."""

    line: str
    whole_table: bool
    partitioning: Partitioning | None
    time_zone: str
    freshness: timedelta
    catch_up: CatchUp = "all"
    jitter: timedelta = timedelta()  # so much later than its instant is everything due
    retention_start: datetime | None = None  # a whole-table window starts with the first partition from here on
    judges_from: datetime | None = None  # no partition that begins earlier has a slot

    @property
    def is_partition(self) -> bool:
        """Whether every partition has a slot of its own."""
        return self.line == PARTITION and self.partitioning is not None and not self.whole_table


def check_line(line: str) -> None:
    """Raise UnableToSchedule unless ``line`` is a schedule."""
    if line in (PARTITION, WEEKLY):
        return
    try:
        CronSim(line, BEGINNING)
    except CronSimError as error:
        raise UnableToSchedule(
            f"{line!r} is no schedule ({error}): write 'partition', 'weekly' or a cron line such as '0 6 * * *'."
        ) from None


@dataclass(frozen=True, kw_only=True)
class Due:
    """The slots to run now, the oldest first, how many more were due and are skipped, and the next to come."""

    slots: tuple[Slot, ...]
    skipped: int
    coming: Slot


@lru_cache(maxsize=64)  # the tests of a dataset are of few schedules
def first_slot(schedule: Schedule, *, now: datetime) -> Slot:
    """The first slot of a test written at ``now``: windows that ended before stay UNTESTED."""
    if schedule.is_partition:
        assert schedule.partitioning
        return _partition_slot(schedule, _judged(schedule, schedule.partitioning.at(now)))
    return next(_firings(schedule, now - _INSTANT))


def moved_slot(schedule: Schedule, window: Window, *, now: datetime) -> Slot:
    """The slot that follows a change of the schedule, for a test whose next window was ``window``."""
    if schedule.is_partition and schedule.partitioning and schedule.partitioning.tile(window) == (window,):
        return _partition_slot(schedule, _judged(schedule, window))
    return first_slot(schedule, now=now)


def is_ahead(schedule: Schedule, slot: Slot, *, now: datetime) -> bool:
    """Whether a cursor stands behind the slot that a new test would wait for: it was moved on by a clock too fast."""
    return slot.due_at > first_slot(schedule, now=now + _INSTANT).due_at


def slot_after(schedule: Schedule, last: Slot | None, *, since: datetime, now: datetime) -> Slot:
    """The slot that follows the last one that was run; of a test that was written ``since`` and never ran, its first.

    It may be due already, and then it is made up for.
    """
    if last is None:
        return first_slot(schedule, now=min(since, now))
    if not schedule.is_partition:
        return next(_firings(schedule, last.due_at))
    assert schedule.partitioning
    if schedule.partitioning.tile(last.window) != (last.window,):  # of an earlier schedule
        return first_slot(schedule, now=now)
    return _partition_slot(schedule, _judged(schedule, schedule.partitioning.next(last.window)))


def jitter_of(name: str, most: timedelta) -> timedelta:
    """How much later than the instant a dataset's tests are due: the same each time, and less than ``most``."""
    share = int.from_bytes(blake2s(name.encode(), digest_size=4).digest()) / 2**32
    return timedelta(milliseconds=int(most / timedelta(milliseconds=1) * share))


def due_slots(schedule: Schedule, slot: Slot, *, now: datetime) -> Due:
    """The slots due at ``now`` from ``slot`` on, as the catch-up policy has them; of a whole table the newest only."""
    newest: deque[Slot] = deque(maxlen=MOST_CAUGHT_UP if schedule.catch_up == "all" and not schedule.whole_table else 1)
    for number, coming in enumerate(_slots(schedule, slot)):
        if coming.due_at > now:
            slots = tuple(
                newest_slot
                for newest_slot in newest
                if not (schedule.catch_up == "none" and now - newest_slot.due_at > MISSED_AFTER)
            )
            return Due(slots=slots, skipped=number - len(slots), coming=coming)
        newest.append(coming)
    raise UnableToSchedule(f"{schedule.line!r} never fires after {now}: write a schedule that goes on.")


def period(line: str, granularity: Granularity | None) -> timedelta:
    """The usual time between two slots; the granularity is None for a table without partitions."""
    if line == PARTITION and granularity is not None:
        return granularity.after(BEGINNING) - BEGINNING
    firings = CronSim(MONDAYS if line in (PARTITION, WEEKLY) else line, BEGINNING)
    first = next(firings)
    return next(firings) - first


def _slots(schedule: Schedule, slot: Slot) -> Iterator[Slot]:
    if not schedule.is_partition:
        yield from _firings(schedule, slot.due_at - _INSTANT)  # its window anew: what is kept has moved
        return
    assert schedule.partitioning
    yield slot
    while True:
        slot = _partition_slot(schedule, schedule.partitioning.next(slot.window))
        yield slot


def _judged(schedule: Schedule, window: Window) -> Window:
    """The window, or the first later one that is judged at all."""
    assert schedule.partitioning
    first = schedule.judges_from
    if first is None or window.start >= first:
        return window
    return schedule.partitioning.between(first, _NEVER, 1)[0]


def _partition_slot(schedule: Schedule, window: Window) -> Slot:
    return Slot(window=window, due_at=window.end + schedule.freshness + schedule.jitter)


def _firings(schedule: Schedule, after: datetime) -> Iterator[Slot]:
    """When the schedule fires after ``after``, in UTC; a weekly one Mondays 00:00 and the freshness SLA later."""
    is_cron = schedule.line not in (PARTITION, WEEKLY)
    delay = schedule.jitter if is_cron else schedule.jitter + schedule.freshness
    start = (after - delay).astimezone(zone(schedule.time_zone))
    for firing in CronSim(schedule.line if is_cron else MONDAYS, start):
        instant = firing.astimezone(UTC) + delay
        window = window_at(schedule, instant)
        if window is not None:
            yield Slot(window=window, due_at=instant)


def window_at(schedule: Schedule, firing: datetime) -> Window | None:
    """What a firing runs over: the last due partition, or all up to it; None where nothing is kept."""
    if schedule.partitioning is None:
        return Window(start=BEGINNING, end=firing)
    current = schedule.partitioning.at(firing - schedule.freshness)
    last = schedule.partitioning.at(current.start - _INSTANT)
    if not schedule.whole_table:
        return last
    oldest = schedule.retention_start or BEGINNING
    holding = schedule.partitioning.at(oldest)
    start = holding.start if holding.start == oldest else holding.end  # of the first whole partition that is kept
    return Window(start=start, end=last.end) if start < last.end else None


# Which windows came before one: those right before it, or it moved back step by step (pure).


class UnableToLookBack(Exception):
    """The calendar has no such partition: an hour that the clocks skipped, or one before the year 1."""


def past_windows(window: Window, partitioning: Partitioning, history: History) -> tuple[Window, ...]:
    """The windows a history is over, the oldest first; raises UnableToStep for a step that does not fit.

    Steps are counted from ``window``, not from one to the next, so that a 31st is found again behind a shorter month.
    A window that the calendar does not have is left out.
    """
    is_lag = history.function is HistoryFunction.LAG
    if history.every is None:
        return partitioning.previous(window, history.last)[: 1 if is_lag else None]
    step = -Step.parse(history.every)
    windows = []
    for count in [history.last] if is_lag else range(history.last, 0, -1):
        with suppress(UnableToLookBack):
            windows.append(partition_before(window, partitioning, replace(step, amount=step.amount * count)))
    return tuple(windows)


def partition_before(window: Window, partitioning: Partitioning, step: Step) -> Window:
    """The partition one step away; raises UnableToStep, or UnableToLookBack where the calendar has none."""
    if not fits(step, partitioning.granularity):
        raise UnableToStep(no_multiple(step, partitioning.granularity))  # even if it fits here by chance
    try:
        return partitioning.step(window, step)
    except (ValueError, OverflowError) as error:
        detail = f"{step} from {partitioning.key(window)} there is no {partitioning.granularity.value} of "
        raise UnableToLookBack(f"{detail}{partitioning.time_zone}") from error


# Whose turn it is: what comes first of the runs and scans that wait, and which scans may not begin yet.
#
# Bounds are on what runs at once for one owner, one dataset and one engine. A worker looks at what runs before it
# claims. Several that look in the same instant may pass a bound by as many as they are; the next to look waits until it
# holds.

LATER = len(TIERS)  # the first turn of what is made up for
KINDS = ("dataset_id", "owner", "engine")


def turn(tier: int, *, is_made_up_for: bool = False) -> int:
    """The place in the order of claims: critical tiers first; what an outage has left, after all that is current."""
    return tier + (LATER if is_made_up_for else 0)


def is_made_up_for(turn: int) -> bool:
    """Whether this is the turn of what an outage left behind."""
    return turn >= LATER


# how many scans run at once in one datacenter, by the kind of what they have in common; 0: as many as there are workers
Bounds = Mapping[str, int]


def at_bound(running: Iterable[Mapping[str, object]], bounds: Bounds) -> list[tuple[str, str, object]]:
    """What may begin no further scan: datacenter, kind and value.

    ``running``: datacenter and the KINDS of each scan under a live lease.
    """
    counts = Counter((str(scan["datacenter"]), kind, scan[kind]) for scan in running for kind in KINDS)
    return [place for place, number in counts.items() if 0 < bounds.get(place[1], 0) <= number]
