"""``g`` over the whole history: what it costs to know it anew after each day."""

from dataclasses import replace

from benchmarks.engine.of_history import of_history
from benchmarks.engine.suite import Check

from .g import G
from .protocol import Task


class HistoryByHand(G):
    """The folders give the date."""

    def chosen(self, checks: tuple[Check, ...]) -> tuple[Check, ...]:
        """Of the suite's checks, as they are over a history."""
        return of_history(checks)

    def prepare(self, task: Task) -> None:
        """As for one day."""
        super().prepare(replace(task, checks=self.chosen(task.checks)))


CONTENDER = HistoryByHand
