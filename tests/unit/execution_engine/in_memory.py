"""An engine whose table is a list of numbers for each partition, and states kept in dictionaries."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from execution_engine.engines.gathering import Keyed, StatisticRequest, measured_of, plan
from execution_engine.engines.protocol import Measured, ScanReport, Table, Unit
from execution_engine.metrics.expressions import PLAIN_EXPRESSIONS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.frequencies import Counts, Frequencies
from execution_engine.metrics.states.states import UnableToReadState
from execution_engine.metrics.states.statistics import Gather, Summary
from execution_engine.outcome import Failure
from execution_engine.parts.incremental import Prints, Rollup
from execution_engine.read_by import ReadBy

TABLE = Table(name="dw.trips", storage="files", location="/trips")


@dataclass(kw_only=True)
class Lists:
    """Reads lists; ``most_keys`` are kept of a partition, and what is in ``failing`` cannot be read."""

    rows: dict[str, list[int]]
    most_keys: int = 10**6
    failing: Mapping[str, Failure] = field(default_factory=dict)
    rewritten: Mapping[str, str] = field(default_factory=dict)  # fingerprints that are other ones when it is read
    units: list[Unit] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)  # how many partitions each asked for

    @property
    def prints(self) -> dict[str, str]:
        """The fingerprint of each partition is what it holds."""
        return {key: str(rows) for key, rows in self.rows.items()}

    @property
    def read(self) -> list[str]:
        """The partitions that were read."""
        return [key for unit in self.units for key in unit.part.keys or ()]

    def scan_all(self, units: Sequence[Unit]) -> tuple[ScanReport, ...]:
        """Three jobs and one value for each."""
        assert units, "nothing is asked"
        self.units += units
        self.calls.append(len(units))
        return tuple(self._scan(unit) for unit in units)

    def _scan(self, unit: Unit) -> ScanReport:
        assert unit.table is TABLE
        assert unit.part.keys is not None
        (key,) = unit.part.keys
        planned, rows = plan(unit.requests, PLAIN_EXPRESSIONS), self.rows[key]
        gathered = {asked: _gathered(asked, rows) for asked in planned.statistic_requests}
        counted = {keyed: self._counted(keyed, rows) for keyed in planned.keyed}
        measured = {item.key: measured_of(item, planned, gathered, counted) for item in unit.requests}
        if key in self.failing:
            measured = dict.fromkeys(measured, Measured(failure=self.failing[key]))
        print_ = self.rewritten.get(key, self.prints[key])
        read_by = ReadBy(kernels=1)
        return ScanReport(measured=measured, spark_jobs=3, seconds=1.0, fingerprint=print_, read_by=read_by)

    def _counted(self, keyed: Keyed, rows: Sequence[int]) -> Frequencies | Summary:
        found = Frequencies(whole=Counts.of(np.array(rows, np.int64)))
        return found if found.whole.distinct <= self.most_keys else found.summary


def _gathered(asked: StatisticRequest, rows: Sequence[int]) -> Any:
    of: dict[Gather, Callable[[Sequence[int]], int]] = {
        Gather.COUNT: len,
        Gather.SUM: sum,
        Gather.MIN: min,
        Gather.MAX: max,
    }
    return of[asked.statistic.gather](rows)


@dataclass(frozen=True, kw_only=True)
class KeptRollup:
    """A state over several partitions; None where it is gone."""

    prints: Prints
    state: bytes | None

    def load(self) -> bytes:
        """The state."""
        if self.state is None:
            raise UnableToReadState("it is gone")
        return self.state


@dataclass(kw_only=True)
class Memory:
    """States in dictionaries."""

    saved: dict[tuple[str, str, str], bytes] = field(default_factory=dict)
    unions: dict[str, list[KeptRollup]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)  # the partitions whose states were asked for

    def parts(self, specs: Sequence[MetricSpec], prints: Prints) -> dict[MetricSpec, dict[str, bytes]]:
        """The states that are kept."""
        assert specs, "of nothing is asked"
        assert prints, "nothing is asked"
        self.asked += prints
        return {spec: self._parts(spec, prints) for spec in specs}

    def _parts(self, spec: MetricSpec, prints: Prints) -> dict[str, bytes]:
        known = {key: self.saved.get((spec.text, key, print_)) for key, print_ in prints.items()}
        return {key: state for key, state in known.items() if state is not None}

    def rollups(self, specs: Sequence[MetricSpec]) -> dict[MetricSpec, Sequence[Rollup]]:
        """The newest first."""
        return {
            spec: [Rollup(prints=kept.prints, load=kept.load) for kept in self.unions.get(spec.text, [])]
            for spec in specs
        }

    def save_parts(self, prints: Prints, states: Mapping[MetricSpec, Mapping[str, bytes]]) -> None:
        """Keep each; the fingerprints are those of the states, and of no more."""
        assert all(states.values())
        assert set(prints) == {key for some in states.values() for key in some}
        self.saved |= {
            (spec.text, key, prints[key]): state for spec, some in states.items() for key, state in some.items()
        }

    def save_rollups(self, prints: Prints, states: Iterable[tuple[MetricSpec, bytes]]) -> None:
        """Keep each before the others of its metric."""
        for spec, state in states:
            self.unions[spec.text] = [KeptRollup(prints=dict(prints), state=state), *self.unions.get(spec.text, [])]
