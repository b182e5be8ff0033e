"""Metrics measured ``by`` columns: what to gather of each group, and one value for each from what was (pure)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.exact import Number, number_of
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupKey, GroupValues, too_many_groups
from execution_engine.metrics.states.summary import Summary

from .assembly import Plan, plan
from .selects import AskedStatistic, Keyed


@dataclass(frozen=True, kw_only=True)
class AskedGroups:
    """Statistics and groupings of each group of rows that are alike in the columns ``by``.

    ``together``: Spark gathers the statistics in one job, so that one which it must answer takes the others along.
    """

    by: tuple[str, ...]
    asked: tuple[AskedStatistic, ...]
    keyed: tuple[Keyed, ...] = ()
    together: bool = True


@dataclass(frozen=True, kw_only=True)
class FoundGroups:
    """What was found of each group, in the order of the keys; nothing else where there are ``too_many`` of them."""

    keys: Sequence[GroupKey] = ()
    told: Mapping[AskedStatistic, Sequence[Any]] = field(default_factory=dict)
    counted: Mapping[Keyed, Sequence[Summary]] = field(default_factory=dict)
    too_many: bool = False


@dataclass(frozen=True, kw_only=True)
class PlannedGroups:
    """The measurements by the same columns, and what to gather for them."""

    items: Sequence[Wanted]
    planned: Plan
    asked: AskedGroups


def planned_groups(wanted: Sequence[Wanted], write: Expressions) -> Iterator[PlannedGroups]:
    """Of those that are measured by columns."""
    for by in dict.fromkeys(item.spec.by for item in wanted if item.spec.by):
        items = [item for item in wanted if item.spec.by == by]
        planned = plan(items, write)
        asked = AskedGroups(by=by, asked=tuple(planned.asked), keyed=tuple(planned.keyed))
        yield PlannedGroups(items=items, planned=planned, asked=asked)


def of_no_rows(asked: AskedGroups) -> FoundGroups:
    """No groups, where there are no rows."""
    return FoundGroups(told=dict.fromkeys(asked.asked, ()), counted=dict.fromkeys(asked.keyed, ()))


def needs(item: Wanted, planned: Plan) -> tuple[AskedStatistic | Keyed, ...]:
    """What a measurement is made of."""
    return (*planned.statistics.get(item.key, {}).values(), *planned.groupings.get(item.key, ()))


def measured_by(item: Wanted, planned: Plan, found: FoundGroups) -> Measured:
    """The measurement; its value is how many groups there are, its state the groups' values."""
    if found.too_many:
        return Measured(failure=too_many_groups(item.spec.by))
    if item.key in planned.groupings:
        columns = [found.counted[each] for each in planned.groupings[item.key]]
        return of_summaries(item, zip(found.keys, zip(*columns, strict=True), strict=True))
    named = planned.statistics[item.key]
    rows = zip(*(found.told[one] for one in named.values()), strict=True)
    return of_statistics(
        item, ((key, dict(zip(named, row, strict=True))) for key, row in zip(found.keys, rows, strict=True))
    )


def of_statistics(item: Wanted, groups: Iterable[tuple[GroupKey, Mapping[str, Any]]]) -> Measured:
    """From the statistics of each group by their names, the groups ``in_order``."""
    value = METRICS[item.spec.name].value
    assert value is not None
    found = ((key, value(item.spec, named)) for key, named in groups)
    return _of_groups(item, {key: None if number is None else number_of(number) for key, number in found})


def of_summaries(item: Wanted, groups: Iterable[tuple[GroupKey, tuple[Summary, ...]]]) -> Measured:
    """From the summaries of each group, one for each grouping, the groups ``in_order``."""
    from_summaries = METRICS[item.spec.name].from_summaries
    assert from_summaries is not None
    return _of_groups(item, {key: from_summaries(item.spec, summaries) for key, summaries in groups})


def in_order(keys: Sequence[GroupKey]) -> list[int]:
    """The places of the keys in the order that states have them, a null first: it hangs on nothing but the groups."""
    if any(None in key for key in keys):
        return sorted(range(len(keys)), key=lambda at: [(part is not None, part or "") for part in keys[at]])
    return sorted(range(len(keys)), key=keys.__getitem__)


def _of_groups(item: Wanted, found: Mapping[GroupKey, Number | None]) -> Measured:
    if len(found) > MAX_GROUPS:
        return Measured(failure=too_many_groups(item.spec.by))
    state = GroupValues(columns=tuple(item.spec.by), groups=found).to_bytes()
    return Measured(value=float(len(found)), state=state)
