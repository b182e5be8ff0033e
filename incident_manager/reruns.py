"""What is run or judged again: by back-off, after a change of the data, and after a revision.

How the back-off grows is decided in ``alerting.verdicts``.
"""

from datetime import datetime, timedelta

from django.db.models import Q

from alerting.models import Standing
from alerting.services import after_check, end_waivers, is_checked, last_cost, put_off, withdraw
from alerting.state import TROUBLED, State
from alerting.verdicts.evidence import waived_parts
from assay.catalog.place_limits import next_piece, reach
from assay.catalog.selectors import begins_at, home, slas
from assay.database.statements import rows_of
from assay.models import Category, ChangeKind, DataChange, DataTest, Revision, Scope
from assay.queue.claims import finish
from assay.time.windows import Window
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Reason
from execution_engine.planning.planner import aligns
from execution_engine.planning.schedules import PARTITION
from execution_engine.selectors import has_judged
from execution_engine.services import is_live, is_undeclared, request_run, request_runs
from incident_manager.incidents.services import heal, spoilt_of

from .models import Resolution

# Run windows in trouble again until they are right, waived or gone.

RELATED = ("data_test__dataset", "data_test__revision", "waiver", "last_run")
MOST_COUNTED_ANEW = 20  # windows with one check of their whole table, those first that were counted longest ago


def check_standing(standing: Standing, now: datetime) -> None:
    """Request the next run of a window in trouble, and note when the one after is due."""
    (row,) = rows_of(Standing, [standing.pk], related=RELATED)
    is_waived = row.waiver is not None and (row.waiver.ends_at is None or row.waiver.ends_at > now)
    if is_waived or not is_checked(State(row.state), Reason(row.error_reason) if row.error_reason else None):
        finish(standing, next_check_at=None, attempt=0)
        return
    occasion = f"{row.attempt}:{row.next_check_at:%Y%m%dT%H%M%S.%f}"
    partitioning, window = row.data_test.dataset.partitioning, row.window
    is_range = (  # a test of partitions was once run over many as one: each of them is judged by itself now
        partitioning is not None
        and row.data_test.scope != Scope.TABLE
        and len(partitioning.between(window.start, window.end, 2)) > 1
    )
    requests = [(row.data_test, window, now)] if is_live(row.data_test) and not is_range else []
    if not request_runs(
        requests, reason=RunReason.CHECK, occasion=occasion, now=now
    ):  # beyond retention, retired, or many partitions as one: nobody will ever know
        withdraw(row, row.data_test, now)
        finish(standing, next_check_at=None, next_age_at=None, attempt=0)
        return
    if row.data_test.scope == Scope.TABLE:
        _count_waived_anew(row, now)
    cost = last_cost(row) if row.data_test.scope == Scope.TABLE else timedelta()
    t0 = row.broken_since or row.due_at
    finish(
        standing,
        next_check_at=after_check(row, row.data_test, attempt=row.attempt + 1, t0=t0, now=now, cost=cost),
        attempt=row.attempt + 1,
    )


def _count_waived_anew(row: Standing, now: datetime) -> None:
    """Count the waived windows that a whole table was last held to without, where that was counted before it was.

    Rows that were accepted as lost may have come since, and then the whole table has more than is left out of it.
    """
    if row.last_run is None or row.last_run.measured_at is None:
        return
    older = waived_parts(row.data_test).filter(last_run__measured_at__lt=row.last_run.measured_at)
    parts = older.select_related("data_test__dataset", "data_test__revision").order_by("last_run__measured_at", "pk")
    for part in parts[:MOST_COUNTED_ANEW]:
        request_run(
            data_test=part.data_test,
            window=part.window,
            reason=RunReason.CHECK,
            occasion=f"whole:{row.last_run_id}",
            now=now,
        )


# Follow changed data: run the live tests again that read it.

AT_MOST_EVERY = timedelta(minutes=15)  # for a fingerprint that differs; a completion is judged at once
OCCASION = "change"


Reader = tuple[int, Window]  # a test, by its id, and the window of it that reads changed data


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


def judged_readers(change: DataChange, piece: Window) -> set[Reader]:
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
    pairs = {(test.pk, window) for test, window in read if test.pk not in tables}
    return pairs | {(row.data_test_id, row.window) for row in moved}


def own_readers(change: DataChange, piece: Window) -> set[Reader]:
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
    return {(test, window) for test in tests.filter(here).values_list("pk", flat=True) for window in windows}


