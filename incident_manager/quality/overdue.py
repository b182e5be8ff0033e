"""What of a test's partitions is due though nobody has asked for a run of it yet (pure)."""

from datetime import datetime

from assay.time.windows import Window
from incident_manager.intervals import Intervals


def overdue(
    *, next_due_at: datetime | None, next_window: Window | None, due_to: datetime | None, now: datetime
) -> Intervals:
    """From the next window of the schedule on, once that is due, as far as the calendar, where it is known, says so.

    The schedule has the say, as it asks for the runs: it may be due a little later than the calendar (its jitter), or
    by another SLA than that of today.
    """
    if next_due_at is None or next_window is None or next_due_at > now:
        return ()
    return (Window(start=next_window.start, end=max(next_window.end, due_to or next_window.end)),)
