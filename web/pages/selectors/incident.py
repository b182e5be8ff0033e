"""The pages of incidents: the newest of all; of one what is spoilt and why, what caused it, and who was told."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Prefetch

from alerting.models import Alert, Notice, Standing
from alerting.verdicts.shown_standing import sentence_of
from assay.models import Dataset
from execution_engine.language.evaluating.anomaly import EXPECTED
from execution_engine.language.evaluating.novelty import NOVEL
from execution_engine.runs.shown_results import Veil
from incident_manager.models import Ending, Incident, SpoiltWindow
from web.shown.groups import OF_GROUPS, ShownGroups, groups_of
from web.shown.moved import Moved, moved

MOST_WINDOWS = 200
MOST_KEYS = 2  # of partitions that stand for a window; a longer one is shown by its ends


@dataclass(frozen=True, kw_only=True)
class SpoiltShown:
    """One spoilt window, under the key of its partition, with the newest result of its test."""

    row: SpoiltWindow
    key: str
    standing: Standing | None
    sentence: str = ""
    findings: tuple[tuple[str, str], ...] = ()  # of the newest result, such as lost keys: a name and a text each
    moved: tuple[Moved, ...] = ()  # where it is unlike those before it
    groups: ShownGroups | None = None  # where its test is by columns


def newest_incidents(most: int) -> list[Incident]:
    """The open ones, the newest first, then those that were resolved last: each along an index, never sorted all."""
    rows = Incident.objects.select_related("dataset", "alert__cause__dataset")
    still_open = list(rows.filter(resolved_at=None).order_by("-detected_at", "-pk")[:most])
    resolved = rows.filter(resolved_at__isnull=False).order_by("-resolved_at", "-pk")
    return [*still_open, *resolved[: most - len(still_open)]]


def incident_by_id(pk: int) -> Incident | None:
    """The incident with its dataset, cause, timeline and, where its windows are being ended, a user's word."""
    effects = Prefetch("alert__effects", Alert.objects.select_related("dataset", "incident"))
    found = Incident.objects.select_related("dataset", "alert__cause__dataset", "alert__cause__incident")
    under_way = Prefetch("endings", Ending.objects.filter(ended_at__isnull=True))
    return found.prefetch_related("timeline", "episodes", effects, under_way).filter(pk=pk).first()


def annotation(incident: Incident) -> dict[str, str]:
    """What is known of it, as the fields of its form."""
    eta = f"{incident.eta:%Y-%m-%dT%H:%M}" if incident.eta else ""
    return {"root_cause": incident.root_cause, "eta": eta, "backfill": incident.backfill, "text": ""}


def spoilt_windows(incident: Incident, veil: Veil) -> list[SpoiltShown]:
    """The newest 200 spoilt windows, the unhealed first, in two statements."""
    rows = list(
        incident.spoilt_windows.select_related("data_test__revision").order_by("healed_at", "-window_start")[
            :MOST_WINDOWS
        ]
    )
    joined = ("data_test__dataset", "revision", "last_run__revision", "last_run__data_test__dataset")
    standings = Standing.objects.select_related(*joined).filter(
        data_test__in={row.data_test_id for row in rows if row.data_test_id},
        window_key__in={_window_key(row) for row in rows},
    )
    by_place = {(standing.data_test_id, standing.window_key): standing for standing in standings}
    return [
        _spoilt(row, incident.dataset, by_place.get((row.data_test_id or 0, _window_key(row))), veil) for row in rows
    ]


def _spoilt(row: SpoiltWindow, dataset: Dataset, standing: Standing | None, veil: Veil) -> SpoiltShown:
    run = standing.last_run if standing else None
    return SpoiltShown(
        row=row,
        key=_partition_key(dataset, row),
        standing=standing,
        sentence=sentence_of(standing, veil) if standing else "",
        findings=tuple(
            (name.replace("_", " "), _text(found))
            for name, found in (veil.findings(run) if run else {}).items()
            if name not in {EXPECTED, NOVEL, *OF_GROUPS}  # which the sentence says, and plots and tables show
        ),
        moved=tuple(moved(veil.findings(run).get(NOVEL, [])) if run else ()),
        groups=groups_of(veil.findings(run)) if run else None,
    )


def notices_of(incident: Incident) -> list[Notice]:
    """What was told of the incident, to whom, or why not."""
    return (
        list(Notice.objects.filter(alert=incident.alert_id).order_by("created_at", "pk")) if incident.alert_id else []
    )


def _window_key(row: SpoiltWindow) -> str:
    return "table" if row.whole_table else row.window.text


def _partition_key(dataset: Dataset, row: SpoiltWindow) -> str:
    """The partition's key where the window is one; else the window in short."""
    partitioning = dataset.partitioning
    tiles = partitioning.tile(row.window, MOST_KEYS) if partitioning and not row.whole_table else None
    if partitioning and tiles:
        return " – ".join(partitioning.key(tile) for tile in tiles)
    return f"{row.window_start:%Y-%m-%d %H:%M} – {row.window_end:%Y-%m-%d %H:%M} UTC"


def _text(value: Any) -> str:
    if isinstance(value, list):
        shown = ", ".join(str(item.get("said", item) if isinstance(item, dict) else item) for item in value[:20])
        return f"{shown} … ({len(value)} in all)" if len(value) > 20 else shown
    return str(value)
