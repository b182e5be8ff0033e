"""Histograms in Spark: how often each value occurs, or numbers cut into bins of one width."""

from execution_engine.engines.columns.spec_check import kind_problem
from execution_engine.engines.gathering.histograms import NOTHING, Bins, bins_between, of_bins
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.engines.spark.jobs import action
from execution_engine.engines.spark.keys.key_sql import rows_of
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.definitions.histogram import MOST_VALUES, bins_of
from execution_engine.metrics.signature import ColumnKind


def take_histogram(source: SparkSource, item: Wanted) -> Measured:
    """The number of values or bins; the detail has their counts, those of values the most frequent first."""
    if source.rows == 0:
        return NOTHING
    bins = bins_of(item.spec)
    return _of_values(source, item) if bins is None else _of_bins(source, item, bins)


def _of_values(source: SparkSource, item: Wanted) -> Measured:
    text = f"cast({source.write.column(item.spec.columns[0])} as string)"
    counted = rows_of(source, _where(source, item)).selectExpr(f"{text} as value").groupBy("value").count()
    told = counted.selectExpr("value", "count", "count(*) over () as values", "sum(count) over () as rows")
    found = action(told.orderBy("count", "value", ascending=[False, True]).limit(MOST_VALUES).collect, rows=source.rows)
    if not found:
        return NOTHING
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
    least, greatest = ends
    wanted = bins_between(item, source.name, least, greatest, bins)
    if not isinstance(wanted, Bins):
        return wanted
    last = bins - 1  # least() alone would put the nulls there too
    place = f"least(floor((x - {wanted.low!r}D) / {wanted.width!r}D), {last})"
    at = f"case when x is not null then cast({place} as int) end"
    counted = action(rows.selectExpr(f"{at} as at").groupBy("at").count().collect, rows=source.rows)
    return of_bins(wanted, {row["at"]: row["count"] for row in counted})


def _where(source: SparkSource, item: Wanted) -> str | None:
    return None if item.spec.where is None else source.write.condition(item.spec.where)
