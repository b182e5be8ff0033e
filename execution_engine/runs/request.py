"""Ask for runs: by the schedule of a test, of one test over a window, of all tests of a dataset over a range.

A schedule moves the cursor of its test to the next window.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import cast

import structlog
from django.db import transaction
from django.db.models import CharField, DateTimeField, Q, Value
from django.db.models.functions import Cast, Concat, Least

from assay.catalog.place_limits import MOST, reach
from assay.catalog.profile import LOGGED
from assay.catalog.selectors import begins_at, home, slas
from assay.catalog.tiers import CatchUp
from assay.config import config
from assay.database.name_keys import name_keys
from assay.database.statements import in_parts
from assay.models import Category, Dataset, DataTest, Revision, Scope
from assay.queue.claims import finish_all
from assay.queue.drain import SLACK
from assay.time.windows import Window
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import metric_of, operands
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.models import Measurement, Run, RunReason, Suspect, late_at
from execution_engine.outcome import Outcome, Reason
from execution_engine.planning.catalog_sources import is_expired, retention_start
from execution_engine.planning.planner import hash_of
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
    turn,
    window_at,
)
from execution_engine.quarantine import ONE_BY_ONE

log = structlog.get_logger(__name__)

_GIVEN = (
    "data_test",
    "revision",
    "reason",
    "turn",
    "window_start",
    "window_end",
    "requested_at",
    "due_at",
    "late_at",
    "accept_from",
    "as_of",
)


def request_run(
    *,
    data_test: DataTest,
    window: Window,
    reason: RunReason,
    occasion: str,
    now: datetime,
    due_at: datetime | None = None,
    as_of: Mapping[str, str] | None = None,
) -> Run | None:
    """The run of the test's newest revision over ``window``; the same reason and occasion give the same run.

    ``as_of`` is what ``read_as_of`` gives. None where nothing may run: the test is retired, or judges no such window.
    """
    if not is_live(data_test) or not is_judged(data_test, window, now):
        return None
    new = _new_run(data_test, window, reason, occasion, now, due_at or now)
    new.as_of = dict(as_of or {})
    run, _ = Run.objects.get_or_create(slot=new.slot, defaults={name: getattr(new, name) for name in _GIVEN})
    return run


def request_runs(
    requests: Iterable[tuple[DataTest, Window, datetime]],
    *,
    reason: RunReason,
    occasion: str,
    now: datetime,
    as_of: Mapping[str, str] | None = None,
) -> list[Run]:
    """Many runs of live tests as ``request_run`` asks for one, each with its due time, in one statement.

    They come back without their ids, those that were there already as if they were new.
    """
    runs = [
        _new_run(data_test, window, reason, occasion, now, due_at)
        for data_test, window, due_at in requests
        if is_judged(data_test, window, now)
    ]
    for run in runs:
        run.as_of = dict(as_of or {})
    return Run.objects.bulk_create(runs, ignore_conflicts=True)


def request_scheduled(due: Iterable[tuple[DataTest, Sequence[Slot]]], now: datetime) -> None:
    """The scheduled runs of live tests, each once, in one statement; none beyond retention.

    Of several slots of a test the newest is current; the others are made up for once all that is current is done.
    """
    runs = []
    for data_test, slots in due:
        for slot in slots:
            if is_judged(data_test, slot.window, now):
                occasion = slot.due_at.isoformat()
                run = _new_run(data_test, slot.window, RunReason.SCHEDULE, occasion, now, slot.due_at)
                run.turn = turn(data_test.dataset.tier, is_made_up_for=slot != slots[-1])
                runs.append(run)
    Run.objects.bulk_create(runs, ignore_conflicts=True)


def _new_run(
    data_test: DataTest, window: Window, reason: RunReason, occasion: str, now: datetime, due_at: datetime
) -> Run:
    match reason:  # from when on a measurement counts; None: any of this window, while the data is unchanged
        case RunReason.SCHEDULE:
            accept_from: datetime | None = due_at
        case RunReason.BACKTEST:
            accept_from = None
        case RunReason.REVISION:  # freshness is about the instant of looking, so an old look says nothing
            accept_from = due_at if data_test.category == Category.FRESHNESS else None
        case _:
            accept_from = now
    return Run(
        data_test=data_test,
        revision=data_test.revision,
        reason=reason,
        turn=turn(data_test.dataset.tier, is_made_up_for=reason == RunReason.BACKFILL),
        slot=f"{data_test.pk}:{window.text}:{reason}:{occasion}",
        window_start=window.start,
        window_end=window.end,
        requested_at=now,
        due_at=due_at,
        late_at=late_at(due_at=due_at, requested_at=now) if reason == RunReason.SCHEDULE else None,
        accept_from=accept_from,
    )


def is_live(data_test: DataTest) -> bool:
    """Whether a test runs at all: it is not retired, and has been written."""
    return data_test.retired_at is None and data_test.revision is not None


def is_judged(data_test: DataTest, window: Window, now: datetime) -> bool:
    """Whether a test judges a window at all: it is kept, and did not begin before the columns were declared."""
    return not is_expired(data_test.dataset, window, now) and not is_undeclared(data_test, window)


def is_undeclared(data_test: DataTest, window: Window) -> bool:
    """Whether a partition began before the columns were declared that the test holds it to."""
    if data_test.judges_from is None or data_test.scope == Scope.TABLE:
        return False
    return window.start < data_test.judges_from


# By schedules: the runs that are due, and each test's cursor on its next window.


RowsNamed = Callable[[Collection[str]], Iterable[Dataset]]


def rows_named(names: Collection[str]) -> Iterable[Dataset]:
    """The datasets of these names that the catalog has."""
    return Dataset.objects.filter(name_key__in=name_keys(names)) if names else ()


def first_cursor(data_test: DataTest, revision: Revision, now: datetime, others: RowsNamed = rows_named) -> Slot:
    """Where the cursor of a new test, or of a new revision, stands: windows that ended before stay UNTESTED."""
    schedule = schedule_of(data_test, revision, now, others)
    if data_test.next_window_start and data_test.next_window_end:
        window = Window(start=data_test.next_window_start, end=data_test.next_window_end)
        return moved_slot(schedule, window, now=now)
    return first_slot(schedule, now=now)


def schedule_tests(data_tests: Sequence[DataTest], now: datetime) -> None:
    """Request the runs that are due, and put each cursor on the next window; a retired test has none."""
    slots: list[tuple[DataTest, Sequence[Slot]]] = []
    for data_test in data_tests:
        if data_test.retired_at is not None or data_test.revision is None:
            data_test.next_due_at = data_test.next_window_start = data_test.next_window_end = None
            continue
        stands = cursor(data_test)
        due = due_slots(schedule_of(data_test, data_test.revision, now), stands, now=now)
        if due.skipped:
            log.warning("slots skipped", test=str(data_test), first=stands.window.text, number=due.skipped)
        data_test.next_due_at = due.coming.due_at
        data_test.next_window_start, data_test.next_window_end = due.coming.window.start, due.coming.window.end
        data_test.skipped_slots += due.skipped
        slots.append((data_test, due.slots))
    request_scheduled(slots, now)
    finish_all(data_tests, "next_due_at", "next_window_start", "next_window_end", "skipped_slots")


def schedule_of(data_test: DataTest, revision: Revision, now: datetime, others: RowsNamed = rows_named) -> Schedule:
    """The schedule of a revision, with what it depends on."""
    whole_table, dataset, common_start = data_test.scope == Scope.TABLE, data_test.dataset, None
    if whole_table:  # from when on every dataset that the assertion reads keeps its partitions
        # most assertions name no other dataset, which their text shows sooner than their tree
        is_alone = "dataset" not in revision.assertion.lower()
        metrics = [] if is_alone else [metric_of(operand) for operand in operands(from_json(revision.tree))]
        names = {metric.dataset for metric in metrics if metric.dataset}
        starts = [
            at for source in (dataset, *others(names)) for at in (retention_start(source, now), begins_at(source)) if at
        ]
        common_start = max(starts, default=BEGINNING)
    return Schedule(
        line=revision.schedule,
        whole_table=whole_table,
        partitioning=dataset.partitioning,
        time_zone=dataset.time_zone,
        freshness=slas(dataset).freshness,
        catch_up=cast(CatchUp, revision.catch_up),
        jitter=jitter_of(dataset.full_name, config().jitter),
        retention_start=common_start,
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


# By people who want to know now: many tests of one dataset, over one window or the past.

MOST_RUNS = 2000  # of one request, whose answer lists them
TIMELY = "says when rows are there, and a snapshot of the past does not say that"


class UnableToRequest(ValueError):
    """A range that cannot be run as it was asked for; the message says how to ask."""


@dataclass(frozen=True, kw_only=True)
class RequestedRuns:
    """The runs, and by the names of other tests why they do not run."""

    runs: tuple[Run, ...]
    left_out: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a back-fill costs: each test of a partition runs over each of the partitions."""

    partitions: int
    tests: int
    rows: int | None = None  # about as many are read; None where no run has counted those of any of the partitions

    @property
    def runs(self) -> int:
        """How many runs it asks for."""
        return self.partitions * self.tests

    def __str__(self) -> str:
        rows = "" if self.rows is None else f", about {self.rows:,} rows"
        return f"{self.runs:,} runs by {self.partitions:,} scans of a partition{rows}, after all that is due"


