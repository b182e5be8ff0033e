"""Metrics measured ``by`` columns: one value for each group, all metrics of the same groups in one job."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from execution_engine.engines.gathering.assembly import Plan, plan
from execution_engine.engines.gathering.selects import Keyed
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.engines.spark.failures import SPARK_ERRORS, failure_of
from execution_engine.engines.spark.jobs import action
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.exact import Number, number_of
from execution_engine.metrics.definition import Kind
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupKey, GroupValues, too_many_groups
from execution_engine.metrics.states.summary import Summary

from .frequencies import SUMMARY, any_null, keyless, summary_of
from .gather import collected, selected
from .statistics import aggregates, values

Groups = Mapping[GroupKey, Any]


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
    groups = {
        tuple(row[:width]): dict(zip(asked, values([one.statistic for one in asked], row[width:]), strict=True))
        for row in rows
    }
    return {item.key: _measured(by, _values(item, planned, groups)) for item in wanted}


def _values(item: Wanted, planned: Plan, groups: Groups) -> dict[GroupKey, Number | None]:
    value = METRICS[item.spec.name].value
    assert value is not None
    named = planned.statistics[item.key]
    values = {key: value(item.spec, {name: found[one] for name, one in named.items()}) for key, found in groups.items()}
    return {key: None if each is None else number_of(each) for key, each in values.items()}


def _by_keys(source: SparkSource, by: Sequence[str], item: Wanted) -> Measured:
    """A grouping in each group: the keys of each are counted, then summed up."""
    try:
        (keyed, *others) = plan([item], source.write).groupings[item.key]
        summaries = [_summaries(source, by, each) for each in (keyed, *others)]
    except SPARK_ERRORS as error:
        return Measured(failure=failure_of(error, source.name))
    from_summaries = METRICS[item.spec.name].from_summaries
    assert from_summaries is not None
    keys = summaries[0]
    found = {key: from_summaries(item.spec, tuple(each.get(key, Summary()) for each in summaries)) for key in keys}
    return _measured(by, found)


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


def _measured(by: Sequence[str], found: Mapping[GroupKey, Number | None]) -> Measured:
    if len(found) > MAX_GROUPS:
        return Measured(failure=too_many_groups(by))
    state = GroupValues(columns=tuple(by), groups=found).to_bytes()
    return Measured(value=float(len(found)), state=state)
