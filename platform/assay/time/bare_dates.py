"""Ends of a range as people write them: an instant, or a bare date, which is midnight in a time zone (pure)."""

from datetime import UTC, date, datetime

from .granularity import Granularity
from .instants import taken
from .windows import Partitioning

EndOfRange = date | datetime  # a datetime is an instant; a bare date waits for its zone


def parse_end(text: str) -> EndOfRange:
    """The end that a text in ISO 8601 names; an instant without a zone is in UTC. Raises ValueError."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        instant = datetime.fromisoformat(text)
    return taken(instant if instant.tzinfo else instant.replace(tzinfo=UTC))


def place_end(end: EndOfRange, time_zone: str = "UTC") -> datetime:
    """The instant of an end, with the midnight of a bare date in this zone; raises ValueError."""
    if isinstance(end, datetime):
        return end
    days = Partitioning(granularity=Granularity.DAY, time_zone=time_zone or "UTC")
    return taken(days.window(f"{end:%Y-%m-%d}").start)
