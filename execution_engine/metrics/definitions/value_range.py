"""``in_range(column, low, high)``: of the values that are there, those from ``low`` to ``high``, both included."""

from decimal import Decimal

from execution_engine.exact import decimal_of
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.signature import ArgumentType, ColumnKind, Signature
from execution_engine.metrics.spec import Literal, MetricSpec

from .shares import share_of_rows

MOST_EXACT = 10**19  # beyond it no decimal of Spark's has room for the digits behind the point


def _problem(spec: MetricSpec) -> str | None:
    low, high = (float(value) for value in spec.arguments)
    return None if low <= high else f"the range is empty, as {low:g} > {high:g}; write the lower bound first"


def _within(spec: MetricSpec, write: Expressions) -> str:
    """Whole numbers and decimals are compared with every digit, others as doubles."""
    column, low, high = spec.columns[0], _bound(spec.arguments[0]), _bound(spec.arguments[1])
    if (write.type_of(column) or "").startswith(("bigint", "decimal")) and max(abs(low), abs(high)) < MOST_EXACT:
        return f"{write.column(column)} between {low:f} and {high:f}"
    return f"{write.number(column)} between {float(low)!r} and {float(high)!r}"


def _bound(said: Literal) -> Decimal:
    return decimal_of(float(said) if isinstance(said, str) else said)


IN_RANGE = share_of_rows(
    Signature(
        name="in_range",
        min_columns=1,
        max_columns=1,
        column_kind=ColumnKind.NUMERIC,
        arguments=(ArgumentType.NUMBER, ArgumentType.NUMBER),
    ),
    among=lambda spec, write: f"{write.column(spec.columns[0])} is not null",
    met=_within,
    formula="|{d ∈ D : low ≤ d(column) ≤ high}| / |{d ∈ D : d(column) ≠ null}|",
    source="Schelter et al. 2018, Table 1: hasValueRange; Table 2: ValueRange",
    meaning="the share of values between the two numbers",
    dimension=Dimension.VALIDITY,
    problem=_problem,
)
