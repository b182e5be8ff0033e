"""``widest_gap(column)``: the largest difference between neighbouring values. A toy: a compound, with its own query."""

from typing import Any

from execution_engine.engines.protocol import Measured, MeasurementRequest
from execution_engine.metrics.definition import LAKE, ColumnKind, Dimension, MetricDefinition, MetricKind, Signature


def take(source: Any, item: MeasurementRequest) -> Measured:
    """Spark orders the values and compares each with the one before."""
    values = source.frame.selectExpr(f"{source.write.number(item.spec.columns[0])} as x").where("x is not null")
    gaps = values.selectExpr("x - lag(x) over (order by x) as gap")
    return Measured(value=gaps.selectExpr("max(gap) as gap").first()["gap"])


WIDEST_GAP = MetricDefinition(
    signature=Signature(name="widest_gap", min_columns=1, max_columns=1, column_kind=ColumnKind.NUMERIC),
    kind=MetricKind.COMPOUND,
    formula="max of v - u, u the value before v",
    source="a toy",
    meaning="the widest gap between two values",
    dimension=Dimension.ACCURACY,
    taken_by={LAKE: f"{__name__}:take"},
    tells_values=True,
)