def request_all(
    dataset: Dataset,
    window: Window,
    *,
    names: Collection[str] = (),
    occasion: str,
    now: datetime,
    as_of: Mapping[str, str] | None = None,
) -> RequestedRuns:
    """Runs of these live tests, or of all that judge a partition where none is named; one occasion asks once.

    A test of a partition runs over each partition of a longer window by itself: a back-fill, the newest first, after
    all that is current. A test of the whole table runs over all of it, and only if it is named or the dataset has no
    partitions. ``as_of`` is what ``read_as_of`` gives: such runs enter no standing. Raises UnableToRequest.
    """
    tests = _tests_of(dataset, names)
    timely = [test for test in tests if as_of and test.category == Category.FRESHNESS]
    tests = [test for test in tests if test not in timely]
    parts = partitions_to_run(dataset, window, now)
    over = _windows_of(tests, window, parts, now)
    # partition by partition, so that the newest are claimed first
    live = [test for test in over if is_live(test)]
    whole_tables = [(test, own, now) for test in live for own in over[test] if over[test] is not parts]
    single = [(test, part, now) for part in parts for test in live if over[test] is parts]
    reason, of_tables = RunReason.BACKFILL if len(parts) > 1 else RunReason.MANUAL, RunReason.MANUAL
    if as_of:
        reason = of_tables = RunReason.BACKTEST
    slots = [
        run.slot
        for requests, why in ((whole_tables, of_tables), (single, reason))
        for run in request_runs(requests, reason=why, occasion=occasion, now=now, as_of=as_of)
    ]
    runs = [
        run
        for part in in_parts(slots)
        for run in Run.objects.filter(slot__in=part).select_related("data_test__dataset", "revision")
    ]
    runs.sort(key=lambda run: (-run.window_start.timestamp(), run.data_test.name))
    running = {run.data_test_id for run in runs}
    left_out = {test.name: _why_not(test, own) for test, own in over.items() if test.pk not in running}
    left_out |= dict.fromkeys((test.name for test in timely), f"it {TIMELY}")
    test_names = {test.name for test in over} | left_out.keys()
    unknown = {name: f"{dataset.full_name} has no live test of this name" for name in names if name not in test_names}
    return RequestedRuns(runs=tuple(runs), left_out=left_out | unknown)


