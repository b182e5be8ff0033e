"""After measurements have come in: compute, scan and evaluate what waited for them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from assay.database.statements import Prepared, update_each
from assay.models import Dataset
from execution_engine.freshness.derive import is_derived, settle_derived
from execution_engine.models import Ask, Measurement, Run

from .open_scans import open_scans, scans_for


def wake(measured: Collection[int], now: datetime, datasets: Mapping[int, Dataset] = MappingProxyType({})) -> bool:
    """Go on with everything that waited only for these measurements (ids); whether any of it must be scanned.

    ``datasets``: those that the caller has read with their replicas, by id.
    """
    done, ordered = set(measured), False
    frontier = done
    while frontier:
        ready = _with_all_inputs(frontier)
        derived = {row: inputs for row, inputs in ready.items() if is_derived(row.metric.name)}
        settle_derived(derived, now)
        ordered |= _order_scans([row for row in ready if row not in derived], now, datasets)
        frontier = {row.pk for row in derived}
        done |= frontier
    _ready_runs(done, now)
    return ordered


def _with_all_inputs(measured: Collection[int]) -> dict[Measurement, list[Measurement]]:
    """Measurements that waited for these, and now wait for nothing else, each with its inputs.

    They are locked before their inputs are looked at: of two scans that end together the second sees both.
    """
    if connection.features.has_select_for_update:
        rows = Measurement.objects.select_for_update().filter(measured_at__isnull=True, scan__isnull=True)
        waiting = rows.filter(pk__in=_links().filter(to_measurement__in=measured).values("from_measurement_id"))
        keys = list(waiting.order_by("pk").values_list("pk", flat=True))
    else:  # nobody else writes before this transaction ends
        keys = list(measured)
    if not keys:
        return {}
    users: dict[Measurement, list[Measurement]] = {}
    for link in _links_to_all_inputs(connection.vendor, len(keys)).rows(*keys):
        users.setdefault(link.from_measurement, []).append(link.to_measurement)
    return {user: inputs for user, inputs in users.items() if all(part.measured_at for part in inputs)}


@lru_cache(maxsize=512)
def _links_to_all_inputs(vendor: str, number: int) -> Prepared[Any]:
    """Of so many measurements that wait and are locked; elsewhere of what waits for so many that have come in."""
    places = list(range(-number, 0))  # no row has such a key
    is_locked = connection.features.has_select_for_update
    users = places if is_locked else _links().filter(to_measurement__in=places).values("from_measurement_id")
    found = _links().filter(
        from_measurement__in=users, from_measurement__measured_at__isnull=True, from_measurement__scan__isnull=True
    )
    found = found.select_related("from_measurement__dataset", "to_measurement")
    return Prepared(
        found.defer("from_measurement__state", "to_measurement__state").order_by("from_measurement", "pk"), *places
    )


def _links() -> QuerySet[Any]:
    return Measurement.inputs.through.objects.all()


def _order_scans(rows: Sequence[Measurement], now: datetime, datasets: Mapping[int, Dataset]) -> bool:
    places = [(row.dataset_id, row.datacenter, row.window) for row in rows]
    if not places:
        return False
    scans = scans_for(places, open_scans(set(places)), now, datasets=datasets)
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
