"""``row_count()``: the number of rows. Deequ: Size."""

from execution_engine.metrics.definition import Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.signature import Signature
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import ROWS

ROW_COUNT = MetricDefinition(
    signature=Signature(name="row_count"),
    kind=Kind.AGGREGATE,
    formula="N",
    source="Schelter et al. 2018, Table 2: Size",
    meaning="how many rows there are",
    dimension=Dimension.COMPLETENESS,
    divides_shares=True,
    statistics=lambda spec, write: {"rows": ROWS},
    value=lambda spec, found: float(found["rows"]),
    sums_bound=True,
    adds_up=True,
)
ALL_ROWS = MetricSpec(name=ROW_COUNT.name)
