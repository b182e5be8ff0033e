"""Which rows must be kept, and where: below a store of the operator's, apart from the data itself."""

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.db.models import F, Q

from assay.catalog.locations import LocationClaim, UnableToUseLocation, find, overlap, place_of, rules_of
from assay.catalog.profile import DatasetProfile, RowsTarget
from assay.config import config
from assay.models import DataTest, Scope
from assay.stores import read_only_fault
from execution_engine.models import RowsExport, Run, RunReason
from execution_engine.outcome import Outcome

VERDICTS = (Outcome.HELD, Outcome.BROKEN)
WHOLE_TABLE = "table"  # the place of a test of the whole table, whose window moves with each run


class UnableToKeepRows(ValueError):
    """Rows may not be written there; the sentence says why, and how to mend it."""


def location_of(target: RowsTarget) -> str:
    """The path or URL that a target names; raises UnableToKeepRows for a store that is missing or may be none."""
    name, _, below = target.table.partition("/")
    stores = config().row_stores
    if name not in stores:
        names = f"the stores are {', '.join(sorted(stores))}" if stores else "there is none yet"
        raise UnableToKeepRows(
            f"no store is called {name!r}, {names}: correct the name, or add it to ASSAY_ROW_STORES where the web app "
            "and the workers run"
        )
    root = stores[name].rstrip("/")
    location = f"{root}/{below}" if below else root
    claim = LocationClaim(storage="parquet", location=location, options={}, is_trusted=True)
    try:
        # the roots that the operator allows are of data
        place = find(claim, replace(rules_of(config()), roots=()), os.environ).location
    except UnableToUseLocation as error:
        raise UnableToKeepRows(f"the store {name!r} of ASSAY_ROW_STORES cannot be used: {error}") from None
    if fault := read_only_fault(place, config().object_stores):
        raise UnableToKeepRows(f"the store {name!r} of ASSAY_ROW_STORES takes no rows: {fault}")
    return place


def check_target(target: RowsTarget, dataset: DatasetProfile) -> None:
    """Raise UnableToKeepRows for no store, and for one that lies in the dataset's own data or holds it."""
    place = place_of("parquet", location_of(target), {}, os.environ)
    for replica in dataset.replicas:
        if replica.is_in_lake and overlap(
            place, place_of(replica.storage, replica.location, replica.options, os.environ)
        ):
            raise UnableToKeepRows(
                f"{target.table} lies where {dataset.full_name} has its own data in {replica.datacenter}, or holds it: "
                "name another store, or a folder of its own below it"
            )


def request_rows(runs: Sequence[Run], now: datetime) -> None:
    """Request the rows of the runs that broke, and the end of those whose window holds again.

    It is called in the transaction that ends the runs.
    """
    for run in runs:
        if not run.revision.keep_rows or run.reason == RunReason.BACKTEST or run.outcome not in VERDICTS:
            continue
        values = {
            **{"run": run, "window_start": run.window_start, "window_end": run.window_end},
            **{"datacenter": run.data_test.datacenter, "requested_at": now, "due_at": now},
            **{"written_at": None, "lease_until": None},
        }
        export = {"data_test": run.data_test, "place": place_in(run.data_test, run)}
        if run.outcome == Outcome.BROKEN and RowsExport.objects.get_or_create(**export, defaults=values)[1]:
            continue
        # a worker that writes the rows of an earlier run loses its lease, and so does not call these written
        earlier = RowsExport.objects.filter(Q(run=None) | Q(run__measured_at__lte=run.measured_at), **export)
        earlier.update(**values, epoch=F("epoch") + 1, attempts=0)


def end_rows(test: DataTest, now: datetime) -> None:
    """Request the end of all rows of a test that keeps them no longer."""
    values = {"run": None, "due_at": now, "lease_until": None, "attempts": 0}
    RowsExport.objects.filter(data_test=test).update(**values, epoch=F("epoch") + 1)


def place_in(test: DataTest, run: Run) -> str:
    """What the folder of a run's window is called: the start of a partition's, in UTC."""
    return WHOLE_TABLE if test.scope == Scope.TABLE else f"{run.window_start:%Y-%m-%dT%H%MZ}"
