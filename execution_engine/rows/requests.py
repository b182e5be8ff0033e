"""What must become of the rows of a run that ended: said in its own transaction, and only where its test keeps rows."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import F, Q

from assay.models import DataTest, Scope
from execution_engine.models import RowsExport, Run, RunReason
from execution_engine.outcome import Outcome

WHOLE_TABLE = "table"  # the place of a test of the whole table, whose window moves with each run


def request_rows(runs: Sequence[Run], now: datetime) -> None:
    """Ask for the rows of the runs that broke, and for the end of those whose window holds again."""
    for run in runs:
        if not run.revision.keep_rows or run.reason == RunReason.BACKTEST:
            continue
        values = {"run": run, "due_at": now, "requested_at": now, "written_at": None, "lease_until": None}
        place = place_in(run.data_test, run)
        # a worker that writes the rows of an earlier run loses its lease, and so does not call these written
        earlier = RowsExport.objects.filter(data_test=run.data_test, place=place)
        newest = Q(run=None) | Q(run__measured_at__lte=run.measured_at)
        if run.outcome == Outcome.HELD:
            earlier.filter(newest).update(**values, epoch=F("epoch") + 1, attempts=0)
        elif run.outcome == Outcome.BROKEN:
            windows = {"window_start": run.window_start, "window_end": run.window_end}
            datacenter = {"datacenter": run.data_test.datacenter}
            _, is_new = RowsExport.objects.get_or_create(
                data_test=run.data_test, place=place, defaults={**values, **windows, **datacenter}
            )
            if not is_new:
                changes = {**values, **windows, **datacenter}
                earlier.filter(newest).update(**changes, epoch=F("epoch") + 1, attempts=0)


def place_in(test: DataTest, run: Run) -> str:
    """What the folder of a run's window is called: the start of a partition's, in UTC."""
    return WHOLE_TABLE if test.scope == Scope.TABLE else f"{run.window_start:%Y-%m-%dT%H%MZ}"
