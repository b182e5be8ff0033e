"""Growing tables measured by their parts: only new and changed partitions are read, the rest is merged from states.

The state of a union of partitions is itself kept, with what was in it: a table to which a day is added is its old
state and that day's. A partition that is rewritten or comes late has another fingerprint; it alone is read again
(seed 000, section 3.2).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Protocol

from execution_engine.engines.assembly import from_state
from execution_engine.engines.protocol import Engine, Measured, Part, ScanReport, Table, Unit, Wanted
from execution_engine.metrics.expressions import PLAIN
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states import State, UnableToReadState, from_bytes, merged

Prints = Mapping[str, str]  # partition key → fingerprint of its data


class Rollup(Protocol):
    """The state of a metric over several partitions, and which they were."""

    @property
    def prints(self) -> Prints:
        """The partitions in it."""
        ...

    def load(self) -> bytes:
        """The state; UnableToReadState where it is gone or damaged."""
        ...


class StateRepository(Protocol):
    """Where the states of one table in one datacenter are kept."""

    def parts(self, spec: MetricSpec, prints: Prints) -> Mapping[str, bytes]:
        """The states of those partitions that are known with these fingerprints, by key."""
        ...

    def rollups(self, spec: MetricSpec) -> Sequence[Rollup]:
        """The states over several partitions, the newest first."""
        ...

    def save_parts(self, spec: MetricSpec, prints: Prints, states: Mapping[str, bytes]) -> None:
        """Keep the states of partitions, by key."""
        ...

    def save_rollup(self, spec: MetricSpec, prints: Prints, state: bytes) -> None:
        """Keep the state over all these partitions."""
        ...


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of one metric: states to merge, and the partitions that must be read."""

    wanted: Wanted
    states: list[State] = field(default_factory=list)
    missing: tuple[str, ...] = ()


def can_merge(spec: MetricSpec) -> bool:
    """Whether a metric over a union of partitions follows from its states over each."""
    return METRICS[spec.name].merges and not spec.by


def scan_merged(
    engine: Engine, table: Table, prints: Prints, wanted: Sequence[Wanted], repository: StateRepository
) -> ScanReport:
    """The measurements over the partitions of ``prints``, each of a metric that can be merged.

    Those of which some partition leaves no state, because it has too many keys, are left out.
    """
    started = monotonic()
    known = [_known(item, prints, repository) for item in wanted]
    reports = _read(engine, table, known)
    found = {one.wanted.key: _merged(one, reports, prints, repository) for one in known}
    measured = {key: each for key, each in found.items() if each is not None}
    jobs = sum(report.spark_jobs for report in reports.values())
    return ScanReport(measured=measured, spark_jobs=jobs, seconds=monotonic() - started, fingerprint=None)


def _known(item: Wanted, prints: Prints, repository: StateRepository) -> Known:
    """The largest union that is part of what is wanted, then partitions one by one."""
    states, covered = _from_rollup(item.spec, prints, repository)
    left = {key: print_ for key, print_ in prints.items() if key not in covered}
    parts = _readable(item.spec, repository.parts(item.spec, left)) if left else {}
    missing = tuple(key for key in left if key not in parts)
    return Known(wanted=item, states=[*states, *parts.values()], missing=missing)


def _from_rollup(spec: MetricSpec, prints: Prints, repository: StateRepository) -> tuple[list[State], set[str]]:
    usable = [each for each in repository.rollups(spec) if each.prints.items() <= prints.items()]
    for rollup in sorted(usable, key=lambda each: len(each.prints), reverse=True):
        try:
            return [from_bytes(spec, rollup.load())], set(rollup.prints)
        except UnableToReadState:
            continue
    return [], set()


def _readable(spec: MetricSpec, parts: Mapping[str, bytes]) -> dict[str, State]:
    """Without those of an older version, or damaged: their partitions are measured again."""
    states: dict[str, State] = {}
    for key, state in parts.items():
        try:
            states[key] = from_bytes(spec, state)
        except UnableToReadState:
            continue
    return states


def _read(engine: Engine, table: Table, known: Sequence[Known]) -> dict[str, ScanReport]:
    """The missing partitions by key, all metrics of each in one scan."""
    keys = list(dict.fromkeys(key for one in known for key in one.missing))
    units = [
        Unit(
            table=table,
            part=Part(keys=(key,)),
            wanted=tuple(replace(one.wanted, keep_state=True) for one in known if key in one.missing),
        )
        for key in keys
    ]
    return dict(zip(keys, engine.scan_all(units), strict=True)) if units else {}


def _merged(
    one: Known, reports: Mapping[str, ScanReport], prints: Prints, repository: StateRepository
) -> Measured | None:
    spec = one.wanted.spec
    taken = {key: reports[key].measured[one.wanted.key] for key in one.missing}
    failed = next((each for each in taken.values() if each.failure is not None), None)
    if failed is not None:
        return failed
    fresh = {key: each.state for key, each in taken.items() if each.state is not None}
    if len(fresh) < len(taken):
        return None
    still = {key: state for key, state in fresh.items() if reports[key].fingerprint == prints[key]}
    if still:
        repository.save_parts(spec, {key: prints[key] for key in still}, still)
    states = [*one.states, *(from_bytes(spec, state) for state in fresh.values())]
    result = from_state(spec, union(spec, states), keep_state=True)
    if result.state is not None and len(states) > 1 and len(still) == len(fresh):  # none rewritten meanwhile
        repository.save_rollup(spec, prints, result.state)
    return result


def union(spec: MetricSpec, states: Sequence[State]) -> State:
    """The state over the union of disjoint parts."""
    definition = METRICS[spec.name]
    statistics = definition.statistics(spec, PLAIN) if definition.statistics else None
    return merged(dict(statistics) if statistics is not None else None, states)
