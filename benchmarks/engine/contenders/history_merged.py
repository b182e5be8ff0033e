"""Assay's engine over the day that came, merged with the states kept of the days before."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.engine.state_folder import StateFolder
from execution_engine.engines.files.listing import read_fingerprints_by_key
from execution_engine.engines.protocol import WHOLE, Part
from execution_engine.metrics.spec import MetricSpec
from execution_engine.parts.incremental import Prints, Rollup, scan_merged

from .history_anew import HistoryAnew
from .ours import numbers
from .protocol import Answer, Task, answer


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """What was kept before the day came; what a run keeps goes elsewhere, so that each begins alike."""

    past: StateFolder
    kept: StateFolder
    unions: bool = True

    def parts(self, specs: Sequence[MetricSpec], prints: Prints) -> Mapping[MetricSpec, Mapping[str, bytes]]:
        """Of the past."""
        return self.past.parts(specs, prints)

    def rollups(self, specs: Sequence[MetricSpec]) -> Mapping[MetricSpec, Sequence[Rollup]]:
        """Of the past."""
        return self.past.rollups(specs) if self.unions else {}

    def save_parts(self, prints: Prints, states: Mapping[MetricSpec, Mapping[str, bytes]]) -> None:
        """Written as in earnest."""
        self.kept.save_parts(prints, states)

    def save_rollups(self, prints: Prints, states: Iterable[tuple[MetricSpec, bytes]]) -> None:
        """Written as in earnest."""
        self.kept.save_rollups(prints, states)


class HistoryMerged(HistoryAnew):
    """The states of all days but the last are kept while it prepares; a run scans one day and knows the whole."""

    days_kept = slice(None, -1)
    unions = True

    def prepare(self, task: Task) -> None:
        """States of the days before and of their union."""
        super().prepare(task)
        self.prints = read_fingerprints_by_key(self.table, WHOLE) or {}
        self.folder = TemporaryDirectory(prefix="states-")
        past, kept = (StateFolder(folder=Path(self.folder.name) / name) for name in ("past", "kept"))
        days = sorted(self.prints)[self.days_kept]
        before = {day: self.prints[day] for day in days}
        numbers(scan_merged(self.engine, self.table, before, self.wanted, past))
        self.states = Replayed(past=past, kept=kept, unions=self.unions)

    def run(self) -> Answer:
        """The checks over the whole history; the state of the day and of the new union are kept."""
        return answer(self.checks, numbers(scan_merged(self.engine, self.table, self.prints, self.wanted, self.states)))


class HistoryDay(HistoryAnew):
    """The day alone, of which nothing is kept."""

    def prepare(self, task: Task) -> None:
        """Of one day no number is that of the history, so that nothing is checked."""
        super().prepare(task)
        self.day = Part(keys=sorted(read_fingerprints_by_key(self.table, WHOLE) or {})[-1:])  # type: ignore[arg-type]
        self.checks = tuple(replace(check, low=float("-inf")) for check in self.checks)

    def run(self) -> Answer:
        """One scan of one partition."""
        return answer(self.checks, numbers(self.engine.scan(self.table, self.day, self.wanted)))


CONTENDER = HistoryMerged
