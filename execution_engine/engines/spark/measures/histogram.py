"""Histograms in Spark: how often each value occurs, or numbers cut into bins of one width."""

from collections.abc import Sequence
from typing import Any

from execution_engine.engines.columns.spec_check import kind_problem
from execution_engine.engines.protocol import Measured, Wanted, failed
from execution_engine.engines.spark.jobs import action
from execution_engine.engines.spark.keys.key_sql import rows_of
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.definitions.histogram import MOST_VALUES, bins_of
from execution_engine.metrics.signature import ColumnKind
from execution_engine.outcome import Reason


def take_histogram(source: SparkSource, item: Wanted) -> Measured:
    """The number of values or bins; the detail has their counts, those of values the most frequent first."""
    if source.rows == 0:
        return Measured(value=0.0, detail={"rows": 0, "bins": []})
    bins = bins_of(item.spec)
    return _of_values(source, item) if bins is None else _of_bins(source, item, bins)


def _of_values(source: SparkSource, item: Wanted) -> Measured:
    text = f"cast({source.write.column(item.spec.columns[0])} as string)"
    counted = rows_of(source, _where(source, item)).selectExpr(f"{text} as value").groupBy("value").count()
    told = counted.selectExpr("value", "count", "count(*) over () as values", "sum(count) over () as rows")
    found = action(told.orderBy("count", "value", ascending=[False, True]).limit(MOST_VALUES).collect, rows=source.rows)
    if not found:
        return Measured(value=0.0, detail={"rows": 0, "bins": []})
    rows = found[0]["rows"]
    bins = [{"value": row["value"], "count": row["count"], "ratio": row["count"] / rows} for row in found]
    return Measured(value=float(found[0]["values"]), detail={"rows": rows, "bins": bins})


def _of_bins(source: SparkSource, item: Wanted, bins: int) -> Measured:
    """Two jobs: the least and the greatest number, then how many lie in each bin; the last bin has both its ends."""
    if problem := kind_problem(item.spec, ColumnKind.NUMERIC, source.kinds, source.name):
        return Measured(failure=problem)
    number = source.write.number(item.spec.columns[0])
    rows = rows_of(source, _where(source, item)).selectExpr(f"{number} as x")
    (ends,) = action(rows.selectExpr("min(x)", "max(x)").collect, rows=source.rows)
    low, high = ends
    if low is None:
        return Measured(value=0.0, detail={"rows": 0, "bins": []})
    if not float("-inf") < low <= high < float("inf"):
        detail = f"{item.spec.text} of {source.name} has values from {low} to {high}; leave some out with where="
        return failed(Reason.NOT_FINITE, detail)
    width = (high - low) / bins or 1.0
    last = bins - 1  # least() alone would put the nulls there too
    at = f"case when x is not null then cast(least(floor((x - {low!r}D) / {width!r}D), {last}) as int) end"
    counted = action(rows.selectExpr(f"{at} as at").groupBy("at").count().collect, rows=source.rows)
    return Measured(value=float(bins), detail=_detail(counted, low, width, bins))


def _detail(counted: Sequence[Any], low: float, width: float, bins: int) -> dict[str, Any]:
    counts = {row["at"]: row["count"] for row in counted}
    rows = sum(counts.values())
    return {
        "rows": rows,
        "nulls": counts.get(None, 0),
        "bins": [
            {
                "low": low + at * width,
                "high": low + (at + 1) * width,
                "count": counts.get(at, 0),
                "ratio": counts.get(at, 0) / rows,
            }
            for at in range(bins)
        ],
    }


def _where(source: SparkSource, item: Wanted) -> str | None:
    return None if item.spec.where is None else source.write.condition(item.spec.where)
