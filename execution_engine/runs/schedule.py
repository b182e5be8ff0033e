"""Turn schedules into runs, and move each test's cursor to its next window."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

import structlog

from assay.catalog.selectors import begins_at, slas
from assay.catalog.tiers import CatchUp
from assay.config import config
from assay.database.name_keys import name_keys
from assay.models import Dataset, DataTest, Revision, Scope
from assay.queue.claims import finish_all
from assay.time.windows import Window
from execution_engine.language.operands import operands
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import History
from execution_engine.planning.catalog_sources import kept_from
from execution_engine.planning.schedules import (
    BEGINNING,
    Schedule,
    Slot,
    due_slots,
    first_slot,
    jitter_of,
    moved_slot,
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
        kept_from=_kept_by_all(dataset, revision, now) if whole_table else None,
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


def _kept_by_all(dataset: Dataset, revision: Revision, now: datetime) -> datetime:
    """From when on every dataset that the assertion reads keeps its partitions."""
    metrics = [
        operand.metric if isinstance(operand, History) else operand for operand in operands(from_json(revision.tree))
    ]
    names = {metric.dataset for metric in metrics if metric.dataset}
    others = Dataset.objects.filter(name_key__in=name_keys(names)) if names else []
    begun = [at for each in (dataset, *others) for at in (kept_from(each, now), begins_at(each)) if at]
    return max(begun, default=BEGINNING)
