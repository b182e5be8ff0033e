"""From metrics to what must be gathered for them, and from what was gathered to their values, in any engine (pure).

Reading the data itself is the work of each engine.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import reduce
from heapq import nsmallest
from math import inf, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from execution_engine.exact import Number, number_of
from execution_engine.metrics.definition import Grouping, MetricKind
from execution_engine.metrics.definitions.uniqueness import MOST_VALUES
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.frequencies import Counts, Frequencies, Hashes
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupKey, GroupValues, too_many_groups
from execution_engine.metrics.states.states import MetricState
from execution_engine.metrics.states.statistics import Statistic, Summary
from execution_engine.outcome import Failure, Reason

from .protocol import Measured, MeasurementRequest, failed

# What is gathered for metrics.


@dataclass(frozen=True, kw_only=True)
class StatisticRequest:
    """A statistic over the rows that meet a SQL condition."""

    statistic: Statistic
    where: str | None = None


@dataclass(frozen=True, kw_only=True)
class Keyed:
    """A grouping over the rows that meet a SQL condition."""

    grouping: Grouping
    where: str | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """By the key of each measurement, the statistics it needs by their names, or its groupings."""

    statistics: Mapping[str, Mapping[str, StatisticRequest]]
    groupings: Mapping[str, tuple[Keyed, ...]]

    @property
    def statistic_requests(self) -> list[StatisticRequest]:
        """Every statistic once."""
        return list(dict.fromkeys(request for named in self.statistics.values() for request in named.values()))

    @property
    def keyed(self) -> list[Keyed]:
        """Every grouping once."""
        return list(dict.fromkeys(grouping for groupings in self.groupings.values() for grouping in groupings))


def condition_of(spec: MetricSpec, write: Expressions) -> str | None:
    """Its ``where`` in SQL."""
    return None if spec.where is None else write.condition(spec.where)


def plan(requests: Sequence[MeasurementRequest], write: Expressions) -> Plan:
    """What to gather for aggregates, sketches and groupings."""
    statistics: dict[str, Mapping[str, StatisticRequest]] = {}
    groupings: dict[str, tuple[Keyed, ...]] = {}
    for item in requests:
        definition, condition = METRICS[item.spec.name], condition_of(item.spec, write)
        if definition.groupings is not None:
            keys = definition.groupings(item.spec)
            groupings[item.key] = tuple(Keyed(grouping=grouping, where=condition) for grouping in keys)
        elif definition.statistics is not None:
            named = definition.statistics(item.spec, write).items()
            statistics[item.key] = {
                name: StatisticRequest(statistic=statistic, where=condition) for name, statistic in named
            }
    return Plan(statistics=statistics, groupings=groupings)


def needs(item: MeasurementRequest, planned: Plan) -> tuple[StatisticRequest | Keyed, ...]:
    """What a measurement is made of."""
    return (*planned.statistics.get(item.key, {}).values(), *planned.groupings.get(item.key, ()))


def measured_of(
    item: MeasurementRequest,
    planned: Plan,
    gathered: Mapping[StatisticRequest, Any],
    frequencies: Mapping[Keyed, Frequencies | Summary | Failure],
) -> Measured:
    """One measurement from what was gathered; a failure of anything it needs is its own."""
    if item.key in planned.statistics:
        named = {name: gathered[request] for name, request in planned.statistics[item.key].items()}
        failure = next((value for value in named.values() if isinstance(value, Failure)), None)
        return (
            Measured(failure=failure)
            if failure
            else from_state(item.spec, MetricState(statistics=named), item.keep_state)
        )
    counted: list[Any] = [frequencies[keyed] for keyed in planned.groupings[item.key]]
    if failure := next((result for result in counted if isinstance(result, Failure)), None):
        return Measured(failure=failure)
    if all(isinstance(result, Frequencies) for result in counted):
        return from_state(item.spec, MetricState(groupings=tuple(counted)), item.keep_state)
    # without a state where only summaries are known: there were too many keys to keep
    return from_summaries(
        item.spec, tuple(result.summary if isinstance(result, Frequencies) else result for result in counted)
    )


def from_state(spec: MetricSpec, state: MetricState, keep_state: bool = False) -> Measured:
    """The value that a state gives, with what there is to tell of it."""
    definition = METRICS[spec.name]
    stored_state = state.to_bytes(spec) if keep_state and definition.merges(spec) else None
    if definition.from_summaries is not None:
        return replace(
            from_summaries(spec, tuple(grouping.summary for grouping in state.groupings)), state=stored_state
        )
    assert definition.value is not None
    assert state.statistics is not None
    detail = definition.detail(spec, state.statistics) if definition.detail else {}
    return replace(
        measured_number(definition.value(spec, state.statistics), spec.text), state=stored_state, detail=detail or {}
    )


def from_summaries(spec: MetricSpec, summaries: tuple[Summary, ...]) -> Measured:
    """The value of a metric of groupings, from what is known of each."""
    definition = METRICS[spec.name]
    assert definition.from_summaries is not None
    detail = definition.detail_of_keys(spec, summaries) if definition.detail_of_keys else {}
    return replace(measured_number(definition.from_summaries(spec, summaries), spec.text), detail=detail or {})


def measured_number(value: Any, what: str) -> Measured:
    """The number as a measurement. NaN and infinity are failures: no database stores them and no bound fits them."""
    if value is None:
        return Measured()
    if not isinstance(value, int | float | Decimal):
        kind = type(value).__name__  # and not what it is: that is somebody's data
        return failed(Reason.QUERY_FAILED, f"{what} gave a {kind}, not a number; measure or cast to a number")
    if not isfinite(value):
        return failed(Reason.NOT_FINITE, f"{what} is {value}; leave such values out with where=")
    return Measured(value=number_of(value))


def of_no_data(item: MeasurementRequest) -> Measured:
    """Why no engine measures it: others compute it, or know the keys of partitions."""
    kind = METRICS[item.spec.name].kind
    if kind is MetricKind.LAYOUT:
        mend = "register the table in the catalog with its partition key, and test it there"
        return failed(Reason.INVALID, f"{item.spec.text} needs the format of the partitions' keys: {mend}")
    if kind is MetricKind.DERIVED:
        return failed(Reason.INVALID, f"{item.spec.text} is derived from other measurements; ask for those")
    return failed(Reason.INVALID, f"nothing measures {item.spec.text} here: its definition names no function for it")


# Metrics measured ``by`` columns: what to gather of each group, and one value for each from what was.


@dataclass(frozen=True, kw_only=True)
class GroupsRequest:
    """Statistics and groupings of each group of rows that are alike in the columns ``by``.

    ``together``: Spark gathers the statistics in one job, so that one which it must answer takes the others along.
    """

    by: tuple[str, ...]
    requests: tuple[StatisticRequest, ...]
    keyed: tuple[Keyed, ...] = ()
    together: bool = True


@dataclass(frozen=True, kw_only=True)
class GroupResults:
    """What was found of each group, in the order of the keys; nothing else where there are ``too_many`` of them."""

    keys: Sequence[GroupKey] = ()
    statistics: Mapping[StatisticRequest, Sequence[Any]] = field(default_factory=dict)
    counted: Mapping[Keyed, Sequence[Summary]] = field(default_factory=dict)
    too_many: bool = False


@dataclass(frozen=True, kw_only=True)
class PlannedGroups:
    """The measurements by the same columns, and what to gather for them."""

    items: Sequence[MeasurementRequest]
    planned: Plan
    request: GroupsRequest


def planned_groups(requests: Sequence[MeasurementRequest], write: Expressions) -> Iterator[PlannedGroups]:
    """Of those that are measured by columns."""
    for by in dict.fromkeys(item.spec.by for item in requests if item.spec.by):
        items = [item for item in requests if item.spec.by == by]
        planned = plan(items, write)
        request = GroupsRequest(by=by, requests=tuple(planned.statistic_requests), keyed=tuple(planned.keyed))
        yield PlannedGroups(items=items, planned=planned, request=request)


def of_no_rows(request: GroupsRequest) -> GroupResults:
    """No groups, where there are no rows."""
    return GroupResults(statistics=dict.fromkeys(request.requests, ()), counted=dict.fromkeys(request.keyed, ()))


def measured_by(item: MeasurementRequest, planned: Plan, groups: GroupResults) -> Measured:
    """The measurement; its value is how many groups there are, its state the groups' values."""
    if groups.too_many:
        return Measured(failure=too_many_groups(item.spec.by))
    if item.key in planned.groupings:
        columns = [groups.counted[keyed] for keyed in planned.groupings[item.key]]
        return of_summaries(item, zip(groups.keys, zip(*columns, strict=True), strict=True))
    named = planned.statistics[item.key]
    rows = zip(*(groups.statistics[request] for request in named.values()), strict=True)
    statistics = (dict(zip(named, row, strict=True)) for row in rows)
    return of_statistics(item, zip(groups.keys, statistics, strict=True))


