"""How often keys occur, in Spark: hashes pulled into the driver and sorted there, or above a cap grouped by Spark.

Pulling wins: numpy sorts ten million hashes in a tenth of a second, where a shuffle of the keys takes most of a scan.
Equal keys have equal hashes, so that keys found to be unique are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from execution_engine.engines.files.footers import is_full
from execution_engine.engines.gathering import (
    NOTHING,
    Bins,
    Keyed,
    StatisticRequest,
    bins_between,
    condition_of,
    frequencies_of,
    in_order,
    of_bins,
    of_statistics,
    of_summaries,
    plan,
)
from execution_engine.engines.protocol import Measured, MeasurementRequest
from execution_engine.engines.spark.failures import SPARK_ERRORS, action, failure_of
from execution_engine.engines.spark.keys.key_sql import rows_of
from execution_engine.engines.spark.sources import SparkSource
from execution_engine.engines.spec_check import kind_problem
from execution_engine.metrics.definition import ColumnKind, Grouping, MetricKind
from execution_engine.metrics.definitions.uniqueness import MOST_VALUES, bins_of
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.states.frequencies import Counts, Frequencies
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupKey
from execution_engine.metrics.states.statistics import Gather, Statistic, Summary
from execution_engine.outcome import Failure

from .gather import aggregates, collected, mask, results_by_halves, selected, values

PULLED_ROWS = 50_000_000  # 400 MB a grouping
PULLED_BYTES = 512 * 1024 * 1024  # in one job, and so at once in the driver
BITS = 31  # clauses told by one column of integers
LISTED_ROWS = 50_000  # of a table so small that its keys come along with its statistics: above, a job more is cheaper


KeyFrequencies = Frequencies | Summary | Failure


def frequencies(
    source: SparkSource, requests: Sequence[Keyed], gathered: Mapping[StatisticRequest, Any]
) -> dict[Keyed, KeyFrequencies]:
    """Of each grouping: from the lists that came along with the statistics, else pulled."""
    lists = listed(source, requests)
    counted: dict[Keyed, KeyFrequencies] = {
        keyed: of_lists(*(gathered[request] for request in pair)) for keyed, pair in lists.items()
    }
    return counted | pulled(source, [keyed for keyed in requests if keyed not in lists])


def listed(source: SparkSource, requests: Sequence[Keyed]) -> dict[Keyed, tuple[StatisticRequest, StatisticRequest]]:
    """Of a table small enough, the keys as statistics: those without a null, and those with one."""
    if not source.small or source.rows is None or source.rows * max(len(requests), 1) > LISTED_ROWS:
        return {}
    return {keyed: lists_of(source, keyed) for keyed in requests}


def lists_of(source: SparkSource, keyed: Keyed) -> tuple[StatisticRequest, StatisticRequest]:
    """The keys as statistics: those without a null, and those with one."""
    hashed, null = source.write.hash_of(keyed.grouping.columns), keyless(source, keyed.grouping)
    present = f"not ({any_null(source, keyed.grouping.present)})"
    conditions = f"not ({null}) and {present}", f"({null}) and {present}"
    whole, with_nulls = (
        StatisticRequest(
            statistic=Statistic(gather=Gather.KEYS, of=(f"case when {condition} then {hashed} end",)), where=keyed.where
        )
        for condition in conditions
    )
    return whole, with_nulls


def of_lists(whole: Any, with_nulls: Any) -> KeyFrequencies:
    """The frequencies of the keys listed."""
    failures = [keys for keys in (whole, with_nulls) if isinstance(keys, Failure)]
    if failures:
        return failures[0]
    counts = (Counts() if keys is None else Counts.of(keys) for keys in (whole, with_nulls))
    return Frequencies(whole=next(counts), with_nulls=next(counts))


def pulled(source: SparkSource, requests: Sequence[Keyed]) -> dict[Keyed, KeyFrequencies]:
    """The frequencies of each grouping; only their summaries where there are too many rows to pull."""
    if source.rows == 0:
        return {keyed: Frequencies() for keyed in requests}
    results: dict[Keyed, KeyFrequencies] = {}
    try:
        rows = source.rows if source.rows is not None else action(source.frame.count, rows=None)
    except SPARK_ERRORS as error:
        return dict.fromkeys(requests, failure_of(error, source.name))
    if rows > PULLED_ROWS:
        for keyed in requests:
            try:
                results[keyed] = _summaries(source, (), keyed)[()]
            except SPARK_ERRORS as error:
                results[keyed] = failure_of(error, source.name)
        return results
    for batch in batches(requests, rows):
        results |= zip(batch, results_by_halves(source, batch, partial(_pull, source)), strict=True)
    return results


def batches(requests: Sequence[Keyed], rows: int) -> Iterator[list[Keyed]]:
    """What is pulled in one job: every clause of a grouping with it, as its hashes are the same under each."""
    groupings = list(dict.fromkeys(keyed.grouping for keyed in requests))
    at_once = max(1, PULLED_BYTES // (8 * max(rows, 1)))
    for start in range(0, len(groupings), at_once):
        chunk = groupings[start : start + at_once]
        yield [keyed for keyed in requests if keyed.grouping in chunk]


def _pull(source: SparkSource, requests: Sequence[Keyed]) -> list[KeyFrequencies]:
    """One job: the hash of each grouping, the nulls of each column, and which clauses a row meets."""
    hashes = {grouping: f"h{at}" for at, grouping in enumerate(dict.fromkeys(keyed.grouping for keyed in requests))}
    clauses = list(dict.fromkeys(keyed.where for keyed in requests if keyed.where is not None))
    names = dict.fromkeys(name for grouping in hashes for name in (*grouping.columns, *grouping.present))
    nullable = [name for name in names if not is_full(source.footers, name)]  # footers may rule nulls out
    nulls = {name: f"n{at}" for at, name in enumerate(nullable)}
    written = [f"{source.write.hash_of(grouping.columns)} as {alias}" for grouping, alias in hashes.items()]
    written += [f"isnull({source.write.column(name)}) as {alias}" for name, alias in nulls.items()]
    written += [f"{mask(clauses[at : at + BITS])} as w{at // BITS}" for at in range(0, len(clauses), BITS)]
    table = action(source.frame.selectExpr(*written).toArrow, rows=source.rows)
    arrays = {name: table.column(name).to_numpy() for name in table.column_names}
    null = {name: arrays[alias] for name, alias in nulls.items()}
    results: list[KeyFrequencies] = []
    for keyed in requests:
        met: npt.NDArray[np.bool_] | None = None
        if keyed.where is not None:
            column, bit = divmod(clauses.index(keyed.where), BITS)
            met = (arrays[f"w{column}"] & (1 << bit)) != 0
        results.append(frequencies_of(arrays[hashes[keyed.grouping]], keyed.grouping, null, met))
    return results


def summary_of(row: Sequence[Any]) -> Summary:
    """What the aggregates of ``SUMMARY`` gave."""
    names = (member.name for member in fields(Summary))
    return Summary(**dict(zip(names, (value or 0 for value in row), strict=True)))


SUMMARY = (  # over hashes h with nulls or not n, each count times; the fields of a Summary in their order
    "sum(case when not n then count end)",
    "count_if(not n and count > 0)",
    "count_if(not n and count = 1)",
    "max(case when not n then count end)",
    "sum(case when not n and count > 0 then count * ln(count) end)",
    "count_if(n and count > 0)",
    "sum(case when n then count end)",
)


def keyless(source: SparkSource, grouping: Grouping) -> str:
    """The condition that a row has no key."""
    if not grouping.partial:
        return any_null(source, grouping.columns)
    return " and ".join(f"isnull({source.write.column(name)})" for name in grouping.columns)


def any_null(source: SparkSource, names: Sequence[str]) -> str:
    """The condition that one of the columns is null."""
    return " or ".join(f"isnull({source.write.column(name)})" for name in names) or "false"


# Metrics measured ``by`` columns: one value for each group, all metrics of the same groups in one job.


def measure_by(source: SparkSource, requests: Sequence[MeasurementRequest]) -> dict[str, Measured]:
    """The measurements, by key; their values are how many groups there are, their states the groups' values."""
    ordered = sorted(requests, key=lambda item: item.spec.by)
    measured: dict[str, Measured] = {}
    for by, items in groupby(ordered, key=lambda item: item.spec.by):
        alike = list(items)
        aggregated = [item for item in alike if METRICS[item.spec.name].kind is not MetricKind.GROUPING]
        results = results_by_halves(source, aggregated, partial(_by_statistics, source, by)) if aggregated else []
        for item, result in zip(aggregated, results, strict=True):
            measured[item.key] = Measured(failure=result) if isinstance(result, Failure) else result
        for item in alike:
            if item in aggregated:
                continue
            try:  # the keys of each group are counted, then summed up
                keyed = plan([item], source.write).groupings[item.key]
                summaries = [_summaries(source, by, grouping) for grouping in keyed]
            except SPARK_ERRORS as error:
                measured[item.key] = Measured(failure=failure_of(error, source.name))
                continue
            keys = list(summaries[0])
            own = [(keys[at], tuple(groups.get(keys[at], Summary()) for groups in summaries)) for at in in_order(keys)]
            measured[item.key] = of_summaries(item, own)
    return measured


