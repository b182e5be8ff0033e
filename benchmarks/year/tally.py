"""How good the alarms were, by duration: of each partition, when it was bad beside when it was called bad."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median

from assay.time.windows import Window
from incident_manager.intervals import Intervals, clip, total, union


@dataclass(frozen=True, kw_only=True)
class BadTime:
    """One partition held an error: from its landing to its repair."""

    day: date
    kind: str
    share: float
    time: Window


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """A test of one category called a partition bad; ``told``: its owner was sent a notice."""

    day: date
    category: str
    time: Window
    told: bool


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Times of partitions, each counted once however many tests speak of it.

    ``right`` is the part of ``alarmed`` in which the partition was bad, ``bad`` all time in which any was.
    """

    faults: int
    found: int
    bad: timedelta
    alarmed: timedelta
    right: timedelta
    seconds_to_alarm: float | None  # the median of the faults that were found

    @property
    def recall(self) -> float | None:
        """The share of the bad time with an alarm; None without any bad time."""
        return self.right / self.bad if self.bad else None

    @property
    def precision(self) -> float | None:
        """The share of the alarms' time in which the partition was bad; None without an alarm."""
        return self.right / self.alarmed if self.alarmed else None


def tally(bad: Sequence[BadTime], alarms: Sequence[Alarm]) -> Tally:
    """Of these faults and alarms; an alarm of a partition without a fault counts as alarmed and never as right."""
    days = {alarm.day for alarm in alarms}
    alarmed = {day: union(alarm.time for alarm in alarms if alarm.day == day) for day in days}
    seen = [_seen(one, alarmed.get(one.day, ())) for one in bad]
    waits = [(times[0].start - one.time.start).total_seconds() for one, times in zip(bad, seen, strict=True) if times]
    return Tally(
        faults=len(bad),
        found=len(waits),
        bad=sum((one.time.duration for one in bad), timedelta()),
        alarmed=sum(map(total, alarmed.values()), timedelta()),
        right=sum(map(total, seen), timedelta()),
        seconds_to_alarm=median(waits) if waits else None,
    )


def _seen(one: BadTime, alarmed: Intervals) -> Intervals:
    return clip(alarmed, one.time)


def false_days(bad: Sequence[BadTime], alarms: Sequence[Alarm]) -> set[date]:
    """The days whose partition was called bad, and never while it was."""
    times = {one.day: one.time for one in bad}
    right = {alarm.day for alarm in alarms if (own := times.get(alarm.day)) and own.overlaps(alarm.time)}
    return {alarm.day for alarm in alarms} - right


def by_kind(bad: Sequence[BadTime], alarms: Sequence[Alarm], of: Callable[[BadTime], str]) -> dict[str, Tally]:
    """The tally of the faults of each kind, with the alarms of their own days."""
    kinds = sorted({of(one) for one in bad})
    groups = {kind: [one for one in bad if of(one) == kind] for kind in kinds}
    return {
        kind: tally(ones, [alarm for alarm in alarms if alarm.day in {one.day for one in ones}])
        for kind, ones in groups.items()
    }
