"""``rows_beside('dataset')``: the rows of another dataset. A toy: a compound that reads another table."""

from typing import Any

from execution_engine.engines.protocol import Measured, MeasurementRequest
from execution_engine.metrics.definition import LAKE, ArgumentType, Dimension, MetricDefinition, MetricKind, Signature


def take(source: Any, item: MeasurementRequest) -> Measured:
    """Of the other table as a whole."""
    from execution_engine.engines.spark.sources import open_beside

    return Measured(value=float(open_beside(source, item.tables[str(item.spec.arguments[0])]).frame.count()))


ROWS_BESIDE = MetricDefinition(
    signature=Signature(name="rows_beside", arguments=(ArgumentType.DATASET,)),
    kind=MetricKind.COMPOUND,
    formula="|D'|, D' the other dataset",
    source="a toy",
    meaning="how many rows are in no partition",
    dimension=Dimension.COMPLETENESS,
    taken_by={LAKE: f"{__name__}:take"},
)
