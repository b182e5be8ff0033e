"""After measurements have come in: compute, scan and evaluate what waited for them."""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import Prefetch

from execution_engine.freshness.derive import is_derived, settle_derived
from execution_engine.models import Ask, Measurement, Run

from .open_scans import open_scans, scans_for


def wake(measured: Collection[int], now: datetime) -> None:
    """Go on with everything that waited only for these measurements (ids)."""
    done = set(measured)
    frontier = done
    while frontier:
        ready = _with_all_inputs(frontier)
        derived = [row for row in ready if is_derived(row.metric.name)]
        for row in derived:
            settle_derived(row, list(row.inputs.all()), now)
        _order_scans([row for row in ready if not is_derived(row.metric.name)], now)
        frontier = {row.pk for row in derived}
        done |= frontier
    _ready_runs(done, now)


def _with_all_inputs(measured: Collection[int]) -> list[Measurement]:
    """Measurements that waited for these, and now wait for nothing else.

    They are locked before their inputs are looked at: of two scans that end together the second sees both.
    """
    link = Measurement.inputs.through
    waiting = link.objects.filter(to_measurement__in=measured).values_list("from_measurement_id", flat=True)
    ids = sorted(set(waiting))
    if not ids:
        return []
    rows = Measurement.objects.select_for_update().filter(pk__in=ids, measured_at__isnull=True, scan__isnull=True)
    inputs = Prefetch("inputs", queryset=Measurement.objects.defer("state"))
    users = list(rows.select_related("dataset").prefetch_related(inputs).order_by("pk"))
    return [row for row in users if all(part.measured_at for part in row.inputs.all())]


def _order_scans(rows: Iterable[Measurement], now: datetime) -> None:
    places = {row.pk: (row.dataset_id, row.datacenter, row.window) for row in rows}
    if not places:
        return
    scans = scans_for(list(places.values()), open_scans(set(places.values())), now)
    for pk, place in places.items():
        Measurement.objects.filter(pk=pk).update(scan=scans[place])


def _ready_runs(measured: Collection[int], now: datetime) -> None:
    """Mark the runs whose measurements are all in; locked first, for the same reason."""
    asking = Ask.objects.filter(measurement__in=measured, run__ready_at__isnull=True)
    ids = sorted(set(asking.values_list("run_id", flat=True)))
    if not ids:
        return
    locked = list(Run.objects.select_for_update().filter(pk__in=ids).order_by("pk").values_list("pk", flat=True))
    waiting = Ask.objects.filter(run__in=locked, measurement__measured_at__isnull=True).values_list("run_id", flat=True)
    Run.objects.filter(pk__in=set(locked) - set(waiting)).update(ready_at=now)
