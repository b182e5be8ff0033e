"""How often a window's data is looked at (pure). Instants are whole multiples, so that many looks fall on one."""

from datetime import UTC, datetime, timedelta

CLOSELY = timedelta(minutes=5)  # WARN, FAIL and UNKNOWN
HOURLY = timedelta(hours=1)  # as long as the window is young
DAILY = timedelta(days=1)
YOUNG = timedelta(days=35)
LONG_WINDOW = timedelta(days=32)  # longer ones are whole tables, whose partitions are watched themselves
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def next_look(*, window_end: datetime, closely: bool, now: datetime) -> datetime:
    """The next instant to look at a window, after ``now``."""
    interval = CLOSELY if closely else HOURLY if window_end > now - YOUNG else DAILY
    return now + interval - (now - _EPOCH) % interval