def _by_statistics(source: SparkSource, by: Sequence[str], requests: Sequence[MeasurementRequest]) -> list[Measured]:
    planned = plan(requests, source.write)
    statistic_requests = planned.statistic_requests
    written = [sql for request in statistic_requests for sql in aggregates(request.statistic, request.where)]
    rows = [] if source.rows == 0 else collected(source, written, _keys(source, by), most=MAX_GROUPS + 1)
    width = len(by)
    keys: list[GroupKey] = [tuple(row[:width]) for row in rows]
    order = in_order(keys)
    statistics = [
        dict(
            zip(
                statistic_requests,
                values([request.statistic for request in statistic_requests], row[width:]),
                strict=True,
            )
        )
        for row in rows
    ]
    measured = []
    for item in requests:
        named = planned.statistics[item.key]
        own = ((keys[at], {name: statistics[at][request] for name, request in named.items()}) for at in order)
        measured.append(of_statistics(item, own))
    return measured


def _summaries(source: SparkSource, by: Sequence[str], keyed: Keyed) -> dict[GroupKey, Summary]:
    """Of each group, or by no columns of all rows, by a shuffle of the hashes."""
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
    results = action(summed.collect, rows=source.rows)
    return {tuple(row[: len(by)]): summary_of(row[len(by) :]) for row in results}


