"""A column that holds keys, compared with a constant: which partitions may pass (pure).

The column may be a text, a number or a date: a comparison that these would decide differently leaves what any of them
leaves.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from assay.time.durations import EARLIEST, LATEST
from assay.time.stored_times import TICKS, StoredTimes
from assay.time.windows import Granularity, UnableToPartition, Window
from incident_manager.intervals import Intervals, union

from .constants import Constant, KeyOrder, Value, as_time

DAY = timedelta(days=1)
LOOSE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?!\d)", re.ASCII)
DATED = ("%Y%m%d", "%Y-%m", "%F")  # and all that begin with %Y-%m-%d: keys that are read as dates


@dataclass(frozen=True, kw_only=True)
class KeyRanges:
    """The partitions of a stretch of time, by their keys."""

    order: KeyOrder

    def passing(self, operator: str, constant: Constant) -> Intervals | None:
        """The partitions whose rows may pass ``column operator constant``; None where that is not known."""
        if operator == "like":
            return self._like(constant)
        if operator == "=":
            return self._equal(constant)
        is_upward = operator in (">", ">=")
        edge = self._start(operator, constant.low) if is_upward else self._end(operator, constant.high)
        if edge is None:
            return None
        whole = self.order.whole
        return stretch(max(whole.start, edge), whole.end) if is_upward else stretch(whole.start, min(whole.end, edge))

    def _equal(self, constant: Constant) -> Intervals | None:
        if constant.low == constant.high and (window := self._window(constant.low)):
            return (window,)
        low, high = constant.low, constant.high
        if isinstance(low, str) and low == high:  # no key, so that it equals one as a date or not at all
            low = high = as_time(low) or low
        if not isinstance(low, date) and low == high:
            return None
        start, end = self._start(">=", low), self._end("<=", high)
        return None if start is None or end is None else stretch(start, end)

    def _like(self, constant: Constant) -> Intervals | None:
        if not isinstance(constant.low, str) or constant.low != constant.high or "\\" in constant.low:
            return None
        prefix = constant.low.replace("_", "%").split("%")[0]
        if not prefix or not self.order.is_like(prefix):
            return None
        start = self.order.first(lambda key: key >= prefix)
        end = self.order.first(lambda key: key[: len(prefix)] > prefix)
        return stretch(start.start, end.start if end else self.order.whole.end) if start else ()

    def _start(self, operator: str, value: Value) -> datetime | None:
        """The first instant of what may lie above a value."""
        if isinstance(value, date):
            return self._after(operator, value)
        whole = self.order.whole
        if window := self._window(value):
            if not self.order.is_text:
                return None
            return window.end if operator == ">" else window.start
        edges = [found.start if found else whole.end for found in self._firsts(value)]
        if edges and isinstance(value, str) and (shown := _loose_date(value)):
            edges.append(self._holding(shown)[0])
        return min(edges, default=None)

    def _end(self, operator: str, value: Value) -> datetime | None:
        """The instant where that ends which may lie below a value."""
        if isinstance(value, date):
            return self._before(operator, value)
        if window := self._window(value):
            if not self.order.is_text:
                return None
            return window.end if operator == "<=" else window.start
        return max((self._below(found, operator, value) for found in self._firsts(value)), default=None)

    def _below(self, found: Window | None, operator: str, value: Value) -> datetime:
        """Where that ends which lies below the first key above a value; as a date that key may be the value itself."""
        if found is None:
            return self.order.whole.end
        key = self.order.partitioning.key(found)
        is_same = str(int(key)) == str(value) if isinstance(value, int) else key.startswith(str(value))
        return found.end if operator == "<=" and is_same else found.start

    def _firsts(self, value: str | int) -> Iterable[Window | None]:
        """The first keys that are not below a value: as texts, and as numbers."""
        if isinstance(value, str):
            if not self.order.is_like(value):
                return
            yield self.order.first(lambda key: key >= value)
        if self.order.is_number and (isinstance(value, int) or value.isdigit()):
            number = int(value)
            yield self.order.first(lambda key: int(key) >= number)

    def _after(self, operator: str, value: date) -> datetime | None:
        if not self._is_dated:
            return None
        start, end = self._holding(value)
        return end if operator == ">" and self._is_exact(value) else start

    def _before(self, operator: str, value: date) -> datetime | None:
        if not self._is_dated:
            return None
        start, end = self._holding(value)
        if operator == "<" and self._is_exact(value):
            return start
        if operator == "<=" and not isinstance(value, datetime):  # hours of the day, where they are read as dates
            return max(end, self._holding(_wall(value) + DAY - datetime.resolution)[1])
        return end

    @property
    def _is_dated(self) -> bool:
        form = self.order.partitioning.key_format
        return self.order.is_text and (form.startswith("%Y-%m-%d") or form in DATED)

    def _is_exact(self, value: date) -> bool:
        """Whether the value is that of a key, read as a date."""
        return self.order.partitioning.granularity is Granularity.DAY and _wall(value).time() == datetime.min.time()

    def _holding(self, value: date) -> tuple[datetime, datetime]:
        """The ends of the partitions that may hold a local time: the clocks may have shown it twice."""
        partitioning = self.order.partitioning
        wall = min(max(_wall(value), EARLIEST.replace(tzinfo=None)), LATEST.replace(tzinfo=None))
        instants = [wall.replace(tzinfo=partitioning.zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
        windows = [partitioning.at(instant) for instant in instants]
        return min(window.start for window in windows), max(window.end for window in windows)

    def _window(self, key: Value) -> Window | None:
        """The partition of which a value is the key."""
        if isinstance(key, date) or (isinstance(key, int) and not self.order.is_number):
            return None
        try:
            return self.order.partitioning.window(str(key))
        except UnableToPartition:
            return None


def stretch(start: datetime, end: datetime) -> Intervals:
    """What lies between two instants."""
    return (Window(start=start, end=end),) if start < end else ()


def _loose_date(text: str) -> date | None:
    """The date that an engine may see in a text: what is missing is 1."""
    found = LOOSE.match(text)
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1)) if found else None
    except ValueError:
        return None


def _wall(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


# A column that holds times, compared with a constant: which stretch of time may pass (pure).
#
# Times are compared as those of the zone in which they are stored.

Ends = tuple[datetime, datetime]


@dataclass(frozen=True, kw_only=True)
class TimeRanges:
    """A stretch of time, by what is stored for it."""

    times: StoredTimes
    whole: Window

    def passing(self, operator: str, constant: Constant, *, as_date: bool = False) -> Intervals | None:
        """The time whose rows may pass ``column operator constant``, or that of the column's date; None: not known."""
        if as_date:
            return self._of_dates(operator, constant)
        low, high = self._instants(constant.low), self._instants(constant.high)
        if low is None or high is None:
            return None
        if operator == "=" and constant.low == constant.high:
            return union(self.times.partitioning.at(instant) for instant in low)
        return self._between(operator, low[0], high[1])

    def _between(self, operator: str, first: datetime, last: datetime) -> Intervals | None:
        start, end = self.whole.start, self.whole.end
        if operator in (">", ">=", "="):
            start = max(start, first)
        if operator in ("<", "<=", "="):
            end = min(end, last if operator == "<" else last + datetime.resolution)
        return None if operator == "like" else stretch(start, end)

    def _of_dates(self, operator: str, constant: Constant) -> Intervals | None:
        """The same for a column whose time of day is cut off."""
        low, high = as_time(constant.low), as_time(constant.high)
        if low is None or high is None or self.times.holds in TICKS or operator == "like":
            return None
        is_day = low.time() == high.time() == datetime.min.time()
        first = low.replace(hour=0, minute=0, second=0, microsecond=0) + (
            DAY if operator == ">" and is_day else 0 * DAY
        )
        last = high.replace(hour=0, minute=0, second=0, microsecond=0) + (
            0 * DAY if operator == "<" and is_day else DAY
        )
        ends = self._instants(first), self._instants(last)
        if ends[0] is None or ends[1] is None:
            return None
        narrowed = {">": ">=", "<=": "<"}.get(operator, operator)
        if operator == "=":
            return stretch(max(self.whole.start, ends[0][0]), min(self.whole.end, ends[1][1]))
        return self._between(narrowed, ends[0][0], ends[1][1])

    def _instants(self, value: Value) -> Ends | None:
        """The first and the last instant that a value may be."""
        if isinstance(value, int):
            return self.times.instants(str(value)) if self.times.holds in TICKS else None
        if isinstance(value, date):
            return None if self.times.holds in TICKS else self.times.instants(value.isoformat())
        return self.times.instants(value)
