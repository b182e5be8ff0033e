"""Windows of time and the partitions that tile it: a key on one side, ``[start, end)`` in UTC on the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Self
from zoneinfo import ZoneInfo

from .granularity import Granularity
from .instants import UnableToTakeInstant, taken
from .local_time import boundary, transition
from .partition_keys import UnableToPartition, check_key_format, parse_key, zone
from .steps import Step, StepUnit, UnableToStep, shift, shift_wall

__all__ = [
    "Granularity",
    "Partitioning",
    "Step",
    "UnableToAlign",
    "UnableToPartition",
    "UnableToReadWindow",
    "UnableToStep",
    "Window",
    "shift",
]


class UnableToReadWindow(ValueError):
    """A window that is written wrongly or has no length."""


class UnableToAlign(ValueError):
    """A window that the partitions do not tile."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """A half-open stretch of time ``[start, end)``, in UTC."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise UnableToReadWindow(f"A window needs instants with a time zone, not {self.start} to {self.end}.")
        if self.start.tzinfo is not UTC or self.end.tzinfo is not UTC:  # those of a database are in UTC already
            object.__setattr__(self, "start", self.start.astimezone(UTC))
            object.__setattr__(self, "end", self.end.astimezone(UTC))
        if self.start >= self.end:
            raise UnableToReadWindow(f"A window must end after it starts, not run from {self.start} to {self.end}.")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The window whose ``text`` this is; raises UnableToReadWindow."""
        start, _, end = text.partition("/")
        try:
            return cls(start=datetime.fromisoformat(start), end=datetime.fromisoformat(end))
        except (ValueError, OverflowError) as error:
            raise UnableToReadWindow(
                f"{text!r} is no window ({error}): write it like 2013-02-01T05:00:00Z/2013-02-02T05:00:00Z."
            ) from None

    def taken(self) -> Self:
        """The window itself, as somebody asks for it or tells of it; raises UnableToReadWindow far from our years."""
        try:
            taken(self.start)
            taken(self.end)
        except UnableToTakeInstant as error:
            raise UnableToReadWindow(str(error)) from None
        return self

    @property
    def text(self) -> str:
        """The window in ISO 8601, such as ``2013-02-01T05:00:00Z/2013-02-02T05:00:00Z``."""
        return "/".join(instant.isoformat().replace("+00:00", "Z") for instant in (self.start, self.end))

    @property
    def duration(self) -> timedelta:
        """How long the window is."""
        return self.end - self.start

    def contains(self, other: "datetime | Window") -> bool:
        """Whether an instant, or the whole of another window, lies inside."""
        if isinstance(other, Window):
            return self.start <= other.start and other.end <= self.end
        return self.start <= other < self.end

    def overlaps(self, other: "Window") -> bool:
        """Whether the two share any instant; windows that only touch do not."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, kw_only=True)
