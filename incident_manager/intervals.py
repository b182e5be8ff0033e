"""Arithmetic on sets of half-open windows; a set is a sorted tuple of windows that neither overlap nor touch."""

from bisect import bisect_left
from collections.abc import Iterable
from datetime import datetime, timedelta
from operator import attrgetter

from assay.time.windows import Window

Intervals = tuple[Window, ...]
START = attrgetter("start")


def union(windows: Iterable[Window]) -> Intervals:
    """The instants in any of the windows."""
    ordered = sorted(windows, key=START)
    if len(ordered) < 2:
        return tuple(ordered)
    first, end, merged = ordered[0], ordered[0].end, list[Window]()
    for window in ordered[1:]:
        if window.start > end:
            merged.append(_up_to(first, end))
            first, end = window, window.end
        elif window.end > end:
            end = window.end
    return (*merged, _up_to(first, end))


def _up_to(window: Window, end: datetime) -> Window:
    return window if window.end == end else Window(start=window.start, end=end)


def clip(windows: Iterable[Window], to: Window) -> Intervals:
    """The instants in any of the windows that lie inside ``to``."""
    return union(
        window if to.contains(window) else Window(start=max(window.start, to.start), end=min(window.end, to.end))
        for window in windows
        if window.overlaps(to)
    )


def subtract(windows: Iterable[Window], less: Iterable[Window]) -> Intervals:
    """The instants in any of the windows and in none of ``less``."""
    whole, holes = union(windows), union(less)
    if not whole or not holes:
        return whole
    parts, next_hole = [], 0
    for window in whole:
        start = window.start
        while next_hole < len(holes) and holes[next_hole].start < window.end:
            hole = holes[next_hole]
            if hole.start > start:
                parts.append(Window(start=start, end=hole.start))
            start = max(start, hole.end)
            if hole.end > window.end:  # it reaches into what comes next
                break
            next_hole += 1
        if start < window.end:
            parts.append(window if start == window.start else Window(start=start, end=window.end))
    return tuple(parts)


def overlap(intervals: Intervals, window: Window) -> bool:
    """Whether the set and a window share any instant."""
    last = bisect_left(intervals, window.end, key=START) - 1
    return last >= 0 and intervals[last].end > window.start


def before(intervals: Intervals, instant: datetime) -> Intervals:
    """The instants of the set before one of them."""
    return tuple(w if w.end <= instant else Window(start=w.start, end=instant) for w in intervals if w.start < instant)


def since(intervals: Intervals, instant: datetime) -> Intervals:
    """The instants of the set from one of them on."""
    return tuple(w if w.start >= instant else Window(start=instant, end=w.end) for w in intervals if w.end > instant)


def total(intervals: Intervals) -> timedelta:
    """How long the set is."""
    return sum((window.duration for window in intervals), timedelta(0))
