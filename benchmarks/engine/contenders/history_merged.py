"""Assay's engine over the day that came, merged with the states kept of the days before."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from execution_engine.engines.protocol import Part, ScanReport

from .history_anew import HistoryAnew
from .kept_states import StateFolder
from .protocol import Answer, Task, answer

PAST = "past"


class HistoryMerged(HistoryAnew):
    """The states of all days but the last are taken while it prepares; a run scans one day and knows the whole."""

    def prepare(self, task: Task) -> None:
        """One state a metric, of the whole past."""
        super().prepare(task)
        self.wanted = tuple(replace(item, keep_state=True) for item in self.wanted)
        self.specs = {check.name: check.spec for check in self.checks}
        self.days = self.engine.partitions(self.table) or ()
        self.place = TemporaryDirectory(prefix="states-")
        self.states = StateFolder(folder=Path(self.place.name))
        self.states.keep(PAST, self._scanned(self.days[:-1]))

    def run(self) -> Answer:
        """Keeps the state of the day; the checks are those of the whole history."""
        day = self.days[-1]
        self.states.keep(day, self._scanned((day,)))
        return answer(self.checks, self.states.values(self.specs, (PAST, day)))

    def _scanned(self, days: tuple[str, ...]) -> ScanReport:
        return self.engine.scan(self.table, Part(keys=days), self.wanted)


CONTENDER = HistoryMerged
