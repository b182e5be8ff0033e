"""Gathering statistics in Spark: each select one job, one that fails not taking others along."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from execution_engine.engines.files.footer_statistics import told
from execution_engine.engines.gathering.selects import AskedStatistic, Select, selects
from execution_engine.engines.spark.failures import OF_ALL, SPARK_ERRORS, failure_of
from execution_engine.engines.spark.jobs import action
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.states.merging import merge
from execution_engine.metrics.states.statistics import Statistic, Value, over_nothing
from execution_engine.outcome import Failure

from .statistics import aggregates, values


def gather(source: SparkSource, asked: Sequence[AskedStatistic]) -> dict[AskedStatistic, Value | Failure]:
    """Every statistic asked: told by the footers, or gathered in as few jobs as their kinds allow."""
    found: dict[AskedStatistic, Value | Failure] = dict(told(source.footers, asked))
    for select in selects([one for one in asked if one not in found], together=source.small):
        found |= _gathered(source, select)
    return found


def _gathered(source: SparkSource, select: Select) -> dict[AskedStatistic, Value | Failure]:
    try:
        return _by_mask(source, select) if select.clauses else _in_one(source, select.asked)
    except SPARK_ERRORS as error:
        return _halved(source, select.asked, failure_of(error, source.name))


def _in_one(source: SparkSource, asked: Sequence[AskedStatistic]) -> dict[AskedStatistic, Value | Failure]:
    written = [sql for one in asked for sql in aggregates(one.statistic, one.where)]
    (row,) = collected(source, written)
    return dict(zip(asked, values([one.statistic for one in asked], row), strict=True))


def _halved(
    source: SparkSource, asked: Sequence[AskedStatistic], failure: Failure
) -> dict[AskedStatistic, Value | Failure]:
    """Halves of a select that failed, so that one bad statistic among n costs log n selects."""
    if len(asked) == 1 or failure.reason in OF_ALL:
        return dict.fromkeys(asked, failure)
    middle = len(asked) // 2
    return _gathered(source, Select(asked=tuple(asked[:middle]))) | _gathered(
        source, Select(asked=tuple(asked[middle:]))
    )


def _by_mask(source: SparkSource, select: Select) -> dict[AskedStatistic, Value | Failure]:
    """Each statistic once for each combination of clauses that rows meet, merged over those of the wanted clause."""
    statistics = list(dict.fromkeys(one.statistic for one in select.asked))
    written = [sql for statistic in statistics for sql in aggregates(statistic)]
    rows = collected(source, written, by=[mask(select.clauses)])
    groups = [(row[0], dict(zip(statistics, values(statistics, row[1:]), strict=True))) for row in rows]
    bits = {clause: 1 << at for at, clause in enumerate(select.clauses)}
    return {one: _over(groups, one.statistic, bits.get(one.where or "")) for one in select.asked}


def _over(groups: Sequence[tuple[int, Mapping[Statistic, Value]]], statistic: Statistic, bit: int | None) -> Value:
    parts = [found[statistic] for met, found in groups if bit is None or met & bit]
    return merge(statistic, parts) if parts else over_nothing(statistic)


def mask(clauses: Sequence[str]) -> str:
    """Which of the conditions a row meets, as the bits of a number."""
    return " + ".join(f"case when {clause} then {1 << at} else 0 end" for at, clause in enumerate(clauses))


def collected(
    source: SparkSource, written: Sequence[str], by: Sequence[str] = (), most: int | None = None
) -> list[Any]:
    """The rows of a select of aggregates, as sequences, the keys first."""
    found = selected(source.frame, written, by)
    return action((found if most is None else found.limit(most)).collect, rows=source.rows)


def selected(frame: DataFrame, written: Sequence[str], by: Sequence[str] = ()) -> DataFrame:
    """The aggregates over all rows, or for each key of ``by``, which come first."""
    if not by:
        return frame.selectExpr(*(f"{sql} as m{at}" for at, sql in enumerate(written)))
    keys = [expr(key).alias(f"k{at}") for at, key in enumerate(by)]
    return frame.groupBy(*keys).agg(*(expr(sql).alias(f"m{at}") for at, sql in enumerate(written)))
