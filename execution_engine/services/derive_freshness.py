"""The freshness of a window, from its rows and from the rows and the freshness of what supplies it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from assay.models import Category, ChangeKind, DataChange, Dataset, DataTest
from assay.windows import Window
from execution_engine.freshness import Supply, freshness_value, is_complete, is_covered, same_weekdays
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Measurement
from execution_engine.outcome import Failure
from execution_engine.planning import ROW_COUNT, SHARE_OPTION, hash_of
from execution_engine.selectors import latest_values

TIME_TO_COMPLETE = MetricSpec(name="time_to_complete")  # seconds from a window's end until it was found complete


@dataclass(frozen=True, kw_only=True)
class Derived:
    """What a derived measurement comes to."""

    value: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None


def derive_freshness(measurement: Measurement, inputs: Sequence[Measurement]) -> Derived:
    """0 for a complete window, else how late it is; the detail says which, as an input of others needs."""
    here = _place(measurement)
    own = next(part for part in inputs if _place(part) == here and part.metric == ROW_COUNT)
    supplies = _supplies([part for part in inputs if _place(part) != here])
    measured_at = max(part.measured_at for part in inputs if part.measured_at)
    share = float(measurement.metric.option(SHARE_OPTION, 1.0) or 0.0)
    complete = _is_complete(measurement, own.value or 0.0, share, supplies) or _is_settled(measurement)
    if complete:
        _note_time_to_complete(measurement, measured_at)
    value = freshness_value(complete=complete, measured_at=measured_at, window_end=measurement.window_end)
    return Derived(value=value, detail={"complete": complete, "rows": own.value})


def _is_complete(measurement: Measurement, rows: float, share: float, supplies: Sequence[Supply]) -> bool:
    dataset, window = measurement.dataset, measurement.window
    announced = not supplies and rows > 0 and _is_announced(dataset, measurement.datacenter, window)
    return is_complete(
        rows,
        share=share,
        supplies=supplies,
        announced=announced,
        usual=_usual_rows(dataset, measurement.datacenter, window) if not supplies and not announced else (),
        allow_empty=dataset.allow_empty,
    )


def _supplies(parts: Sequence[Measurement]) -> list[Supply]:
    """The rows and the completeness of everything else that was measured, by place."""
    rows = {_place(part): part.value or 0.0 for part in parts if part.metric == ROW_COUNT}
    complete = {_place(part): bool(part.detail.get("complete")) for part in parts if part.metric != ROW_COUNT}
    return [Supply(rows=count, complete=complete[place]) for place, count in rows.items()]


def _place(measurement: Measurement) -> tuple[int, str]:
    return measurement.dataset_id, measurement.datacenter


def _is_announced(dataset: Dataset, datacenter: str, window: Window) -> bool:
    """Whether completion events name the whole window."""
    events = DataChange.objects.filter(
        dataset=dataset,
        datacenter=datacenter,
        kind=ChangeKind.COMPLETED,
        window_start__lt=window.end,
        window_end__gt=window.start,
    )
    return is_covered(window, [event.window for event in events])


def _usual_rows(dataset: Dataset, datacenter: str, window: Window) -> list[float]:
    if dataset.partitioning is None:
        return []
    hashes = {earlier: hash_of(ROW_COUNT) for earlier in same_weekdays(window, dataset.partitioning)}
    values = latest_values(dataset.pk, datacenter, hashes)
    return [value for value in values.values() if value is not None]


def _is_settled(measurement: Measurement) -> bool:
    """Whether the window was complete before, and a completeness test answers for what was lost since."""
    return (
        _times_to_complete(measurement).exists()
        and DataTest.objects.filter(
            dataset=measurement.dataset_id,
            category=Category.COMPLETENESS,
            datacenter=measurement.datacenter,
            retired_at__isnull=True,
        ).exists()
    )


def _times_to_complete(measurement: Measurement) -> QuerySet[Measurement]:
    return Measurement.objects.filter(
        dataset=measurement.dataset_id,
        datacenter=measurement.datacenter,
        window_start=measurement.window_start,
        window_end=measurement.window_end,
        spec_hash=hash_of(TIME_TO_COMPLETE),
    )


def _note_time_to_complete(measurement: Measurement, measured_at: datetime) -> None:
    """Write down, once, how long the window took."""
    if _times_to_complete(measurement).exists():
        return
    Measurement.objects.create(
        dataset_id=measurement.dataset_id,
        datacenter=measurement.datacenter,
        window_start=measurement.window_start,
        window_end=measurement.window_end,
        spec=TIME_TO_COMPLETE.to_json(),
        spec_hash=hash_of(TIME_TO_COMPLETE),
        spec_text=TIME_TO_COMPLETE.text,
        requested_at=measurement.requested_at,
        measured_at=measured_at,
        value=max(0.0, (measured_at - measurement.window_end).total_seconds()),
    )