def _windows_of(
    tests: Sequence[DataTest], window: Window, parts: Sequence[Window], now: datetime
) -> dict[DataTest, Sequence[Window]]:
    """What each test runs over: these parts of the window, or all of its table; raises UnableToRequest for too many."""
    over: dict[DataTest, Sequence[Window]] = dict.fromkeys(tests, parts)
    for test in tests:
        if test.scope == Scope.TABLE and test.dataset.partitioning is not None:
            whole = whole_window(test, now)  # all of it that is due, as one
            over[test] = (whole,) if whole else ()
    if (number := sum(map(len, over.values()))) > MOST_RUNS:
        raise UnableToRequest(
            f"{window.text} has {len(parts)} partitions, which makes {number} runs: one request has at most "
            f"{MOST_RUNS}. Ask for it in parts."
        )
    return over


def read_as_of(text: str, dataset: Dataset) -> dict[str, str]:
    """What a run is to read: given the id of a run, the snapshots that it has read; given an instant, those of then.

    An instant is in ISO 8601, and of UTC unless it says otherwise. Raises UnableToRequest.
    """
    if text.isdecimal():
        run = Run.objects.filter(pk=int(text[:18]), data_test__dataset=dataset).first()
        snapshots = {place: name.rpartition(" ")[2] for place, name in (run.snapshots if run else {}).items()}
        if snapshots and all(map(str.isdecimal, snapshots.values())):
            return snapshots
        what = "has read no snapshot of a table" if run else f"is none of {dataset.full_name}"
        raise UnableToRequest(f"run {text:.18} {what}: name another run, or an instant such as 2026-11-01T12:00")
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise UnableToRequest(f"{text[:60]!r} is no run and no instant: write its id, or 2026-11-01T12:00") from None
    if objection := snapshot_objection(dataset):
        raise UnableToRequest(objection)
    return {"*": (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).isoformat()}


