"""``rows_per_key(column)``: rows / different values. A toy: derived from two measurements of the same place."""

from collections.abc import Sequence
from typing import Any

from execution_engine.engines.protocol import Measured
from execution_engine.metrics.definition import SERVICE, Dimension, Input, MetricDefinition, MetricKind, Signature
from execution_engine.metrics.spec import MetricSpec


def derive(measurement: Any, inputs: Sequence[Any]) -> Measured:
    """The inputs are known by their metrics."""
    values = {each.metric.name: each.value for each in inputs}
    keys = values["count_distinct"]
    return Measured(value=values["row_count"] / keys if keys else None)


ROWS_PER_KEY = MetricDefinition(
    signature=Signature(name="rows_per_key", min_columns=1, max_columns=1),
    kind=MetricKind.DERIVED,
    formula="N / |V|",
    source="a toy",
    meaning="rows per key",
    dimension=Dimension.UNIQUENESS,
    inputs=(
        Input(spec=lambda call, of: MetricSpec(name="row_count", where=call.where)),
        Input(spec=lambda call, of: MetricSpec(name="count_distinct", columns=call.columns, where=call.where)),
    ),
    taken_by={SERVICE: f"{__name__}:derive"},
)
