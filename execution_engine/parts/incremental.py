"""Growing tables measured by their parts: only new and changed partitions are read, the rest is merged from states.

The state of a union of partitions is itself kept, with what was in it: a table to which a day is added is its old
state and that day's. A partition that is rewritten or comes late has another fingerprint; it alone is read again
(seed 000, section 3.2).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from time import monotonic
from typing import Protocol

from execution_engine.engines.gathering import from_state, from_summaries
from execution_engine.engines.protocol import Engine, Measured, MeasurementRequest, Part, ScanReport, Table, Unit
from execution_engine.metrics.definitions.uniqueness import COUNT_DISTINCT
from execution_engine.metrics.expressions import PLAIN_EXPRESSIONS
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.frequencies import is_small_beside, summary_of_union
from execution_engine.metrics.states.states import MetricState, UnableToReadState, from_bytes, merged
from execution_engine.metrics.states.statistics import Summary
from execution_engine.read_by import together

MOST_BESIDE = 32  # partitions whose keys are looked up in those of a union, before these become one
MOST_TOGETHER = 1000  # partitions that one call asks for: each call has a deadline, and a size that can be sent

Prints = Mapping[str, str]  # partition key → fingerprint of its data


@dataclass(frozen=True, kw_only=True)
class Rollup:
    """The state of a metric over several partitions: which they are, and how to load it (UnableToReadState)."""

    prints: Prints
    load: Callable[[], bytes | memoryview]


class StateRepository(Protocol):
    """Where the states of one table in one datacenter are kept; asked and given those of many metrics at once."""

    def parts(self, specs: Sequence[MetricSpec], prints: Prints) -> Mapping[MetricSpec, Mapping[str, bytes]]:
        """Of each metric the states of those partitions that are known with these fingerprints, by key."""
        ...

    def rollups(self, specs: Sequence[MetricSpec]) -> Mapping[MetricSpec, Sequence[Rollup]]:
        """Of each metric the states over several partitions, the newest first."""
        ...

    def save_parts(self, prints: Prints, states: Mapping[MetricSpec, Mapping[str, bytes]]) -> None:
        """Keep the states of partitions, of each metric by key."""
        ...

    def save_rollups(self, prints: Prints, states: Iterable[tuple[MetricSpec, bytes]]) -> None:
        """Keep the states over all these partitions."""
        ...


@dataclass(frozen=True, kw_only=True)
class StateInventory:
    """What is kept of one state: parts to merge, which of them is a rollup, and the partitions that must be read."""

    spec: MetricSpec
    rollup: MetricState | None
    parts: tuple[MetricState, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MergedParts:
    """The states of disjoint partitions that make up what is wanted, or why there are none.

    ``fresh``: the states to keep of partitions that were read, by key; ``is_union``: so is the one of ``states``.
    """

    states: tuple[MetricState, ...] = ()
    failed: Measured | None = None
    fresh: Mapping[str, bytes] = field(default_factory=dict)
    is_union: bool = False

    @cached_property
    def summaries(self) -> tuple[Summary, ...]:
        """Of each grouping, over the union."""
        columns = zip(*(state.groupings for state in self.states), strict=True)
        return tuple(summary_of_union(groupings) for groupings in columns)


def can_merge(spec: MetricSpec) -> bool:
    """Whether a metric over a union of partitions follows from its states over each."""
    return METRICS[spec.name].merges(spec) and not spec.by


def state_spec(spec: MetricSpec) -> MetricSpec:
    """The metric whose state holds what this one needs: all that count the same keys share one."""
    groupings = METRICS[spec.name].groupings
    keys = MetricSpec(name=COUNT_DISTINCT.name, columns=spec.columns, where=spec.where)
    assert COUNT_DISTINCT.groupings is not None
    return keys if groupings is not None and groupings(spec) == COUNT_DISTINCT.groupings(keys) else spec


def scan_merged(
    engine: Engine, table: Table, prints: Prints, requests: Sequence[MeasurementRequest], repository: StateRepository
) -> ScanReport:
    """The measurements over the partitions of ``prints``, each of a metric that can be merged.

    Those of which some partition leaves no state, because it has too many keys, are left out.
    """
    started = monotonic()
    specs = list(dict.fromkeys(state_spec(item.spec) for item in requests))
    inventories = _state_inventories(specs, prints, repository)
    requests_by_key: dict[str, list[MeasurementRequest]] = defaultdict(list)
    for states in inventories:
        for key in states.missing:
            requests_by_key[key].append(MeasurementRequest(key=states.spec.text, spec=states.spec, keep_state=True))
    # of each missing partition all states in one scan, so many at a time
    units = [Unit(table=table, part=Part(keys=(key,)), requests=tuple(items)) for key, items in requests_by_key.items()]
    pieces = (units[at : at + MOST_TOGETHER] for at in range(0, len(units), MOST_TOGETHER))
    reports = dict(zip(requests_by_key, chain.from_iterable(engine.scan_all(piece) for piece in pieces), strict=True))
    parts = {states.spec: _merge_parts(states, reports, prints) for states in inventories}
    if fresh := {spec: merged.fresh for spec, merged in parts.items() if merged is not None and merged.fresh}:
        keys = {key for states in fresh.values() for key in states}
        repository.save_parts({key: print_ for key, print_ in prints.items() if key in keys}, fresh)
    if unions := [(spec, merged.states[0]) for spec, merged in parts.items() if merged and merged.is_union]:
        repository.save_rollups(prints, ((spec, state.to_bytes(spec)) for spec, state in unions))
    measured: dict[str, Measured] = {}
    for item in requests:
        merged_parts = parts[state_spec(item.spec)]
        if merged_parts is not None and merged_parts.failed is not None:
            measured[item.key] = merged_parts.failed
        elif merged_parts is not None and METRICS[item.spec.name].groupings is None:
            measured[item.key] = from_state(item.spec, union(item.spec, merged_parts.states))
        elif merged_parts is not None:
            measured[item.key] = from_summaries(item.spec, merged_parts.summaries)
    return ScanReport(
        measured=measured,
        spark_jobs=sum(report.spark_jobs for report in reports.values()),
        seconds=monotonic() - started,
        fingerprint=None,
        read_by=together(report.read_by for report in reports.values()),
    )


def union(spec: MetricSpec, states: Sequence[MetricState]) -> MetricState:
    """The state over the union of disjoint parts."""
    definition = METRICS[spec.name]
    statistics = definition.statistics(spec, PLAIN_EXPRESSIONS) if definition.statistics else None
    return merged(dict(statistics) if statistics is not None else None, states)


def _state_inventories(
    specs: Sequence[MetricSpec], prints: Prints, repository: StateRepository
) -> list[StateInventory]:
    """Of each the largest union that is part of what is wanted, then partitions one by one."""
    rollups_by_spec = repository.rollups(specs)
    rollups: dict[MetricSpec, tuple[MetricState | None, Prints]] = dict.fromkeys(specs, (None, {}))
    for spec in specs:
        usable = [rollup for rollup in rollups_by_spec.get(spec, ()) if rollup.prints.items() <= prints.items()]
        for rollup in sorted(usable, key=lambda rollup: len(rollup.prints), reverse=True):
            with suppress(UnableToReadState):
                rollups[spec] = from_bytes(spec, rollup.load()), rollup.prints
                break
    alike: dict[tuple[str, ...], list[MetricSpec]] = defaultdict(list)  # by the partitions that are in no union
    for spec, (_, covered) in rollups.items():
        alike[tuple(key for key in prints if key not in covered)].append(spec)
    inventories: dict[MetricSpec, StateInventory] = {}
    for keys, specs_alike in alike.items():
        parts = repository.parts(specs_alike, {key: prints[key] for key in keys}) if keys else {}
        for spec in specs_alike:
            states: dict[str, MetricState] = {}
            for key, state in parts.get(spec, {}).items():
                with suppress(UnableToReadState):  # of an older version, or damaged: it is measured again
                    states[key] = from_bytes(spec, state)
            missing = tuple(key for key in keys if key not in states)
            inventories[spec] = StateInventory(
                spec=spec, rollup=rollups[spec][0], parts=tuple(states.values()), missing=missing
            )
    return [inventories[spec] for spec in specs]


def _merge_parts(inventory: StateInventory, reports: Mapping[str, ScanReport], prints: Prints) -> MergedParts | None:
    """The states of all parts, old and new; what of them is worth it is to be kept."""
    spec, rollup = inventory.spec, inventory.rollup
    taken = {key: reports[key].measured[spec.text] for key in inventory.missing}
    failed = next((part for part in taken.values() if part.failure is not None and part.state is None), None)
    if failed is not None:
        return MergedParts(failed=failed)
    fresh = {key: part.state for key, part in taken.items() if part.state is not None}
    if len(fresh) < len(taken):
        return None
    unchanged = {key: state for key, state in fresh.items() if reports[key].fingerprint == prints[key]}
    parts = (*inventory.parts, *(from_bytes(spec, state) for state in fresh.values()))
    states = parts if rollup is None else (rollup, *parts)
    is_rewritten = len(unchanged) < len(fresh)  # meanwhile: no union of what the fingerprints name
    is_little = False  # so that it is soon looked up in the union, which is then left as it is
    if rollup is not None and rollup.groupings and len(parts) <= MOST_BESIDE:  # statistics are small: only of keys
        columns = zip(*(state.groupings for state in parts), strict=True)
        pairs = zip(columns, rollup.groupings, strict=True) if parts else ()
        is_little = all(is_small_beside(few, large) for few, large in pairs)
    if is_rewritten or len(states) < 2 or is_little:
        return MergedParts(states=states, fresh=unchanged)
    return MergedParts(states=(union(spec, states),), fresh=unchanged, is_union=True)
