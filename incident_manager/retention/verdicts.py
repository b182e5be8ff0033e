"""Standings and runs: a window whose test has long held goes with all that is known of it.

Runs outlive no verdict that rests on them: as long as a window has its standing, all its runs stay.
"""

from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import Q

from alerting.models import Flip, Standing
from alerting.state import TROUBLED
from assay.models import DataTest, Scope
from assay.time.windows import Window
from execution_engine.models import Run
from execution_engine.outcome import Outcome

from .rules import is_past
from .walk_table import Keeping, PrunedTable, deleting, result_past, rows_of

Row = dict[str, Any]


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