def of_statistics(item: MeasurementRequest, groups: Iterable[tuple[GroupKey, Mapping[str, Any]]]) -> Measured:
    """From the statistics of each group by their names, the groups ``in_order``."""
    value = METRICS[item.spec.name].value
    assert value is not None
    numbers = ((key, value(item.spec, named)) for key, named in groups)
    return _of_groups(item, {key: None if number is None else number_of(number) for key, number in numbers})


def of_summaries(item: MeasurementRequest, groups: Iterable[tuple[GroupKey, tuple[Summary, ...]]]) -> Measured:
    """From the summaries of each group, one for each grouping, the groups ``in_order``."""
    from_summaries_ = METRICS[item.spec.name].from_summaries
    assert from_summaries_ is not None
    return _of_groups(item, {key: from_summaries_(item.spec, summaries) for key, summaries in groups})


def in_order(keys: Sequence[GroupKey]) -> list[int]:
    """The places of the keys in the order that states have them, a null first: it hangs on nothing but the groups."""
    if any(None in key for key in keys):
        return sorted(range(len(keys)), key=lambda at: [(part is not None, part or "") for part in keys[at]])
    return sorted(range(len(keys)), key=keys.__getitem__)


def _of_groups(item: MeasurementRequest, numbers: Mapping[GroupKey, Number | None]) -> Measured:
    if len(numbers) > MAX_GROUPS:
        return Measured(failure=too_many_groups(item.spec.by))
    state = GroupValues(columns=tuple(item.spec.by), groups=numbers).to_bytes()
    return Measured(value=float(len(numbers)), state=state)


