"""What work has left behind it: scans, changes and watches of data, notices, look-ups, states of partitions."""

from collections.abc import Sequence
from typing import Any

from alerting.models import Alert, Notice
from assay.models import DataChange, Dataset
from assay.time.windows import UnableToPartition
from execution_engine.models import Measurement, PartState, Scan, Suspect, Watch
from execution_engine.parts.selectors import keeping_states
from execution_engine.services import is_expired
from incident_manager.models import LookUp

from .verdicts import window_of
from .walk_table import Keeping, PrunedTable, deleting, everything, result_past, rows_of, state_past

Row = dict[str, Any]
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
