"""Which period an instant belongs to, read off the clock on the wall: a reference that knows nothing of boundaries."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)


def keys_by_the_clock(instants: Sequence[datetime], zone: ZoneInfo, key_format: str) -> list[str]:
    """The key of each of these instants, which rise: of the least that the clock shows from it on.

    A clock that is set back shows an hour, or a minute of the next day, that it will show again: that counts as what it
    is when it has passed for good.
    """
    shown = [instant.astimezone(zone).replace(tzinfo=None) for instant in instants]
    passed = list(accumulate(reversed(shown), min))
    return [least.strftime(key_format) for least in reversed(passed)]


def around(change: datetime, reach: timedelta, *, near: timedelta = timedelta(hours=3)) -> Iterator[datetime]:
    """Instants up to ``reach`` from a change of clocks: each minute where it is near, each half hour elsewhere."""
    instant = change - reach
    while instant < change + reach:
        yield instant
        instant += MINUTE if abs(instant - change) < near else 30 * MINUTE
