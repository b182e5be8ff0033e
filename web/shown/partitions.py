"""Windows under the keys of their partitions, as people name them. Pure."""

from datetime import timedelta

from assay.time.windows import Partitioning, UnableToAlign, Window

INSTANT = timedelta(microseconds=1)


def keys_of(window: Window, partitioning: Partitioning | None) -> str:
    """The key of the partition that a window is, or those of the first and the last; else its instants in UTC."""
    if partitioning is not None:
        try:
            first, last = partitioning.at(window.start), partitioning.at(window.end - INSTANT)
            if (first.start, last.end) == (window.start, window.end):
                return (
                    partitioning.key(first)
                    if first == last
                    else f"{partitioning.key(first)} – {partitioning.key(last)}"
                )
        except (UnableToAlign, OverflowError):  # at the ends of the calendar local times run out
            pass
    return f"{window.start:%Y-%m-%d %H:%M} – {window.end:%Y-%m-%d %H:%M} UTC"
