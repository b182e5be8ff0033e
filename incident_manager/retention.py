"""Retention: rows that have had their time are removed once a day, a thousand at a time, in the order of their ids.

What is decided comes first, then what must stay is looked up, then one entry a table says what of it goes, and
the stage *prune* goes through all of them, with pauses in which others may have the worker.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from itertools import chain, takewhile
from time import monotonic
from typing import Any

import structlog
from django.db.models import Model, Q, QuerySet
from structlog.contextvars import bound_contextvars

from alerting.inhibition.selectors import USUAL_WINDOWS as USUAL_COMPLETIONS
from alerting.models import Alert, Flip, Notice, Standing
from alerting.state import TROUBLED
from assay import clock
from assay.config import config
from assay.database.statements import update_each
from assay.models import DataChange, Dataset, DataTest, Deploy, Round, Scope, Tallied
from assay.queue.claims import UnableToFinish, claim, extend, finish, in_transaction, log_ids, tally
from assay.queue.flow import stage
from assay.time.windows import Granularity, UnableToPartition, Window
from execution_engine.freshness.derive import TIME_TO_COMPLETE
from execution_engine.freshness.rules import USUAL_WINDOWS
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import History, operands
from execution_engine.metrics.definitions.profile import PROFILE
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.metrics.registry import METRICS
from execution_engine.models import AcceptedPast, Ask, Measurement, PartState, Run, Scan, Suspect, TableCommit, Watch
from execution_engine.outcome import Outcome
from execution_engine.own_files import old_files, remove_file
from execution_engine.parts.state_store import STATE, UnableToLoadState, keep_state, state_of
from execution_engine.planning import schedules
from execution_engine.planning.catalog_sources import Sources
from execution_engine.planning.planner import Planner, UnableToPlan
from execution_engine.selectors import keeping_states, period
from execution_engine.services import is_expired

from .models import LookUp, SpoiltWindow

WHOLE_PROFILES = timedelta(days=2)  # then what is kept of a profile is enough to make a past anew
PROFILES = timedelta(days=90)


@dataclass(frozen=True, kw_only=True)
class RetentionTerms:
    """Until when rows have had their time; None: they are kept for ever."""

    results: datetime | None
    states: datetime | None


def terms(now: datetime, *, run_days: int, state_days: int) -> RetentionTerms:
    """The terms at ``now``; states never outlive the results that they belong to."""
    results = now - timedelta(days=run_days) if run_days else None
    states = now - timedelta(days=state_days) if state_days else None
    return RetentionTerms(results=results, states=max((at for at in (results, states) if at), default=None))


@dataclass(frozen=True, kw_only=True)
class Exemptions:
    """Where something is wrong, so that all that is known of it stays: the verdict rests on it."""

    tests: Mapping[int, Sequence[Window]] = field(default_factory=dict)  # of partitions, with what a streak reaches
    tables: Collection[int] = ()  # tests of whole tables
    datasets: Mapping[int, Sequence[Window]] = field(default_factory=dict)

    def holds_test(self, data_test: int, window: Window) -> bool:
        """Whether the verdict on a window of this test rests on what is known of ``window``."""
        return data_test in self.tables or _overlaps(self.tests.get(data_test, ()), window)

    def holds_dataset(self, dataset: int, window: Window) -> bool:
        """Whether anything of this dataset is wrong in ``window``."""
        return _overlaps(self.datasets.get(dataset, ()), window)


def _overlaps(windows: Sequence[Window], window: Window) -> bool:
    return any(candidate.overlaps(window) for candidate in windows)


def streak_reach(*, sustain: timedelta, period: timedelta) -> timedelta:
    """How far around a window its streak looks; none where windows come more rarely than the sustain."""
    return 2 * (sustain + period) if period < sustain else timedelta(0)


def is_past(instants: Sequence[datetime | None], before: datetime) -> bool:
    """Whether all of these instants were before; one that has not come yet was not."""
    return all(instant is not None and instant < before for instant in instants)


@dataclass(frozen=True, kw_only=True)
class HistoryReach:
    """From which window on values of one metric of a dataset serve as history: of today's windows, or of all kept."""

    history: timedelta = timedelta(0)  # that an assertion asks for, of any window that is still judged
    usual: timedelta = timedelta(0)  # that tells what is usual now

    def needs(self, window: Window, *, before: datetime, now: datetime) -> bool:
        """Whether a window whose own results have had their time is history of one that has not."""
        return window.end > min(before - self.history, now - self.usual)


