"""Follow changed data: run the live tests again that read it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from alerting.models import Standing
from alerting.state import TROUBLED, State
from assay.catalog.reach import next_piece, reach
from assay.catalog.selectors import begins_at, home
from assay.models import ChangeKind, DataChange, DataTest, Scope
from assay.queue.claims import finish
from assay.time.windows import Window
from execution_engine.models import Run, RunReason
from execution_engine.planning.planner import aligns
from execution_engine.planning.schedules import PARTITION
from execution_engine.selectors import has_judged
from execution_engine.services import request_runs

AT_MOST_EVERY = timedelta(minutes=15)  # for a fingerprint that differs; a completion is judged at once
OCCASION = "change"


@dataclass(frozen=True, kw_only=True)
class ReadingTest:
    """A test and the window of it that reads changed data."""

    test_id: int
    window: Window


def follow_change(change: DataChange, now: datetime) -> None:
    """Run what reads the changed window: what has judged it before and, once it is completed, all of its own tests.

    Of a long window one piece at a time: the row stays pending until the last one is done.
    """
    dataset = change.dataset
    within = reach(
        change.window, dataset.partitioning, now=now, begins_at=begins_at(dataset), retention=dataset.retention
    )
    if within is None:
        return finish(change, followed_at=now)
    left = Window(start=max(within.start, change.followed_until or within.start), end=within.end)
    piece = next_piece(left, dataset.partitioning)
    readers = judged_readers(change, piece)
    if change.kind == ChangeKind.COMPLETED and aligns(dataset.partitioning, within):
        readers |= own_readers(change, piece)
    _trigger(readers, change, now)
    if piece.end < within.end:
        return finish(change, followed_until=piece.end)
    return finish(change, followed_at=now)


def judged_readers(change: DataChange, piece: Window) -> set[ReadingTest]:
    """What has read a piece of the change; a test of a whole table once, over the window that it has moved to.

    Where a longer window looks different than before, its partitions have watches of their own that say which.
    """
    read = has_judged(change.dataset, change.datacenter, piece)
    if change.kind == ChangeKind.REWRITTEN:
        read = [
            (test, window) for test, window in read if window == change.window or not change.window.contains(window)
        ]
    tables = {test.pk for test, _ in read if test.scope == Scope.TABLE}
    moved = Standing.objects.filter(data_test__in=tables)
    found = {ReadingTest(test_id=test.pk, window=window) for test, window in read if test.pk not in tables}
    return found | {ReadingTest(test_id=row.data_test_id, window=row.window) for row in moved}


def own_readers(change: DataChange, piece: Window) -> set[ReadingTest]:
    """The partition tests that a completion lets judge, on the partitions of a piece of it.

    At home those of home's data alone, as its copies are yet to come; elsewhere those that compare the copy too.
    """
    dataset = change.dataset
    windows = (dataset.partitioning.tile(piece) if dataset.partitioning else None) or ()
    tests = DataTest.objects.filter(
        dataset=dataset, scope=Scope.PARTITION, retired_at__isnull=True, revision__schedule=PARTITION
    )
    here = Q(datacenter=change.datacenter, spoils="")
    if change.datacenter != home(dataset).datacenter:
        here = Q(datacenter=change.datacenter) | Q(spoils=change.datacenter)
    return {
        ReadingTest(test_id=test, window=w) for test in tests.filter(here).values_list("pk", flat=True) for w in windows
    }


def _trigger(readers: set[ReadingTest], change: DataChange, now: datetime) -> None:
    """Request the runs now; for another fingerprint no sooner than a quarter of an hour after the last change's.

    A run that is due and waits serves this change too.
    """
    tests = _live({reader.test_id for reader in readers})
    readers = {reader for reader in readers if reader.test_id in tests}
    if not readers:
        return
    is_fingerprint = change.kind == ChangeKind.REWRITTEN
    waiting, last = _earlier(readers, now, due_by=None if is_fingerprint else now)
    wanted = [
        (
            tests[reader.test_id],
            reader.window,
            last[reader] + AT_MOST_EVERY if is_fingerprint and reader in last else now,
        )
        for reader in sorted(readers - waiting, key=lambda reader: (reader.test_id, reader.window.start))
    ]
    request_runs(wanted, reason=RunReason.TRIGGER, occasion=f"{OCCASION}:{change.pk}", now=now)


def _live(ids: set[int]) -> dict[int, DataTest]:
    """The live tests among them that follow changes: those of whole tables only while broken or without a verdict."""
    rows = DataTest.objects.filter(pk__in=ids, retired_at=None, revision__isnull=False).select_related(
        "dataset", "revision"
    )
    erred = Q(state=State.PENDING) & ~Q(error_reason="")
    unsettled = Standing.objects.filter(Q(state__in=TROUBLED) | erred, data_test__in=ids).values("data_test")
    return {row.pk: row for row in rows.filter(Q(scope=Scope.PARTITION) | Q(pk__in=unsettled))}


def _earlier(
    readers: set[ReadingTest], now: datetime, *, due_by: datetime | None
) -> tuple[set[ReadingTest], dict[ReadingTest, datetime]]:
    """Which of them have a run that is not planned yet, and when the last one for a change was due, if just now.

    ``due_by``: a run that is due later is not waited for; None: any is.
    """
    runs = Run.objects.filter(
        Q(planned_at__isnull=True) | Q(due_at__gt=now - AT_MOST_EVERY),
        data_test__in={reader.test_id for reader in readers},
        reason=RunReason.TRIGGER,
        window_start__gte=min(reader.window.start for reader in readers),
        window_start__lte=max(reader.window.start for reader in readers),
    ).order_by("due_at")
    waiting, last = set(), {}
    for run in runs.only("data_test_id", "window_start", "window_end", "planned_at", "due_at", "slot"):
        reader = ReadingTest(test_id=run.data_test_id, window=run.window)
        if run.planned_at is None and (due_by is None or run.due_at <= due_by):
            waiting.add(reader)
        if f":{OCCASION}:" in run.slot:  # what a gate had measured is no change
            last[reader] = run.due_at
    return waiting, last
