"""A column that holds times, compared with a constant: which stretch of time may pass (pure).

Times are compared as those of the zone in which they are stored.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from assay.time.stored_times import TICKS, StoredTimes
from assay.time.windows import Window
from incident_manager.intervals import Intervals, union

from .constants import Constant
from .key_ranges import stretch
from .values import Value, as_time

DAY = timedelta(days=1)
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