def without_needed(candidates: Collection[int], users: Mapping[int, Collection[int]]) -> set[int]:
    """Those candidates that nothing builds on but other candidates, which go with them."""
    gone = set(candidates)
    while needed := {row for row in gone if any(user not in gone for user in users.get(row, ()))}:
        gone -= needed
    return gone


# Go through a table in the order of its ids, a thousand rows at a time; what goes, goes in one short transaction.
#
# Reading takes no locks and needs no index but the primary key. Deleting locks rows that have long had their end: no
# stage claims those.

CHUNK = 1000

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """What a pass goes by."""

    now: datetime
    terms: RetentionTerms
    exemptions: Exemptions
    reaches: Callable[[], "dict[tuple[int, str], HistoryReach]"]  # by dataset and metric


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """What one batch came to: the id that it went up to, whether that was the end, and how many rows went."""

    reached: int
    is_end: bool
    removed: int = 0


def all_of(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """All of them go."""
    return {row["pk"] for row in rows}


@dataclass(frozen=True, kw_only=True)
class PrunedTable:
    """How to prune one table: rows have had their time once all of their instants are before the end of a term."""

    name: str
    rows: QuerySet[Any, Any]  # as dicts with ``pk``, of this table alone: a join may be sorted first
    instants: Sequence[str]
    term: Callable[[Keeping], datetime | None] = lambda keeping: keeping.terms.results
    going: Callable[[Sequence[Row], Keeping], Collection[int]] = all_of  # the ids of those that go, of old rows
    remove: Callable[[Collection[int]], int] | None = None  # None: delete them with what belongs to them
    goes_on: bool = False  # the next pass begins where this one ended: rows are looked at once

    def batch(self, after: int, keeping: Keeping) -> BatchResult:
        """Prune the thousand rows behind ``after``; where each is looked at once, up to the first young one."""
        rows = list(self.rows.filter(pk__gt=after).order_by("pk")[:CHUNK])
        before = self.term(keeping)

        def is_old(row: Row) -> bool:
            return before is not None and is_past([row[name] for name in self.instants], before)

        old = list((takewhile if self.goes_on else filter)(is_old, rows))
        gone = sorted(self.going(old, keeping)) if old else []

        def remove() -> int:
            removed = self.remove(gone) if self.remove else delete(self.rows.model, gone)
            tally(Tallied.PRUNED, self.name, removed)
            return removed

        removed = in_transaction(remove) if gone else 0
        seen = old if self.goes_on else rows
        return BatchResult(
            reached=seen[-1]["pk"] if seen else after, is_end=not old or len(seen) < CHUNK, removed=removed
        )


def delete(model: type[Model], keys: Collection[int]) -> int:
    """Delete rows by their ids, with what belongs to them; how many there were."""
    _, counts = model._default_manager.filter(pk__in=keys).only("pk").delete()
    return counts.get(model._meta.label, 0)


def window_of(row: Row) -> Window:
    """The window of a row."""
    return Window(start=row["window_start"], end=row["window_end"])


# Files of the state store that no row names any more: those of rows that went, or of work that never ended.

FOLDERS = 256  # of the store, by the first byte of what a file is called
UNTOUCHED = 24 * 3600.0  # seconds; a younger file may belong to a transaction that is still open


class StateFiles:
    """The folders of the store, one a batch."""

    name = "state_files"
    goes_on = False

    def batch(self, after: int, keeping: Keeping) -> BatchResult:
        """Remove what is orphaned in the folder behind the first ``after``."""
        shard, removed = f"{after:02x}", 0
        folder = f"{config().states}/{shard}"
        orphans = {f"{shard}/{name}" for name in old_files(folder, UNTOUCHED)}
        for model in (AcceptedPast, Measurement, PartState):
            named = model._default_manager.filter(state_path__in=orphans)
            orphans -= set(named.values_list("state_path", flat=True))
        for name in old_files(folder, UNTOUCHED) if orphans else ():
            if f"{shard}/{name}" in orphans:  # one that was stored again just now has been touched, and stays
                remove_file(f"{folder}/{name}")
                removed += 1
        if removed:
            tally(Tallied.PRUNED, self.name, removed)
        return BatchResult(reached=after + 1, is_end=after + 1 >= FOLDERS, removed=removed)


# Standings and runs: a window whose test has long held goes with all that is known of it.
#
# Runs outlive no verdict that rests on them: as long as a window has its standing, all its runs stay.


def _standings_going(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """Of partitions at which nothing is wrong or awaited; the standing of a whole table moves on, and stays."""
    quiet = [
        row
        for row in rows
        if row["waiver_id"] is row["next_check_at"] is row["next_age_at"] is None
        and row["state"] not in TROUBLED
        and not keeping.exemptions.holds_test(row["data_test_id"], window_of(row))
    ]
    judged = Run.objects.filter(pk__in={row["last_run_id"] for row in quiet} - {None}).values_list("pk", "judged_at")
    results = keeping.terms.results
    young = {pk for pk, at in judged if results is None or not is_past((at,), results)}
    tables = _tables_of(quiet)
    at_rest = {row["pk"] for row in quiet if row["data_test_id"] not in tables and row["last_run_id"] not in young}
    unhandled = Flip.objects.filter(standing__in=at_rest, handled_at__isnull=True)
    return at_rest - set(unhandled.values_list("standing_id", flat=True))


def _tables_of(rows: Sequence[Row]) -> set[int]:
    tests = DataTest.objects.filter(pk__in={row["data_test_id"] for row in rows}, scope=Scope.TABLE)
    return set(tests.values_list("pk", flat=True))


def _delete_standings(keys: Collection[int]) -> int:
    """Those that are still at rest, with their flips."""
    rows = Standing.objects.filter(pk__in=keys, waiver__isnull=True).exclude(state__in=TROUBLED)
    return delete(Standing, list(rows.select_for_update().order_by("pk").values_list("pk", flat=True)))


def _runs_going(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """Those of windows that have no standing any more, and of whole tables what came before they last held."""
    tables = _tables_of(rows)
    newest = set(Standing.objects.filter(last_run__in=all_of(rows, keeping)).values_list("last_run_id", flat=True))
    of_parts = [row for row in rows if row["data_test_id"] not in tables]
    standing = Standing.objects.filter(
        data_test__in={row["data_test_id"] for row in of_parts},
        window_start__in={row["window_start"] for row in of_parts},
    )
    stands = set(standing.values_list("data_test_id", "window_start", "window_end")) if of_parts else set()
    unsettled = set(
        keeping.exemptions.tables
    )  # whose newest result is none that held: the verdict rests on those before
    if tables:
        not_held = Standing.objects.filter(data_test__in=tables).exclude(last_outcome=Outcome.HELD, error_reason="")
        unsettled.update(not_held.values_list("data_test_id", flat=True))
    return {
        row["pk"]
        for row in rows
        if row["pk"] not in newest
        and row["data_test_id"] not in unsettled
        and (row["data_test_id"], row["window_start"], row["window_end"]) not in stands
    }


# Measurements: those that no run asks for, nothing builds on, and no history looks back to.

KEPT = frozenset(name for name, metric in METRICS.items() if metric.stays_while_missed) | {PROFILE.name}
HAS_STATE = Q(state__isnull=False) | ~Q(state_path="")
# without a state it cannot be taken for a measurement of the same data: it has no fingerprint any more either
FORGOTTEN = {"state": None, "state_path": "", "state_length": 0, "state_checksum": "", "fingerprint": ""}


def _measurements_going(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """Those that verdicts to come, or those in trouble, do not look back to, that no run asks for, nor any other."""
    before, reaches = keeping.terms.results, keeping.reaches()
    assert before is not None
    idle = set[int]()
    for row in rows:
        window, reach = window_of(row), reaches.get((row["dataset_id"], _name_of(row)), HistoryReach())
        is_history = reach.needs(window, before=before, now=keeping.now)
        if not is_history and not keeping.exemptions.holds_dataset(row["dataset_id"], window):
            idle.add(row["pk"])
    idle -= set(Ask.objects.filter(measurement__in=idle).values_list("measurement_id", flat=True))
    return without_needed(idle, _users_of(idle))


def _name_of(row: Row) -> str:
    return str(row["spec_text"]).partition("(")[0]


def _users_of(keys: Collection[int]) -> dict[int, list[int]]:
    link = Measurement.inputs.through
    users_by_part: defaultdict[int, list[int]] = defaultdict(list)
    pairs = link.objects.filter(to_measurement__in=keys).values_list("to_measurement_id", "from_measurement_id")
    for part, user in pairs:
        users_by_part[part].append(user)
    return users_by_part


def _states_going(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """All but the samples, and what something builds on that is not measured yet."""
    measurement_ids = {row["pk"] for row in rows if row["has_state"] and _name_of(row) not in KEPT}
    users = _users_of(measurement_ids)
    waiting = Measurement.objects.filter(pk__in={pk for own in users.values() for pk in own}, measured_at=None)
    pending = set(waiting.values_list("pk", flat=True))
    return {pk for pk in measurement_ids if pending.isdisjoint(users.get(pk, ()))}


def _forget(keys: Collection[int]) -> int:
    return Measurement.objects.filter(pk__in=keys).update(**FORGOTTEN)


def _reduce_profiles(keys: Collection[int]) -> int:
    """Keep of each profile what a past is made anew from; one that cannot be read stays as it is."""
    from execution_engine.profiles.profile import KEPT as OF_A_PROFILE  # with it numpy, for which no gate should wait
    from execution_engine.profiles.stored import from_bytes, to_bytes

    reduced = []
    for row in Measurement.objects.filter(pk__in=keys):
        with suppress(UnableToLoadState, ValueError):
            keep_state(row, to_bytes(from_bytes(state_of(row)).reduced(OF_A_PROFILE)))
            reduced.append(row)
    update_each(reduced, STATE)
    return len(reduced)


# What work has left behind it: scans, changes and watches of data, notices, look-ups, states of partitions.


def _of_closed_alerts(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """Those of open alerts say who has been told."""
    alerts = {row["alert_id"] for row in rows} - {None}
    is_open = set(Alert.objects.filter(pk__in=alerts, closed_at__isnull=True).values_list("pk", flat=True))
    return {row["pk"] for row in rows if row["alert_id"] not in is_open}


def _of_sound_windows(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    return {row["pk"] for row in rows if not keeping.exemptions.holds_dataset(row["dataset_id"], window_of(row))}


def _unused_parts(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """Those of datasets that keep no states any longer, and of partitions that are not kept any longer."""
    datasets = Dataset.objects.in_bulk({row["dataset_id"] for row in rows})
    unused = datasets.keys() - keeping_states(datasets)
    gone = {row["pk"] for row in rows if row["dataset_id"] in unused}
    for row in rows:
        dataset = datasets[row["dataset_id"]]
        if dataset.pk in unused or not row["key"] or dataset.partitioning is None:
            continue
        try:
            is_over = is_expired(dataset, dataset.partitioning.window(row["key"]), keeping.now)
        except UnableToPartition:  # a key of an earlier format, which no wider window will ask for
            is_over = True
        if is_over:
            gone.add(row["pk"])
    return gone


PROFILE_ROWS = Measurement.objects.filter(HAS_STATE, spec_text__startswith=f"{PROFILE.name}(").values(
    "pk", "requested_at"
)
OF_WINDOW = ("pk", "dataset_id", "window_start", "window_end")
RUNS = PrunedTable(
    name="runs",
    rows=Run.objects.values("pk", "data_test_id", "window_start", "window_end", "judged_at"),
    instants=("judged_at",),
    going=_runs_going,
)
# what others rest on comes after them: standings, then their runs, then what those asked for
TABLES: Sequence[PrunedTable | StateFiles] = (
    PrunedTable(
        name="standings",
        rows=Standing.objects.values(
            *("pk", "data_test_id", "window_start", "window_end", "state", "since", "due_at", "waiver_id"),
            *("next_check_at", "next_age_at", "last_run_id"),
        ),
        instants=("window_end", "since", "due_at"),
        going=_standings_going,
        remove=_delete_standings,
    ),
    RUNS,
    PrunedTable(
        name="measurements",
        rows=Measurement.objects.values(*OF_WINDOW, "spec_text", "measured_at"),
        instants=("measured_at",),
        going=_measurements_going,
    ),
    PrunedTable(
        name="states",
        rows=Measurement.objects.values("pk", "spec_text", "requested_at", has_state=HAS_STATE),
        instants=("requested_at",),
        term=lambda keeping: keeping.terms.states,
        going=_states_going,
        remove=_forget,
        goes_on=True,
    ),
    PrunedTable(
        name="whole_profiles",
        rows=PROFILE_ROWS,
        instants=("requested_at",),
        term=lambda keeping: keeping.now - WHOLE_PROFILES,
        remove=_reduce_profiles,
        goes_on=True,
    ),
    PrunedTable(
        name="profiles",
        rows=PROFILE_ROWS,
        instants=("requested_at",),
        term=lambda keeping: keeping.now - PROFILES,
        remove=_forget,
        goes_on=True,
    ),
    PrunedTable(
        name="scans",
        rows=Scan.objects.values("pk", "ended_at"),
        instants=("ended_at",),
        going=lambda rows, keeping: all_of(rows, keeping).difference(
            Measurement.objects.filter(scan__in=all_of(rows, keeping)).values_list("scan_id", flat=True)
        ),
    ),
    PrunedTable(name="suspects", rows=Suspect.objects.values("pk", "last_at"), instants=("last_at",)),
    PrunedTable(
        name="changes",
        rows=DataChange.objects.values(*OF_WINDOW, "followed_at"),
        instants=("followed_at", "window_end"),
        going=_of_sound_windows,
    ),
    PrunedTable(
        name="watches",
        rows=Watch.objects.values(*OF_WINDOW, "closely"),
        instants=("window_end",),
        going=lambda rows, keeping: _of_sound_windows([row for row in rows if not row["closely"]], keeping),
    ),
    PrunedTable(
        name="notices",
        rows=Notice.objects.values("pk", "settled_at", "alert_id"),
        instants=("settled_at",),
        going=_of_closed_alerts,
    ),
    PrunedTable(name="deploys", rows=Deploy.objects.values("pk", "at"), instants=("at",)),
    PrunedTable(name="commits", rows=TableCommit.objects.values("pk", "at"), instants=("at",)),
    PrunedTable(name="look_ups", rows=LookUp.objects.values("pk", "at"), instants=("at",)),
    PrunedTable(
        name="part_states",
        rows=PartState.objects.values("pk", "dataset_id", "key", "kept_at"),
        instants=("kept_at",),
        term=lambda keeping: keeping.terms.states,
        going=_unused_parts,
    ),
    StateFiles(),
)


# Look up what must stay: the windows in trouble, and how far back histories reach.

WRITES_HISTORY = "last="  # in the text of every assertion over past windows
WEEK = timedelta(days=7)

Metric = tuple[int, str]  # a dataset's id and a metric's name


def keeping(now: datetime) -> Keeping:
    """What a pass at ``now`` goes by; how far histories reach is looked up once it is asked for."""
    limits = terms(now, run_days=config().run_retention, state_days=config().state_retention)
    return Keeping(now=now, terms=limits, exemptions=read_kept(), reaches=cache(lambda: reaches(now)))


def read_kept() -> Exemptions:
    """The windows in trouble, waived or spoilt, with what the verdict on them rests on."""
    tests: defaultdict[int, list[Window]] = defaultdict(list)
    datasets: defaultdict[int, list[Window]] = defaultdict(list)
    tables: set[int] = set()
    related = ("data_test__dataset", "data_test__revision")
    wrong = (Q(state__in=TROUBLED), Q(waiver__isnull=False))  # two indexes, so two statements
    standings = (Standing.objects.filter(which).select_related(*related).iterator() for which in wrong)
    spoilt = SpoiltWindow.objects.filter(healed_at__isnull=True, data_test__isnull=False)
    rows: Iterable[Standing | SpoiltWindow] = chain(*standings, spoilt.select_related(*related).iterator())
    for row in rows:
        test, window = row.data_test, row.window
        assert test is not None
        if test.scope == Scope.TABLE:
            tables.add(test.pk)
        else:
            reach = streak_reach(sustain=test.revision.sustain, period=period(test)) if test.revision else timedelta(0)
            tests[test.pk].append(Window(start=window.start - reach, end=window.end + reach))
            datasets[test.dataset_id].append(window)
    return Exemptions(tests=tests, tables=tables, datasets=datasets)


def reaches(now: datetime) -> dict[Metric, HistoryReach]:
    """How far back the values of each metric serve as history.

    Of all datasets they tell how many rows a window usually has, and how long it usually takes.
    """
    reach_by_metric = dict[Metric, HistoryReach]()
    for pk, granularity in Dataset.objects.exclude(partition_column="").values_list("pk", "granularity"):
        length = schedules.period(schedules.PARTITION, Granularity(granularity))
        reach_by_metric[pk, ALL_ROWS.name] = HistoryReach(usual=(USUAL_WINDOWS + 1) * max(WEEK, length))
        reach_by_metric[pk, TIME_TO_COMPLETE.name] = HistoryReach(usual=(USUAL_COMPLETIONS + 1) * length)
    sources = Sources(now)
    tests = DataTest.objects.filter(retired_at__isnull=True, revision__assertion__contains=WRITES_HISTORY)
    for test in tests.select_related("dataset", "revision").iterator():
        for metric, reach in _history_metrics(test, sources, now):
            previous = reach_by_metric.get(metric, HistoryReach())
            reach_by_metric[metric] = HistoryReach(history=max(reach, previous.history), usual=previous.usual)
    return reach_by_metric


def _history_metrics(test: DataTest, sources: Sources, now: datetime) -> Iterator[tuple[Metric, timedelta]]:
    """Each metric that the test asks of the past, and how long before a window that was."""
    home = sources(test.dataset.full_name)
    if home is None or home.partitioning is None or test.revision is None:
        return
    today = home.partitioning.at(now)
    planner = Planner(home=home, datacenter=test.datacenter, window=today, accept_from=None, source_of=sources)
    for operand in operands(from_json(test.revision.tree)):
        if not isinstance(operand, History):
            continue
        with suppress(UnableToPlan):  # nothing is read for it either
            for want in planner.past(operand):
                yield (sources.dataset(want.dataset).pk, want.spec.name), today.end - want.window.start


log = structlog.get_logger(__name__)

AT_A_TIME = 20.0  # seconds; then the worker is free for others, and the next hint goes on


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
                log.exception("pruning failed", table=row.state.get("table"), attempts=row.attempts)
    return len(rows)


def _go_on(row: Round, now: datetime) -> None:
    """Prune table after table until the time is up or the last one is through, and write down how far that came.

    What the row keeps: the table that the pass has come to, none between two passes; the ids up to which tables were
    gone through; how many rows of each the pass has removed.
    """
    end, terms = monotonic() + AT_A_TIME, keeping(now)
    state = row.state = {"table": "", "cursors": {}, "removed": {}} | row.state
    if not state["table"]:
        state["removed"] = {}
    cursors, removed, names = state["cursors"], state["removed"], [table.name for table in TABLES]
    for table in TABLES[names.index(state["table"]) if state["table"] in names else 0 :]:
        state["table"], is_through = table.name, False
        while not is_through and monotonic() < end:
            batch = table.batch(cursors.get(table.name, 0), terms)
            cursors[table.name], is_through = batch.reached, batch.is_end
            removed[table.name] = removed.get(table.name, 0) + batch.removed
            if not extend(row):
                raise UnableToFinish(f"{row}: claimed again since epoch {row.epoch}")
        if not is_through:
            return finish(row, due_at=now, state=state)
        if not table.goes_on:
            del cursors[table.name]
    log.info("pruned", **removed)
    return finish(row, due_at=stage(row.name).next_round(now), state={**state, "table": ""})
