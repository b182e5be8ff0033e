"""Measurements that are computed from others, without reading data."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from assay.database.bulk import update_each
from execution_engine.engines.protocol import Measured
from execution_engine.metrics.definition import NOTE, SERVICE, Kind
from execution_engine.metrics.registry import METRICS
from execution_engine.models import Measurement
from execution_engine.outcome import Failure, Reason


def is_derived(name: str) -> bool:
    """Whether the metric is computed from others, without a scan."""
    return METRICS[name].kind is Kind.DERIVED


def settle_derived(inputs: Mapping[Measurement, Sequence[Measurement]], now: datetime) -> None:
    """Compute the measurements of which all inputs, which are given, are in, and write them down."""
    for measurement, parts in inputs.items():
        _settle(measurement, parts, now)
    update_each(list(inputs), ("measured_at", "value", "detail", "failure_reason", "failure_detail"))


def _settle(measurement: Measurement, inputs: Sequence[Measurement], now: datetime) -> None:
    definition = METRICS[measurement.metric.name]
    is_judged = definition.judges_no_data
    needed = [part for part in inputs if part.metric.name not in definition.spared]
    failure = input_failure([part for part in needed if not (is_judged and part.failure_reason == Reason.NO_DATA)])
    derive = definition.function_for(SERVICE)
    derived: Measured = Measured(failure=failure) if failure else derive(measurement, inputs)
    measurement.measured_at = max((part.measured_at for part in inputs if part.measured_at), default=now)
    measurement.value = None if derived.value is None else float(derived.value)
    measurement.detail = dict(derived.detail)
    measurement.failure_reason = derived.failure.reason.value if derived.failure else ""
    measurement.failure_detail = derived.failure.detail if derived.failure else ""


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
    told = inputs[0].detail or {}
    return Measured(value=inputs[0].value, detail={NOTE: told[NOTE]} if NOTE in told else {})
