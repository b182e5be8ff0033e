"""Business metrics as pages and the API show them: the newest value, how they and their sources stand."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery

from assay.catalog.profile import BusinessMetricDefinition
from assay.catalog.selectors import by_names, definition_of, home
from assay.models import Dataset
from assay.time.windows import Window, keys_of
from execution_engine.metrics.definitions.value import VALUE
from execution_engine.models import Measurement
from execution_engine.runs.shown_results import Veil
from incident_manager.quality.now import statuses_now
from incident_manager.quality.rules import Status

NEWEST = 28  # windows


@dataclass(frozen=True, kw_only=True)
class KnownValue:
    """What a business metric was in a window."""

    window: Window
    value: float
    key: str  # of the window


@dataclass(frozen=True, kw_only=True)
class ShownMetric:
    """One business metric with its newest value (None: none is known) and how it stands now."""

    dataset: Dataset
    definition: BusinessMetricDefinition
    status: Status
    newest: KnownValue | None


@dataclass(frozen=True, kw_only=True)
class ShownSource:
    """A dataset that a business metric is computed from; no status for whoever may not see it."""

    name: str
    status: Status | None


def business_metrics() -> QuerySet[Dataset]:
    """Those that a source tells of, by name, with their newest value."""
    known = Measurement.objects.filter(dataset=OuterRef("pk"), **_KNOWN).order_by("-window_start", "-measured_at")
    told = Dataset.objects.filter(business_metric__isnull=False, missing_since__isnull=True)
    newest = {f"newest_{name}": Subquery(known.values(name)[:1]) for name in ("window_start", "window_end", "value")}
    return told.annotate(**newest).prefetch_related("replicas").order_by("full_name")


def shown_metrics(rows: Sequence[Dataset], veil: Veil, *, now: datetime) -> list[ShownMetric]:
    """Rows of ``business_metrics``, each with how it stands."""
    statuses = statuses_now({row.pk: row.full_name for row in rows}, now=now)
    return [
        ShownMetric(
            dataset=row,
            definition=definition,
            status=statuses[row.pk],
            newest=None if veil.hides_value_of(row) else _newest(row),
        )
        for row in rows
        if (definition := definition_of(row))
    ]


def sources_of(definition: BusinessMetricDefinition, hidden: Collection[int], *, now: datetime) -> list[ShownSource]:
    """Its sources, in the order they are written; ``hidden`` are the ids of datasets that are not to be shown."""
    rows = by_names(definition.sources)
    statuses = statuses_now({row.pk: row.full_name for row in rows.values() if row.pk not in hidden}, now=now)
    return [
        ShownSource(name=name, status=statuses[row.pk] if row and row.pk in statuses else None)
        for name in definition.sources
        for row in [rows.get(name)]
    ]


def newest_values(dataset: Dataset, veil: Veil) -> list[KnownValue]:
    """Its values in the newest windows that have one, the oldest first; none where they must not be told now."""
    if veil.hides_value_of(dataset):
        return []
    rows = Measurement.objects.filter(dataset=dataset, datacenter=home(dataset).datacenter, **_KNOWN)
    found: dict[Window, float] = {}
    columns = ("window_start", "window_end", "value")
    for start, end, value in rows.order_by("-window_start", "-measured_at", "-pk").values_list(*columns).iterator():
        found.setdefault(Window(start=start, end=end), value)
        if len(found) > NEWEST:
            break
    newest = list(found.items())[:NEWEST]
    return [_known(dataset, window, value) for window, value in reversed(newest)]


_KNOWN = {"spec_text__startswith": f"{VALUE.name}(", "value__isnull": False, "measured_at__isnull": False}


def _newest(row: Dataset) -> KnownValue | None:
    start, end, value = (getattr(row, f"newest_{name}") for name in ("window_start", "window_end", "value"))
    return None if value is None else _known(row, Window(start=start, end=end), value)


def _known(dataset: Dataset, window: Window, value: float) -> KnownValue:
    return KnownValue(window=window, value=value, key=keys_of(window, dataset.partitioning))
