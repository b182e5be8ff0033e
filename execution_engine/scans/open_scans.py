"""Scans that have not begun: at most one for each place, and locked while measurements are added to it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection
from django.db.models import F

from assay.catalog.selectors import with_replicas
from assay.models import Dataset
from assay.time.windows import Window
from execution_engine.engines.protocol import Measured
from execution_engine.models import Measurement, Scan
from execution_engine.outcome import ABNORMAL
from execution_engine.planning.turns import LATER, is_made_up_for, turn
from execution_engine.read_by import NO_VALUES, ReadBy
from execution_engine.storage import engine_name
from execution_engine.watch import Seen

Place = tuple[int, str, Window]  # dataset, datacenter, window


def open_key(place: Place) -> str:
    """The key that a scan holds until it begins: one per place."""
    dataset_id, datacenter, window = place
    return f"{dataset_id}:{datacenter}:{window.text}"


def open_scans(places: Collection[Place]) -> dict[Place, Scan]:
    """The scans of these places that have not begun, locked until the end of the transaction."""
    by_key = {open_key(place): place for place in places}
    rows = Scan.objects.select_for_update().filter(open_key__in=by_key).order_by("pk")
    return {by_key[str(row.open_key)]: row for row in rows}


def hurry(scans: Iterable[Scan]) -> None:
    """Scans of what is wanted now leave the queue of what is made up for; the scans are locked."""
    late = [scan.pk for scan in scans if is_made_up_for(scan.turn)]
    if late:
        Scan.objects.filter(pk__in=late).update(turn=F("turn") - LATER)


def scans_for(
    places: Collection[Place],
    known: Mapping[Place, Scan],
    now: datetime,
    *,
    datasets: Mapping[int, Dataset] | None = None,
    are_made_up_for: bool = False,
) -> dict[Place, Scan]:
    """A scan that has not begun for each place: the open one, or a new one.

    ``known`` are those that are open; ``datasets``: those of the places with their replicas, by id, where the caller
    has read them.
    """
    scans = dict(known)
    while missing := [place for place in dict.fromkeys(places) if place not in scans]:
        datasets = _with_missing(datasets or {}, {dataset_id for dataset_id, _, _ in missing})
        new = {place: _new_scan(place, datasets[place[0]], now, are_made_up_for) for place in missing}
        if connection.features.has_select_for_update:
            Scan.objects.bulk_create(new.values(), ignore_conflicts=True)
            scans |= open_scans(missing)
        else:  # nobody else writes before this transaction ends
            Scan.objects.bulk_create(new.values())
            scans |= new
    return scans


def _with_missing(known: Mapping[int, Dataset], ids: Collection[int]) -> Mapping[int, Dataset]:
    missing = set(ids) - known.keys()
    return {**known, **with_replicas(missing)} if missing else known


def _new_scan(place: Place, dataset: Dataset, now: datetime, is_made_up_for: bool) -> Scan:
    """Unsaved; of a replica that is gone too, as its scan says so."""
    _, datacenter, window = place
    replica = next((each for each in dataset.replicas.all() if each.datacenter == datacenter), None)
    return Scan(
        dataset=dataset,
        datacenter=datacenter,
        window_start=window.start,
        window_end=window.end,
        open_key=open_key(place),
        turn=turn(dataset.tier, is_made_up_for=is_made_up_for),
        owner=dataset.owner,
        engine=engine_name(replica) if replica else "",
        created_at=now,
    )


# What the reading of one scan gives to its writing, which imports nothing that reads data.


@dataclass(frozen=True, kw_only=True)
class BegunScan:
    """A scan that has begun, with its dataset, all that it is to measure, and what was known of that before."""

    scan: Scan
    measurements: Sequence[Measurement]
    ends: Mapping[int, int] = field(default_factory=dict)  # how often metrics had ended abnormally, by measurement
    keeps_states: bool = False  # of the partitions of its dataset


@dataclass
class ScanReading:
    """What one scan found: adopted measurements, new results, and what the data looked like."""

    fingerprint: str = ""
    written_at: datetime | None = None  # when the newest file was, where it was not seen before
    watch_id: int | None = None  # of the watch that has seen it before
    adopted: dict[int, Measurement] = field(default_factory=dict)  # by the id of the measurement that reuses it
    results: dict[int, Measured] = field(default_factory=dict)
    fingerprints: dict[int, str] = field(default_factory=dict)
    spark_jobs: int = 0
    seconds: float = 0.0
    read_by: ReadBy = NO_VALUES
    error: str = ""
    alone: set[int] = field(default_factory=set)  # those that shared their end with no other
    ends: dict[int, int] = field(default_factory=dict)  # how often each had ended abnormally before

    @property
    def is_abnormal(self) -> bool:
        """Whether anything of it ended abnormally."""
        return any(result.failure and result.failure.reason in ABNORMAL for result in self.results.values())

    def seen(self, scan: Scan) -> Seen:
        """What the data of the scan, which this is of, looked like."""
        return Seen(
            dataset=scan.dataset,
            datacenter=scan.datacenter,
            window=scan.window,
            fingerprint=self.fingerprint,
            written_at=self.written_at,
            watch_id=self.watch_id,
        )