class Partitioning:
    """How a dataset is cut into partitions: local periods of one zone, each named by its key.

    A local day may have 23 or 25 hours. The hour that a change of clocks doubles is one partition of two hours, as
    both have the same key, unless the format holds ``%z``; the hour that is skipped has no partition.
    """

    granularity: Granularity
    time_zone: str = "UTC"
    key_format: str = ""  # empty: that of the granularity

    def __post_init__(self) -> None:
        if not self.key_format:
            object.__setattr__(self, "key_format", self.granularity.default_key_format)
        zone(self.time_zone)
        check_key_format(self.granularity, self.key_format)

    @property
    def zone(self) -> ZoneInfo:
        """The time zone in which the periods are cut."""
        return zone(self.time_zone)

    def key(self, window: Window) -> str:
        """The key of the partition with this window; raises UnableToAlign if there is none."""
        return self._name(self._wall(window), window)

    def window(self, key: str) -> Window:
        """The window of a key; raises UnableToPartition for one that no partition can have."""
        try:
            wall = self.granularity.floor(parse_key(key, self.key_format).replace(tzinfo=None))
            found = [window for window in self._pieces(wall) if self._name(wall, window) == key]
        except (ValueError, OverflowError):
            raise UnableToPartition(f"{key!r} does not have the key format {self.key_format!r}.") from None
        if not found:
            raise UnableToPartition(
                f"No {self.granularity.value} in {self.time_zone} has the key {key!r} (format {self.key_format!r})."
            )
        return found[0]

    def at(self, instant: datetime) -> Window:
        """The window that holds an instant."""
        return self._locate(instant)[1]

    def between(self, start: datetime, end: datetime, most: int | None = None) -> tuple[Window, ...]:
        """All windows that start in ``[start, end)``, or so many of them, oldest first."""
        found: list[Window] = []
        for window in self._from(start):
            if window.start >= end or len(found) == most:
                break
            if window.start >= start:
                found.append(window)
        return tuple(found)

    def previous(self, window: Window, n: int = 1) -> tuple[Window, ...]:
        """The ``n`` windows before this one, oldest first."""
        wall = self._wall(window)
        found = [piece for piece in self._pieces(wall) if piece.start < window.start]
        while len(found) < n:
            wall = self.granularity.after(wall, -1)
            found = [*self._pieces(wall), *found]
        return tuple(found[-n:]) if n else ()

    def next(self, window: Window) -> Window:
        """The window after this one."""
        self._wall(window)
        return self.at(window.end)

    def step(self, window: Window, step: Step) -> Window:
        """The window one step away; raises UnableToStep where none starts.

        Days and longer step through the local calendar. Hours are for hourly partitions, and give the window that
        holds the instant so many real hours away.
        """
        wall = self._wall(window)
        if not step.unit.is_calendar:
            return self._step_hours(window, step)
        target = shift_wall(wall, step)
        pieces = self._pieces(target) if target == self.granularity.floor(target) else ()
        if not pieces:
            raise UnableToStep(
                f"{step} from {self.key(window)} is {target}, where no {self.granularity.value} of {self.time_zone} "
                f"starts: take a whole number of partitions."
            )
        return pieces[0] if window == self._pieces(wall)[0] else pieces[-1]

    def tile(self, window: Window, most: int | None = None) -> tuple[Window, ...] | None:
        """The partitions that cover ``window`` exactly, oldest first; None where none do, or more than ``most``."""
        try:
            tiles = self.between(window.start, window.end, most)
        except OverflowError:  # at the ends of the calendar local times run out
            return None
        aligned = tiles and tiles[0].start == window.start and tiles[-1].end == window.end
        return tiles if aligned else None

    def keys(self, window: Window) -> tuple[str, ...]:
        """The keys of the partitions that cover ``window`` exactly; raises UnableToAlign when they do not."""
        tiles = self.tile(window)
        if tiles is None:
            raise UnableToAlign(
                f"Partitions do not align: no whole number of {self.granularity.value}s of {self.time_zone} covers "
                f"{window.text}."
            )
        return tuple(self.key(tile) for tile in tiles)

    def _step_hours(self, window: Window, step: Step) -> Window:
        if self.granularity is not Granularity.HOUR or step.unit is not StepUnit.HOUR:
            raise UnableToStep(
                f"{step} is no whole number of {self.granularity.value}s: step by 1h only through hourly partitions, "
                f"by d, w, mo or y through longer ones."
            )
        return self.at(shift(window.start, step, self.zone))

    def _name(self, wall: datetime, window: Window) -> str:
        """The key of a window of the local period that starts at ``wall``."""
        if "%z" in self.key_format:
            offset = window.start.astimezone(self.zone).utcoffset() or timedelta()
            return wall.replace(tzinfo=timezone(offset)).strftime(self.key_format)
        return wall.strftime(self.key_format)

    def _wall(self, window: Window) -> datetime:
        wall, own = self._locate(window.start)
        if own != window:
            raise UnableToAlign(
                f"{window.text} is no {self.granularity.value} of {self.time_zone}; the nearest is {own.text}."
            )
        return wall

    def _from(self, instant: datetime) -> Iterator[Window]:
        wall = self._locate(instant)[0]
        while True:
            yield from self._pieces(wall)
            wall = self.granularity.after(wall)

    def _locate(self, instant: datetime) -> tuple[datetime, Window]:
        # Local time is not monotone, so the clock only says where to begin to look.
        wall = self.granularity.floor(instant.astimezone(self.zone).replace(tzinfo=None))
        while instant < boundary(wall, self.zone):
            wall = self.granularity.after(wall, -1)
        while instant >= boundary(self.granularity.after(wall), self.zone):
            wall = self.granularity.after(wall)
        return wall, next(piece for piece in self._pieces(wall) if instant < piece.end)

    def _pieces(self, wall: datetime) -> tuple[Window, ...]:
        """The partitions of one local period: none if it is skipped, two for a doubled hour whose key tells them."""
        start, end = boundary(wall, self.zone), boundary(self.granularity.after(wall), self.zone)
        if start == end:
            return ()
        if self.granularity is Granularity.HOUR and "%z" in self.key_format:
            cut = transition(start, end, self.zone)
            if cut < end:
                return Window(start=start, end=cut), Window(start=cut, end=end)
        return (Window(start=start, end=end),)
