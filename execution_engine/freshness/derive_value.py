"""The value of a business metric, whether it has one, and whether its sources are complete, from their measurements."""

from collections.abc import Sequence

from execution_engine.engines.protocol import Measured, failed
from execution_engine.language.business_metric import expression_of, metrics_of, value_of
from execution_engine.metrics.definition import NOTE
from execution_engine.metrics.definitions.value import OF
from execution_engine.models import Measurement
from execution_engine.outcome import Failure, Reason

OPERANDS = "operands"  # in the detail: the values that it was computed from, by the texts of the operands


def derive_value(measurement: Measurement, inputs: Sequence[Measurement]) -> Measured:
    """What the expression comes to with what was measured of its sources, which stand in the order of its operands."""
    tree = expression_of(str(measurement.metric.option(OF)))
    asked = metrics_of(tree)
    if len(asked) != len(inputs):
        return failed(Reason.INVALID, "two operands of its expression measure the same: write both in the same words")
    values = {metric.text: part.number for metric, part in zip(asked, inputs, strict=True)}
    found = value_of(tree, values)
    if isinstance(found, Failure):
        return Measured(failure=found)
    if found is None:
        nulls = [text for text, value in values.items() if value is None]
        return failed(
            Reason.NO_DATA, f"the value is NULL: {', '.join(nulls) or 'a divisor'} is {'NULL' if nulls else 0}"
        )
    plain = {text: None if value is None else float(value) for text, value in values.items()}
    notes = dict.fromkeys(part.detail[NOTE] for part in inputs if NOTE in (part.detail or {}))
    return Measured(value=found, detail={OPERANDS: plain} | ({NOTE: "; ".join(notes)} if notes else {}))


def derive_has_value(measurement: Measurement, inputs: Sequence[Measurement]) -> Measured:
    """1 where there is a value; 0 where there is none, with the reason."""
    (value,) = inputs
    if value.value is not None:
        return Measured(value=1.0)
    return Measured(value=0.0, detail={NOTE: value.failure_detail})


def derive_sources_freshness(measurement: Measurement, inputs: Sequence[Measurement]) -> Measured:
    """0 once all sources are complete, else how late the latest of them is, with what each of those waits for."""
    late = [part for part in inputs if not part.detail.get("complete")]
    said = [f"{part.dataset.full_name}: {part.detail.get(NOTE, 'it is not complete')}" for part in late]
    value = max((part.value or 0.0 for part in late), default=0.0)
    return Measured(value=value, detail={"complete": not late} | ({NOTE: "; ".join(said)} if said else {}))
