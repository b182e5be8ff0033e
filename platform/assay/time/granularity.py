"""The lengths a partition can have, as periods of local time."""

from datetime import datetime, timedelta
from enum import StrEnum

from .steps import add_months


class Granularity(StrEnum):
    """The length of a dataset's partitions, in local time."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"  # from Monday
    MONTH = "month"

    @property
    def default_key_format(self) -> str:
        """The key format of partitions whose metadata gives none."""
        return _KEY_FORMATS[self]

    def floor(self, wall: datetime) -> datetime:
        """The start of the local period that holds the naive ``wall``."""
        day = wall.replace(hour=0, minute=0, second=0, microsecond=0)
        match self:
            case Granularity.HOUR:
                return wall.replace(minute=0, second=0, microsecond=0)
            case Granularity.DAY:
                return day
            case Granularity.WEEK:
                return day - timedelta(days=day.weekday())
            case Granularity.MONTH:
                return day.replace(day=1)

    def after(self, wall: datetime, periods: int = 1) -> datetime:
        """The start of the local period that comes ``periods`` after the one starting at ``wall``."""
        match self:
            case Granularity.HOUR:
                return wall + timedelta(hours=periods)
            case Granularity.DAY:
                return wall + timedelta(days=periods)
            case Granularity.WEEK:
                return wall + timedelta(weeks=periods)
            case Granularity.MONTH:
                return add_months(wall, periods)


_KEY_FORMATS = {
    Granularity.HOUR: "%Y-%m-%d-%H",
    Granularity.DAY: "%Y-%m-%d",
    Granularity.WEEK: "%G-W%V",
    Granularity.MONTH: "%Y-%m",
}