# Which selects gather the statistics of a scan.
#
# - Every statistic is gathered once, however many metrics ask for it.
# - Sketches switch the code generation of their whole select off, so they have one of their own, unless the table is
#   so small that a second job costs more than that.
# - Many statistics under few where-clauses are gathered once for each combination of clauses that a row meets, and
#   merged: twice the cost of one clause rather than as many times as there are clauses.

MOST_AGGREGATES = 90  # in a select: from 100 columns on Spark generates no code
MOST_CLAUSES = 10  # in one mask: 1,024 groups at most
WORTH_A_MASK = 2.0  # statistics under a clause for each distinct one


@dataclass(frozen=True, kw_only=True)
class Select:
    """Statistics of one select; with ``clauses`` each row counts for the mask of the clauses that it meets."""

    requests: tuple[StatisticRequest, ...]
    clauses: tuple[str, ...] = ()


def selects(requests: Sequence[StatisticRequest], *, together: bool) -> list[Select]:
    """The selects that gather everything asked; ``together``: in as few as can be, whatever they cost."""
    distinct = list(dict.fromkeys(requests))
    under = [request for request in distinct if request.where is not None and request.statistic.merges]
    statistics = {request.statistic for request in under}
    if together or len({request.where for request in under}) < 2 or len(under) < WORTH_A_MASK * len(statistics):
        return list(_cut(distinct, together=together))
    # statistics that are in the mask's groups anyway cost nothing there without a clause
    masked = [request for request in distinct if request.statistic in statistics]
    clauses = list(dict.fromkeys(request.where for request in masked if request.where is not None))
    planned: list[Select] = []
    for at in range(0, len(clauses), MOST_CLAUSES):
        batch = tuple(clauses[at : at + MOST_CLAUSES])
        counted = [request for request in masked if request.where in batch or (request.where is None and at == 0)]
        gathered = list(dict.fromkeys(StatisticRequest(statistic=request.statistic) for request in counted))
        for select in _cut(gathered, together=False):
            here = {request.statistic for request in select.requests}
            own = tuple(request for request in counted if request.statistic in here)
            planned.append(Select(requests=own, clauses=batch))
    plain = [request for request in distinct if request.statistic not in statistics]
    return [*planned, *_cut(plain, together=together)]


