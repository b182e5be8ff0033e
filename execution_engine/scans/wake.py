"""After measurements have come in: compute, scan and evaluate what waited for them."""

from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import connection
from django.db.models import Exists, OuterRef, Prefetch, prefetch_related_objects

from assay.database.bulk import update_each
from execution_engine.freshness.derive import is_derived, settle_derived
from execution_engine.models import Ask, Measurement, Run

from .open_scans import open_scans, scans_for


def wake(measured: Collection[int], now: datetime) -> bool:
    """Go on with everything that waited only for these measurements (ids); whether any of it must be scanned."""
    done, ordered = set(measured), False
    frontier = done
    while frontier:
        ready = _with_all_inputs(frontier)
        derived = [row for row in ready if is_derived(row.metric.name)]
        settle_derived({row: list(row.inputs.all()) for row in derived}, now)
        ordered |= _order_scans([row for row in ready if not is_derived(row.metric.name)], now)
        frontier = {row.pk for row in derived}
        done |= frontier
    _ready_runs(done, now)
    return ordered


def _with_all_inputs(measured: Collection[int]) -> list[Measurement]:
    """Measurements that waited for these, and now wait for nothing else.

    They are locked before their inputs are looked at: of two scans that end together the second sees both.
    """
    waiting = Measurement.inputs.through.objects.filter(to_measurement__in=measured).values("from_measurement_id")
    rows = Measurement.objects.select_for_update().filter(pk__in=waiting, measured_at__isnull=True, scan__isnull=True)
    users = list(rows.select_related("dataset").order_by("pk"))
    prefetch_related_objects(users, Prefetch("inputs", queryset=Measurement.objects.defer("state")))
    return [row for row in users if all(part.measured_at for part in row.inputs.all())]


def _order_scans(rows: Sequence[Measurement], now: datetime) -> bool:
    places = [(row.dataset_id, row.datacenter, row.window) for row in rows]
    if not places:
        return False
    scans = scans_for(places, open_scans(set(places)), now)
    for row, place in zip(rows, places, strict=True):
        row.scan = scans[place]
    update_each(rows, ("scan",))
    return True


def _ready_runs(measured: Collection[int], now: datetime) -> None:
    """Mark the runs whose measurements are all in; locked first, for the same reason."""
    asking = Ask.objects.filter(measurement__in=measured)
    waiting = Ask.objects.filter(measurement__measured_at__isnull=True)
    runs = Run.objects.filter(ready_at__isnull=True)
    if not connection.features.has_select_for_update:  # nobody else writes before this transaction ends
        ready = runs.filter(~Exists(waiting.filter(run=OuterRef("pk"))), pk__in=asking.values("run_id"))
        ready.update(ready_at=now)
        return
    locked = runs.select_for_update().filter(pk__in=sorted(set(asking.values_list("run_id", flat=True))))
    ids = set(locked.order_by("pk").values_list("pk", flat=True))
    if ready_ids := ids - set(waiting.filter(run__in=ids).values_list("run_id", flat=True)):
        Run.objects.filter(pk__in=ready_ids).update(ready_at=now)
