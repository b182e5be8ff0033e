"""Business metrics as pages and the API show them: the newest value, how they and their sources stand."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from assay.catalog.profile import BusinessMetricDefinition
from assay.catalog.selectors import by_names, definition_of, home
from assay.models import Dataset
from assay.time.windows import Window, keys_of
from execution_engine.metrics.definitions.freshness import VALUE
from execution_engine.models import Measurement
from execution_engine.runs.shown_results import Veil
from incident_manager.quality.now import statuses_now
from incident_manager.quality.rules import QualityStatus

NEWEST = 28  # windows
VALUE_COLUMNS = ("window_start", "window_end", "value")


@dataclass(frozen=True, kw_only=True)
class WindowValue:
    """What a business metric was in a window."""

    window: Window
    value: float
    key: str  # of the window


@dataclass(frozen=True, kw_only=True)
class MetricSummary:
    """One business metric with its newest value (None: none is known) and how it stands now."""

    dataset: Dataset
    definition: BusinessMetricDefinition
    status: QualityStatus
    newest: WindowValue | None


def business_metrics() -> QuerySet[Dataset]:
    """Those that a source tells of, by name, with their newest value."""
    values = Measurement.objects.filter(dataset=OuterRef("pk"), **_KNOWN).order_by("-window_start", "-measured_at")
    rows = Dataset.objects.filter(business_metric__isnull=False, missing_since__isnull=True)
    newest = {f"newest_{name}": Subquery(values.values(name)[:1]) for name in VALUE_COLUMNS}
    return rows.annotate(**newest).prefetch_related("replicas").order_by("full_name")


def metric_summaries(rows: Sequence[Dataset], veil: Veil, *, now: datetime) -> list[MetricSummary]:
    """Rows of ``business_metrics``, each with how it stands."""
    statuses = statuses_now({row.pk: row.full_name for row in rows}, now=now)
    summaries = []
    for row in rows:
        if definition := definition_of(row):
            start, end, value = (getattr(row, f"newest_{name}") for name in VALUE_COLUMNS)
            is_hidden = veil.hides_value_of(row) or value is None
            newest = None if is_hidden else _window_value(row, Window(start=start, end=end), value)
            status = statuses[row.pk]
            summaries.append(MetricSummary(dataset=row, definition=definition, status=status, newest=newest))
    return summaries


def sources_of(definition: BusinessMetricDefinition, hidden: Collection[int], *, now: datetime) -> list[dict[str, Any]]:
    """The ``name`` and ``status`` of its sources, in the order they are written; no status of ``hidden`` datasets."""
    rows = by_names(definition.sources)
    statuses = statuses_now({row.pk: row.full_name for row in rows.values() if row.pk not in hidden}, now=now)
    ids = {name: row.pk for name in definition.sources if (row := rows.get(name))}
    return [{"name": name, "status": statuses.get(ids.get(name, 0))} for name in definition.sources]


def newest_values(
    dataset: Dataset, veil: Veil, start: datetime | None = None, end: datetime | None = None
) -> list[WindowValue]:
    """Its values in the newest windows that have one, the oldest first; none where they must not be told now.

    Only windows that begin from ``start`` to ``end``, where these are known.
    """
    if veil.hides_value_of(dataset):
        return []
    rows = Measurement.objects.filter(dataset=dataset, datacenter=home(dataset).datacenter, **_KNOWN)
    if start is not None:
        rows = rows.filter(window_start__gte=start)
    if end is not None:
        rows = rows.filter(window_start__lte=end)
    values: dict[Window, float] = {}
    newest_first = rows.order_by("-window_start", "-measured_at", "-pk").values_list(*VALUE_COLUMNS)
    for start, end, value in newest_first.iterator():
        values.setdefault(Window(start=start, end=end), value)
        if len(values) > NEWEST:
            break
    newest = list(values.items())[:NEWEST]
    return [_window_value(dataset, window, value) for window, value in reversed(newest)]


_KNOWN = {"spec_text__startswith": f"{VALUE.name}(", "value__isnull": False, "measured_at__isnull": False}


def _window_value(dataset: Dataset, window: Window, value: float) -> WindowValue:
    return WindowValue(window=window, value=value, key=keys_of(window, dataset.partitioning))
