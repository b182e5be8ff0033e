"""Windows under the keys of their partitions, as people name them. Pure."""

from datetime import timedelta

from .windows import Partitioning, UnableToAlign, Window

INSTANT = timedelta(microseconds=1)
WHOLE_TABLE = "the whole table"
UTC = "UTC"


def keys_of(window: Window, partitioning: Partitioning | None) -> str:
    """The key of the partition that a window is, or those of the first and the last; else its instants in UTC."""
    return _keys(window, partitioning) or f"{window.start:%Y-%m-%d %H:%M} – {window.end:%Y-%m-%d %H:%M} {UTC}"


def partition_name(window: Window, partitioning: Partitioning | None, *, whole_table: bool = False) -> str:
    """The window as messages name it: its keys, or its local instants, and the zone that they are of."""
    if whole_table:
        return WHOLE_TABLE
    if partitioning is None:
        return keys_of(window, None)
    if keys := _keys(window, partitioning):
        return keys if partitioning.time_zone == UTC else f"{keys} ({partitioning.time_zone})"
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
