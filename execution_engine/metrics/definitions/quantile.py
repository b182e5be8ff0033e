"""``quantile(column, q)``: the exact q-quantile, 0 <= q <= 1, linear between neighbours (numpy's default), and
``approx_quantile(column, q)``: a value whose rank is near, from a sketch that merges. Deequ: ApproxQuantile."""

from execution_engine.metrics.definition import Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.signature import ArgumentType, ColumnKind, Signature
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.sketches import quantile_of
from execution_engine.metrics.states.statistics import Gather, Statistic


def _signature(name: str) -> Signature:
    return Signature(
        name=name,
        min_columns=1,
        max_columns=1,
        column_kind=ColumnKind.NUMERIC,
        arguments=(ArgumentType.NUMBER,),
    )


def _problem(spec: MetricSpec) -> str | None:
    share = spec.arguments[0]
    known = isinstance(share, int | float) and 0 <= share <= 1
    return None if known else f"the quantile must lie between 0 and 1, not {share}"


QUANTILE = MetricDefinition(
    signature=_signature("quantile"),
    kind=Kind.AGGREGATE,
    tells_values=True,
    formula="x with rank 1 + q (n - 1) among the n values, linear between neighbours",
    source="numpy.quantile's default; Hyndman and Fan 1996, type 7",
    meaning="the value below which this share of the values lies",
    dimension=Dimension.ACCURACY,
    statistics=lambda spec, write: {
        "quantile": Statistic(
            gather=Gather.PERCENTILE, of=(write.number(spec.columns[0]),), argument=float(spec.arguments[0])
        )
    },
    value=lambda spec, found: found["quantile"],
    problem=_problem,
    plain_sql=False,
)
APPROX_QUANTILE = MetricDefinition(
    signature=_signature("approx_quantile"),
    kind=Kind.SKETCH,
    tells_values=True,
    formula="a value whose rank share lies within 0.7 % of q, in 99 % of cases",
    source="Schelter et al. 2018, Table 2: ApproxQuantile; KLL sketch (Karnin, Lang, Liberty 2016)",
    meaning="about the value below which this share of the values lies",
    dimension=Dimension.ACCURACY,
    statistics=lambda spec, write: {"kll": Statistic(gather=Gather.KLL, of=(write.number(spec.columns[0]),))},
    value=lambda spec, found: None if found["kll"] is None else quantile_of(found["kll"], float(spec.arguments[0])),
    problem=_problem,
)
