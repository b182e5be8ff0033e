"""What work has left behind it: scans, changes and watches of data, notices, look-ups, states of partitions."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Model, QuerySet

from alerting.models import Alert, Notice
from assay.models import DataChange, Dataset
from assay.time.windows import UnableToPartition
from execution_engine.models import Measurement, PartState, Scan, Suspect, Watch
from execution_engine.parts.selectors import keeps_states
from execution_engine.services import is_expired
from incident_manager.models import LookUp

from .rules import is_past
from .verdicts import window_of
from .walk_table import Keeping, PrunedTable, deleting, everything

Row = dict[str, Any]
WINDOW = ("pk", "dataset_id", "window_start", "window_end")


def _rows(model: type[Model], *columns: str) -> Callable[[], QuerySet[Any, Any]]:
    return lambda: model._default_manager.values("pk", *columns)


def _past(*columns: str) -> Callable[[Row, Keeping], bool]:
    """Whether all of a row's instants have had their time."""

    def is_old(row: Row, keeping: Keeping) -> bool:
        before = keeping.terms.results
        return before is not None and is_past([row[column] for column in columns], before)

    return is_old


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


def _unwatched(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    return _of_sound_windows([row for row in rows if not row["closely"]], keeping)


def _part_is_old(row: Row, keeping: Keeping) -> bool:
    before = keeping.terms.states
    return before is not None and is_past((row["kept_at"],), before)


def _unused_parts(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """Those of datasets that keep no states any longer, and of partitions that are not kept any longer."""
    datasets = Dataset.objects.in_bulk({row["dataset_id"] for row in rows})
    unused = {pk for pk, dataset in datasets.items() if not keeps_states(dataset)}
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
    rows=_rows(Scan, "ended_at"),
    is_old=_past("ended_at"),
    going=_without_measurements,
    remove=deleting(Scan),
)
SUSPECTS = PrunedTable(
    name="suspects", rows=_rows(Suspect, "last_at"), is_old=_past("last_at"), going=everything, remove=deleting(Suspect)
)
CHANGES = PrunedTable(
    name="changes",
    rows=_rows(DataChange, *WINDOW, "followed_at"),
    is_old=_past("followed_at", "window_end"),
    going=_of_sound_windows,
    remove=deleting(DataChange),
)
WATCHES = PrunedTable(
    name="watches",
    rows=_rows(Watch, *WINDOW, "closely"),
    is_old=_past("window_end"),
    going=_unwatched,
    remove=deleting(Watch),
)
NOTICES = PrunedTable(
    name="notices",
    rows=_rows(Notice, "settled_at", "alert_id"),
    is_old=_past("settled_at"),
    going=_of_closed_alerts,
    remove=deleting(Notice),
)
LOOK_UPS = PrunedTable(
    name="look_ups", rows=_rows(LookUp, "at"), is_old=_past("at"), going=everything, remove=deleting(LookUp)
)
PART_STATES = PrunedTable(
    name="part_states",
    rows=_rows(PartState, "dataset_id", "key", "kept_at"),
    is_old=_part_is_old,
    going=_unused_parts,
    remove=deleting(PartState),
)
