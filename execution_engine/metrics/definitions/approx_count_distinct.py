"""``approx_count_distinct(column)``: the distinct values that are not null, estimated. Deequ: ApproxCountDistinct."""

from execution_engine.metrics.definition import Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.signature import Signature
from execution_engine.metrics.states.sketches import distinct_of
from execution_engine.metrics.states.statistics import Gather, Statistic

APPROX_COUNT_DISTINCT = MetricDefinition(
    signature=Signature(name="approx_count_distinct", min_columns=1, max_columns=1),
    kind=Kind.SKETCH,
    formula="|V|, with a standard error of 1.6 %",
    source="Schelter et al. 2018, Table 2: ApproxCountDistinct; HyperLogLog of Apache DataSketches",
    meaning="about how many different values there are",
    dimension=Dimension.UNIQUENESS,
    statistics=lambda spec, write: {
        "hll": Statistic(gather=Gather.HLL, of=(write.hashable(spec.columns[0]),)),
    },
    value=lambda spec, found: 0.0 if found["hll"] is None else distinct_of(found["hll"]),
)