def _keys(source: SparkSource, by: Sequence[str]) -> list[str]:
    return [f"cast({source.write.column(name)} as string)" for name in by]


# Histograms in Spark: how often each value occurs, or numbers cut into bins of one width.


def take_histogram(source: SparkSource, item: MeasurementRequest) -> Measured:
    """The number of values or bins; the detail has their counts, those of values the most frequent first."""
    if source.rows == 0:
        return NOTHING
    bins = bins_of(item.spec)
    if bins is None:
        text = f"cast({source.write.column(item.spec.columns[0])} as string)"
        chosen = rows_of(source, condition_of(item.spec, source.write)).selectExpr(f"{text} as value")
        frame = chosen.groupBy("value").count()
        frame = frame.selectExpr("value", "count", "count(*) over () as values", "sum(count) over () as rows")
        most = frame.orderBy("count", "value", ascending=[False, True]).limit(MOST_VALUES)
        results = action(most.collect, rows=source.rows)
        if not results:
            return NOTHING
        total = results[0]["rows"]
        shares = [{"value": row["value"], "count": row["count"], "ratio": row["count"] / total} for row in results]
        return Measured(value=float(results[0]["values"]), detail={"rows": total, "bins": shares})
    if problem := kind_problem(item.spec, ColumnKind.NUMERIC, source.kinds, source.name):
        return Measured(failure=problem)
    # two jobs: the least and the greatest number, then how many lie in each bin; the last bin has both its ends
    number = source.write.number(item.spec.columns[0])
    rows = rows_of(source, condition_of(item.spec, source.write)).selectExpr(f"{number} as x")
    ((least, greatest),) = action(rows.selectExpr("min(x)", "max(x)").collect, rows=source.rows)
    bounds = bins_between(item, source.name, least, greatest, bins)
    if not isinstance(bounds, Bins):
        return bounds
    place = f"least(floor((x - {bounds.low!r}D) / {bounds.width!r}D), {bins - 1})"
    at = f"case when x is not null then cast({place} as int) end"  # least() alone would put the nulls there too
    counted = action(rows.selectExpr(f"{at} as at").groupBy("at").count().collect, rows=source.rows)
    return of_bins(bounds, {row["at"]: row["count"] for row in counted})
