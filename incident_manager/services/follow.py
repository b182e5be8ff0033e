"""Follow changed data: run the live tests again that read it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from alerting.models import Standing
from alerting.standing import State
from assay.catalog.selectors import home
from assay.models import ChangeKind, DataChange, DataTest, Scope
from assay.queue import finish
from assay.windows import Window
from execution_engine.models import Run, RunReason
from execution_engine.schedules import PARTITION
from execution_engine.selectors import has_judged
from execution_engine.services import request_run

AT_MOST_EVERY = timedelta(minutes=15)
OCCASION = "change"
BROKEN = (State.WARN.value, State.FAIL.value)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A test and the window of it that reads changed data."""

    test_id: int
    window: Window


def follow_change(change: DataChange, now: datetime) -> None:
    """Run what reads the changed window: what has judged it before and, once it is completed, all of its own tests."""
    readers = judged_readers(change)
    if change.kind == ChangeKind.COMPLETED:
        readers |= own_readers(change)
    tests = _live({reader.test_id for reader in readers})
    for reader in sorted(readers, key=lambda reader: (reader.test_id, reader.window.start)):
        test = tests.get(reader.test_id)
        if test is not None and (test.scope == Scope.PARTITION or _is_broken(test)):
            _trigger(test, reader.window, change, now)
    finish(change, followed_at=now)


def judged_readers(change: DataChange) -> set[Reader]:
    """What has read the changed window; a test of a whole table once, over the window that it has moved to.

    Where a longer window looks different than before, its partitions have watches of their own that say which.
    """
    read = has_judged(change.dataset, change.datacenter, change.window)
    if change.kind == ChangeKind.REWRITTEN:
        read = [
            (test, window) for test, window in read if window == change.window or not change.window.contains(window)
        ]
    tables = {test.pk for test, _ in read if test.scope == Scope.TABLE}
    moved = Standing.objects.filter(data_test__in=tables)
    found = {Reader(test_id=test.pk, window=window) for test, window in read if test.pk not in tables}
    return found | {Reader(test_id=row.data_test_id, window=row.window) for row in moved}


def own_readers(change: DataChange) -> set[Reader]:
    """The partition tests that a completion lets judge, on the partitions that were completed.

    At home those of home's data alone, as its copies are yet to come; elsewhere those that compare the copy too.
    """
    dataset = change.dataset
    windows = (dataset.partitioning.tile(change.window) if dataset.partitioning else None) or ()
    tests = DataTest.objects.filter(
        dataset=dataset, scope=Scope.PARTITION, retired_at__isnull=True, revision__schedule=PARTITION
    )
    here = Q(datacenter=change.datacenter, spoils="")
    if change.datacenter != home(dataset).datacenter:
        here = Q(datacenter=change.datacenter) | Q(spoils=change.datacenter)
    return {Reader(test_id=test, window=w) for test in tests.filter(here).values_list("pk", flat=True) for w in windows}


def _live(ids: set[int]) -> dict[int, DataTest]:
    rows = DataTest.objects.filter(pk__in=ids, retired_at__isnull=True).select_related("dataset", "revision")
    return {row.pk: row for row in rows}


def _is_broken(test: DataTest) -> bool:
    return Standing.objects.filter(data_test=test, state__in=BROKEN).exists()


def _trigger(test: DataTest, window: Window, change: DataChange, now: datetime) -> None:
    """Request the run now, or a quarter of an hour after the last change's; one that waits serves this change too."""
    runs = Run.objects.filter(
        data_test=test, window_start=window.start, window_end=window.end, reason=RunReason.TRIGGER
    )
    if runs.filter(planned_at__isnull=True).exists():
        return
    changes = runs.filter(slot__contains=f":{OCCASION}:")  # what a gate had measured is no change
    last = changes.filter(due_at__gt=now - AT_MOST_EVERY).order_by("-due_at").first()
    request_run(
        data_test=test,
        window=window,
        reason=RunReason.TRIGGER,
        occasion=f"{OCCASION}:{change.pk}",
        now=now,
        due_at=last.due_at + AT_MOST_EVERY if last else now,
    )
