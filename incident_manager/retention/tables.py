"""What goes of each table, and in which order: measurements, state files, the traces of work, verdicts."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import Any

from django.db.models import Model, Q, QuerySet

from alerting.models import Alert, Flip, Notice, Standing
from alerting.state import TROUBLED
from assay.config import config
from assay.database.statements import update_each
from assay.models import DataChange, Dataset, DataTest, Scope, Tallied
from assay.queue.claims import in_transaction, tally
from assay.time.windows import UnableToPartition, Window
from execution_engine.metrics.definitions.profile import PROFILE
from execution_engine.metrics.registry import METRICS
from execution_engine.models import AcceptedPast, Ask, Measurement, PartState, Run, Scan, Suspect, Watch
from execution_engine.outcome import Outcome
from execution_engine.parts.state_store import STATE, UnableToLoadState, keep_state, state_of
from execution_engine.selectors import keeping_states
from execution_engine.services import is_expired
from incident_manager.models import LookUp

from . import rules
from .rules import HistoryReach, Kept, RetentionTerms, is_past, without_needed

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
    kept: Kept
    reaches: Callable[[], "dict[tuple[int, str], HistoryReach]"]  # by dataset and metric


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What one batch came to: the id that it went up to, whether that was the end, and how many rows went."""

    reached: int
    is_end: bool
    removed: int = 0


@dataclass(frozen=True, kw_only=True)
class PrunedTable:
    """How to prune one table: which rows have had their time, and which of those go."""

    name: str
    rows: Callable[[], QuerySet[Any, Any]]  # as dicts with ``pk``, of this table alone: a join may be sorted first
    is_old: Callable[[Row, Keeping], bool]
    going: Callable[[Sequence[Row], Keeping], Collection[int]]  # the ids of those that go, of old rows
    remove: Callable[[Collection[int]], int]
    goes_on: bool = False  # the next pass begins where this one ended: rows are looked at once

    def batch(self, after: int, keeping: Keeping) -> Batch:
        """Prune the thousand rows behind ``after``."""
        rows = list(self.rows().filter(pk__gt=after).order_by("pk")[:CHUNK])
        old = self._old(rows, keeping)
        gone = sorted(self.going(old, keeping)) if old else []
        removed = self._removed(gone) if gone else 0
        seen = old if self.goes_on else rows
        return Batch(reached=seen[-1]["pk"] if seen else after, is_end=not old or len(seen) < CHUNK, removed=removed)

    def _old(self, rows: Sequence[Row], keeping: Keeping) -> list[Row]:
        """Those that have had their time; where each is looked at once, up to the first that has not."""
        if self.goes_on:
            return list(takewhile(lambda row: self.is_old(row, keeping), rows))
        return [row for row in rows if self.is_old(row, keeping)]

    def _removed(self, keys: Sequence[int]) -> int:
        removed = 0

        def remove() -> None:
            nonlocal removed
            removed = self.remove(keys)
            tally(Tallied.PRUNED, self.name, removed)

        in_transaction(remove)
        return removed


def deleting(model: type[Model]) -> Callable[[Collection[int]], int]:
    """Delete rows by their ids, with what belongs to them; how many there were."""

    def delete(keys: Collection[int]) -> int:
        _, counts = model._default_manager.filter(pk__in=keys).only("pk").delete()
        return counts.get(model._meta.label, 0)

    return delete


def rows_of(model: type[Model], *columns: str) -> Callable[[], QuerySet[Any, Any]]:
    """The rows of a table, as dicts of these columns and ``pk``."""
    return lambda: model._default_manager.values("pk", *columns)


def result_past(*columns: str) -> Callable[[Row, Keeping], bool]:
    """Whether all of a row's instants are before those of the results that are kept."""
    return lambda row, keeping: _is_before(keeping.terms.results, row, columns)


def state_past(*columns: str) -> Callable[[Row, Keeping], bool]:
    """Whether all of a row's instants are before those of the states that are kept."""
    return lambda row, keeping: _is_before(keeping.terms.states, row, columns)


def _is_before(before: datetime | None, row: Row, columns: Collection[str]) -> bool:
    return before is not None and is_past([row[column] for column in columns], before)


