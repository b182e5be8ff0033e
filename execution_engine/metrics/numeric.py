"""``min max mean sum stddev`` of a column of numbers, nulls left out; NULL where nothing is left, as in SQL."""

from collections.abc import Mapping
from math import sqrt
from typing import Any

from .definition import FromStatistics, Kind, MetricDefinition
from .expressions import Expressions
from .signature import ColumnKind, Signature
from .spec import MetricSpec
from .statistics import Gather, Statistic


def _gathers(*gathers: Gather) -> Any:
    def statistics(spec: MetricSpec, write: Expressions) -> dict[str, Statistic]:
        column = spec.columns[0]
        return {
            each.value: Statistic(gather=each, of=(_written(each, column, write),), column=column) for each in gathers
        }

    return statistics


def _written(gather: Gather, column: str, write: Expressions) -> str:
    """Counting needs no conversion, and then shares its count with completeness."""
    return write.column(column) if gather is Gather.COUNT else write.number(column)


def _only(spec: MetricSpec, found: Mapping[str, Any]) -> float | None:
    (value,) = found.values()
    return None if value is None else float(value)


def _mean(spec: MetricSpec, found: Mapping[str, Any]) -> float | None:
    return found["sum"] / found["count"] if found["count"] else None


def _stddev(spec: MetricSpec, found: Mapping[str, Any]) -> float | None:
    moments = found["moments"]
    return sqrt(max(0.0, moments[2]) / moments[0]) if moments else None


def _of_a_number(
    name: str, *gathers: Gather, value: FromStatistics, formula: str, portable: bool = True
) -> MetricDefinition:
    return MetricDefinition(
        signature=Signature(name=name, min_columns=1, max_columns=1, column_kind=ColumnKind.NUMERIC),
        kind=Kind.AGGREGATE,
        formula=formula,
        source=f"Schelter et al. 2018, Table 2; SQL's {name}",
        statistics=_gathers(*gathers),
        value=value,
        portable=portable,
    )


MIN = _of_a_number("min", Gather.MIN, value=_only, formula="min d(column)")
MAX = _of_a_number("max", Gather.MAX, value=_only, formula="max d(column)")
SUM = _of_a_number("sum", Gather.SUM, value=_only, formula="Σ d(column)")
MEAN = _of_a_number("mean", Gather.SUM, Gather.COUNT, value=_mean, formula="Σ d(column) / |{d : d(column) ≠ null}|")
STDDEV = _of_a_number(
    "stddev",
    Gather.MOMENTS,
    value=_stddev,
    formula="√(Σ (d(column) - mean)² / |{d : d(column) ≠ null}|), of the population",
    portable=False,  # SQLite has no function for it
)
