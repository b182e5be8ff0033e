"""Slow scans in a lane of their own: where one process works everything, they hold up nothing but each other.

A dataset is slow while one of its scans of the last day has taken long, as one does that ran to its deadline.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Q

from assay.config import config
from execution_engine.models import Scan

REMEMBERED = timedelta(days=1)
SLOW_SECONDS = 60.0  # or half of the deadline, where that is less


class Lane(StrEnum):
    """Which scans a thread takes; all of them where it has no lane."""

    QUICK = "quick"
    SLOW = "slow"


_lane: ContextVar[Lane | None] = ContextVar("lane", default=None)


@contextmanager
def only(lane: Lane) -> Iterator[None]:
    """Take only the scans of this lane meanwhile."""
    token = _lane.set(lane)
    try:
        yield
    finally:
        _lane.reset(token)


def scans_of_lane(now: datetime) -> Q:
    """A condition on the scans that this thread may take; an empty one where it may take all."""
    lane = _lane.get()
    if lane is None:
        return Q()
    is_slow = Q(dataset_id__in=slow_datasets(now))
    return is_slow if lane is Lane.SLOW else ~is_slow


def slow_datasets(now: datetime) -> list[int]:
    """The datasets of which a scan took long of late, by id."""
    least = min(SLOW_SECONDS, config().scan_deadline_seconds / 2)
    rows = Scan.objects.filter(ended_at__gt=now - REMEMBERED, seconds__gte=least)
    return sorted(set(rows.values_list("dataset_id", flat=True)))
