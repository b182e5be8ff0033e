"""Late or lost: whether the rows that a window lacks may still come, and how long a dataset usually takes (pure)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

SHORTEST_STILLNESS = timedelta(hours=1)
GAPS_NEEDED = 3  # one or two may themselves be the odd ones
WINDOWS_NEEDED = 3  # one or two may themselves be the late ones


@dataclass(frozen=True, kw_only=True)
class Lack:
    """What is known of a window that lacks rows in one datacenter."""

    has_file: bool
    is_judged: bool  # a completeness test finds rows missing there, or of a copy a consistency test
    counted_at: datetime  # when its rows were last counted
    completed_at: datetime | None = None  # of the newest completions that came after its end and name all of it
    changed_at: datetime | None = None  # when its files were last seen to change
    stillness: timedelta = SHORTEST_STILLNESS  # after so long without a change, nothing more is expected


def lost_at(lack: Lack) -> datetime | None:
    """From when on its rows are lost if nothing changes before; None while they are late.

    Rows that were counted before the completion or the last change say nothing of what is there by now.
    """
    if not lack.has_file or not lack.is_judged:
        return None
    still = lack.changed_at + lack.stillness if lack.changed_at and lack.changed_at <= lack.counted_at else None
    told = lack.completed_at if lack.completed_at and lack.completed_at <= lack.counted_at else None
    return min((instant for instant in (told, still) if instant is not None), default=None)


def stillness(*, sustain: timedelta, gaps: Sequence[timedelta]) -> timedelta:
    """How long files must stand still; ``gaps`` lie between the changes of one window, of recent windows."""
    least = max(sustain, SHORTEST_STILLNESS)
    if len(gaps) < GAPS_NEEDED:
        return least
    return max(least, timedelta(seconds=median(gap.total_seconds() for gap in gaps)))


def usual_delay(own: Sequence[float], upstreams: Iterable[Sequence[float]]) -> timedelta:
    """By how much the median of its seconds to complete exceeds that of its slowest upstream; zero if none is known."""
    known = [median(values) for values in upstreams if len(values) >= WINDOWS_NEEDED]
    if len(own) < WINDOWS_NEEDED or not known:
        return timedelta()
    return timedelta(seconds=max(0.0, median(own) - max(known)))