def _cut(requests: Sequence[StatisticRequest], *, together: bool) -> Iterator[Select]:
    kinds: tuple[list[StatisticRequest], ...] = [], []
    for request in requests:
        is_slow = request.statistic.is_sketch or not request.statistic.merges
        kinds[is_slow and not together].append(request)
    for kind in kinds:
        for at in range(0, len(kind), MOST_AGGREGATES):
            yield Select(requests=tuple(kind[at : at + MOST_AGGREGATES]))


# How often the keys of rows occur, from one hash a row and the rows in which columns are null.

Flags = npt.NDArray[np.bool_]


def frequencies_of(hashes: Hashes, grouping: Grouping, nulls: Mapping[str, Flags], met: Flags | None) -> Frequencies:
    """Of the rows that count; arrays of all rows are only made where some do not.

    ``nulls``: by column, without those that are never null. ``met``: the rows to count; None for all.
    """
    null = None
    if not grouping.partial:
        null = _any_null(grouping.columns, nulls)
    elif all(name in nulls for name in grouping.columns):
        null = reduce(np.logical_and, [nulls[name] for name in grouping.columns])
    flags, absent = met, _any_null(grouping.present, nulls)
    if absent is not None:
        flags = ~absent if flags is None else flags & ~absent
    if flags is not None:
        hashes, null = hashes[flags], None if null is None else null[flags]
    if null is None:
        return Frequencies(whole=Counts.of(hashes))
    return Frequencies(whole=Counts.of(hashes[~null]), with_nulls=Counts.of(hashes[null]))


def _any_null(columns: Sequence[str], nulls: Mapping[str, Flags]) -> Flags | None:
    flags = [nulls[name] for name in columns if name in nulls and nulls[name].any()]
    return reduce(np.logical_or, flags) if flags else None


# Histograms from what was counted: of each value, or of bins of one width.

NOTHING = Measured(value=0.0, detail={"rows": 0, "bins": []})


@dataclass(frozen=True, kw_only=True)
class Bins:
    """So many bins of one width from the least number on; the last has both its ends."""

    low: float
    width: float
    count: int


def bins_between(
    item: MeasurementRequest, name: str, low: float | None, high: float | None, count: int
) -> Bins | Measured:
    """The bins from the least to the greatest number; the measurement where there are none, or no width is a number.

    ``name``: of the table.
    """
    if low is None or high is None:
        return NOTHING
    values = f"{item.spec.text} of {name} has values from {low} to {high}"
    if not -inf < low <= high < inf:
        return failed(Reason.NOT_FINITE, f"{values}; leave some out with where=")
    width = (high - low) / count or 1.0
    if not isfinite(width):
        return failed(Reason.NOT_FINITE, f"{values}, too far apart for bins; leave some out with where=")
    return Bins(low=low, width=width, count=count)


def of_values(counts: Mapping[str | None, int]) -> Measured:
    """How many values there are; the detail has the most frequent, of those as frequent the first, a null before all.

    ``counts``: of each value that there is, by its text.
    """
    if not counts:
        return NOTHING
    rows = sum(counts.values())
    most = nsmallest(MOST_VALUES, counts, key=lambda value: (-counts[value], value is not None, value or ""))
    bins = [{"value": value, "count": counts[value], "ratio": counts[value] / rows} for value in most]
    return Measured(value=float(len(counts)), detail={"rows": rows, "bins": bins})


def of_bins(bins: Bins, counts: Mapping[int | None, int]) -> Measured:
    """The bins with how many numbers lie in each, by their places; None: the nulls, which lie in none."""
    rows = sum(counts.values())
    shares = [
        {
            "low": bins.low + at * bins.width,
            "high": bins.low + (at + 1) * bins.width,
            "count": counts.get(at, 0),
            "ratio": counts.get(at, 0) / rows,
        }
        for at in range(bins.count)
    ]
    return Measured(value=float(bins.count), detail={"rows": rows, "nulls": counts.get(None, 0), "bins": shares})
