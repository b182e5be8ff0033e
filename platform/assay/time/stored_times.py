"""Times in a column by which a database table is cut: from an instant to the value at which a range begins or ends."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from .durations import EARLIEST, LATEST
from .windows import Partitioning, UnableToPartition, boundary, zone


class Holds(StrEnum):
    """What the values of a partition column are."""

    KEY = "key"  # the key of the partition
    TIME = "time"  # when the row was made, as a DATETIME, TIMESTAMP or DATE
    EPOCH_SECONDS = "epoch_seconds"  # the same, as seconds since 1970 in UTC
    EPOCH_MILLISECONDS = "epoch_milliseconds"


TICKS = {Holds.EPOCH_SECONDS: timedelta(seconds=1), Holds.EPOCH_MILLISECONDS: timedelta(milliseconds=1)}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class StoredTimes:
    """How times are stored, in clocks of which ``time_zone``, and the partitions that they fall into."""

    partitioning: Partitioning
    holds: Holds
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        zone(self.time_zone)

    def wall(self, instant: datetime) -> datetime:
        """The naive time in the column from which on rows are of ``instant`` or later.

        Raises UnableToPartition inside an hour that the zone's clocks show twice: its rows cannot be told apart.
        Where partitions are cut in the same zone, such an hour is one partition, and nothing needs to be.
        """
        own, wall = zone(self.time_zone), self.local(instant)
        first = wall.replace(tzinfo=own, fold=0).astimezone(UTC)
        is_first = first == instant or self.time_zone == self.partitioning.time_zone
        if is_first and boundary(wall, own) == instant:
            return wall
        raise UnableToPartition(
            f"the times are those of {self.time_zone}, whose clocks showed {wall:%Y-%m-%d %H:%M} twice, so that rows "
            f"before and after {instant.astimezone(UTC):%Y-%m-%d %H:%M} UTC cannot be told apart"
        )

    def local(self, instant: datetime) -> datetime:
        """What the clocks of the stored times show at an instant, without their zone."""
        return instant.astimezone(zone(self.time_zone)).replace(tzinfo=None)

    def ticks(self, instant: datetime) -> int:
        """The first whole second or millisecond since 1970 that is not before ``instant``."""
        return -((_EPOCH - instant) // TICKS[self.holds])

    def instants(self, text: str) -> tuple[datetime, datetime] | None:
        """The first and the last instant that a value, as a query writes it, may be; None for one that is no time.

        A time far from our years, such as the end of the calendar, is taken for the last one near them.
        """
        try:
            if self.holds in TICKS:
                instants = [_EPOCH + int(text) * TICKS[self.holds]]
            else:
                wall = datetime.fromisoformat(text)
                own = [wall] if wall.tzinfo else [wall.replace(tzinfo=zone(self.time_zone), fold=n) for n in (0, 1)]
                instants = [time.astimezone(UTC) for time in own]
        except (ValueError, OverflowError):
            return None
        near = [min(max(instant, EARLIEST), LATEST) for instant in instants]
        return min(near), max(near)

    def instant(self, value: datetime | int) -> datetime:
        """The first instant that a stored value may be."""
        if isinstance(value, int):
            return _EPOCH + value * TICKS[self.holds]
        return value.replace(tzinfo=value.tzinfo or zone(self.time_zone)).astimezone(UTC)