def everything(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """All of them go."""
    return {row["pk"] for row in rows}


# Files of the state store that no row names any more: those of rows that went, or of work that never ended.

NAME = "state_files"
FOLDERS = 256  # of the store, by the first byte of what a file is called
UNTOUCHED = 24 * 3600.0  # seconds; a younger file may belong to a transaction that is still open


class StateFiles:
    """The folders of the store, one a batch."""

    name = NAME
    goes_on = False

    def batch(self, after: int, keeping: Keeping) -> Batch:
        """Remove what is orphaned in the folder behind the first ``after``."""
        store = config().states
        removed = sum(_removed(store, path) for path in _orphans(store, store / f"{after:02x}"))
        if removed:
            tally(Tallied.PRUNED, NAME, removed)
        return Batch(reached=after + 1, is_end=after + 1 >= FOLDERS or not store.exists(), removed=removed)


def _orphans(store: Path, folder: Path) -> set[str]:
    old = {
        str(path.relative_to(store)) for path in (folder.iterdir() if folder.is_dir() else ()) if _is_untouched(path)
    }
    for model in (AcceptedPast, Measurement, PartState):
        old -= set(model._default_manager.filter(state_path__in=old).values_list("state_path", flat=True))
    return old


def _is_untouched(path: Path) -> bool:
    try:
        return path.stat().st_mtime < time.time() - UNTOUCHED
    except FileNotFoundError:
        return False


def _removed(store: Path, name: str) -> bool:
    """Whether the file went; one that was stored again just now has been touched, and stays."""
    path = store / name
    if not _is_untouched(path):
        return False
    path.unlink(missing_ok=True)
    return True


# Standings and runs: a window whose test has long held goes with all that is known of it.
#
# Runs outlive no verdict that rests on them: as long as a window has its standing, all its runs stay.


def window_of(row: Row) -> Window:
    """The window of a row."""
    return Window(start=row["window_start"], end=row["window_end"])


def _standings_going(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """Of partitions that are at rest; the standing of a whole table moves on, and stays."""
    quiet = [row for row in rows if _is_quiet(row) and not keeping.kept.holds_test(row["data_test_id"], window_of(row))]
    tables, young = _tables_of(quiet), _young({row["last_run_id"] for row in quiet} - {None}, keeping)
    at_rest = {row["pk"] for row in quiet if row["data_test_id"] not in tables and row["last_run_id"] not in young}
    unhandled = Flip.objects.filter(standing__in=at_rest, handled_at__isnull=True)
    return at_rest - set(unhandled.values_list("standing_id", flat=True))


def _is_quiet(row: Row) -> bool:
    """Whether nothing is wrong or awaited."""
    return row["waiver_id"] is row["next_check_at"] is row["next_age_at"] is None and row["state"] not in TROUBLED


def _young(runs: Collection[int], keeping: Keeping) -> set[int]:
    """Those of the runs that have not had their time."""
    judged = Run.objects.filter(pk__in=runs).values_list("pk", "judged_at")
    return {pk for pk, at in judged if keeping.terms.results is None or not is_past((at,), keeping.terms.results)}


def _tables_of(rows: Sequence[Row]) -> set[int]:
    """The tests of whole tables among those of the rows."""
    tests = DataTest.objects.filter(pk__in={row["data_test_id"] for row in rows}, scope=Scope.TABLE)
    return set(tests.values_list("pk", flat=True))


def _delete_standings(keys: Any) -> int:
    """Those that are still at rest, with their flips."""
    rows = Standing.objects.filter(pk__in=keys, waiver__isnull=True).exclude(state__in=TROUBLED)
    return deleting(Standing)(list(rows.select_for_update().order_by("pk").values_list("pk", flat=True)))


def _runs_going(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """Those of windows that have no standing any more, and of whole tables what came before they last held."""
    keys, tables = {row["pk"] for row in rows}, _tables_of(rows)
    newest = set(Standing.objects.filter(last_run__in=keys).values_list("last_run_id", flat=True))
    standing = _windows_that_stand([row for row in rows if row["data_test_id"] not in tables])
    unsettled = _unsettled(tables) | set(keeping.kept.tables)
    return {
        row["pk"]
        for row in rows
        if row["pk"] not in newest
        and row["data_test_id"] not in unsettled
        and (row["data_test_id"], row["window_start"], row["window_end"]) not in standing
    }


def _windows_that_stand(rows: Sequence[Row]) -> set[tuple[Any, ...]]:
    found = Standing.objects.filter(
        data_test__in={row["data_test_id"] for row in rows}, window_start__in={row["window_start"] for row in rows}
    )
    return set(found.values_list("data_test_id", "window_start", "window_end")) if rows else set()


def _unsettled(tests: set[int]) -> set[int]:
    """Tests of whole tables whose newest result is none that held: their verdict rests on those before."""
    rows = Standing.objects.filter(data_test__in=tests)
    held = Q(last_outcome=Outcome.HELD.value, error_reason="")
    return set(rows.exclude(held).values_list("data_test_id", flat=True)) if tests else set()


STANDINGS = PrunedTable(
    name="standings",
    rows=rows_of(
        Standing,
        *("data_test_id", "window_start", "window_end", "state", "since", "due_at", "waiver_id"),
        *("next_check_at", "next_age_at", "last_run_id"),
    ),
    is_old=result_past("window_end", "since", "due_at"),
    going=_standings_going,
    remove=_delete_standings,
)
RUNS = PrunedTable(
    name="runs",
    rows=rows_of(Run, "data_test_id", "window_start", "window_end", "judged_at"),
    is_old=result_past("judged_at"),
    going=_runs_going,
    remove=deleting(Run),
)


# Measurements: those that no run asks for, nothing builds on, and no history looks back to.

KEPT = frozenset(name for name, metric in METRICS.items() if metric.kept_while_missed) | {PROFILE.name}
HAS_STATE = Q(state__isnull=False) | ~Q(state_path="")
# without a state it cannot be taken for a measurement of the same data: it has no fingerprint any more either
FORGOTTEN = {"state": None, "state_path": "", "state_length": 0, "state_checksum": "", "fingerprint": ""}


def _going(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    idle = {row["pk"] for row in rows if not _is_history(row, keeping)}
    asked = set(Ask.objects.filter(measurement__in=idle).values_list("measurement_id", flat=True))
    return without_needed(idle - asked, users_of(idle - asked))


def _is_history(row: Row, keeping: Keeping) -> bool:
    """Whether verdicts to come, or those in trouble, look back to it."""
    window, before = window_of(row), keeping.terms.results
    assert before is not None
    if keeping.kept.holds_dataset(row["dataset_id"], window):
        return True
    reach = keeping.reaches().get((row["dataset_id"], name_of(row)), HistoryReach())
    return reach.needs(window, before=before, now=keeping.now)


def name_of(row: Row) -> str:
    """The name of a measurement's metric."""
    return str(row["spec_text"]).partition("(")[0]


def users_of(keys: Collection[int]) -> dict[int, list[int]]:
    """The ids of the measurements that build on these."""
    link = Measurement.inputs.through
    found: defaultdict[int, list[int]] = defaultdict(list)
    pairs = link.objects.filter(to_measurement__in=keys).values_list("to_measurement_id", "from_measurement_id")
    for part, user in pairs:
        found[part].append(user)
    return found


def _states_going(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """All but the samples, and what something builds on that is not measured yet."""
    found = {row["pk"] for row in rows if row["has_state"] and name_of(row) not in KEPT}
    users = users_of(found)
    waiting = Measurement.objects.filter(pk__in={pk for each in users.values() for pk in each}, measured_at=None)
    pending = set(waiting.values_list("pk", flat=True))
    return {pk for pk in found if pending.isdisjoint(users.get(pk, ()))}


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


def _profiles() -> QuerySet[Any, Any]:
    """Those that have states."""
    rows = Measurement.objects.filter(HAS_STATE, spec_text__startswith=f"{PROFILE.name}(")
    return rows.values("pk", "requested_at")


def _older_than(age: timedelta) -> Callable[[Row, Keeping], bool]:
    return lambda row, keeping: row["requested_at"] < keeping.now - age


MEASUREMENTS = PrunedTable(
    name="measurements",
    rows=rows_of(Measurement, "dataset_id", "spec_text", "window_start", "window_end", "measured_at"),
    is_old=result_past("measured_at"),
    going=_going,
    remove=deleting(Measurement),
)
STATES = PrunedTable(
    name="states",
    rows=lambda: Measurement.objects.values("pk", "spec_text", "requested_at", has_state=HAS_STATE),
    is_old=state_past("requested_at"),
    going=_states_going,
    remove=lambda keys: Measurement.objects.filter(pk__in=keys).update(**FORGOTTEN),
    goes_on=True,
)
WHOLE_PROFILES = PrunedTable(
    name="whole_profiles",
    rows=_profiles,
    is_old=_older_than(rules.WHOLE_PROFILES),
    going=everything,
    remove=_reduce_profiles,
    goes_on=True,
)
PROFILES = PrunedTable(
    name="profiles",
    rows=_profiles,
    is_old=_older_than(rules.PROFILES),
    going=everything,
    remove=lambda keys: Measurement.objects.filter(pk__in=keys).update(**FORGOTTEN),
    goes_on=True,
)


# What work has left behind it: scans, changes and watches of data, notices, look-ups, states of partitions.

WINDOW = ("pk", "dataset_id", "window_start", "window_end")


def _without_measurements(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    keys = everything(rows, keeping)
    return keys - set(Measurement.objects.filter(scan__in=keys).values_list("scan_id", flat=True))


def _of_closed_alerts(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """Those of open alerts say who has been told."""
    alerts = {row["alert_id"] for row in rows} - {None}
    is_open = set(Alert.objects.filter(pk__in=alerts, closed_at__isnull=True).values_list("pk", flat=True))
    return {row["pk"] for row in rows if row["alert_id"] not in is_open}


def _of_sound_windows(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    return {row["pk"] for row in rows if not keeping.kept.holds_dataset(row["dataset_id"], window_of(row))}


def _unused_parts(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """Those of datasets that keep no states any longer, and of partitions that are not kept any longer."""
    datasets = Dataset.objects.in_bulk({row["dataset_id"] for row in rows})
    unused = datasets.keys() - keeping_states(datasets)
    return {row["pk"] for row in rows if row["dataset_id"] in unused or _is_gone(row, datasets, keeping)}


def _is_gone(row: Row, datasets: dict[int, Dataset], keeping: Keeping) -> bool:
    dataset = datasets[row["dataset_id"]]
    if not row["key"] or dataset.partitioning is None:
        return False
    try:
        return is_expired(dataset, dataset.partitioning.window(row["key"]), keeping.now)
    except UnableToPartition:  # a key of an earlier format, which no wider window will ask for
        return True


SCANS = PrunedTable(
    name="scans",
    rows=rows_of(Scan, "ended_at"),
    is_old=result_past("ended_at"),
    going=_without_measurements,
    remove=deleting(Scan),
)
SUSPECTS = PrunedTable(
    name="suspects",
    rows=rows_of(Suspect, "last_at"),
    is_old=result_past("last_at"),
    going=everything,
    remove=deleting(Suspect),
)
CHANGES = PrunedTable(
    name="changes",
    rows=rows_of(DataChange, *WINDOW, "followed_at"),
    is_old=result_past("followed_at", "window_end"),
    going=_of_sound_windows,
    remove=deleting(DataChange),
)
WATCHES = PrunedTable(
    name="watches",
    rows=rows_of(Watch, *WINDOW, "closely"),
    is_old=result_past("window_end"),
    going=lambda rows, keeping: _of_sound_windows([row for row in rows if not row["closely"]], keeping),
    remove=deleting(Watch),
)
NOTICES = PrunedTable(
    name="notices",
    rows=rows_of(Notice, "settled_at", "alert_id"),
    is_old=result_past("settled_at"),
    going=_of_closed_alerts,
    remove=deleting(Notice),
)
LOOK_UPS = PrunedTable(
    name="look_ups", rows=rows_of(LookUp, "at"), is_old=result_past("at"), going=everything, remove=deleting(LookUp)
)
PART_STATES = PrunedTable(
    name="part_states",
    rows=rows_of(PartState, "dataset_id", "key", "kept_at"),
    is_old=state_past("kept_at"),
    going=_unused_parts,
    remove=deleting(PartState),
)