def snapshot_objection(dataset: Dataset) -> str:
    """Why a dataset cannot be read as it was at an instant; empty where it can."""
    others = {replica.storage for replica in dataset.replicas.all()} - set(LOGGED)
    if not others:
        return ""
    return (
        f"{dataset.full_name} is kept as {min(others)}, of which there are no snapshots: only tables of Iceberg and "
        "Delta can be read as they were"
    )


def partitions_to_run(dataset: Dataset, window: Window, now: datetime) -> Sequence[Window]:
    """The partitions of a window that are run by themselves, the newest first; itself where it is one, or has none.

    Of a longer window those that have ended, that are kept, and that begin no earlier than the table does. Raises
    UnableToRequest where there is none, or it cuts through one.
    """
    partitioning = dataset.partitioning
    if partitioning is None or partitioning.tile(window, 1) == (window,):
        return (window,)
    within = reach(window, partitioning, now=now, begins_at=begins_at(dataset), retention=dataset.retention)
    if within:
        first, last = partitioning.at(window.start), partitioning.at(window.end)
        if first.start != window.start or last.start != window.end:
            end = window.end if last.start == window.end else last.end
            whole = Window(start=first.start, end=end)
            raise UnableToRequest(f"{window.text} cuts through a partition: name whole ones, such as {whole.text}")
    tiles = tuple(partitioning.between(within.start, within.end)) if within else ()
    ended = [tile for tile in reversed(tiles) if tile.end <= now]
    if not ended:
        raise UnableToRequest(f"no partition of {dataset.full_name} in {window.text} has ended and is kept")
    return ended


def last_partitions(dataset: Dataset, number: int, now: datetime) -> Window:
    """The window of the last partitions that have ended; raises UnableToRequest where a dataset has no partitions."""
    if not 0 < number <= MOST:
        raise UnableToRequest(f"the number of partitions is from 1 to {MOST}, not {number}")
    if dataset.partitioning is None:
        raise UnableToRequest(f"{dataset.full_name} has no partitions: its tests judge the whole table")
    before = dataset.partitioning.previous(dataset.partitioning.at(now), number)
    return Window(start=before[0].start, end=before[-1].end)


def cost_of(dataset: Dataset, window: Window, now: datetime, *, names: Collection[str] = ()) -> Cost | None:
    """What a back-fill of a window costs; None where there is nothing to run."""
    try:
        parts = partitions_to_run(dataset, window, now)
    except UnableToRequest:
        return None
    live = filter(is_live, _tests_of(dataset, names))
    tests = sum(any(is_judged(test, part, now) for part in parts) for test in live)
    return Cost(partitions=len(parts), tests=tests, rows=_usual_rows(dataset, parts)) if tests else None


