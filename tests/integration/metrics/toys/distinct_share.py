"""``approx_distinct_share(column)``: different values / rows, estimated. A toy: a sketch."""

from execution_engine.metrics.definition import Dimension, MetricDefinition, MetricKind, Signature
from execution_engine.metrics.definitions.uniqueness import distinct_of
from execution_engine.metrics.states.statistics import ROWS, Gather, Statistic

APPROX_DISTINCT_SHARE = MetricDefinition(
    signature=Signature(name="approx_distinct_share", min_columns=1, max_columns=1),
    kind=MetricKind.SKETCH,
    formula="|V| / N, with a standard error of 1.6 %",
    source="a toy",
    meaning="about how many different values there are per row",
    dimension=Dimension.UNIQUENESS,
    statistics=lambda spec, write: {
        "rows": ROWS,
        "hll": Statistic(gather=Gather.HLL, of=(write.hashable(spec.columns[0]),)),
    },
    value=lambda spec, found: distinct_of(found["hll"]) / found["rows"] if found["rows"] and found["hll"] else None,
)
