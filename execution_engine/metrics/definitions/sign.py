"""``non_negative(column) positive(column)``: rows whose number is 0 or above, or above 0; a null breaks neither."""

from execution_engine.metrics.definition import MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.signature import ColumnKind, Signature

from .shares import share_of_rows


def _compared(name: str, comparator: str, sign: str, *, source: str, meaning: str) -> MetricDefinition:
    return share_of_rows(
        Signature(name=name, min_columns=1, max_columns=1, column_kind=ColumnKind.NUMERIC),
        met=lambda spec, write: (
            f"{write.column(spec.columns[0])} is null or "
            f"({write.column(spec.columns[0])} {comparator} 0 and {write.no_nan(spec.columns[0])})"
        ),
        formula=f"|{{d ∈ D : d(column) {sign} 0 or null}}| / N; a NaN is no number",
        source=source,
        meaning=meaning,
        dimension=Dimension.VALIDITY,
    )


NON_NEGATIVE = _compared(
    "non_negative",
    ">=",
    "≥",
    source="Schelter et al. 2018, Table 1: isNonNegative",
    meaning="the share of rows without a negative value",
)
POSITIVE = _compared(
    "positive", ">", ">", source="Deequ's isPositive", meaning="the share of rows without a value of 0 or less"
)
