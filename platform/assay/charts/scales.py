"""How values become heights and instants become places: ranges that tell the truth, and an axis that breaks visibly."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from .ticks import Unit

CALM = 1 / 8  # of the height: where most values lie in less of it, the axis breaks
FAR = 1 / CALM - 1  # times the height of what is calm: so far off is the next value beyond a break
ROOM = 0.08  # of a range, above and below
GAP = 18.0  # between two panels, in pixels
CALM_HEIGHT = 0.62  # of the height: for the panel in which most values lie


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A stretch of values, drawn from ``bottom`` up to ``top`` (pixels from above) at one scale."""

    low: float
    high: float
    top: float
    bottom: float

    def y(self, value: float) -> float:
        """Where a value of this stretch stands."""
        return self.bottom - (value - self.low) / (self.high - self.low) * (self.bottom - self.top)


def panels(
    values: Sequence[float], limits: Sequence[float], unit: Unit, *, top: float, bottom: float, breaks: bool = True
) -> list[Panel]:
    """The lowest first: one, or, where the axis ``breaks``, one more for what is far above and for what is far below.

    Every value and every limit is in one of them, at its true height in the scale of that panel. A stretch in which
    no limit lies is at least a percentage point high for a share, else a twentieth of its largest value, so that what
    is little looks little.
    """
    if not values and not limits:
        return []
    stretches, calm = [(min([*values, *limits]), max([*values, *limits]))], 0
    if breaks:
        stretches, calm = stretches_of(values, limits, breaks_for_limits=unit in (Unit.COUNT, Unit.NUMBER))
    middles = [(low + high) / 2 for (_, low), (high, _) in pairwise(stretches)]
    height = bottom - top - GAP * (len(stretches) - 1)
    others = (1 - CALM_HEIGHT) / max(len(stretches) - 1, 1)
    drawn, base = [], bottom
    for place, (low, high) in enumerate(stretches):
        low, high = _with_room(low, high, unit, is_measured=any(low <= limit <= high for limit in limits))
        if place > 0:  # never into the next stretch
            low = max(low, middles[place - 1])
        if place < len(middles):
            high = min(high, middles[place])
        share = 1.0 if len(stretches) == 1 else CALM_HEIGHT if place == calm else others
        drawn.append(Panel(low=low, high=high, top=base - share * height, bottom=base))
        base -= share * height + GAP
    return drawn


def stretches_of(
    values: Sequence[float], limits: Sequence[float], *, breaks_for_limits: bool
) -> tuple[list[tuple[float, float]], int]:
    """The stretches of values that are drawn, from the lowest, and the number of the one in which most values lie.

    A limit that is far from every value is a reason to break the axis only where ``breaks_for_limits``: how far a
    share or a length of time is from its limit is what one wants to see.
    """
    ordered, marks = sorted(values), sorted([*values, *limits])
    whole, span = [(marks[0], marks[-1])], marks[-1] - marks[0]
    most = len(ordered) // 2 + 1
    if len(ordered) < 3 or not span < float("inf"):
        return whole, 0
    closest = min(range(len(ordered) - most + 1), key=lambda at: ordered[at + most - 1] - ordered[at])
    first = marks.index(ordered[closest])
    last = bisect_right(marks, ordered[closest + most - 1]) - 1
    while True:  # with their neighbours, the nearest first, up to what is far off
        below = marks[first] - marks[first - 1] if first else float("inf")
        above = marks[last + 1] - marks[last] if last < len(marks) - 1 else float("inf")
        size = marks[last] - marks[first]
        if min(below, above) == float("inf") or (size and min(below, above) >= FAR * size):
            break
        first, last = (first - 1, last) if below < above else (first, last + 1)
    low, high = marks[first], marks[last]
    is_of_limits = low <= ordered[0] and ordered[-1] <= high
    if high - low >= span * CALM or (is_of_limits and not breaks_for_limits):
        return whole, 0
    stretches = [(low, high)]
    if first:
        stretches.insert(0, (marks[0], marks[first - 1]))
    if last < len(marks) - 1:
        stretches.append((marks[last + 1], marks[-1]))
    return stretches, int(first > 0)


def _with_room(low: float, high: float, unit: Unit, *, is_measured: bool) -> tuple[float, float]:
    """A little more than the range, but nothing negative and no share above 1 where there is none.

    Where a limit in it measures what is much, it is as high as it is; else it has at least the height of its unit.
    """
    natural_low = 0.0 if low >= 0 else float("-inf")
    natural_high = 1.0 if high <= 1 and unit is Unit.SHARE else float("inf")
    largest = max(abs(low), abs(high))
    least = largest * 1e-9  # less is nothing beside what a float cannot say
    if not is_measured or low == high:
        least = max(least, 0.01) if unit is Unit.SHARE else largest / 20 or 1.0
    room = max((high - low) * ROOM, (least - (high - low)) / 2)
    bottom, top = max(low - room, natural_low), min(high + room, natural_high)
    if top - bottom < least and bottom == natural_low:  # one end is natural: what is missing goes to the other
        top = min(bottom + least, natural_high)
    elif top - bottom < least:
        bottom = max(top - least, natural_low)
    return bottom, top


@dataclass(frozen=True, kw_only=True)
class TimeScale:
    """From ``start`` at ``left`` to ``end`` at ``right`` (pixels)."""

    start: datetime
    end: datetime
    left: float
    right: float

    def x(self, at: datetime) -> float:
        """Where an instant stands."""
        return self.left + (at - self.start) / (self.end - self.start) * (self.right - self.left)


def time_scale(
    instants: Sequence[datetime], start: datetime | None, end: datetime | None, *, left: float, right: float
) -> TimeScale | None:
    """Of the given range, else of the instants; a single instant stands in the middle of a day."""
    first, last = start or min(instants, default=end), end or max(instants, default=start)
    if first is None or last is None:
        return None
    if last <= first:
        first, last = first - timedelta(hours=12), first + timedelta(hours=12)
    return TimeScale(start=first, end=last, left=left, right=right)


def thinned(values: Sequence[float | None], xs: Sequence[float], columns: int, is_mark: Sequence[bool]) -> list[int]:
    """The places of at most two values for each column of pixels, the least and the greatest, with every mark.

    So the drawn line has the outline of the whole (M4: U. Jugel et al., VLDB 2014, less its first and last values).
    The first unknown value of each gap stays too, so that the line is broken there.
    """
    left, width = min(xs), (max(xs) - min(xs)) / columns or 1.0
    chosen = {0, len(values) - 1}
    least: dict[int, tuple[float, int]] = {}
    greatest: dict[int, tuple[float, int]] = {}
    was_known = True
    for place, (value, x) in enumerate(zip(values, xs, strict=True)):
        if is_mark[place] or (value is None and was_known):
            chosen.add(place)
        was_known = value is not None
        if value is not None:
            column = min(int((x - left) / width), columns - 1)
            least[column] = min(least.get(column, (value, place)), (value, place))
            greatest[column] = max(greatest.get(column, (value, place)), (value, place))
    return sorted(chosen.union(place for _, place in (*least.values(), *greatest.values())))
