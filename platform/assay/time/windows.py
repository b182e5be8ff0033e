"""Windows of time and the partitions that tile it: a key on one side, ``[start, end)`` in UTC on the other."""

from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from enum import StrEnum
from functools import lru_cache
from typing import Self
from zoneinfo import ZoneInfo

from .durations import Step, StepUnit, UnableToStep, UnableToTakeInstant, add_months, shift, shift_wall, taken


class Granularity(StrEnum):
    """The length of a dataset's partitions, in local time."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"  # from Monday
    MONTH = "month"

    @property
    def default_key_format(self) -> str:
        """The key format of partitions whose metadata gives none."""
        return {"hour": "%Y-%m-%d-%H", "day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}[self]

    def floor(self, wall: datetime) -> datetime:
        """The start of the local period that holds the naive ``wall``."""
        hour = wall.replace(minute=0, second=0, microsecond=0)
        match self:
            case Granularity.HOUR:
                return hour
            case Granularity.DAY:
                return hour.replace(hour=0)
            case Granularity.WEEK:
                return hour.replace(hour=0) - timedelta(days=hour.weekday())
            case Granularity.MONTH:
                return hour.replace(hour=0, day=1)

    def after(self, wall: datetime, periods: int = 1) -> datetime:
        """The start of the local period that comes ``periods`` after the one starting at ``wall``."""
        if self is Granularity.MONTH:
            return add_months(wall, periods)
        return wall + periods * timedelta(**{f"{self.value}s": 1})


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


_SECOND = timedelta(seconds=1)
_ODD = datetime(2012, 2, 29, 22)  # no part of it is what strptime takes for one that a format leaves out


class UnableToPartition(ValueError):
    """A time zone, key format or key that names no partitions."""


@lru_cache(maxsize=1024)
def zone(name: str) -> ZoneInfo:
    """The time zone of an IANA name; raises UnableToPartition."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UnableToPartition(f"There is no time zone {name!r}: write an IANA name such as Europe/Berlin.") from None


def parse_key(key: str, key_format: str) -> datetime:
    """The local start that a key says; raises ValueError."""
    if "%V" in key_format and "%u" not in key_format:
        return datetime.strptime(f"{key} 1", f"{key_format} %u")  # a week alone is no date: take its Monday
    return datetime.strptime(key, key_format)


@lru_cache(maxsize=1024)
def check_key_format(granularity: Granularity, key_format: str) -> None:
    """Raise UnableToPartition unless every period has a key of its own that can be read back."""
    wall = granularity.floor(_ODD)
    key = wall.replace(tzinfo=UTC).strftime(key_format)
    try:
        read = parse_key(key, key_format).replace(tzinfo=None)
    except ValueError as error:
        raise UnableToPartition(f"The key format {key_format!r} cannot be read back: {error}.") from None
    if read != wall:
        raise UnableToPartition(
            f"The key format {key_format!r} does not tell one {granularity.value} from another: {wall} becomes "
            f"{key!r}, which reads as {read}. Try {granularity.default_key_format!r}."
        )


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
            pieces = [window for window in self._pieces(wall) if self._name(wall, window) == key]
        except (ValueError, OverflowError):
            raise UnableToPartition(f"{key!r} does not have the key format {self.key_format!r}.") from None
        if not pieces:
            raise UnableToPartition(
                f"No {self.granularity.value} in {self.time_zone} has the key {key!r} (format {self.key_format!r})."
            )
        return pieces[0]

    def at(self, instant: datetime) -> Window:
        """The window that holds an instant."""
        return self._locate(instant)[1]

    def between(self, start: datetime, end: datetime, most: int | None = None) -> tuple[Window, ...]:
        """All windows that start in ``[start, end)``, or so many of them, oldest first."""
        windows: list[Window] = []
        wall = self._locate(start)[0]
        while True:
            for window in self._pieces(wall):
                if window.start >= end or len(windows) == most:
                    return tuple(windows)
                if window.start >= start:
                    windows.append(window)
            wall = self.granularity.after(wall)

    def previous(self, window: Window, n: int = 1) -> tuple[Window, ...]:
        """The ``n`` windows before this one, oldest first."""
        wall = self._wall(window)
        earlier = [piece for piece in self._pieces(wall) if piece.start < window.start]
        while len(earlier) < n:
            wall = self.granularity.after(wall, -1)
            earlier = [*self._pieces(wall), *earlier]
        return tuple(earlier[-n:]) if n else ()

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
            if self.granularity is not Granularity.HOUR or step.unit is not StepUnit.HOUR:
                raise UnableToStep(
                    f"{step} is no whole number of {self.granularity.value}s: step by 1h only through hourly "
                    "partitions, by d, w, mo or y through longer ones."
                )
            return self.at(shift(window.start, step, self.zone))
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


# 29 hours apart, so that a year of them meets every hour of the day, both sides of every change of clocks, and
# almost every day of the year; a leap year, so that its extra day is met too.
_YEAR = tuple(datetime(2024, 1, 1, tzinfo=UTC) + n * timedelta(hours=29) for n in range(303))


@lru_cache(maxsize=4096)
def aligned(downstream: Partitioning, upstream: Partitioning) -> bool:
    """Whether upstream partitions tile every downstream one, so far as a year of them shows."""
    if downstream == upstream:
        return True
    windows = {downstream.at(instant).start: downstream.at(instant) for instant in _YEAR}
    return all(upstream.tile(window) is not None for window in windows.values())


INSTANT = timedelta(microseconds=1)
WHOLE_TABLE = "the whole table"
UTC_NAME = "UTC"


def keys_of(window: Window, partitioning: Partitioning | None) -> str:
    """The key of the partition that a window is, or those of the first and the last; else its instants in UTC."""
    return _keys(window, partitioning) or f"{window.start:%Y-%m-%d %H:%M} – {window.end:%Y-%m-%d %H:%M} {UTC_NAME}"


def partition_name(window: Window, partitioning: Partitioning | None, *, whole_table: bool = False) -> str:
    """The window as messages name it: its keys, or its local instants, and the zone that they are of."""
    if whole_table:
        return WHOLE_TABLE
    if partitioning is None:
        return keys_of(window, None)
    if keys := _keys(window, partitioning):
        return keys if partitioning.time_zone == UTC_NAME else f"{keys} ({partitioning.time_zone})"
    start, end = (at.astimezone(partitioning.zone) for at in (window.start, window.end))
    return f"{start:%Y-%m-%d %H:%M} – {end:%Y-%m-%d %H:%M} {partitioning.time_zone}"


def _keys(window: Window, partitioning: Partitioning | None) -> str:
    """The keys of the first and the last partition of a window, or of the only one; empty where none are it."""
    if partitioning is None:
        return ""
    try:
        first, last = partitioning.at(window.start), partitioning.at(window.end - INSTANT)
        if (first.start, last.end) != (window.start, window.end):
            return ""
        key = partitioning.key(first)
        return key if first == last else f"{key} – {partitioning.key(last)}"
    except (UnableToAlign, OverflowError):  # at the ends of the calendar local times run out
        return ""


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
