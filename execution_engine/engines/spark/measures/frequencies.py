"""How often keys occur, in Spark: hashes pulled into the driver and sorted there, or above a cap grouped by Spark.

Pulling wins: numpy sorts ten million hashes in a tenth of a second, where a shuffle of the keys takes most of a scan.
Equal keys have equal hashes, so that keys found to be unique are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from execution_engine.engines.files.footer_statistics import is_full
from execution_engine.engines.gathering.keyed_rows import frequencies_of
from execution_engine.engines.gathering.selects import AskedStatistic, Keyed
from execution_engine.engines.spark.failures import OF_ALL, SPARK_ERRORS, failure_of
from execution_engine.engines.spark.jobs import action
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.definition import Grouping
from execution_engine.metrics.states.frequencies import Counts, Frequencies
from execution_engine.metrics.states.statistics import Gather, Statistic
from execution_engine.metrics.states.summary import Summary
from execution_engine.outcome import Failure

from .gather import mask, selected

PULLED_ROWS = 50_000_000  # 400 MB a grouping
PULLED_BYTES = 512 * 1024 * 1024  # in one job, and so at once in the driver
BITS = 31  # clauses told by one column of integers
LISTED_ROWS = 50_000  # of a table so small that its keys come along with its statistics: above, a job more is cheaper


Found = Frequencies | Summary | Failure


def frequencies(
    source: SparkSource, wanted: Sequence[Keyed], gathered: Mapping[AskedStatistic, Any]
) -> dict[Keyed, Found]:
    """Of each grouping: from the lists that came along with the statistics, else pulled."""
    lists = listed(source, wanted)
    counted: dict[Keyed, Found] = {keyed: of_lists(*(gathered[one] for one in pair)) for keyed, pair in lists.items()}
    return counted | pulled(source, [keyed for keyed in wanted if keyed not in lists])


def listed(source: SparkSource, wanted: Sequence[Keyed]) -> dict[Keyed, tuple[AskedStatistic, AskedStatistic]]:
    """Of a table small enough, the keys as statistics: those without a null, and those with one."""
    if not source.small or source.rows is None or source.rows * max(len(wanted), 1) > LISTED_ROWS:
        return {}
    return {keyed: lists_of(source, keyed) for keyed in wanted}


def lists_of(source: SparkSource, keyed: Keyed) -> tuple[AskedStatistic, AskedStatistic]:
    """The keys as statistics: those without a null, and those with one."""
    hashed, null = _hash(source, keyed.grouping), keyless(source, keyed.grouping)
    present = f"not ({any_null(source, keyed.grouping.present)})"
    conditions = f"not ({null}) and {present}", f"({null}) and {present}"
    whole, with_nulls = (
        AskedStatistic(
            statistic=Statistic(gather=Gather.KEYS, of=(f"case when {each} then {hashed} end",)), where=keyed.where
        )
        for each in conditions
    )
    return whole, with_nulls


def of_lists(whole: Any, with_nulls: Any) -> Found:
    """The frequencies of the keys listed."""
    failures = [each for each in (whole, with_nulls) if isinstance(each, Failure)]
    return failures[0] if failures else Frequencies(whole=_counts(whole), with_nulls=_counts(with_nulls))


def _counts(hashes: npt.NDArray[np.int64] | None) -> Counts:
    return Counts() if hashes is None else Counts.of(hashes)


def pulled(source: SparkSource, wanted: Sequence[Keyed]) -> dict[Keyed, Found]:
    """The frequencies of each grouping; only their summaries where there are too many rows to pull."""
    if source.rows == 0:
        return {keyed: Frequencies() for keyed in wanted}
    found: dict[Keyed, Found] = {}
    try:
        rows = source.rows if source.rows is not None else action(source.frame.count, rows=None)
    except SPARK_ERRORS as error:
        return dict.fromkeys(wanted, failure_of(error, source.name))
    if rows > PULLED_ROWS:
        return {keyed: _grouped(source, keyed) for keyed in wanted}
    for some in batches(wanted, rows):
        found |= _pulled(source, some)
    return found


def batches(wanted: Sequence[Keyed], rows: int) -> Iterator[list[Keyed]]:
    """What is pulled in one job: every clause of a grouping with it, as its hashes are the same under each."""
    groupings = list(dict.fromkeys(keyed.grouping for keyed in wanted))
    at_once = max(1, PULLED_BYTES // (8 * max(rows, 1)))
    for start in range(0, len(groupings), at_once):
        some = groupings[start : start + at_once]
        yield [keyed for keyed in wanted if keyed.grouping in some]


def _pulled(source: SparkSource, wanted: Sequence[Keyed]) -> dict[Keyed, Found]:
    try:
        return _pull(source, wanted)
    except SPARK_ERRORS as error:
        failure = failure_of(error, source.name)
        if len(wanted) == 1 or failure.reason in OF_ALL:
            return dict.fromkeys(wanted, failure)
        return {keyed: found for one in wanted for keyed, found in _pulled(source, [one]).items()}


def _pull(source: SparkSource, wanted: Sequence[Keyed]) -> dict[Keyed, Found]:
    """One job: the hash of each grouping, the nulls of each column, and which clauses a row meets."""
    hashes = {grouping: f"h{at}" for at, grouping in enumerate(dict.fromkeys(keyed.grouping for keyed in wanted))}
    clauses = list(dict.fromkeys(keyed.where for keyed in wanted if keyed.where is not None))
    nulls = {name: f"n{at}" for at, name in enumerate(_nullable(source, hashes))}
    written = [f"{_hash(source, grouping)} as {alias}" for grouping, alias in hashes.items()]
    written += [f"isnull({source.write.column(name)}) as {alias}" for name, alias in nulls.items()]
    written += [f"{mask(clauses[at : at + BITS])} as w{at // BITS}" for at in range(0, len(clauses), BITS)]
    table = action(source.frame.selectExpr(*written).toArrow, rows=source.rows)
    arrays = {name: table.column(name).to_numpy() for name in table.column_names}
    null = {name: arrays[alias] for name, alias in nulls.items()}
    found: dict[Keyed, Found] = {}
    for keyed in wanted:
        met = None if keyed.where is None else _met(arrays, clauses.index(keyed.where))
        found[keyed] = frequencies_of(arrays[hashes[keyed.grouping]], keyed.grouping, null, met)
    return found


def _met(arrays: Mapping[str, npt.NDArray[Any]], clause: int) -> npt.NDArray[np.bool_]:
    """Which rows meet the clause of this number."""
    column, bit = divmod(clause, BITS)
    met: npt.NDArray[np.bool_] = (arrays[f"w{column}"] & (1 << bit)) != 0
    return met


def _grouped(source: SparkSource, keyed: Keyed) -> Found:
    """The summary, by a shuffle of the hashes."""
    null = f"({keyless(source, keyed.grouping)})"
    kept = [f"not ({any_null(source, keyed.grouping.present)})", *([keyed.where] if keyed.where else [])]
    try:
        rows = source.frame.where(" and ".join(kept))
        counted = rows.selectExpr(f"{_hash(source, keyed.grouping)} as h", f"{null} as n").groupBy("h", "n").count()
        (row,) = action(selected(counted, SUMMARY).collect, rows=source.rows)
    except SPARK_ERRORS as error:
        return failure_of(error, source.name)
    return summary_of(row)


def summary_of(row: Sequence[Any]) -> Summary:
    """What the aggregates of ``SUMMARY`` gave."""
    names = (each.name for each in fields(Summary))
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


def _hash(source: SparkSource, grouping: Grouping) -> str:
    return source.write.hash_of(grouping.columns)


def keyless(source: SparkSource, grouping: Grouping) -> str:
    """The condition that a row has no key."""
    if not grouping.partial:
        return any_null(source, grouping.columns)
    return " and ".join(f"isnull({source.write.column(name)})" for name in grouping.columns)


def any_null(source: SparkSource, names: Sequence[str]) -> str:
    """The condition that one of the columns is null."""
    return " or ".join(f"isnull({source.write.column(name)})" for name in names) or "false"


def _nullable(source: SparkSource, groupings: Mapping[Grouping, Any]) -> list[str]:
    """The columns of the groupings in which the footers do not rule nulls out."""
    names = dict.fromkeys(name for grouping in groupings for name in (*grouping.columns, *grouping.present))
    return [name for name in names if not is_full(source.footers, name)]
