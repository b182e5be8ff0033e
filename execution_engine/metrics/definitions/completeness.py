"""``completeness(column)``: rows whose value is not null / rows. Deequ: Completeness."""

from execution_engine.metrics.definition import Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.signature import Signature
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import ROWS, Gather, Statistic

from .shares import share


def _statistics(spec: MetricSpec, write: Expressions) -> dict[str, Statistic]:
    column = spec.columns[0]
    return {"met": Statistic(gather=Gather.COUNT, of=(write.column(column),), column=column), "rows": ROWS}


COMPLETENESS = MetricDefinition(
    signature=Signature(name="completeness", min_columns=1, max_columns=1),
    kind=Kind.AGGREGATE,
    formula="|{d ∈ D : d(column) ≠ null}| / N",
    source="Schelter et al. 2018, Table 2: Completeness",
    meaning="the share of rows that have a value",
    dimension=Dimension.COMPLETENESS,
    statistics=_statistics,
    value=share,
    breaks=lambda spec, write: f"{write.column(spec.columns[0])} is null",
)
