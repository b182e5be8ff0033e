"""The demo's days, in the zone that its tables are cut by."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from assay.time.windows import Granularity, Partitioning, Window

YEAR = 2013
ZONE = ZoneInfo("America/New_York")
PARTITIONING = Partitioning(granularity=Granularity.DAY, time_zone=ZONE.key, key_format="")
FIRST_DAY = date(YEAR, 3, 6)
LAST_DAY = date(YEAR, 4, 2)
DAYS = tuple(FIRST_DAY + timedelta(days=n) for n in range((LAST_DAY - FIRST_DAY).days + 1))


def day(text: str) -> date:
    """The day that ``03-12`` says."""
    return date.fromisoformat(f"{YEAR}-{text}")


def local(text: str) -> datetime:
    """The instant, in UTC, that New York's clocks show as ``03-13 06:20``."""
    return datetime.fromisoformat(f"{YEAR}-{text}").replace(tzinfo=ZONE).astimezone(UTC)


def window_of(of: date) -> Window:
    """The local day as a window; 10 March has 23 hours."""
    return PARTITIONING.window(of.isoformat())


BEGINS_AT = local("03-06 00:00")
ENDS_AT = local("04-04 00:00")  # the last partition has landed and been judged; one incident is left to look at
