"""``in_range(column, low, high)``: of the values that are there, those from ``low`` to ``high``, both included."""

from .shares import share_of_rows
from .signature import ArgumentType, ColumnKind, Signature
from .spec import MetricSpec


def _problem(spec: MetricSpec) -> str | None:
    low, high = (float(value) for value in spec.arguments)
    return None if low <= high else f"the range is empty, as {low:g} > {high:g}; write the lower bound first"


IN_RANGE = share_of_rows(
    Signature(
        name="in_range",
        min_columns=1,
        max_columns=1,
        column_kind=ColumnKind.NUMERIC,
        arguments=(ArgumentType.NUMBER, ArgumentType.NUMBER),
    ),
    among=lambda spec, write: f"{write.column(spec.columns[0])} is not null",
    met=lambda spec, write: (
        f"{write.number(spec.columns[0])} between {float(spec.arguments[0])!r} and {float(spec.arguments[1])!r}"
    ),
    formula="|{d ∈ D : low ≤ d(column) ≤ high}| / |{d ∈ D : d(column) ≠ null}|",
    source="Schelter et al. 2018, Table 1: hasValueRange; Table 2: ValueRange",
    problem=_problem,
)
