"""Gathering statistics in Spark: each select one job, one that fails not taking others along."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from execution_engine.engines.files.footers import footer_values
from execution_engine.engines.gathering import Select, StatisticRequest, selects
from execution_engine.engines.spark.failures import OF_ALL, SPARK_ERRORS, action, failure_of
from execution_engine.engines.spark.sources import SparkSource
from execution_engine.metrics.states import hll
from execution_engine.metrics.states.states import merge
from execution_engine.metrics.states.statistics import KLL_SIZE, Gather, Statistic, Value, over_nothing
from execution_engine.outcome import Failure

Item = TypeVar("Item")
Result = TypeVar("Result")

# Statistics as aggregate functions of Spark, and their results as values.

PIECE_BITS = 21  # three pieces of a 64-bit number: sums of each stay within 64 bits up to 2^41 rows


def aggregates(statistic: Statistic, where: str | None = None) -> list[str]:
    """The aggregate functions that give the statistic, over the rows that meet the SQL condition ``where``."""
    of = [expression if where is None else f"case when {where} then {expression} end" for expression in statistic.of]
    match statistic.gather:
        case Gather.MOMENTS:
            return [f"count({of[0]})", f"avg({of[0]})", f"var_pop({of[0]})"]
        case Gather.COMOMENTS:  # of the rows where both are there
            x, y = of
            left, right = f"case when {y} is not null then {x} end", f"case when {x} is not null then {y} end"
            pairs = f"count(case when {x} is not null and {y} is not null then 1 end)"
            means, variances = [f"avg({left})", f"avg({right})"], [f"var_pop({left})", f"var_pop({right})"]
            return [pairs, *means, *variances, f"covar_pop({left}, {right})"]
        case Gather.HLL:
            return [f"hll_sketch_agg({of[0]}, {hll.LOG2_BUCKETS})"]
        case Gather.KLL:
            return [f"kll_sketch_agg_double({of[0]}, {KLL_SIZE})"]
        case Gather.KEYS:
            return [f"collect_list({of[0]})"]
        case Gather.LONG_SUM:  # of high, middle and low bits: sums of decimals cost several times as much
            low = (1 << PIECE_BITS) - 1
            high, rest = f"shiftright({of[0]}, {2 * PIECE_BITS})", f"shiftright({of[0]}, {PIECE_BITS})"
            return [f"sum({high})", f"sum(({rest} & {low}))", f"sum(({of[0]} & {low}))"]
        case Gather.PERCENTILE:
            return [f"percentile({of[0]}, {statistic.argument!r}D)"]
    return [f"{statistic.gather.value}({of[0]})"]


def values(statistics: Sequence[Statistic], results: Sequence[Any]) -> list[Value]:
    """The values of the statistics from the results of their aggregates, one after the other."""
    waiting, taken = iter(results), list[Value]()
    for statistic in statistics:
        value = next(waiting)
        match statistic.gather:
            case Gather.MOMENTS:
                count, mean, variance = value, next(waiting), next(waiting)
                value = (count, mean, variance * count) if count else None
            case Gather.COMOMENTS:
                count, rest = value, [next(waiting) for _ in range(5)]
                value = (count, *rest[:2], *(moment * count for moment in rest[2:])) if count else None
            case Gather.HLL if value is not None:
                value = hll.canonical(bytes(value))
            case Gather.KLL if value is not None:
                value = bytes(value)
            case Gather.LONG_SUM:
                high, middle, low = value, next(waiting), next(waiting)
                value = None if high is None else (high << 2 * PIECE_BITS) + (middle << PIECE_BITS) + low
            case Gather.MIN | Gather.MAX if isinstance(value, float):
                value += 0.0  # of 0.0 and -0.0, which are equal, the first
            case Gather.KEYS:
                value = np.array(value or (), dtype=np.int64)
        taken.append(value)
    return taken


def gather(source: SparkSource, requests: Sequence[StatisticRequest]) -> dict[StatisticRequest, Value | Failure]:
    """Every statistic asked: told by the footers, or gathered in as few jobs as their kinds allow."""
    results: dict[StatisticRequest, Value | Failure] = dict(footer_values(source.footers, requests))
    for select in selects([request for request in requests if request not in results], together=source.small):
        job = partial(_collect_select, source, select)
        results |= zip(select.requests, results_by_halves(source, select.requests, job), strict=True)
    return results


def results_by_halves(
    source: SparkSource, items: Sequence[Item], job: Callable[[Sequence[Item]], Sequence[Result]]
) -> list[Result | Failure]:
    """What one job gives for each item; if it fails, those of halves, so that one bad item among n costs log n jobs."""
    try:
        return list(job(items))
    except SPARK_ERRORS as error:
        failure = failure_of(error, source.name)
    if len(items) == 1 or failure.reason in OF_ALL:
        return [failure] * len(items)
    middle = len(items) // 2
    return [*results_by_halves(source, items[:middle], job), *results_by_halves(source, items[middle:], job)]


def _collect_select(source: SparkSource, select: Select, requests: Sequence[StatisticRequest]) -> list[Value]:
    if not select.clauses or len(requests) < len(select.requests):
        written = [sql for request in requests for sql in aggregates(request.statistic, request.where)]
        (row,) = collected(source, written)
        return values([request.statistic for request in requests], row)
    # each statistic once for each combination of clauses that rows meet, merged over those of the wanted clause
    statistics = list(dict.fromkeys(request.statistic for request in select.requests))
    written = [sql for statistic in statistics for sql in aggregates(statistic)]
    rows = collected(source, written, by=[mask(select.clauses)])
    groups = [(row[0], dict(zip(statistics, values(statistics, row[1:]), strict=True))) for row in rows]
    bits = {clause: 1 << at for at, clause in enumerate(select.clauses)}
    merged = []
    for request in select.requests:
        bit = bits.get(request.where or "")
        parts = [group[request.statistic] for met, group in groups if bit is None or met & bit]
        merged.append(merge(request.statistic, parts) if parts else over_nothing(request.statistic))
    return merged


def mask(clauses: Sequence[str]) -> str:
    """Which of the conditions a row meets, as the bits of a number."""
    return " + ".join(f"case when {clause} then {1 << at} else 0 end" for at, clause in enumerate(clauses))


def collected(
    source: SparkSource, written: Sequence[str], by: Sequence[str] = (), most: int | None = None
) -> list[Any]:
    """The rows of a select of aggregates, as sequences, the keys first."""
    frame = selected(source.frame, written, by)
    return action((frame if most is None else frame.limit(most)).collect, rows=source.rows)


def selected(frame: DataFrame, written: Sequence[str], by: Sequence[str] = ()) -> DataFrame:
    """The aggregates over all rows, or for each key of ``by``, which come first."""
    if not by:
        return frame.selectExpr(*(f"{sql} as m{at}" for at, sql in enumerate(written)))
    keys = [expr(key).alias(f"k{at}") for at, key in enumerate(by)]
    return frame.groupBy(*keys).agg(*(expr(sql).alias(f"m{at}") for at, sql in enumerate(written)))
