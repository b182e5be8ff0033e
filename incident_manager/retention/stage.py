"""The stage *prune*: once a day through all tables, with pauses in which others may have the worker."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from time import monotonic
from typing import Protocol

import structlog
from django.db.models import Q
from structlog.contextvars import bound_contextvars

from alerting.inhibition.selectors import USUAL_WINDOWS as USUAL_COMPLETIONS
from alerting.models import Standing
from alerting.state import TROUBLED
from assay import clock
from assay.config import config
from assay.models import Dataset, DataTest, Pruning, Scope
from assay.queue.claims import UnableToFinish, claim, extend, finish, log_ids
from assay.queue.flow import stage
from assay.time.windows import Granularity, Window
from execution_engine.freshness.derive import TIME_TO_COMPLETE
from execution_engine.freshness.rules import USUAL_WINDOWS
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import History, operands
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.planning import schedules
from execution_engine.planning.catalog_sources import Sources
from execution_engine.planning.planner import Planner, UnableToPlan, Want
from execution_engine.selectors import period
from incident_manager.models import SpoiltWindow

from .rules import HistoryReach, Kept, streak_reach, terms
from .tables import (
    CHANGES,
    LOOK_UPS,
    MEASUREMENTS,
    NOTICES,
    PART_STATES,
    PROFILES,
    RUNS,
    SCANS,
    STANDINGS,
    STATES,
    SUSPECTS,
    WATCHES,
    WHOLE_PROFILES,
    Batch,
    Keeping,
    StateFiles,
)

# Look up what must stay: the windows in trouble, and how far back histories reach.

WRITES_HISTORY = "last="  # in the text of every assertion over past windows
WEEK = timedelta(days=7)

Metric = tuple[int, str]  # a dataset's id and a metric's name
Trouble = tuple[DataTest, Window]


def keeping(now: datetime) -> Keeping:
    """What a pass at ``now`` goes by; how far histories reach is looked up once it is asked for."""
    limits = terms(now, run_days=config().run_retention, state_days=config().state_retention)
    return Keeping(now=now, terms=limits, kept=kept(), reaches=cache(lambda: reaches(now)))


def kept() -> Kept:
    """The windows in trouble, waived or spoilt, with what the verdict on them rests on."""
    tests: defaultdict[int, list[Window]] = defaultdict(list)
    datasets: defaultdict[int, list[Window]] = defaultdict(list)
    tables: set[int] = set()
    for test, window in _troubles():
        if test.scope == Scope.TABLE:
            tables.add(test.pk)
        else:
            reach = streak_reach(sustain=test.revision.sustain, period=period(test)) if test.revision else timedelta(0)
            tests[test.pk].append(Window(start=window.start - reach, end=window.end + reach))
            datasets[test.dataset_id].append(window)
    return Kept(tests=tests, tables=tables, datasets=datasets)


def _troubles() -> Iterator[Trouble]:
    related = ("data_test__dataset", "data_test__revision")
    for wrong in (Q(state__in=TROUBLED), Q(waiver__isnull=False)):  # two indexes, so two statements
        for standing in Standing.objects.filter(wrong).select_related(*related).iterator():
            yield standing.data_test, standing.window
    spoilt = SpoiltWindow.objects.filter(healed_at__isnull=True, data_test__isnull=False)
    for row in spoilt.select_related(*related).iterator():
        assert row.data_test is not None
        yield row.data_test, row.window


def reaches(now: datetime) -> dict[Metric, HistoryReach]:
    """How far back the values of each metric serve as history."""
    rows = Dataset.objects.exclude(partition_column="").values_list("pk", "granularity")
    found = {(pk, name): reach for pk, granularity in rows for name, reach in _usual(Granularity(granularity))}
    sources = Sources(now)
    tests = DataTest.objects.filter(retired_at__isnull=True, revision__assertion__contains=WRITES_HISTORY)
    for test in tests.select_related("dataset", "revision").iterator():
        for metric, reach in _asked_by(test, sources, now):
            known = found.get(metric, HistoryReach())
            found[metric] = HistoryReach(history=max(reach, known.history), usual=known.usual)
    return found


def _usual(granularity: Granularity) -> tuple[tuple[str, HistoryReach], ...]:
    """What tells how many rows a window usually has, and how long it usually takes."""
    length = schedules.period(schedules.PARTITION, granularity)
    return (
        (ALL_ROWS.name, HistoryReach(usual=(USUAL_WINDOWS + 1) * max(WEEK, length))),
        (TIME_TO_COMPLETE.name, HistoryReach(usual=(USUAL_COMPLETIONS + 1) * length)),
    )


def _asked_by(test: DataTest, sources: Sources, now: datetime) -> Iterator[tuple[Metric, timedelta]]:
    """Each metric that the test asks of the past, and how long before a window that was."""
    home = sources(test.dataset.full_name)
    if home is None or home.partitioning is None or test.revision is None:
        return
    today = home.partitioning.at(now)
    planner = Planner(home=home, datacenter=test.datacenter, window=today, accept_from=None, source_of=sources)
    for operand in operands(from_json(test.revision.tree)):
        if isinstance(operand, History):
            for want in _past(planner, operand):
                yield (sources.dataset(want.dataset).pk, want.spec.name), today.end - want.window.start


def _past(planner: Planner, operand: History) -> tuple[Want, ...]:
    try:
        return planner.past(operand)
    except UnableToPlan:  # nothing is read for it either
        return ()


log = structlog.get_logger(__name__)

EVERY = timedelta(days=1)
AT_A_TIME = 20.0  # seconds; then the worker is free for others, and the next hint goes on


class Prunable(Protocol):
    """A table, or what is kept beside the tables."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def goes_on(self) -> bool:
        """Whether the next pass begins where this one ended."""
        ...

    def batch(self, after: int, keeping: Keeping) -> Batch:
        """Prune what comes behind ``after``."""
        ...


