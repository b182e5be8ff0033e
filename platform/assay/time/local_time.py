"""Where a local time lies in UTC, in zones that skip, double or even drop whole days of it."""

from bisect import bisect_left
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

_SECOND = timedelta(seconds=1)


@lru_cache(maxsize=4096)
def boundary(wall: datetime, zone: tzinfo) -> datetime:
    """The UTC instant up to which local clocks show less than ``wall`` (naive).

    It never falls as ``wall`` rises, so periods cut at it tile time: a skipped period comes out empty and a doubled
    one twice as long, whether the clocks are moved at 02:00, at midnight or at one minute past it.
    """
    first = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    second = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if second < first:
        return transition(second, first, zone)
    shows_less = (second - datetime.resolution).astimezone(zone).replace(tzinfo=None) < wall
    return second if shows_less else first


def transition(low: datetime, high: datetime, zone: tzinfo) -> datetime:
    """The first second after ``low``, at most ``high``, at which the offset differs from that of ``low``."""
    before = low.astimezone(zone).utcoffset()
    second = low.replace(microsecond=0)
    seconds = range((high - low) // _SECOND)
    changed = bisect_left(seconds, True, key=lambda n: (second + n * _SECOND).astimezone(zone).utcoffset() != before)
    return second + changed * _SECOND
