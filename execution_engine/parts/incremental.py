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
from execution_engine.engines.protocol import Engine, Measured, Part, ScanReport, Table, Unit, Wanted
from execution_engine.metrics.definitions.uniqueness import COUNT_DISTINCT
from execution_engine.metrics.expressions import PLAIN_EXPRESSIONS
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.frequencies import is_small_beside, summary_of_union
from execution_engine.metrics.states.states import State, UnableToReadState, from_bytes, merged
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
class KnownStates:
    """What is kept of one state: parts to merge, which of them is a rollup, and the partitions that must be read."""

    spec: MetricSpec
    rollup: State | None
    parts: tuple[State, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MergedParts:
    """The states of disjoint partitions that make up what is wanted, or why there are none.

    ``fresh``: the states to keep of partitions that were read, by key; ``is_union``: so is the one of ``states``.
    """

    states: tuple[State, ...] = ()
    failed: Measured | None = None
    fresh: Mapping[str, bytes] = field(default_factory=dict)
    is_union: bool = False

    @cached_property
    def summaries(self) -> tuple[Summary, ...]:
        """Of each grouping, over the union."""
        columns = zip(*(state.groupings for state in self.states), strict=True)
        return tuple(summary_of_union(each) for each in columns)


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
    engine: Engine, table: Table, prints: Prints, wanted: Sequence[Wanted], repository: StateRepository
) -> ScanReport:
    """The measurements over the partitions of ``prints``, each of a metric that can be merged.

    Those of which some partition leaves no state, because it has too many keys, are left out.
    """
    started = monotonic()
    specs = list(dict.fromkeys(state_spec(item.spec) for item in wanted))
    known = _known_states(specs, prints, repository)
    reports = _read_missing(engine, table, known)
    parts = {states.spec: _merge_parts(states, reports, prints) for states in known}
    if fresh := {spec: merged.fresh for spec, merged in parts.items() if merged is not None and merged.fresh}:
        keys = {key for states in fresh.values() for key in states}
        repository.save_parts({key: print_ for key, print_ in prints.items() if key in keys}, fresh)
    if unions := [(spec, merged.states[0]) for spec, merged in parts.items() if merged and merged.is_union]:
        repository.save_rollups(prints, ((spec, state.to_bytes(spec)) for spec, state in unions))
    measured = {item.key: _value(item.spec, parts[state_spec(item.spec)]) for item in wanted}
    return ScanReport(
        measured={key: value for key, value in measured.items() if value is not None},
        spark_jobs=sum(report.spark_jobs for report in reports.values()),
        seconds=monotonic() - started,
        fingerprint=None,
        read_by=together(report.read_by for report in reports.values()),
    )


def union(spec: MetricSpec, states: Sequence[State]) -> State:
    """The state over the union of disjoint parts."""
    definition = METRICS[spec.name]
    statistics = definition.statistics(spec, PLAIN_EXPRESSIONS) if definition.statistics else None
    return merged(dict(statistics) if statistics is not None else None, states)


def _known_states(specs: Sequence[MetricSpec], prints: Prints, repository: StateRepository) -> list[KnownStates]:
    """Of each the largest union that is part of what is wanted, then partitions one by one."""
    kept = repository.rollups(specs)
    rollups = {spec: _largest_rollup(spec, kept.get(spec, ()), prints) for spec in specs}
    alike: dict[tuple[str, ...], list[MetricSpec]] = defaultdict(list)  # by the partitions that are in no union
    for spec, (_, covered) in rollups.items():
        alike[tuple(key for key in prints if key not in covered)].append(spec)
    known: dict[MetricSpec, KnownStates] = {}
    for keys, specs_alike in alike.items():
        parts = repository.parts(specs_alike, {key: prints[key] for key in keys}) if keys else {}
        for spec in specs_alike:
            states: dict[str, State] = {}
            for key, state in parts.get(spec, {}).items():
                with suppress(UnableToReadState):  # of an older version, or damaged: it is measured again
                    states[key] = from_bytes(spec, state)
            missing = tuple(key for key in keys if key not in states)
            known[spec] = KnownStates(spec=spec, rollup=rollups[spec][0], parts=tuple(states.values()), missing=missing)
    return [known[spec] for spec in specs]


def _largest_rollup(spec: MetricSpec, kept: Sequence[Rollup], prints: Prints) -> tuple[State | None, Prints]:
    usable = [rollup for rollup in kept if rollup.prints.items() <= prints.items()]
    for rollup in sorted(usable, key=lambda rollup: len(rollup.prints), reverse=True):
        with suppress(UnableToReadState):
            return from_bytes(spec, rollup.load()), rollup.prints
    return None, {}


def _read_missing(engine: Engine, table: Table, known: Sequence[KnownStates]) -> dict[str, ScanReport]:
    """The missing partitions by key, all states of each in one scan, so many at a time."""
    wanted: dict[str, list[Wanted]] = defaultdict(list)
    for states in known:
        for key in states.missing:
            wanted[key].append(Wanted(key=states.spec.text, spec=states.spec, keep_state=True))
    units = [Unit(table=table, part=Part(keys=(key,)), wanted=tuple(items)) for key, items in wanted.items()]
    pieces = (units[at : at + MOST_TOGETHER] for at in range(0, len(units), MOST_TOGETHER))
    reports = chain.from_iterable(engine.scan_all(piece) for piece in pieces)
    return dict(zip(wanted, reports, strict=True))


def _merge_parts(known: KnownStates, reports: Mapping[str, ScanReport], prints: Prints) -> MergedParts | None:
    """The states of all parts, old and new; what of them is worth it is to be kept."""
    spec, rollup = known.spec, known.rollup
    taken = {key: reports[key].measured[spec.text] for key in known.missing}
    failed = next((part for part in taken.values() if part.failure is not None and part.state is None), None)
    if failed is not None:
        return MergedParts(failed=failed)
    fresh = {key: part.state for key, part in taken.items() if part.state is not None}
    if len(fresh) < len(taken):
        return None
    unchanged = {key: state for key, state in fresh.items() if reports[key].fingerprint == prints[key]}
    parts = (*known.parts, *(from_bytes(spec, state) for state in fresh.values()))
    states = parts if rollup is None else (rollup, *parts)
    is_rewritten = len(unchanged) < len(fresh)  # meanwhile: no union of what the fingerprints name
    if is_rewritten or len(states) < 2 or (rollup is not None and _is_little(parts, rollup)):
        return MergedParts(states=states, fresh=unchanged)
    return MergedParts(states=(union(spec, states),), fresh=unchanged, is_union=True)


def _is_little(parts: Sequence[State], rollup: State) -> bool:
    """Whether what came is soon looked up in the union, which is then left as it is.

    Only of keys: statistics are small, and nothing is saved by leaving them apart.
    """
    if not rollup.groupings or len(parts) > MOST_BESIDE:
        return False
    columns = zip(*(state.groupings for state in parts), strict=True)
    pairs = zip(columns, rollup.groupings, strict=True) if parts else ()
    return all(is_small_beside(few, large) for few, large in pairs)


def _value(spec: MetricSpec, parts: MergedParts | None) -> Measured | None:
    if parts is None or parts.failed is not None:
        return None if parts is None else parts.failed
    if METRICS[spec.name].groupings is None:
        return from_state(spec, union(spec, parts.states))
    return from_summaries(spec, parts.summaries)
