"""From what the tasks found of groups to the statistics and the summaries of each group (pure).

Tasks do not take this module along, as it needs the rest of the engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from execution_engine.engines.gathering import in_order
from execution_engine.metrics.states.statistics import Summary

from .grouped import Grouped, GroupKey, GroupsOfTask, Parts, Tally, Value, merged, of_tallies, spread, values
from .values import Flags, Numbers


@dataclass(frozen=True, kw_only=True)
class GroupsFound:
    """What is known of each group, in the order of the keys, which is that of states.

    ``told`` by the places of the statistics, ``counted`` by those of the groupings; the others as in GroupsOfTask.
    """

    keys: Sequence[GroupKey] = ()
    told: Mapping[int, Sequence[Value]] = field(default_factory=dict)
    counted: Mapping[int, Sequence[Summary]] = field(default_factory=dict)
    unable: Mapping[int, str] = field(default_factory=dict)
    failed: str = ""
    too_many: bool = False


def groups_found(grouped: Grouped, tasks: Sequence[GroupsOfTask]) -> GroupsFound:
    """What all tasks together found."""
    if failed := next((each.failed for each in tasks if each.failed), ""):
        return GroupsFound(failed=failed)
    numbers: dict[GroupKey, int] = {}
    places = [np.array([numbers.setdefault(key, len(numbers)) for key in each.keys], dtype=np.int64) for each in tasks]
    if len(numbers) > grouped.most or any(each.too_many for each in tasks):
        return GroupsFound(too_many=True)
    keys = list(numbers)
    order = in_order(keys)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    places = [rank[own] for own in places]
    unable = {at: why for each in tasks for at, why in each.unable.items()}
    scales = {at: scale for each in tasks for at, scale in each.scales.items()}
    told: dict[int, Sequence[Value]] = {}
    for at, one in enumerate(grouped.asked):
        if at not in unable:
            every = [
                spread(each.parts[at], own, len(numbers)) for each, own in zip(tasks, places, strict=True) if each.keys
            ]
            told[at] = values(one.gather, _merged(one.gather, every), scales.get(at)) if every else []
    counted: dict[int, Sequence[Summary]] = {}
    for at in range(len(grouped.counted)):
        if len(grouped.asked) + at not in unable:
            tallies = [_moved(each.tallies[at], own) for each, own in zip(tasks, places, strict=True) if each.keys]
            counted[at] = _summaries(tallies, len(numbers))
    return GroupsFound(keys=[keys[at] for at in order], told=told, counted=counted, unable=unable)


def _merged(gather: str, every: Sequence[Parts]) -> Parts:
    """Of all tasks that have any group."""
    found, *others = every
    with np.errstate(all="ignore"):  # sums of what is infinite are NaN, and no warning
        for other in others:
            found = merged(gather, found, other)
    return found


def _moved(tally: Tally, places: Numbers) -> Tally:
    """The same with the groups at other places."""
    hashes, marks, times = tally
    return hashes, 2 * places[marks >> 1] + (marks & 1), times


def _summaries(tallies: Sequence[Tally], groups: int) -> list[Summary]:
    """Of each group what ``Frequencies.summary`` is of all rows."""
    if not tallies:
        return [Summary()] * groups
    _, marks, times = of_tallies(tallies)
    places, has_null = marks >> 1, (marks & 1).astype(np.bool_)

    def summed(kept: Flags, weights: Numbers | None = None) -> Numbers:
        return np.bincount(places.compress(kept), None if weights is None else weights.compress(kept), groups)

    whole, most = ~has_null, np.zeros(groups, dtype=np.int64)
    np.maximum.at(most, places.compress(whole), times.compress(whole))
    columns = {
        "rows": summed(whole, times).astype(np.int64),
        "distinct": summed(whole),
        "single": summed(whole & (times == 1)),
        "most": most,
        "weighted_logs": summed(whole, times * np.log(times)),
        "distinct_with_nulls": summed(has_null),
        "rows_with_nulls": summed(has_null, times).astype(np.int64),
    }
    lines = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [Summary(**dict(zip(columns, line, strict=True))) for line in lines]
