"""How far a change of data reaches, and the pieces in which it is worked off (pure)."""

from datetime import datetime, timedelta

from assay.time.granularity import Granularity
from assay.time.instants import EARLIEST, LATEST
from assay.time.windows import Partitioning, Window

AT_ONCE = 80  # partitions whose work one transaction writes: with five tests, as long as a gate may wait
MOST = 10_000  # partitions that one change may name: more is sent in parts
SHORTEST = {
    Granularity.HOUR: timedelta(hours=1),
    Granularity.DAY: timedelta(hours=23),
    Granularity.WEEK: timedelta(days=6, hours=23),
    Granularity.MONTH: timedelta(days=27, hours=23),
}


def is_too_wide(window: Window, partitioning: Partitioning | None) -> bool:
    """Whether a window may hold more than ``MOST`` partitions, told without going through them."""
    return partitioning is not None and window.duration / SHORTEST[partitioning.granularity] > MOST * 25 / 23


def reach(
    window: Window,
    partitioning: Partitioning | None,
    *,
    now: datetime,
    begins_at: datetime | None,
    retention: timedelta | None,
) -> Window | None:
    """The part of a window in which a dataset can have data; None where it can have none.

    It begins at ``begins_at``, where the first partition does, or with the first that is kept. If it is still too wide,
    only its newest ``MOST`` partitions that have begun count.
    """
    if partitioning is None:
        return window
    start, end = max(window.start, EARLIEST), min(window.end, LATEST)
    if begins_at is not None:
        start = max(start, begins_at)
    if retention is not None:
        start = max(start, partitioning.at(now - retention).start)
    if start < end and is_too_wide(Window(start=start, end=end), partitioning):
        end = min(end, partitioning.at(now).end)
        start = max(start, partitioning.at(end - MOST * SHORTEST[partitioning.granularity]).start)
    return Window(start=start, end=end) if start < end else None


def next_piece(left: Window, partitioning: Partitioning | None) -> Window:
    """The beginning of what is left to do, of at most ``AT_ONCE`` partitions; all of it without partitions."""
    if partitioning is None:
        return left
    tiles = partitioning.between(left.start, left.end, AT_ONCE)
    return Window(start=left.start, end=tiles[-1].end) if len(tiles) == AT_ONCE else left
