"""Bring back what a clock that leapt ahead has left in schedules, runs and measurements (``assay.queue.leaps``)."""

from datetime import datetime, timedelta

import structlog
from django.db.models import CharField, DateTimeField, Q, Value
from django.db.models.functions import Cast, Concat, Least

from assay.models import DataTest
from assay.queue.leaps import SLACK
from execution_engine.models import Measurement, Run, RunReason
from execution_engine.planning.schedules import PARTITION, WEEKLY, Slot, is_ahead, slot_after

from .schedule import cursor, schedule_of

log = structlog.get_logger(__name__)


def bring_cursors_back(now: datetime) -> None:
    """Put the cursor of each test that stands too far ahead behind the last slot that was run in time."""
    # the tests to look at closely: by the window or the instant, most cursors plainly stand where they should
    by_window = Q(revision__schedule=PARTITION, next_window_start__gt=now)
    by_week = Q(next_due_at__gt=now + timedelta(days=7, hours=2))  # clocks change in some weeks
    by_line = ~Q(revision__schedule__in=(PARTITION, WEEKLY)) & Q(next_due_at__gt=now + timedelta(days=1))
    live = DataTest.objects.filter(retired_at__isnull=True, next_due_at__gt=now, next_window_start__isnull=False)
    for data_test in live.filter(by_window | by_week | by_line).select_related("dataset", "revision"):
        try:
            _bring_cursor_back(data_test, now)
        except Exception:
            log.exception("cursor not brought back", test=str(data_test))


def bring_runs_back(now: datetime) -> None:
    """Let runs that were asked for after now be due at once, and what was measured after now be measured now.

    That is true, as the clock was ahead, and what is measured from now on counts as newer. A run that was asked for in
    time waits for its instant, however far that is: a freshness whose deadline was moved is not late before it.
    """
    here = Value(now, output_field=DateTimeField())
    asked_for = Run.objects.exclude(reason=RunReason.SCHEDULE)
    of_the_leap = asked_for.filter(planned_at__isnull=True, requested_at__gt=now + SLACK)
    of_the_leap.update(requested_at=now, due_at=now, accept_from=now)
    asked_for.filter(evaluated_at__gt=now + SLACK).update(due_at=Least("due_at", here))
    Run.objects.filter(evaluated_at__gt=now + SLACK).update(
        requested_at=Least("requested_at", here), measured_at=Least("measured_at", here), evaluated_at=now
    )
    Measurement.objects.filter(measured_at__gt=now + SLACK).update(measured_at=now)


def _bring_cursor_back(data_test: DataTest, now: datetime) -> None:
    assert data_test.revision is not None
    schedule, stands = schedule_of(data_test, data_test.revision, now), cursor(data_test)
    if not is_ahead(schedule, stands, now=now):
        return
    scheduled = Run.objects.filter(data_test=data_test, reason=RunReason.SCHEDULE)
    # what was run before its time is run again when that has come: the slot that made it run once is free again
    scheduled.filter(requested_at__gt=now + SLACK, planned_at__isnull=False).update(
        slot=Concat(Value("leap:"), Cast("pk", CharField()), output_field=CharField())
    )
    last = scheduled.filter(requested_at__lte=now + SLACK, due_at__lte=now).order_by("-due_at").first()
    slot = slot_after(
        schedule,
        None if last is None else Slot(window=last.window, due_at=last.due_at),
        since=data_test.created_at,
        now=now,
    )
    DataTest.objects.filter(pk=data_test.pk, next_due_at=stands.due_at).update(
        next_due_at=slot.due_at, next_window_start=slot.window.start, next_window_end=slot.window.end
    )
    log.info("cursor brought back", test=str(data_test), stood_at=stands.window.text, stands_at=slot.window.text)