def _trigger(readers: set[Reader], change: DataChange, now: datetime) -> None:
    """Request the runs now; for another fingerprint no sooner than a quarter of an hour after the last change's.

    A run that is due and waits serves this change too, and for another fingerprint also one that is due later.
    """
    ids = {test for test, _ in readers}
    rows = DataTest.objects.filter(pk__in=ids, retired_at=None, revision__isnull=False)
    erred = Q(state=State.PENDING) & ~Q(error_reason="")
    unsettled = Standing.objects.filter(Q(state__in=TROUBLED) | erred, data_test__in=ids).values("data_test")
    # tests of whole tables follow only while they are broken or without a verdict
    following = rows.filter(Q(scope=Scope.PARTITION) | Q(pk__in=unsettled)).select_related("dataset", "revision")
    tests = {row.pk: row for row in following}
    readers = {reader for reader in readers if reader[0] in tests}
    if not readers:
        return
    is_fingerprint = change.kind == ChangeKind.REWRITTEN
    runs = Run.objects.filter(
        Q(planned_at__isnull=True) | Q(due_at__gt=now - AT_MOST_EVERY),
        data_test__in={test for test, _ in readers},
        reason=RunReason.TRIGGER,
        window_start__gte=min(window.start for _, window in readers),
        window_start__lte=max(window.start for _, window in readers),
    ).order_by("due_at")
    waiting, last = set[Reader](), dict[Reader, datetime]()
    for run in runs.only("data_test_id", "window_start", "window_end", "planned_at", "due_at", "slot"):
        reader = (run.data_test_id, run.window)
        if run.planned_at is None and (is_fingerprint or run.due_at <= now):
            waiting.add(reader)
        if f":{OCCASION}:" in run.slot:  # what a gate had measured is no change
            last[reader] = run.due_at
    requests = []
    for test, window in sorted(readers - waiting, key=lambda reader: (reader[0], reader[1].start)):
        is_soon = is_fingerprint and (test, window) in last
        requests.append((tests[test], window, last[test, window] + AT_MOST_EVERY if is_soon else now))
    request_runs(requests, reason=RunReason.TRIGGER, occasion=f"{OCCASION}:{change.pk}", now=now)


# New revisions and retirements: what an older revision judged is judged anew, what a retired test found withdrawn.


def rejudge_revision(revision: Revision, now: datetime) -> None:
    """Have the windows that an older revision left in trouble or waived judged by the newest.

    A retired test marks its newest revision once more: what it found is withdrawn.
    """
    test = DataTest.objects.select_related("dataset", "revision").get(pk=revision.data_test_id)
    if test.retired_at is not None:
        withdraw_test(test, now)
    elif test.revision_id == revision.pk:
        judge_anew(test, revision, now)
    finish(revision, rejudged_at=now)


def judge_anew(test: DataTest, revision: Revision, now: datetime) -> None:
    """End the older waivers, and request a run of every window that an older revision left in trouble.

    Where a deadline was moved into the future, nothing is late any more before it has passed.
    """
    end_waivers(test, now=now)
    troubled = Q(state__in=TROUBLED) | Q(waiver__isnull=False)
    for standing in Standing.objects.filter(troubled, data_test=test).exclude(revision=revision):
        if is_undeclared(test, standing.window):
            heal(list(spoilt_of(test, standing.window)), Resolution.REDEFINED, now=now)
            withdraw(standing, test, now)
            continue
        due_at = now  # but at a partition's freshness not before its deadline
        if test.category == Category.FRESHNESS and test.scope == Scope.PARTITION:
            due_at = max(now, standing.window_end + slas(test.dataset).freshness)
        request_run(
            data_test=test,
            window=standing.window,
            reason=RunReason.REVISION,
            occasion=f"r{revision.number}",
            now=now,
            due_at=due_at,
        )
        if due_at > now:
            heal(list(spoilt_of(test, standing.window)), Resolution.REDEFINED, now=now)
            put_off(standing, test, due_at, now)


def withdraw_test(test: DataTest, now: datetime) -> None:
    """Close what a retired test had found: nobody will look at it again."""
    heal(list(spoilt_of(test, None)), Resolution.WITHDRAWN, now=now)
    for standing in Standing.objects.filter(data_test=test).exclude(state=State.PASS.value):
        withdraw(standing, test, now)
    Standing.objects.filter(data_test=test).update(next_check_at=None, next_age_at=None)