# what others rest on comes after them: standings, then their runs, then what those asked for
TABLES: Sequence[Prunable] = (
    STANDINGS, RUNS, MEASUREMENTS, STATES, WHOLE_PROFILES, PROFILES, SCANS, SUSPECTS, CHANGES, WATCHES, NOTICES,
    LOOK_UPS, PART_STATES, StateFiles(),
)  # fmt: skip


def prune() -> int:
    """Go on with the pass that is due for some seconds; 1 if one was, else 0."""
    now = clock.now()
    rows = claim(stage("prune"), now=now, limit=1)
    for row in rows:
        with bound_contextvars(**log_ids("prune", row)):
            try:
                _go_on(row, now)
            except UnableToFinish as lost:
                log.warning("lease lost", why=str(lost))
            except Exception:
                log.exception("pruning failed", table=row.table, attempts=row.attempts)
    return len(rows)


def _go_on(row: Pruning, now: datetime) -> None:
    """Prune table after table until the time is up or the last one is through, and write down how far that came."""
    end, terms = monotonic() + AT_A_TIME, keeping(now)
    if not row.table:
        row.removed = {}
    names = [table.name for table in TABLES]
    first = names.index(row.table) if row.table in names else 0
    for table in TABLES[first:]:
        row.table = table.name
        if not _is_through(table, row, terms, end):
            finish(row, due_at=now, table=row.table, cursors=row.cursors, removed=row.removed)
            return
    log.info("pruned", **row.removed)
    finish(row, due_at=now + EVERY, table="", cursors=row.cursors, removed=row.removed, ended_at=now)


def _is_through(table: Prunable, row: Pruning, terms: Keeping, end: float) -> bool:
    """Whether the whole table was gone through before the time was up."""
    while monotonic() < end:
        batch = table.batch(row.cursors.get(table.name, 0), terms)
        row.cursors[table.name] = batch.reached
        row.removed[table.name] = row.removed.get(table.name, 0) + batch.removed
        if not extend(row):
            raise UnableToFinish(f"{row}: claimed again since epoch {row.epoch}")
        if batch.is_end:
            if not table.goes_on:
                del row.cursors[table.name]
            return True
    return False
