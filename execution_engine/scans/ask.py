"""Turn wants into measurements: share those that are pending, order the others, and give each its scan."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection
from django.db.models import F

from assay.catalog.selectors import with_replicas
from assay.models import Dataset
from assay.time.windows import Window
from execution_engine.engines.protocol import Measured, failed
from execution_engine.freshness.derive import is_derived, settle_derived
from execution_engine.metrics.definition import OTHER_SIDE
from execution_engine.metrics.registry import METRICS
from execution_engine.models import WHOLE_TABLE, Measurement, Scan
from execution_engine.outcome import ABNORMAL, Reason
from execution_engine.planning.catalog_sources import Sources
from execution_engine.planning.planner import Want
from execution_engine.planning.schedules import LATER, is_made_up_for, turn
from execution_engine.read_by import NO_VALUES, ReadBy
from execution_engine.storage import engine_name
from execution_engine.watch import Seen

Key = tuple[str, str, str, str]
Place = tuple[int, str, Window]  # dataset, datacenter, window


def ask(
    wants: Sequence[Want], *, sources: Sources, now: datetime, are_made_up_for: bool = False
) -> dict[Key, Measurement]:
    """The measurement of every want and of all its inputs, by the wants' keys.

    A pending one is shared as long as its scan has not begun. The open scans are locked first, so none can begin
    before this transaction ends. What is made up for after an outage is scanned after what is current.
    """
    wants = flatten(wants)
    datasets = {want.dataset: sources.dataset(want.dataset) for want in wants}
    places = {want.key: (datasets[want.dataset].pk, want.datacenter, want.window) for want in wants}
    scans = open_scans({places[want.key] for want in wants if not is_derived(want.spec.name)})
    if not are_made_up_for and (late := [scan.pk for scan in scans.values() if is_made_up_for(scan.turn)]):
        Scan.objects.filter(pk__in=late).update(turn=F("turn") - LATER)  # what is wanted now leaves that queue
    results, new = _share(wants, places, {scan.pk for scan in scans.values()}, now)
    if not new:
        return results
    scanned = [
        want
        for want in wants
        if want.key in new
        and not is_derived(want.spec.name)
        and all(results[part.key].measured_at for part in want.inputs)
    ]
    datasets_by_id = {datasets[want.dataset].pk: datasets[want.dataset] for want in scanned}
    scans = scans_for(
        [places[want.key] for want in scanned], scans, now, datasets=datasets_by_id, are_made_up_for=are_made_up_for
    )
    for want in scanned:
        new[want.key].scan = scans[places[want.key]]
    if connection.features.can_return_rows_from_bulk_insert:
        Measurement.objects.bulk_create(new.values())
    else:  # each must know its id
        for row in new.values():
            row.save(force_insert=True)
    link = Measurement.inputs.through
    link.objects.bulk_create(
        link(from_measurement=new[want.key], to_measurement=results[part.key])
        for want in wants
        if want.key in new
        for part in want.inputs
    )
    for want in wants:
        inputs = [results[part.key] for part in want.inputs]
        if want.key in new and is_derived(want.spec.name) and all(part.measured_at for part in inputs):
            settle_derived({new[want.key]: inputs}, now)
    return results


def flatten(wants: Iterable[Want]) -> list[Want]:
    """Every want once, inputs before what builds on them; of equal ones the strictest."""
    flat: dict[Key, Want] = {}

    def add(want: Want) -> None:
        earlier = flat.get(want.key)
        if earlier is None or _is_stricter(want.accept_from, earlier.accept_from):
            for part in want.inputs:
                add(part)
            flat[want.key] = want

    for want in wants:
        add(want)
    return list(flat.values())


def _share(
    wants: Sequence[Want], places: Mapping[Key, Place], open_ids: Collection[int], now: datetime
) -> tuple[dict[Key, Measurement], dict[Key, Measurement]]:
    """Of each want what is pending or kept, else a new row; and the new rows, unsaved, alone."""
    pending, missed_rows = _pending(wants, places), _missed_measurements(wants, places)
    results: dict[Key, Measurement] = {}
    new: dict[Key, Measurement] = {}
    for want in wants:
        row = missed_rows.get(want.key)
        if row is None and not any(part.key in new for part in want.inputs):
            inputs = {results[part.key].pk for part in want.inputs}
            usable = {*open_ids, None} if want.inputs else open_ids
            candidates = pending.get(want.key, ())
            row = next((row for row, ids in candidates if ids == inputs and row.scan_id in usable), None)
        if row is None:
            row = new[want.key] = Measurement(
                dataset_id=places[want.key][0],
                datacenter=want.datacenter,
                window_start=want.window.start,
                window_end=want.window.end,
                spec=want.spec.to_json() | ({WHOLE_TABLE: True} if want.whole_table else {}),
                spec_hash=want.spec_hash,
                spec_text=want.spec.text,
                requested_at=now,
                accept_from=want.accept_from,
                as_of=want.as_of,
            )
        elif not row.measured_at and _is_stricter(want.accept_from, row.accept_from):
            row.accept_from = want.accept_from
            Measurement.objects.filter(pk=row.pk).update(accept_from=row.accept_from)
        results[want.key] = row
    return results, new


def _pending(wants: Sequence[Want], places: Mapping[Key, Place]) -> dict[Key, list[tuple[Measurement, set[int]]]]:
    rows = Measurement.objects.filter(
        measured_at__isnull=True,
        dataset__in={dataset_id for dataset_id, _, _ in places.values()},
        spec_hash__in={want.spec_hash for want in wants},
        window_start__in={want.window.start for want in wants},
    )
    inputs: dict[int, set[int]] = {}
    if any(want.inputs for want in wants):
        link = Measurement.inputs.through.objects.filter(from_measurement__in=[row.pk for row in rows])
        for user, part in link.values_list("from_measurement_id", "to_measurement_id"):
            inputs.setdefault(user, set()).add(part)
    names = {places[want.key][0]: want.dataset for want in wants}
    pending: dict[Key, list[tuple[Measurement, set[int]]]] = {}
    for row in rows:
        key = (names[row.dataset_id], row.datacenter, row.window.text, row.spec_hash)
        pending.setdefault(key, []).append((row, inputs.get(row.pk, set())))
    return pending


def _missed_measurements(wants: Sequence[Want], places: Mapping[Key, Place]) -> dict[Key, Measurement]:
    """The newest one taken of which some has not been found yet: what is missed is looked for again."""
    wants = [want for want in wants if want.stays_while_missed]
    if not wants:
        return {}
    rows = Measurement.objects.filter(
        dataset__in={places[want.key][0] for want in wants},
        datacenter__in={want.datacenter for want in wants},
        window_start__in={want.window.start for want in wants},
        spec_hash__in={want.spec_hash for want in wants},
        failure_reason="",
        value__gt=0,
        measured_at__isnull=False,
    ).select_related("dataset")
    newest = {
        (row.dataset.full_name, row.datacenter, row.window.text, row.spec_hash): row
        for row in rows.order_by("measured_at", "pk")
    }
    values = {row.pk: row.value or 0.0 for row in newest.values()}
    users = Measurement.inputs.through.objects.filter(
        to_measurement__in=values,
        from_measurement__measured_at__isnull=False,
        from_measurement__failure_reason="",
        from_measurement__value__isnull=False,
    ).order_by("from_measurement__measured_at", "from_measurement_id")
    columns = ("to_measurement_id", "from_measurement__spec_text", "from_measurement__value")
    last = {(pk, text): value for pk, text, value in users.values_list(*columns)}
    missed = {pk for (pk, _), value in last.items() if value < values[pk]}
    return {want.key: newest[want.key] for want in wants if want.key in newest and newest[want.key].pk in missed}


def _is_stricter(accept_from: datetime | None, other: datetime | None) -> bool:
    return accept_from is not None and (other is None or accept_from > other)


# Scans that have not begun: at most one for each place, and locked while measurements are added to it.


def open_key(place: Place) -> str:
    """The key that a scan holds until it begins: one per place."""
    dataset_id, datacenter, window = place
    return f"{dataset_id}:{datacenter}:{window.text}"


def open_scans(places: Collection[Place]) -> dict[Place, Scan]:
    """The scans of these places that have not begun, locked until the end of the transaction."""
    by_key = {open_key(place): place for place in places}
    rows = Scan.objects.select_for_update().filter(open_key__in=by_key).order_by("pk")
    return {by_key[str(row.open_key)]: row for row in rows}


def scans_for(
    places: Collection[Place],
    scans_by_place: Mapping[Place, Scan],
    now: datetime,
    *,
    datasets: Mapping[int, Dataset],
    are_made_up_for: bool = False,
) -> dict[Place, Scan]:
    """A scan that has not begun for each place: the open one, or a new one.

    ``scans_by_place`` are those that are open; ``datasets``: those of the places with their replicas, by id, as far as
    the caller has read them.
    """
    scans = dict(scans_by_place)
    while missing := [place for place in dict.fromkeys(places) if place not in scans]:
        if unread := {dataset_id for dataset_id, _, _ in missing} - datasets.keys():
            datasets = {**datasets, **with_replicas(unread)}
        new = []
        for place in missing:
            dataset, (_, datacenter, window) = datasets[place[0]], place
            # a replica that is gone has a scan too, which says so
            replica = next((replica for replica in dataset.replicas.all() if replica.datacenter == datacenter), None)
            new.append(
                Scan(
                    dataset=dataset,
                    datacenter=datacenter,
                    window_start=window.start,
                    window_end=window.end,
                    open_key=open_key(place),
                    turn=turn(dataset.tier, is_made_up_for=are_made_up_for),
                    owner=dataset.owner,
                    engine=engine_name(replica) if replica else "",
                    created_at=now,
                )
            )
        Scan.objects.bulk_create(new, ignore_conflicts=True)
        scans |= open_scans(missing)
    return scans


# Measurements that their inputs settle, so that no data is read.


def settled_by(name: str, states: Mapping[str, bytes], key: bytes | None) -> Measured | None:
    """What the states of its inputs give of a metric; None where data must be read."""
    settle = METRICS[name].settle
    settled = settle(states, key) if settle else None
    return None if settled is None else Measured(value=settled[0], detail=settled[1])


def input_name(measurement: Measurement, part: Measurement) -> str:
    """What an engine knows an input by: its metric and, where it is taken of both sides, whose it is."""
    name = part.metric.name
    is_other = METRICS[name].both_sides and part.datacenter != measurement.datacenter
    return name + OTHER_SIDE if is_other else name


# What the reading of a scan gives to its writing, which imports nothing that reads data.


@dataclass(kw_only=True)
class ScanReading:
    """A scan that has begun: all that it is to measure, and what was found of that so far."""

    scan: Scan
    measurements: Sequence[Measurement]
    ends: Mapping[int, int] = field(default_factory=dict)  # how often metrics had ended abnormally, by measurement
    keeps_states: bool = False  # of the partitions of its dataset
    adopted: dict[int, Measurement] = field(default_factory=dict)  # by the id of the measurement that reuses it
    results: dict[int, Measured] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)  # those that shared their end with no other
    fingerprint: str = ""  # of the data of the scan's window
    fingerprints: dict[int, str] = field(default_factory=dict)  # of all that each measurement is taken from
    snapshots: dict[int, str] = field(default_factory=dict)  # what people call them, by the id of the measurement
    written_at: datetime | None = None  # when the newest file was, where it was not seen before
    watch_id: int | None = None  # of the watch that has seen it before
    spark_jobs: int = 0
    seconds: float = 0.0
    read_by: ReadBy = NO_VALUES
    error: str = ""

    @property
    def is_abnormal(self) -> bool:
        """Whether anything of it ended abnormally."""
        return any(result.failure and result.failure.reason in ABNORMAL for result in self.results.values())

    @property
    def seen(self) -> Seen:
        """What its data looked like."""
        return Seen(
            dataset=self.scan.dataset,
            datacenter=self.scan.datacenter,
            window=self.scan.window,
            fingerprint=self.fingerprint,
            written_at=self.written_at,
            watch_id=self.watch_id,
        )

    def fail(self, reason: Reason, detail: str, *, error: str = "") -> None:
        """Nothing of it could be measured."""
        failure = failed(reason, detail)
        self.results, self.adopted, self.alone = {row.pk: failure for row in self.measurements}, {}, set()
        self.error = error or str(failure.failure)
        self.fingerprint, self.written_at, self.watch_id = "", None, None
