"""``less_than(a, b)``: of the rows where both are there, those in which the first is less than the second.

A NaN is neither less nor greater than a number.
"""

from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.signature import Signature
from execution_engine.metrics.spec import MetricSpec

from .shares import share_of_rows


def _both(spec: MetricSpec, write: Expressions) -> str:
    return " and ".join(f"{write.column(name)} is not null" for name in spec.columns)


def _less(spec: MetricSpec, write: Expressions) -> str:
    first, second = (write.column(name) for name in spec.columns)
    return f"{first} < {second} and {write.no_nan(spec.columns[1])}"


LESS_THAN = share_of_rows(
    Signature(name="less_than", min_columns=2, max_columns=2),
    among=_both,
    met=_less,
    formula="|{d ∈ D : d(a) < d(b)}| / |{d ∈ D : d(a), d(b) ≠ null}|",
    source="Schelter et al. 2018, Table 1: isLessThan",
    meaning="the share of rows in which the first column is less than the second",
    dimension=Dimension.VALIDITY,
)
