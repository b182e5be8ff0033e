"""Arithmetic on sets of half-open windows; a set is a sorted tuple of windows that neither overlap nor touch."""

from collections.abc import Iterable
from datetime import timedelta

from assay.windows import Window

Intervals = tuple[Window, ...]


def union(windows: Iterable[Window]) -> Intervals:
    """The instants in any of the windows."""
    merged: list[Window] = []
    for window in sorted(windows, key=lambda window: window.start):
        if merged and window.start <= merged[-1].end:
            merged[-1] = Window(start=merged[-1].start, end=max(merged[-1].end, window.end))
        else:
            merged.append(window)
    return tuple(merged)


def clip(windows: Iterable[Window], to: Window) -> Intervals:
    """The instants in any of the windows that lie inside ``to``."""
    inside = (window for window in windows if window.overlaps(to))
    return union(Window(start=max(window.start, to.start), end=min(window.end, to.end)) for window in inside)


def subtract(windows: Iterable[Window], less: Iterable[Window]) -> Intervals:
    """The instants in any of the windows and in none of ``less``."""
    left = list(union(windows))
    for hole in union(less):
        left = [piece for window in left for piece in _around(window, hole)]
    return tuple(left)


def total(intervals: Intervals) -> timedelta:
    """How long the set is."""
    return sum((window.duration for window in intervals), timedelta(0))


def _around(window: Window, hole: Window) -> list[Window]:
    if not window.overlaps(hole):
        return [window]
    pieces = []
    if window.start < hole.start:
        pieces.append(Window(start=window.start, end=hole.start))
    if hole.end < window.end:
        pieces.append(Window(start=hole.end, end=window.end))
    return pieces
