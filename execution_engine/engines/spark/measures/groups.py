"""Metrics measured ``by`` columns: one value for each group, all metrics of the same groups in one job."""

from collections.abc import Sequence
from itertools import groupby

from execution_engine.engines.gathering.assembly import plan
from execution_engine.engines.gathering.groups import in_order, of_statistics, of_summaries
from execution_engine.engines.gathering.selects import Keyed
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.engines.spark.failures import SPARK_ERRORS, failure_of
from execution_engine.engines.spark.jobs import action
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.definition import Kind
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupKey
from execution_engine.metrics.states.summary import Summary

from .frequencies import SUMMARY, any_null, keyless, summary_of
from .gather import collected, selected
from .statistics import aggregates, values


def measure_by(source: SparkSource, wanted: Sequence[Wanted]) -> dict[str, Measured]:
    """The measurements, by key; their values are how many groups there are, their states the groups' values."""
    ordered = sorted(wanted, key=lambda item: item.spec.by)
    measured: dict[str, Measured] = {}
    for by, items in groupby(ordered, key=lambda item: item.spec.by):
        alike = list(items)
        aggregated = [item for item in alike if METRICS[item.spec.name].kind is not Kind.GROUPING]
        measured |= _isolated(source, by, aggregated)
        for item in alike:
            if item not in aggregated:
                measured[item.key] = _by_keys(source, by, item)
    return measured


def _isolated(source: SparkSource, by: Sequence[str], wanted: Sequence[Wanted]) -> dict[str, Measured]:
    """All in one job; if it fails, each in its own."""
    if not wanted:
        return {}
    try:
        return _by_statistics(source, by, wanted)
    except SPARK_ERRORS as error:
        if len(wanted) == 1:
            return {wanted[0].key: Measured(failure=failure_of(error, source.name))}
        return {key: found for item in wanted for key, found in _isolated(source, by, [item]).items()}


def _by_statistics(source: SparkSource, by: Sequence[str], wanted: Sequence[Wanted]) -> dict[str, Measured]:
    planned = plan(wanted, source.write)
    asked = planned.asked
    written = [sql for one in asked for sql in aggregates(one.statistic, one.where)]
    rows = [] if source.rows == 0 else collected(source, written, _keys(source, by), most=MAX_GROUPS + 1)
    width = len(by)
    keys: list[GroupKey] = [tuple(row[:width]) for row in rows]
    order = in_order(keys)
    told = [dict(zip(asked, values([one.statistic for one in asked], row[width:]), strict=True)) for row in rows]
    measured: dict[str, Measured] = {}
    for item in wanted:
        named = planned.statistics[item.key]
        own = ((keys[at], {name: told[at][one] for name, one in named.items()}) for at in order)
        measured[item.key] = of_statistics(item, own)
    return measured


def _by_keys(source: SparkSource, by: Sequence[str], item: Wanted) -> Measured:
    """A grouping in each group: the keys of each are counted, then summed up."""
    try:
        summaries = [_summaries(source, by, each) for each in plan([item], source.write).groupings[item.key]]
    except SPARK_ERRORS as error:
        return Measured(failure=failure_of(error, source.name))
    keys = list(summaries[0])
    own = ((keys[at], tuple(each.get(keys[at], Summary()) for each in summaries)) for at in in_order(keys))
    return of_summaries(item, own)


def _summaries(source: SparkSource, by: Sequence[str], keyed: Keyed) -> dict[GroupKey, Summary]:
    if source.rows == 0:
        return {}
    null = f"({keyless(source, keyed.grouping)})"
    counts_for = [f"not ({any_null(source, keyed.grouping.present)})", *([keyed.where] if keyed.where else [])]
    hashed = f"case when {' and '.join(counts_for)} then {source.write.hash_of(keyed.grouping.columns)} end"
    keys = [f"{key} as k{at}" for at, key in enumerate(_keys(source, by))]
    names = [f"k{at}" for at in range(len(by))]
    rows = source.frame.selectExpr(*keys, f"{hashed} as h", f"{null} as n").groupBy(*names, "h", "n").count()
    counted = rows.selectExpr(*names, "n and h is not null as n", "case when h is null then 0 else count end as count")
    summed = selected(counted, SUMMARY, names).limit(MAX_GROUPS + 1)
    found = action(summed.collect, rows=source.rows)
    return {tuple(row[: len(by)]): summary_of(row[len(by) :]) for row in found}


def _keys(source: SparkSource, by: Sequence[str]) -> list[str]:
    return [f"cast({source.write.column(name)} as string)" for name in by]
