"""``null_count(column)``: the rows whose value is null. A toy: an aggregate."""

from execution_engine.metrics.definition import Dimension, MetricDefinition, MetricKind, Signature
from execution_engine.metrics.states.statistics import ROWS, Gather, Statistic

NULL_COUNT = MetricDefinition(
    signature=Signature(name="null_count", min_columns=1, max_columns=1),
    kind=MetricKind.AGGREGATE,
    formula="|{d ∈ D : d(column) = null}|",
    source="a toy",
    meaning="how many rows have no value",
    dimension=Dimension.COMPLETENESS,
    statistics=lambda spec, write: {
        "rows": ROWS,
        "there": Statistic(gather=Gather.COUNT, of=(write.column(spec.columns[0]),)),
    },
    value=lambda spec, found: float(found["rows"] - found["there"]),
    breaks=lambda spec, write: f"{write.column(spec.columns[0])} is null",
)
