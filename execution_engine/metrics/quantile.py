"""``quantile(column, q)``: the exact q-quantile, 0 <= q <= 1, linear between neighbours (numpy's default)."""

from .definition import Expressions, Kind, MetricDefinition
from .signature import ArgumentType, ColumnKind, Signature
from .spec import MetricSpec


def _sql(spec: MetricSpec, write: Expressions) -> str:
    return f"percentile({write.number(spec.columns[0])}, {float(spec.arguments[0])!r}D)"


QUANTILE = MetricDefinition(
    signature=Signature(
        name="quantile",
        min_columns=1,
        max_columns=1,
        column_kind=ColumnKind.NUMERIC,
        arguments=(ArgumentType.NUMBER,),
    ),
    kind=Kind.AGGREGATE,
    sql=_sql,
    portable=False,
)
