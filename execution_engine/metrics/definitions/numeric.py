"""``min max mean sum stddev`` of a column of numbers, nulls left out; NULL where nothing is left, as in SQL."""

from collections.abc import Mapping
from dataclasses import replace
from math import isnan, sqrt
from typing import Any

from execution_engine.exact import Number
from execution_engine.metrics.definition import FromStatistics, Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.signature import ColumnKind, Signature
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import Gather, Statistic


def _gathers(*gathers: Gather) -> Any:
    def statistics(spec: MetricSpec, write: Expressions) -> dict[str, Statistic]:
        column = spec.columns[0]
        return {
            each.value: Statistic(
                gather=Gather.LONG_SUM if each is Gather.SUM and write.is_long(column) else each,
                of=(_written(each, column, write),),
                column=column,
            )
            for each in gathers
        }

    return statistics


def _written(gather: Gather, column: str, write: Expressions) -> str:
    """Counting needs no conversion, and then shares its count with completeness; deviations are those of doubles."""
    if gather is Gather.COUNT:
        return write.column(column)
    return write.number(column) if gather is Gather.MOMENTS else write.exact(column)


def _extremes(spec: MetricSpec, write: Expressions) -> dict[str, Statistic]:
    """Of floats the greatest too: that is NaN, in Spark's order, where there is one."""
    gathers = (Gather.MIN, Gather.MAX) if write.no_nan(spec.columns[0]) != "true" else (Gather.MIN,)
    found: dict[str, Statistic] = _gathers(*gathers)(spec, write)
    return found


def _least(spec: MetricSpec, found: Mapping[str, Any]) -> Number | None:
    """NaN where there is one, as for every other statistic of the column."""
    return max(found.values(), key=isnan) if None not in found.values() else None


def _only(spec: MetricSpec, found: Mapping[str, Any]) -> Number | None:
    (value,) = found.values()
    known: Number | None = value
    return known


def _mean(spec: MetricSpec, found: Mapping[str, Any]) -> float | None:
    if not found["count"]:
        return None
    return float(found["sum"] / found["count"])


def _stddev(spec: MetricSpec, found: Mapping[str, Any]) -> float | None:
    moments = found["moments"]
    return sqrt(max(moments[2], 0.0) / moments[0]) if moments else None  # in this order NaN stays what it is


def _of_a_number(
    name: str,
    *gathers: Gather,
    value: FromStatistics,
    formula: str,
    meaning: str,
    dimension: Dimension,
    plain_sql: bool = True,
) -> MetricDefinition:
    return MetricDefinition(
        signature=Signature(name=name, min_columns=1, max_columns=1, column_kind=ColumnKind.NUMERIC),
        kind=Kind.AGGREGATE,
        tells_values=True,
        formula=formula,
        source=f"Schelter et al. 2018, Table 2; SQL's {name}",
        meaning=meaning,
        dimension=dimension,
        statistics=_gathers(*gathers),
        value=value,
        plain_sql=plain_sql,
    )


MIN = replace(
    _of_a_number(
        "min",
        Gather.MIN,
        value=_least,
        formula="min d(column)",
        meaning="the least value",
        dimension=Dimension.VALIDITY,
    ),
    statistics=_extremes,
)
MAX = _of_a_number(
    "max", Gather.MAX, value=_only, formula="max d(column)", meaning="the greatest value", dimension=Dimension.VALIDITY
)
SUM = replace(
    _of_a_number(
        "sum",
        Gather.SUM,
        value=_only,
        formula="Σ d(column)",
        meaning="the sum of the values",
        dimension=Dimension.ACCURACY,
    ),
    adds_up=True,
)
MEAN = _of_a_number(
    "mean",
    Gather.SUM,
    Gather.COUNT,
    value=_mean,
    formula="Σ d(column) / |{d : d(column) ≠ null}|",
    meaning="the mean of the values",
    dimension=Dimension.ACCURACY,
)
STDDEV = _of_a_number(
    "stddev",
    Gather.MOMENTS,
    value=_stddev,
    formula="√(Σ (d(column) - mean)² / |{d : d(column) ≠ null}|), of the population",
    meaning="the standard deviation of the values",
    dimension=Dimension.ACCURACY,
    plain_sql=False,  # SQLite has no function for it
)