def _usual_rows(dataset: Dataset, parts: Sequence[Window]) -> int | None:
    """How many rows partitions have, by the median of those of them that were counted."""
    counted = Measurement.objects.filter(
        dataset=dataset,
        datacenter=home(dataset).datacenter,
        window_start__gte=parts[-1].start,
        window_start__lt=parts[0].end,
        spec_hash=hash_of(ALL_ROWS),
        value__isnull=False,
    )
    rows = [value for value in counted.values_list("value", flat=True) if value is not None]
    return round(median(rows) * len(parts)) if rows else None


def _tests_of(dataset: Dataset, names: Collection[str]) -> list[DataTest]:
    tests = dataset.data_tests.filter(retired_at__isnull=True).order_by("name").select_related("dataset", "revision")
    if names:
        tests = tests.filter(name__in=names)
    elif dataset.partitioning:
        tests = tests.filter(scope=Scope.PARTITION)
    return list(tests)


def _why_not(test: DataTest, over: Sequence[Window]) -> str:
    if test.revision is None:
        return "it has no assertion yet"
    if not over:
        return "no partition of the table is due yet"
    if all(is_undeclared(test, window) for window in over):
        return "the window began before the dataset's columns were declared as they are"
    return "the window is beyond the dataset's retention"


# Lift a quarantine by hand.

MOST_LIFTED = 200  # that lifting one asks for, the newest windows first; the rest wait for their schedule or a check


@transaction.atomic
def lift_quarantine(suspect: Suspect, *, now: datetime) -> list[Run]:
    """Let the metric be measured again, by itself at first; the runs that it had kept from it, requested anew."""
    since, suspect.quarantined_at = suspect.quarantined_at, None
    if since is None:
        return []
    suspect.ends = min(suspect.ends, ONE_BY_ONE)
    suspect.save(update_fields=["quarantined_at", "ends"])
    withheld = Run.objects.filter(
        outcome=Outcome.ERROR, error_reason=Reason.QUARANTINED, evaluated_at__gte=since, data_test__retired_at=None
    ).select_related("data_test__dataset", "data_test__revision")
    places = {(run.data_test_id, run.window): run for run in withheld.order_by("-window_end", "pk")[:MOST_LIFTED]}
    occasion = f"lifted:{suspect.pk}:{now.isoformat()}"
    runs = (
        request_run(data_test=run.data_test, window=window, reason=RunReason.MANUAL, occasion=occasion, now=now)
        for (_, window), run in places.items()
    )
    return [run for run in runs if run is not None]


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
            assert data_test.revision is not None
            schedule, stands = schedule_of(data_test, data_test.revision, now), cursor(data_test)
            if not is_ahead(schedule, stands, now=now):
                continue
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
            log.info(
                "cursor brought back", test=str(data_test), stood_at=stands.window.text, stands_at=slot.window.text
            )
        except Exception:
            log.exception("cursor not brought back", test=str(data_test))


def bring_runs_back(now: datetime) -> None:
    """Let runs that were asked for after now be due at once, and what was measured after now be measured now.

    That is true, as the clock was ahead, and what is measured from now on counts as newer. A run that was asked for in
    time waits for its instant, however far that is: a freshness whose deadline was moved is not late before it.
    """
    here = Value(now, output_field=DateTimeField())
    unscheduled_runs = Run.objects.exclude(reason=RunReason.SCHEDULE)
    of_the_leap = unscheduled_runs.filter(planned_at__isnull=True, requested_at__gt=now + SLACK)
    of_the_leap.update(requested_at=now, due_at=now, accept_from=now)
    unscheduled_runs.filter(evaluated_at__gt=now + SLACK).update(due_at=Least("due_at", here))
    Run.objects.filter(evaluated_at__gt=now + SLACK).update(
        requested_at=Least("requested_at", here), measured_at=Least("measured_at", here), evaluated_at=now
    )
    Measurement.objects.filter(measured_at__gt=now + SLACK).update(measured_at=now)
