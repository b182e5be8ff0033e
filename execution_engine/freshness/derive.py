"""Measurements that are computed from others, without reading data."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import QuerySet

from assay.database.statements import update_each
from assay.models import Category, ChangeKind, DataChange, Dataset, DataTest, Scope, WriteMode
from execution_engine.engines.protocol import Measured, failed
from execution_engine.language.business_metric import expression_of, metrics_of, value_of
from execution_engine.metrics.definition import NOTE, SERVICE, MetricKind
from execution_engine.metrics.definitions.freshness import COMPLETE, OF
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.metrics.definitions.sample import SAMPLE_FOUND, SAMPLE_SIZE
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Measurement, Watch
from execution_engine.outcome import Failure, Reason
from execution_engine.planning.planner import hash_of
from execution_engine.selectors import latest_values

from .rules import (
    CompletionEvent,
    JudgedWindow,
    SampledSupply,
    Supply,
    WindowEvidence,
    freshness_value,
    is_covered,
    judge_rows,
    rows_told,
    same_weekdays,
    waits,
)


def is_derived(name: str) -> bool:
    """Whether the metric is computed from others, without a scan."""
    return METRICS[name].kind is MetricKind.DERIVED


def settle_derived(inputs: Mapping[Measurement, Sequence[Measurement]], now: datetime) -> None:
    """Compute the measurements of which all inputs, which are given, are in, and write them down."""
    for row, parts in inputs.items():
        definition = METRICS[row.metric.name]
        needed = [part for part in parts if part.metric.name not in definition.spared]
        if definition.judges_no_data:
            needed = [part for part in needed if part.failure_reason != Reason.NO_DATA]
        failure = input_failure(needed)
        derived: Measured = Measured(failure=failure) if failure else definition.function_for(SERVICE)(row, parts)
        row.measured_at = max((part.measured_at for part in parts if part.measured_at), default=now)
        row.value = None if derived.value is None else float(derived.value)
        row.detail = dict(derived.detail)
        row.failure_reason = derived.failure.reason.value if derived.failure else ""
        row.failure_detail = derived.failure.detail if derived.failure else ""
        own = (part.snapshot for part in parts if part.dataset_id == row.dataset_id)
        row.snapshot = next((snapshot for snapshot in own if snapshot), "")
    update_each(list(inputs), ("measured_at", "value", "detail", "failure_reason", "failure_detail", "snapshot"))


def input_failure(inputs: Sequence[Measurement]) -> Failure | None:
    """Why a measurement cannot be taken although its inputs are in: one of them failed, for good rather than not."""
    failures = [failure for part in inputs if (failure := failure_of(part))]
    return min(failures, key=lambda failure: failure.transient, default=None)


def failure_of(measurement: Measurement) -> Failure | None:
    """Why the measurement could not be taken, if it could not."""
    if not measurement.failure_reason:
        return None
    return Failure(reason=Reason(measurement.failure_reason), detail=measurement.failure_detail)


def first_input(measurement: Measurement, inputs: Sequence[Measurement]) -> Measured:
    """The value of its first input, with the note of that."""
    detail = inputs[0].detail or {}
    return Measured(value=inputs[0].value, detail={NOTE: detail[NOTE]} if NOTE in detail else {})


# The freshness of a window, from its rows and from the rows and the freshness of what supplies it.

TIME_TO_COMPLETE = MetricSpec(name="time_to_complete")  # seconds from a window's end until it was found complete

SETTLED = JudgedWindow(
    complete=True,
    evidence=WindowEvidence.BEFORE,
    basis="complete: it was before, and its completeness test answers for it since",
)
EVIDENCE = "evidence"  # in the detail: the word for what the judgement stands on
OVERWRITES = {WriteMode.OVERWRITE.value: True, WriteMode.APPEND.value: False, "": None}


def derive_freshness(measurement: Measurement, inputs: Sequence[Measurement]) -> Measured:
    """0 for a complete window, else how late it is; the detail says which, why, and what an input of others needs."""
    here = _place(measurement)
    own = next(part for part in inputs if _place(part) == here and part.metric == ALL_ROWS)
    supplies = _supplies([part for part in inputs if _place(part) != here], own)
    measured_at = max(part.measured_at for part in inputs if part.measured_at)
    share = float(measurement.metric.option(COMPLETE, 1.0) or 0.0)
    rows = own.value or 0.0
    # how many keys of each sampled upstream were drawn, and are here, where both could be measured
    taken = [part for part in inputs if part.value is not None and not part.failure_reason]
    sizes = {part.metric.arguments: part.value for part in taken if part.metric.name == SAMPLE_SIZE.name}
    samples = [
        SampledSupply(
            size=sizes[part.metric.arguments] or 0.0, present=part.value or 0.0, name=str(part.metric.arguments[0])
        )
        for part in taken
        if part.metric.name == SAMPLE_FOUND.name and part.metric.arguments in sizes
    ]
    judged = _judge(measurement, rows, share, supplies, samples)
    answering = DataTest.objects.filter(
        dataset=measurement.dataset_id,
        category=Category.COMPLETENESS,
        scope=Scope.PARTITION,  # one of the whole table answers for no window
        datacenter=measurement.datacenter,
        retired_at__isnull=True,
    )
    if not judged.complete and _times_to_complete(measurement).exists() and answering.exists():
        judged = SETTLED  # it was complete before, and a completeness test answers for what was lost since
    if judged.complete and not measurement.as_of:
        _note_time_to_complete(measurement, inputs, measured_at, judged)
    is_waiting = not judged.complete and waits(rows, share=share, supplies=supplies)
    return Measured(
        value=freshness_value(complete=judged.complete, measured_at=measured_at, window_end=measurement.window_end),
        detail={
            "complete": judged.complete,
            "rows": own.value,
            "expected": judged.expected,
            "waits": is_waiting,
            EVIDENCE: judged.evidence.value,
            NOTE: judged.basis,
        },
    )


def _judge(
    measurement: Measurement,
    rows: float,
    share: float,
    supplies: Sequence[Supply],
    samples: Sequence[SampledSupply],
) -> JudgedWindow:
    dataset, window = measurement.dataset, measurement.window
    changes = DataChange.objects.filter(
        dataset=dataset,
        datacenter=measurement.datacenter,
        kind=ChangeKind.COMPLETED,
        window_start__lt=window.end,
        window_end__gt=window.start,
    ).order_by("at", "pk")
    events = [
        CompletionEvent(window=change.window, rows=change.rows, overwrites=OVERWRITES[change.mode], run=change.run)
        for change in (() if supplies else changes)
    ]
    announced = is_covered(window, [event.window for event in events])
    usual: list[float] = []
    if not supplies and not announced and dataset.partitioning is not None:
        hashes = {earlier: hash_of(ALL_ROWS) for earlier in same_weekdays(window, dataset.partitioning)}
        values = latest_values(dataset.pk, measurement.datacenter, hashes)
        usual = [float(value) for value in values.values() if value is not None]
    return judge_rows(
        rows,
        share=share,
        supplies=supplies,
        announced=announced,
        event_rows=rows_told(window, events, there=rows),
        usual=usual,
        samples=samples,
        allow_empty=dataset.allow_empty,
    )


def _supplies(parts: Sequence[Measurement], own: Measurement) -> list[Supply]:
    """The rows and the completeness of everything else that was measured, by place."""
    rows = {_place(part): part.value or 0.0 for part in parts if part.metric == ALL_ROWS}
    details = {_place(part): part.detail for part in parts if part.metric != ALL_ROWS}
    others = {dataset for dataset, _ in rows} - {own.dataset_id}
    names = dict(Dataset.objects.filter(pk__in=others).values_list("pk", "full_name")) if others else {}
    return [
        Supply(
            rows=count,
            complete=bool(details[place].get("complete")),
            name=names.get(place[0], f"home, {place[1]}"),
            expected=details[place].get("expected"),
        )
        for place, count in rows.items()
    ]


def _place(measurement: Measurement) -> tuple[int, str]:
    return measurement.dataset_id, measurement.datacenter


def _times_to_complete(measurement: Measurement) -> QuerySet[Measurement]:
    return Measurement.objects.filter(
        dataset=measurement.dataset_id,
        datacenter=measurement.datacenter,
        window_start=measurement.window_start,
        window_end=measurement.window_end,
        spec_hash=hash_of(TIME_TO_COMPLETE),
    )


def _note_time_to_complete(
    measurement: Measurement, inputs: Sequence[Measurement], measured_at: datetime, judged: JudgedWindow
) -> None:
    """Write down, once, how long the window took, and what says that it is complete."""
    if _times_to_complete(measurement).exists():
        return
    # when the last of the files came that made it complete, those it is measured against included
    window, places = measurement.window, {_place(part) for part in inputs}
    watches = Watch.objects.filter(
        dataset__in={dataset for dataset, _ in places}, window_start=window.start, window_end=window.end
    )
    came = {(watch.dataset_id, watch.datacenter): watch.changed_at for watch in watches if watch.changed_at}
    came_at = measured_at
    if _place(measurement) in came:
        came_at = max(came[place] for place in places if place in came)
    completed_at = max(window.end, min(measured_at, came_at))
    Measurement.objects.create(
        dataset_id=measurement.dataset_id,
        datacenter=measurement.datacenter,
        window_start=window.start,
        window_end=window.end,
        spec=TIME_TO_COMPLETE.to_json(),
        spec_hash=hash_of(TIME_TO_COMPLETE),
        spec_text=TIME_TO_COMPLETE.text,
        requested_at=measurement.requested_at,
        measured_at=measured_at,
        value=(completed_at - window.end).total_seconds(),
        detail={EVIDENCE: judged.evidence.value, NOTE: judged.basis},
    )


# The value of a business metric, whether it has one, and whether its sources are complete, from their measurements.

OPERANDS = "operands"  # in the detail: the values that it was computed from, by the texts of the operands


def derive_value(measurement: Measurement, inputs: Sequence[Measurement]) -> Measured:
    """What the expression comes to with what was measured of its sources, which stand in the order of its operands."""
    tree = expression_of(str(measurement.metric.option(OF)))
    metrics = metrics_of(tree)
    if len(metrics) != len(inputs):
        return failed(Reason.INVALID, "two operands of its expression measure the same: write both in the same words")
    values = {metric.text: part.number for metric, part in zip(metrics, inputs, strict=True)}
    result = value_of(tree, values)
    if isinstance(result, Failure):
        return Measured(failure=result)
    if result is None:
        nulls = [text for text, value in values.items() if value is None]
        return failed(
            Reason.NO_DATA, f"the value is NULL: {', '.join(nulls) or 'a divisor'} is {'NULL' if nulls else 0}"
        )
    plain = {text: None if value is None else float(value) for text, value in values.items()}
    notes = dict.fromkeys(part.detail[NOTE] for part in inputs if NOTE in (part.detail or {}))
    return Measured(value=result, detail={OPERANDS: plain} | ({NOTE: "; ".join(notes)} if notes else {}))


def derive_has_value(measurement: Measurement, inputs: Sequence[Measurement]) -> Measured:
    """1 where there is a value; 0 where there is none, with the reason."""
    (value,) = inputs
    if value.value is not None:
        return Measured(value=1.0)
    return Measured(value=0.0, detail={NOTE: value.failure_detail})


def derive_sources_freshness(measurement: Measurement, inputs: Sequence[Measurement]) -> Measured:
    """0 once all sources are complete, else how late the latest of them is, with what each of those waits for."""
    late = [part for part in inputs if not part.detail.get("complete")]
    notes = [f"{part.dataset.full_name}: {part.detail.get(NOTE, 'it is not complete')}" for part in late]
    value = max((part.value or 0.0 for part in late), default=0.0)
    return Measured(value=value, detail={"complete": not late} | ({NOTE: "; ".join(notes)} if notes else {}))
