"""Whether one dataset's partitions can be compared with another's at all."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from assay.time.windows import Partitioning

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
