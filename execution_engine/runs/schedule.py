"""Turn schedules into runs, and move each test's cursor to its next window."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast

import structlog
from django.db.models import CharField, DateTimeField, Q, Value
from django.db.models.functions import Cast, Concat, Least

from assay.catalog.selectors import begins_at, slas
from assay.catalog.tiers import CatchUp
from assay.config import config
from assay.database.name_keys import name_keys
from assay.models import Dataset, DataTest, Revision, Scope
from assay.queue.claims import finish_all
from assay.queue.drain import SLACK
from assay.time.windows import Window
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import History, operands
from execution_engine.models import Measurement, Run, RunReason
from execution_engine.planning.catalog_sources import kept_from
from execution_engine.planning.schedules import (
    BEGINNING,
    PARTITION,
    WEEKLY,
    Schedule,
    Slot,
    due_slots,
    first_slot,
    is_ahead,
    jitter_of,
    moved_slot,
    slot_after,
    window_at,
)

from .request import request_scheduled

log = structlog.get_logger(__name__)


def first_cursor(data_test: DataTest, revision: Revision, now: datetime) -> Slot:
    """Where the cursor of a new test, or of a new revision, stands: windows that ended before stay UNTESTED."""
    schedule = schedule_of(data_test, revision, now)
    if data_test.next_window_start and data_test.next_window_end:
        window = Window(start=data_test.next_window_start, end=data_test.next_window_end)
        return moved_slot(schedule, window, now=now)
    return first_slot(schedule, now=now)


def schedule_tests(data_tests: Sequence[DataTest], now: datetime) -> None:
    """Request the runs that are due, and put each cursor on the next window; a retired test has none."""
    request_scheduled([(data_test, _move_on(data_test, now)) for data_test in data_tests], now)
    finish_all(data_tests, "next_due_at", "next_window_start", "next_window_end", "skipped_slots")


def _move_on(data_test: DataTest, now: datetime) -> Sequence[Slot]:
    """The slots that are due; the cursor, not yet written, stands behind them."""
    if data_test.retired_at is not None or data_test.revision is None:
        data_test.next_due_at = data_test.next_window_start = data_test.next_window_end = None
        return ()
    stands = cursor(data_test)
    due = due_slots(schedule_of(data_test, data_test.revision, now), stands, now=now)
    if due.skipped:
        log.warning("slots skipped", test=str(data_test), first=stands.window.text, number=due.skipped)
    data_test.next_due_at = due.coming.due_at
    data_test.next_window_start, data_test.next_window_end = due.coming.window.start, due.coming.window.end
    data_test.skipped_slots += due.skipped
    return due.slots


def schedule_of(data_test: DataTest, revision: Revision, now: datetime) -> Schedule:
    """The schedule of a revision, with what it depends on."""
    whole_table = data_test.scope == Scope.TABLE
    dataset = data_test.dataset
    return Schedule(
        line=revision.schedule,
        whole_table=whole_table,
        partitioning=dataset.partitioning,
        time_zone=dataset.time_zone,
        freshness=slas(dataset).freshness,
        catch_up=cast(CatchUp, revision.catch_up),
        jitter=jitter_of(dataset.full_name, config().jitter),
        kept_from=_retention_start(dataset, revision, now) if whole_table else None,
        judges_from=data_test.judges_from,
    )


def whole_window(data_test: DataTest, now: datetime) -> Window | None:
    """What a test of the whole table runs over at ``now``: all that is kept and due; None where nothing is."""
    if data_test.revision is None:
        return None
    return window_at(schedule_of(data_test, data_test.revision, now), now)


def cursor(data_test: DataTest) -> Slot:
    """The slot that the row's own columns hold; a row that is due has all three."""
    assert data_test.next_due_at
    assert data_test.next_window_start
    assert data_test.next_window_end
    window = Window(start=data_test.next_window_start, end=data_test.next_window_end)
    return Slot(window=window, due_at=data_test.next_due_at)


def _retention_start(dataset: Dataset, revision: Revision, now: datetime) -> datetime:
    """From when on every dataset that the assertion reads keeps its partitions."""
    metrics = [
        operand.metric if isinstance(operand, History) else operand for operand in operands(from_json(revision.tree))
    ]
    names = {metric.dataset for metric in metrics if metric.dataset}
    others = Dataset.objects.filter(name_key__in=name_keys(names)) if names else []
    begun = [at for each in (dataset, *others) for at in (kept_from(each, now), begins_at(each)) if at]
    return max(begun, default=BEGINNING)


# Bring back what a clock that leapt ahead has left in schedules, runs and measurements (``assay.queue.drain``).


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
