"""Assay's states of single days, merged to a window of them without reading data."""

from .history_merged import HistoryMerged
from .protocol import Answer, Task, answer


class HistoryWindow(HistoryMerged):
    """The window of all days: the widest, and the dearest."""

    def prepare(self, task: Task) -> None:
        """A state of each metric, of each day."""
        super().prepare(task)
        for day in self.days:
            self.states.keep(day, self._scanned((day,)))

    def run(self) -> Answer:
        """The checks over the window."""
        return answer(self.checks, self.states.values(self.specs, self.days))


CONTENDER = HistoryWindow
